"""Metrics of a set of flows."""

from __future__ import annotations

import math

from sojourn.metrics.registry import MEGABITS, PERCENT, Value, metric
from sojourn.metrics.tables import Table, ratio
from sojourn.record import UNKNOWN


@metric(
    "goodput_bps",
    "goodput",
    "bit/s",
    "flows",
    formula="payload bits that reached receivers for the first time / window",
    source="RFC 7928, 2.5",
    better="higher",
    display=MEGABITS,
    views=("summary", "traffic", "comparison", "sweep", "bars", "worlds"),
    position=30,
)
def goodput(t: Table) -> Value:
    """Return the rate at which receivers got new payload."""
    return ratio(sum(t.flows["goodput_bytes"]) * 8, t.seconds)


@metric(
    "timeouts",
    "timeouts",
    "",
    "tcp",
    formula="retransmission timers that expired",
    source="RFC 6298",
    better="lower",
    needs_packets=True,
    views=("worlds",),
    position=140,
)
def timeouts(t: Table) -> Value:
    """Return the number of retransmission timeouts."""
    return _total(t.flows["timeouts"]) if t.has_tcp else None


@metric(
    "retransmit_ratio",
    "retransmission ratio",
    "",
    "tcp",
    formula="retransmitted / sent packets",
    source="RFC 5681",
    better="lower",
    display=PERCENT,
    needs_packets=True,
)
def retransmit_ratio(t: Table) -> Value:
    """Return the share of sent packets that were retransmissions."""
    again, sent = (_total(t.flows[name]) for name in ("retransmitted_packets", "sent_packets"))
    return None if again is None or sent is None else ratio(again, sent)


@metric(
    "jain_index",
    "Jain fairness index",
    "",
    "endless",
    formula="(sum x)^2 / (n sum x^2), x = goodput of each endless TCP flow",
    source="Jain, Chiu, Hawe: DEC-TR-301, 1984",
    better="higher",
    views=("summary", "comparison", "worlds"),
    position=130,
)
def jain_index(t: Table) -> Value:
    """Return the fairness of the goodputs of the endless TCP flows; 1: all are equal."""
    x = [float(g) for g, endless in zip(t.flows["goodput_bytes"], t.endless, strict=True) if endless]
    return ratio(math.fsum(x) ** 2, len(x) * math.fsum(v * v for v in x))


def _total(values: list[int]) -> Value:
    """Return a sum, None if any part of it is unknown."""
    return None if UNKNOWN in values else float(sum(values))
