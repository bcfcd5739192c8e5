"""What a metric reads: one queue's counters, and the rows of the flows and transfers that count.

Metrics of a queue look at ``Table.queue``; metrics of flows at ``Table.flows`` (whose data crosses the
measured queue, or one named group of them); metrics of transfers at those that started in the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.record import TYPES, Record


@dataclass(frozen=True)
class Table:
    """A record, one of its queues, some of its flows and transfers."""

    record: Record
    queue: Mapping[str, Any]
    flows: Mapping[str, list[int]]
    objects: Mapping[str, list[int]]
    endless: list[bool]
    kinds: set[str]

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return self.record.seconds


def whole(record: Record, traffic: Iterable[int] | None = None) -> Table:
    """Return the table of some traffics (by number), or of all whose data crosses the measured queue."""
    wanted = crossing(record) if traffic is None else set(traffic)
    here = [traffic is not None or crosses == 1 for crosses in record.column("flows", "crosses")]
    mine = [one in wanted for one in record.column("flows", "traffic")]
    flows = _rows(record, "flows", [a and b for a, b in zip(mine, here, strict=True)])
    start = record.data["window"][0]
    objects = _rows(
        record,
        "objects",
        [
            one in wanted and began >= start
            for one, began in zip(
                record.column("objects", "traffic"), record.column("objects", "start_ns"), strict=True
            )
        ],
    )
    kinds = [one["kind"] for one in record.traffic]
    endless = [kinds[i] == "tcp" for i in flows["traffic"]]
    return Table(record, record.queues[0], flows, objects, endless, {kinds[i] for i in wanted})


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
    for transport in ("tcp", "udp"):
        members = [i for i, one in enumerate(record.traffic) if one["transport"] == transport and i in here]
        if members:
            found.setdefault(transport, members)
    return found
