"""Metrics of what reaches the receivers: one-way delay, round trips, jitter, losses, late packets, calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from sojourn.metrics import e_model
from sojourn.metrics.queue import INSIDE, percentile
from sojourn.metrics.registry import MILLISECONDS, PERCENT, Value, metric
from sojourn.metrics.tables import Table, ratio
from sojourn.record import UNKNOWN, transport

ONE_WAY = "RFC 7679"
HISTOGRAM = "th percentile of the histogram of one-way delays, " + INSIDE
ROUND_TRIP = "RFC 2681"
ECHOES = "th percentile of the histogram of round-trip times, " + INSIDE
LOSS = "of datagrams that had not arrived when a later one of their flow did"


def scopes(t: Table) -> Iterator[str]:
    """Yield the scopes of this module that a group of flows has.

    Datagrams always have one-way delays; TCP has their mean and maximum, and the rest with ``trace.delays``.
    """
    wanted = [t.record.plan["traffic"][i] for i in t.traffic]
    are_datagrams = all(transport(kind) == "udp" for kind in t.kinds)
    if are_datagrams or t.record.plan.get("trace", {}).get("delays"):
        yield "arrivals"
    if are_datagrams:
        yield "datagrams"
    if all(one.get("echo") for one in wanted):
        yield "echo"
    if all(one.get("sink") for one in wanted):
        yield "deadline"
    if all(one.get("codec") for one in wanted):
        yield "call"


@metric(
    "mean_owd_s",
    "mean one-way delay",
    "s",
    "arrivals",
    formula="mean of (arrival at the receiver - sending) of the packets received in the window",
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def mean_owd(t: Table) -> Value:
    """Return the mean time from sender to receiver."""
    delays, received = t.flows["delay_ns"], t.flows["received_packets"]
    if UNKNOWN in delays or UNKNOWN in received:
        return None
    return ratio(sum(delays) / 1e9, sum(received))


@metric(
    "p50_owd_s",
    "median one-way delay",
    "s",
    "arrivals",
    formula="50" + HISTOGRAM,
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p50_owd(t: Table) -> Value:
    """Return the 50th percentile of one-way delay."""
    return _one_way(t, 0.50)


@metric(
    "p95_owd_s",
    "95th-percentile one-way delay",
    "s",
    "arrivals",
    formula="95" + HISTOGRAM,
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p95_owd(t: Table) -> Value:
    """Return the 95th percentile of one-way delay."""
    return _one_way(t, 0.95)


@metric(
    "p99_owd_s",
    "99th-percentile one-way delay",
    "s",
    "arrivals",
    formula="99" + HISTOGRAM,
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
    views=("traffic",),
    position=160,
)
def p99_owd(t: Table) -> Value:
    """Return the 99th percentile of one-way delay."""
    return _one_way(t, 0.99)


@metric(
    "p999_owd_s",
    "99.9th-percentile one-way delay",
    "s",
    "arrivals",
    formula="99.9" + HISTOGRAM,
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p999_owd(t: Table) -> Value:
    """Return the 99.9th percentile of one-way delay."""
    return _one_way(t, 0.999)


@metric(
    "max_owd_s",
    "maximum one-way delay",
    "s",
    "arrivals",
    formula="largest one-way delay",
    source=ONE_WAY,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def max_owd(t: Table) -> Value:
    """Return the largest one-way delay."""
    largest: list[int] = t.flows["delay_max_ns"]
    if UNKNOWN in largest or not sum(t.flows["received_packets"]):
        return None
    return max(largest) / 1e9


@metric(
    "p999_pdv_s",
    "99.9th-percentile delay variation",
    "s",
    "arrivals",
    formula=(
        "p999_owd_s - smallest one-way delay of the traffic, which for TCP is the lower edge of the first "
        "bucket of the histogram that is not empty"
    ),
    source="packet delay variation of RFC 5481, 4.2",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p999_pdv(t: Table) -> Value:
    """Return how far the 99.9th percentile of one-way delay is above the smallest delay."""
    value = _one_way(t, 0.999)
    known = [row["delay_min_ns"] / 1e9 for row in _rows(t) if row["delay_min_ns"] > 0]
    least = min(known) if known else _one_way(t, 0.0)
    return None if value is None or least is None else max(0.0, value - least)


@metric(
    "jitter_s",
    "jitter",
    "s",
    "datagrams",
    formula=(
        "mean of |D|, D = difference of the one-way delays of two consecutive arrivals of a flow; the jitter "
        "J of RFC 3550 is an exponentially weighted average of the same |D|"
    ),
    source="RFC 3550, 6.4.1",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
    views=("traffic",),
    position=162,
)
def jitter(t: Table) -> Value:
    """Return the mean change of one-way delay from packet to packet."""
    return ratio(_sum(t, "jitter_ns") / 1e9, _sum(t, "jitter_pairs"))


@metric(
    "loss_ratio",
    "packet loss",
    "",
    "datagrams",
    formula=f"share {LOSS}, of these and those received in order",
    source="RFC 7680",
    better="lower",
    display=PERCENT,
    needs_packets=True,
    views=("traffic",),
    position=164,
)
def loss_ratio(t: Table) -> Value:
    """Return the share of datagrams that did not arrive, or arrived after a later one."""
    received = [_received(t, row) for row in _rows(t)]
    return ratio(_sum(t, "lost_packets"), _sum(t, "lost_packets") + sum(received))


@metric(
    "mean_loss_period",
    "mean loss burst",
    "packets",
    "datagrams",
    formula=f"mean length of runs {LOSS}",
    source="loss period of RFC 3357, 6.2",
    better="lower",
    needs_packets=True,
)
def mean_loss_period(t: Table) -> Value:
    """Return the mean number of datagrams that a flow loses in a row."""
    return ratio(_sum(t, "lost_packets"), _sum(t, "loss_periods"))


@metric(
    "max_loss_period",
    "longest loss burst",
    "packets",
    "datagrams",
    formula=f"longest run {LOSS}; 0 without losses",
    source="loss period of RFC 3357, 6.2",
    better="lower",
    needs_packets=True,
)
def max_loss_period(t: Table) -> Value:
    """Return the largest number of datagrams that a flow lost in a row."""
    if not _rows(t):
        return None
    lost = t.record.rows("loss_periods")
    lengths = (
        length for one, length in zip(lost["traffic"], lost["length"], strict=True) if one in t.traffic
    )
    return float(max(lengths, default=0))


@metric(
    "mean_rtt_s",
    "mean round-trip time",
    "s",
    "echo",
    formula="mean of (return to the source - sending) of the datagrams that came back in the window",
    source=ROUND_TRIP,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
    views=("traffic",),
    position=156,
)
def mean_rtt(t: Table) -> Value:
    """Return the mean time from a source to the receiver and back."""
    return ratio(_sum(t, "round_trip_ns") / 1e9, _sum(t, "echoes"))


@metric(
    "p50_rtt_s",
    "median round-trip time",
    "s",
    "echo",
    formula="50" + ECHOES,
    source=ROUND_TRIP,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p50_rtt(t: Table) -> Value:
    """Return the 50th percentile of round-trip time."""
    return _percentile(t, 0.50, "round_trips", _longest(t))


@metric(
    "p99_rtt_s",
    "99th-percentile round-trip time",
    "s",
    "echo",
    formula="99" + ECHOES,
    source=ROUND_TRIP,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
    views=("traffic", "feel"),
    position=158,
)
def p99_rtt(t: Table) -> Value:
    """Return the 99th percentile of round-trip time."""
    return _percentile(t, 0.99, "round_trips", _longest(t))


@metric(
    "max_rtt_s",
    "maximum round-trip time",
    "s",
    "echo",
    formula="largest round-trip time",
    source=ROUND_TRIP,
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def max_rtt(t: Table) -> Value:
    """Return the largest round-trip time."""
    longest = _longest(t)
    return None if longest is None else longest / 1e9


@metric(
    "late_ratio",
    "late or lost",
    "",
    "deadline",
    formula="share of datagrams that are lost or arrive after the time of their use, of all of them",
    source="definition",
    better="lower",
    display=PERCENT,
    needs_packets=True,
    views=("traffic", "feel"),
    position=170,
)
def late_ratio(t: Table) -> Value:
    """Return the share of datagrams that their receiver cannot use."""
    lost, used = _sum(t, "lost_packets"), _sum(t, "playout_packets")
    return ratio(lost + _sum(t, "late_packets"), lost + used)


@metric(
    "mouth_to_ear_s",
    "mouth-to-ear delay",
    "s",
    "call",
    formula="mean time from sending to playing (docs/calls.md: the jitter buffer) + delay of the codec",
    source="ITU-T G.107, Ta",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def mouth_to_ear(t: Table) -> Value:
    """Return the mean over calls of the delay that the speakers notice."""
    return _mean_of_calls(t, lambda delay, *_: delay)


@metric(
    "burst_ratio",
    "burst ratio",
    "",
    "call",
    formula=(
        "mean length of runs of lost or late packets / 1 / (1 - their share), the mean length of runs of "
        "independent losses; 1 if none or all are unusable; mean over calls"
    ),
    source="ITU-T G.107, BurstR",
    better="lower",
    needs_packets=True,
)
def burst_ratio(t: Table) -> Value:
    """Return how much longer runs of unusable packets are than those of independent losses."""
    return _mean_of_calls(t, lambda _delay, _loss, burst, _codec: burst)


@metric(
    "r_factor",
    "transmission rating",
    "",
    "call",
    formula="transmission rating R of the E-model, from mouth_to_ear_s, late_ratio and burst_ratio of each "
    "call; mean over calls",
    source="ITU-T G.107; Ie and Bpl of the codec: G.113, appendix I",
    better="higher",
    needs_packets=True,
)
def r_factor(t: Table) -> Value:
    """Return the transmission rating of the calls."""
    return _mean_of_calls(t, e_model.rating)


@metric(
    "mos",
    "mean opinion score",
    "",
    "call",
    formula="mean opinion score of the R factor of each call, 1 to 4.5; mean over calls",
    source="ITU-T G.107, annex B",
    better="higher",
    needs_packets=True,
    views=("traffic", "feel"),
    position=168,
)
def mos(t: Table) -> Value:
    """Return the estimated mean opinion score of the calls."""
    return _mean_of_calls(t, lambda *inputs: e_model.mos(e_model.rating(*inputs)))


def _percentile(t: Table, share: float, table: str, largest: float | None) -> Value:
    """Return a percentile of a table of histograms."""
    counts: dict[int, int] = {}
    every = t.record.rows(table)
    for one, edge, count in zip(*every.values(), strict=True):
        if one in t.traffic:
            counts[edge] = counts.get(edge, 0) + count
    edges = sorted(counts)
    value = percentile(edges, [counts[edge] for edge in edges], share, largest)
    return None if value is None else value / 1e9


def _one_way(t: Table, share: float) -> Value:
    """Return a percentile of one-way delay."""
    return _percentile(t, share, "one_way_delays", max(t.flows["delay_max_ns"], default=None))


def _longest(t: Table) -> int | None:
    """Return the largest round-trip time in nanoseconds."""
    return max((row["round_trip_max_ns"] for row in _rows(t) if row["echoes"]), default=None)


def _rows(t: Table) -> list[dict[str, Any]]:
    """Return the rows of the sources of datagrams of these traffics."""
    every = t.record.rows("deliveries")
    owner = t.record.column("flows", "traffic")
    rows = [dict(zip(every, values, strict=True)) for values in zip(*every.values(), strict=True)]
    return [row for row in rows if owner[row["flow"]] in t.traffic]


def _received(t: Table, row: dict[str, Any]) -> int:
    """Return how many datagrams of a source arrived in order."""
    received: int = t.record.column("flows", "received_packets")[row["flow"]]
    return received - int(row["reordered_packets"])


def _sum(t: Table, name: str) -> int:
    return sum(row[name] for row in _rows(t))


def _mean_of_calls(t: Table, value: Callable[[float, float, float, e_model.Codec], float]) -> Value:
    """Return the mean over calls of a function of delay, loss, burst ratio and codec."""
    found = []
    for row in _rows(t):
        heard = row["playout_packets"]
        if heard == 0:
            continue
        traffic = t.record.plan["traffic"][t.record.column("flows", "traffic")[row["flow"]]]
        codec = e_model.CODECS[traffic["codec"]]
        unusable = row["lost_packets"] + row["late_packets"]
        sent = heard + row["lost_packets"]
        loss = unusable / sent
        burst = 1.0  # none or all are unusable: no runs to compare
        if 0 < unusable < sent:
            burst = unusable / max(1, row["unusable_periods"]) * (1 - loss)
        found.append(value(row["playout_ns"] / heard / 1e9 + codec.delay, loss, burst, codec))
    return ratio(math.fsum(found), len(found))
