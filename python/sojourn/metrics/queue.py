"""Metrics of one queue, from its counters."""

from __future__ import annotations

import math

from sojourn.metrics.registry import MEGABITS, MILLISECONDS, PERCENT, Value, metric
from sojourn.metrics.tables import Table, ratio
from sojourn.record import TYPES, numbers

#: How a percentile follows from the histogram.
INSIDE = "linear inside a bucket (at most 1/64 wide; exact below 128 ns), at most the largest delay"


@metric(
    "utilization",
    "utilization",
    "",
    "queue",
    formula="bits sent / integral of the capacity, at most 1: a packet counts when its transmission begins",
    source="RFC 7928, 4.2",
    better="higher",
    display=PERCENT,
    views=("summary", "comparison", "sweep", "lines", "worlds"),
    position=10,
)
def utilization(t: Table) -> Value:
    """Return the share of the link's capacity that was used."""
    used = ratio(t.queue["departed_bytes"] * 8, t.queue["capacity_bits"])
    return None if used is None else min(1.0, used)


@metric(
    "throughput_bps",
    "throughput",
    "bit/s",
    "queue",
    formula="bits sent / window",
    source="RFC 7928, 4.2",
    better="higher",
    display=MEGABITS,
    views=("class", "link"),
    position=20,
    per_class=True,
)
def throughput(t: Table) -> Value:
    """Return the rate at which the queue's link sent bits."""
    return ratio(t.queue["departed_bytes"] * 8, t.seconds)


@metric(
    "busy_throughput_bps",
    "throughput while busy",
    "bit/s",
    "queue",
    formula="bits sent / (window - time without a packet in transmission)",
    source="definition of the throughput, over the busy time",
    display=MEGABITS,
    needs_packets=True,
    views=("link",),
    position=21,
)
def busy_throughput(t: Table) -> Value:
    """Return the rate at which the queue's link sent bits while it was not idle."""
    return ratio(t.queue["departed_bytes"] * 8, t.seconds - t.queue["idle_ns"] / 1e9)


@metric(
    "arrivals",
    "arrivals",
    "packets",
    "queue",
    formula="packets offered",
    source="RFC 2309",
    views=("link",),
    position=80,
    per_class=True,
)
def arrivals(t: Table) -> Value:
    """Return the number of packets that arrived, dropped ones included."""
    return float(t.queue["arrivals"])


@metric(
    "drops",
    "drops",
    "packets",
    "queue",
    formula="packets dropped, every cause",
    source="RFC 2309",
    better="lower",
    views=("link",),
    position=90,
    per_class=True,
)
def drops(t: Table) -> Value:
    """Return the number of packets dropped."""
    return float(sum(t.queue["drops"]))


@metric(
    "marks",
    "marks",
    "packets",
    "queue",
    formula="packets marked CE by this queue, every cause",
    source="RFC 3168",
    views=("link",),
    position=100,
    per_class=True,
)
def marks(t: Table) -> Value:
    """Return the number of packets marked CE."""
    return float(sum(t.queue["marks"]))


@metric(
    "drop_ratio",
    "drop ratio",
    "",
    "queue",
    formula="drops / arrivals",
    source="RFC 7928, 2.3",
    better="lower",
    display=PERCENT,
    views=("summary", "class", "comparison", "sweep", "lines", "bars", "worlds"),
    position=110,
    per_class=True,
)
def drop_ratio(t: Table) -> Value:
    """Return the share of arriving packets that were dropped."""
    return ratio(sum(t.queue["drops"]), t.queue["arrivals"])


@metric(
    "mark_ratio",
    "mark ratio",
    "",
    "queue",
    formula="marks / arrivals",
    source="RFC 3168",
    display=PERCENT,
    views=("summary", "class", "comparison", "worlds"),
    position=120,
    per_class=True,
)
def mark_ratio(t: Table) -> Value:
    """Return the share of arriving packets that were marked."""
    return ratio(sum(t.queue["marks"]), t.queue["arrivals"])


@metric(
    "overflow_ratio",
    "overflow ratio",
    "",
    "queue",
    formula="drops because the buffer was full / arrivals",
    source="RFC 2309",
    better="lower",
    display=PERCENT,
)
def overflow_ratio(t: Table) -> Value:
    """Return the share of arriving packets that met a full buffer."""
    return ratio(t.queue["drops"][0], t.queue["arrivals"])


@metric(
    "mean_queue_packets",
    "mean queue",
    "packets",
    "queue",
    formula="time average of waiting packets",
    source="RFC 7928, 4.2",
    better="lower",
    views=("summary", "comparison", "bars", "worlds"),
    position=40,
    per_class=True,
)
def mean_queue(t: Table) -> Value:
    """Return the time average of the queue length."""
    return ratio(t.queue["packet_ns"], t.seconds * 1e9)


@metric(
    "std_queue_packets",
    "queue std. dev.",
    "packets",
    "queue",
    formula="sqrt(time average of squared waiting packets - mean squared)",
    source="definition of the standard deviation over time",
    better="lower",
    views=("summary", "worlds"),
    position=50,
)
def std_queue(t: Table) -> Value:
    """Return the standard deviation of the queue length over time."""
    window = t.seconds * 1e9
    if window <= 0:
        return None
    mean = t.queue["packet_ns"] / window
    return math.sqrt(max(0.0, t.queue["packet_squared_ns"] / window - mean * mean))


@metric(
    "mean_queue_bytes",
    "mean queue in bytes",
    "B",
    "queue",
    formula="time average of waiting bytes",
    source="RFC 7928, 4.2",
    better="lower",
)
def mean_queue_bytes(t: Table) -> Value:
    """Return the time average of the bytes in the queue."""
    return ratio(t.queue["byte_ns"], t.seconds * 1e9)


@metric(
    "max_queue_packets",
    "maximum queue",
    "packets",
    "queue",
    formula="largest number of waiting packets",
    source="RFC 7928, 4.2",
    better="lower",
)
def max_queue(t: Table) -> Value:
    """Return the largest queue length."""
    return float(t.queue["max_packets"])


@metric(
    "mean_delay_s",
    "mean delay",
    "s",
    "queue",
    formula="mean of (start of service - arrival)",
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    views=("summary", "class", "comparison", "sweep", "lines", "worlds", "link"),
    position=60,
    per_class=True,
)
def mean_delay(t: Table) -> Value:
    """Return the mean queueing delay."""
    return ratio(t.queue["delay_sum_ns"] / 1e9, t.queue["departures"])


@metric(
    "std_delay_s",
    "delay std. dev.",
    "s",
    "queue",
    formula="sqrt(mean of squared delays - mean squared)",
    source="definition of the standard deviation over packets",
    better="lower",
    display=MILLISECONDS,
)
def std_delay(t: Table) -> Value:
    """Return the standard deviation of the queueing delay."""
    n = t.queue["departures"]
    if n == 0:
        return None
    mean = t.queue["delay_sum_ns"] / n
    return math.sqrt(max(0.0, t.queue["delay_squared_ns"] / n - mean * mean)) / 1e9


@metric(
    "p50_delay_s",
    "median delay",
    "s",
    "queue",
    formula="50th percentile of the histogram of delays, " + INSIDE,
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p50_delay(t: Table) -> Value:
    """Return the 50th percentile of the queueing delay."""
    return _delay_percentile(t, 0.50)


@metric(
    "p95_delay_s",
    "95th-percentile delay",
    "s",
    "queue",
    formula="95th percentile of the histogram of delays, " + INSIDE,
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p95_delay(t: Table) -> Value:
    """Return the 95th percentile of the queueing delay."""
    return _delay_percentile(t, 0.95)


@metric(
    "p99_delay_s",
    "99th-percentile delay",
    "s",
    "queue",
    formula="99th percentile of the histogram of delays, " + INSIDE,
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
    views=("summary", "comparison", "sweep", "bars", "link"),
    position=70,
)
def p99_delay(t: Table) -> Value:
    """Return the 99th percentile of the queueing delay."""
    return _delay_percentile(t, 0.99)


@metric(
    "p999_delay_s",
    "99.9th-percentile delay",
    "s",
    "queue",
    formula="99.9th percentile of the histogram of delays, " + INSIDE,
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def p999_delay(t: Table) -> Value:
    """Return the 99.9th percentile of the queueing delay."""
    return _delay_percentile(t, 0.999)


@metric(
    "max_delay_s",
    "maximum delay",
    "s",
    "queue",
    formula="largest queueing delay",
    source="RFC 7928, 2.6",
    better="lower",
    display=MILLISECONDS,
    needs_packets=True,
)
def max_delay(t: Table) -> Value:
    """Return the largest queueing delay."""
    largest = t.queue.get("delay_max_ns")
    return None if largest is None or t.queue["departures"] == 0 else largest / 1e9


def _delay_percentile(t: Table, share: float) -> Value:
    edges = numbers(t.queue["delay_edges_ns"], TYPES["queue"]["delay_edges_ns"])
    counts = numbers(t.queue["delay_counts"], TYPES["queue"]["delay_counts"])
    value = percentile(edges, counts, share, t.queue.get("delay_max_ns"))
    return None if value is None else value / 1e9


@metric(
    "mean_drop_run",
    "mean drop run",
    "packets",
    "queue",
    formula="mean length of runs of drops of consecutive arrivals, any flow",
    source="Iannaccone, May, Diot: Aggregate traffic performance with active queue management",
    better="lower",
    needs_packets=True,
)
def mean_drop_run(t: Table) -> Value:
    """Return the mean number of consecutive arrivals that were dropped."""
    lengths = numbers(t.queue["run_lengths"], TYPES["queue"]["run_lengths"])
    counts = numbers(t.queue["run_counts"], TYPES["queue"]["run_counts"])
    return ratio(sum(n * k for n, k in zip(lengths, counts, strict=True)), sum(counts))


@metric(
    "idle_share",
    "idle share",
    "",
    "queue",
    formula="time without a packet in transmission / window",
    source="definition",
    better="lower",
    display=PERCENT,
)
def idle_share(t: Table) -> Value:
    """Return the share of time in which the link was idle."""
    return ratio(t.queue["idle_ns"], t.seconds * 1e9)


def bucket_width(edge: int) -> int:
    """Return the width of the delay bucket that starts at `edge` ns: 1, or edge / 64 rounded to a power."""
    return 1 << max(0, edge.bit_length() - 7)


def percentile(edges: list[int], counts: list[int], share: float, largest: float | None = None) -> Value:
    """Return the value that `share` of the counts do not exceed: linear inside its bucket, or its only value.

    It is at most `largest`, if that is known.

    Examples
    --------
    >>> percentile([0, 2048], [9, 1], 0.9), percentile([0, 2048], [9, 1], 1.0)
    (0.0, 2080.0)
    """
    total = sum(counts)
    wanted, below = share * total, 0
    for edge, count in zip(edges, counts, strict=True):
        if below + count >= wanted and count:
            width = bucket_width(edge)
            value = float(edge) if width == 1 else edge + width * (wanted - below) / count
            return value if largest is None else min(value, float(largest))
        below += count
    return None
