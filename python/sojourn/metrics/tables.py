"""The input of a metric: the counters of one queue, and the rows of the selected flows and transfers.

Metrics of a queue read ``Table.queue``. Metrics of flows read ``Table.flows``: the flows whose data crosses
the measured queue, or one group of them. Metrics of transfers and pages read those that started in the
window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sojourn.record import TYPES, UNFINISHED, Record, numbers, transport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Rows(Mapping[str, "list[Any]"]):
    """Some rows of a table of a record, column by column: each is selected when it is first read.

    Parameters
    ----------
    record : Record
    table : str
        ``flows``, ``objects`` or ``pages``.
    kept : numpy array of bool
        Whether a row is selected.
    """

    def __init__(self, record: Record, table: str, kept: NDArray[np.bool_]) -> None:
        self._record, self._table, self._kept = record, table, kept
        self._columns: dict[str, list[Any]] = {}

    def array(self, name: str) -> NDArray[Any]:
        """Return a column as a numpy array."""
        return self._record.array(self._table, name)[self._kept]

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._columns:
            self._columns[name] = self.array(name).tolist()
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TYPES[self._table])

    def __len__(self) -> int:
        return len(TYPES[self._table])

    @cached_property
    def ended(self) -> NDArray[np.float64]:
        """Durations in seconds of the transfers or pages that have an end, in ascending order."""
        import numpy as np

        start, end = self.array("start_ns"), self.array("end_ns")
        ended = end != UNFINISHED
        found: NDArray[np.float64] = np.sort((end[ended] - start[ended]) / 1e9)
        return found

    @cached_property
    def durations(self) -> list[float]:
        """`ended` as a list."""
        found: list[float] = self.ended.tolist()
        return found

    @cached_property
    def unfinished(self) -> NDArray[np.uint64]:
        """Starts in ns of the transfers or pages that have no end."""
        found: NDArray[np.uint64] = self.array("start_ns")[self.array("end_ns") == UNFINISHED]
        return found


@dataclass(frozen=True)
class Table:
    """A record, one of its queues, some of its flows and transfers."""

    record: Record
    queue: Mapping[str, Any]
    flows: Rows
    objects: Rows
    pages: Rows
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
    import numpy as np

    wanted = crossing(record) if traffic is None else set(traffic)
    numbered = np.isin(np.arange(len(record.plan["traffic"])), list(wanted))
    kept = numbered[record.array("flows", "traffic")]
    if traffic is None:
        kept &= record.array("flows", "crosses") == 1
    flows = Rows(record, "flows", kept)
    start, end = span or record.data["window"]
    last = end if span else None  # without a span, no transfer begins after the end
    began = {table: _since(record, table, numbered, start, last) for table in ("objects", "pages")}
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


def _since(record: Record, table: str, wanted: NDArray[np.bool_], start: int, end: int | None) -> Rows:
    """Return the rows of the wanted traffics that began between two times."""
    began = record.array(table, "start_ns")
    kept = wanted[record.array(table, "traffic")] & (began >= start)
    return Rows(record, table, kept if end is None else kept & (began < end))


def crossing(record: Record) -> set[int]:
    """Return the traffics whose data (not only acknowledgements) crosses the measured queue."""
    crosses = record.array("flows", "crosses") != 0
    return set(record.array("flows", "traffic")[crosses].tolist())


def groups(record: Record) -> dict[str, list[int]]:
    """Return the traffics of each group: every name, then ``tcp`` and ``udp``."""
    here = crossing(record)
    found = {one["name"]: [i] for i, one in enumerate(record.traffic)}
    for name in ("tcp", "udp"):
        members = [i for i, one in enumerate(record.traffic) if one["transport"] == name and i in here]
        if members:
            found.setdefault(name, members)
    return found


def overlaps(t: Table, table: str) -> list[int]:
    """Return how long each transfer or page of the traffics was under way in the span, in ns.

    Earlier ones are included, those not under way in the span are not.
    """
    import numpy as np

    begin, end = t.span
    mine = np.isin(t.record.array(table, "traffic"), list(t.traffic))
    first = np.maximum(t.record.array(table, "start_ns")[mine], np.uint64(begin))
    last = np.minimum(t.record.array(table, "end_ns")[mine], np.uint64(end))
    found: list[int] = (last - first)[last > first].tolist()
    return found


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
