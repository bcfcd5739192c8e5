"""The input of a metric: the counters of one queue, and the rows of the selected flows and transfers.

Metrics of a queue read ``Table.queue``. Metrics of flows read ``Table.flows``: the flows whose data crosses
the measured queue, or one group of them. Metrics of transfers and pages read those that started in the
window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.record import TYPES, Record, numbers, transport


@dataclass(frozen=True)
class Table:
    """A record, one of its queues, some of its flows and transfers."""

    record: Record
    queue: Mapping[str, Any]
    flows: Mapping[str, list[int]]
    objects: Mapping[str, list[int]]
    pages: Mapping[str, list[int]]
    endless: list[bool]
    kinds: set[str]
    traffic: set[int]
    #: Start and end in ns: the window, or a phase.
    span: tuple[int, int]

    @property
    def has_tcp(self) -> bool:
        """Whether any of the traffic is carried by TCP."""
        return any(transport(kind) == "tcp" for kind in self.kinds)

    @property
    def seconds(self) -> float:
        """Length of the window, or of the phase."""
        return (self.span[1] - self.span[0]) / 1e9


def whole(record: Record, traffic: Iterable[int] | None = None, span: tuple[int, int] | None = None) -> Table:
    """Return the table of some traffics, by number, or of all whose data crosses the measured queue.

    With a `span`, transfers and pages are those that began in it, instead of in the window.
    """
    wanted = crossing(record) if traffic is None else set(traffic)
    here = [traffic is not None or crosses == 1 for crosses in record.column("flows", "crosses")]
    mine = [one in wanted for one in record.column("flows", "traffic")]
    flows = _rows(record, "flows", [a and b for a, b in zip(mine, here, strict=True)])
    start, end = span or record.data["window"]
    last = end if span else math.inf  # an end that is not reached in the window
    began = {table: _since(record, table, wanted, start, last) for table in ("objects", "pages")}
    kinds = [one["kind"] for one in record.traffic]
    endless = [kinds[i] == "tcp" for i in flows["traffic"]]
    return Table(
        record,
        record.queues[0],
        flows,
        **began,
        endless=endless,
        kinds={kinds[i] for i in wanted},
        traffic=wanted,
        span=(start, end),
    )


def _since(record: Record, table: str, wanted: set[int], start: int, end: float) -> dict[str, list[int]]:
    """Return the rows of the wanted traffics that began between two times."""
    pairs = zip(record.column(table, "traffic"), record.column(table, "start_ns"), strict=True)
    return _rows(record, table, [one in wanted and start <= began < end for one, began in pairs])


def _rows(record: Record, table: str, kept: list[bool]) -> dict[str, list[int]]:
    return {
        name: [x for x, keep in zip(record.column(table, name), kept, strict=True) if keep]
        for name in TYPES[table]
    }


def crossing(record: Record) -> set[int]:
    """Return the traffics whose data (not only acknowledgements) crosses the measured queue."""
    pairs = zip(record.column("flows", "traffic"), record.column("flows", "crosses"), strict=True)
    return {traffic for traffic, crosses in pairs if crosses}


def groups(record: Record) -> dict[str, list[int]]:
    """Return the traffics of each group: every name, then ``tcp`` and ``udp``."""
    here = crossing(record)
    found = {one["name"]: [i] for i, one in enumerate(record.traffic)}
    for name in ("tcp", "udp"):
        members = [i for i, one in enumerate(record.traffic) if one["transport"] == name and i in here]
        if members:
            found.setdefault(name, members)
    return found


def spans(t: Table, table: str) -> Iterator[tuple[int, int]]:
    """Yield start and end in ns of every transfer or page of the traffics, earlier ones included."""
    columns = (t.record.column(table, name) for name in ("traffic", "start_ns", "end_ns"))
    return ((start, end) for one, start, end in zip(*columns, strict=True) if one in t.traffic)


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, or None if the whole is zero."""
    return part / whole if whole > 0 else None


def classes(queue: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the counters of each traffic class as those of a queue; empty if there is only one class."""
    names = [name for name in TYPES["queue"] if name.startswith("class_")]
    columns = {name: numbers(queue.get(name, b""), TYPES["queue"][name]) for name in names}
    found = {}
    for i, number in enumerate(columns["class_number"]):
        row = {name.removeprefix("class_"): column[i] for name, column in columns.items()}
        found[number] = {**row, "drops": [row["drops"]], "marks": [row["marks"]]}
    return found if len(found) > 1 else {}


def phases(record: Record) -> Iterator[tuple[dict[str, Any], tuple[int, int]]]:
    """Yield the counters of the measured queue in each phase, with the begin and end of the phase in ns."""
    for counters, one in zip(record.phases, record.plan.get("phases", ()), strict=True):
        yield counters, (one["from"], one["to"])
