"""Metrics of RFC 7928 that are not in the registry: they need every drop, or compare two categories."""

from __future__ import annotations

from sojourn.metrics.own import metric
from sojourn.record import Record

#: Drops within this time of the first, in seconds, are one loss event: the smallest round-trip time.
EVENT_S = 0.1


@metric(label="loss synchronization", display=(100.0, "%"))
def loss_synchronization(record: Record) -> float | None:
    """Share of the endless TCP flows that lose packets in one loss event, mean over events (RFC 7928, 2.4).

    Unknown without drops of such flows.
    """
    endless = {number for number, one in enumerate(record.traffic) if one["kind"] == "tcp"}
    flows = {row for row, which in enumerate(record.column("flows", "traffic")) if which in endless}
    start, _ = record.window
    times, losers = record.column("drops", "time_ns"), record.column("drops", "flow")
    shares: list[float] = []
    begun, hit = float("-inf"), set[int]()
    for time, flow in zip(times, losers, strict=True):
        if flow not in flows or time / 1e9 < start:
            continue
        if time / 1e9 > begun + EVENT_S:
            shares += [len(hit) / len(flows)] if hit else []
            begun, hit = time / 1e9, set()
        hit.add(flow)
    shares += [len(hit) / len(flows)] if hit else []
    return sum(shares) / len(shares) if shares else None


@metric(label="goodput ratio of the two categories")
def goodput_ratio(record: Record) -> float | None:
    """Goodput of the second traffic divided by that of the first (RFC 7928, 6.3); unknown if that is 0."""
    totals: dict[int, int] = {}
    columns = (record.column("flows", name) for name in ("traffic", "goodput_bytes"))
    for which, octets in zip(*columns, strict=True):
        totals[which] = totals.get(which, 0) + octets
    return totals[1] / totals[0] if totals.get(0) else None


#: The metrics by the name that the catalogue uses.
MEASURES = {one.__name__: one for one in (loss_synchronization, goodput_ratio)}
