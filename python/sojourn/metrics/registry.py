"""The only place of formulas: each metric with unit, formula and source, for every world.

A metric reads one record over [warm-up, end]. What cannot be known is None, never 0. Sums are exact
(``math.fsum``), so the order of flows never moves a bit. Metrics of queues are about the measured queue;
the other queues have them too, under ``queues.NAME.``, and the traffic classes at it some of them, under
``classes.NUMBER.``; metrics of flows exist for all traffic through the
measured queue, for each traffic by name (``ftp.goodput_bps``) and for each transport (``tcp.drop_ratio``).
Metrics of series (a queue over time) are in ``sojourn.metrics.timeseries``.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn.metrics.tables import Table, classes, groups, spans, whole
from sojourn.record import TYPES, UNFINISHED, UNKNOWN, Record, numbers

Value = float | None
Metrics = dict[str, Value]

#: The files with the formulas.
FORMULAS = ("registry.py", "tables.py")
#: What is known of each traffic class at the measured queue, as ``classes.NUMBER.METRIC``.
PER_CLASS = (
    "throughput_bps",
    "arrivals",
    "drops",
    "marks",
    "drop_ratio",
    "mark_ratio",
    "mean_queue_packets",
    "mean_delay_s",
)


@dataclass(frozen=True)
class Metric:
    """One statistic.

    Attributes
    ----------
    scope : str
        ``queue`` (a queue's own), ``flows`` (of a set of flows), ``tcp`` (of TCP flows), ``endless`` (of
        endless TCP flows), ``objects`` (of finite transfers) or ``pages`` (of web traffic).
    better : str
        ``higher``, ``lower``, or nothing where neither is.
    """

    name: str
    unit: str
    formula: str
    source: str
    scope: str
    better: str
    read: Callable[[Table], Value]

    def compute(self, record: Record) -> Value:
        """Return the metric of all traffic through the measured queue."""
        return self.read(whole(record))


METRICS: dict[str, Metric] = {}


def _metric(
    name: str, unit: str, scope: str, formula: str, source: str, better: str = ""
) -> Callable[[Callable[[Table], Value]], Callable[[Table], Value]]:
    def add(read: Callable[[Table], Value]) -> Callable[[Table], Value]:
        METRICS[name] = Metric(name, unit, formula, source, scope, better, read)
        return read

    return add


def _ratio(part: float, whole: float) -> Value:
    return part / whole if whole > 0 else None


def _total(values: list[int]) -> Value:
    """Return a sum, None if any part of it is not known."""
    return None if UNKNOWN in values else float(sum(values))


@_metric("utilization", "", "queue", "bits sent / integral of the capacity", "RFC 7928, 2.4", "higher")
def _(t: Table) -> Value:
    return _ratio(t.queue["departed_bytes"] * 8, t.queue["capacity_bits"])


@_metric("throughput_bps", "bit/s", "queue", "bits sent / window", "RFC 7928, 2.4", "higher")
def _(t: Table) -> Value:
    return _ratio(t.queue["departed_bytes"] * 8, t.seconds)


@_metric("arrivals", "packets", "queue", "packets offered", "RFC 2309")
def _(t: Table) -> Value:
    return float(t.queue["arrivals"])


@_metric("drops", "packets", "queue", "packets dropped, every cause", "RFC 2309", "lower")
def _(t: Table) -> Value:
    return float(sum(t.queue["drops"]))


@_metric("marks", "packets", "queue", "packets marked CE by this queue, every cause", "RFC 3168")
def _(t: Table) -> Value:
    return float(sum(t.queue["marks"]))


@_metric("drop_ratio", "", "queue", "drops / arrivals", "RFC 7928, 2.2", "lower")
def _(t: Table) -> Value:
    return _ratio(sum(t.queue["drops"]), t.queue["arrivals"])


@_metric("mark_ratio", "", "queue", "marks / arrivals", "RFC 3168")
def _(t: Table) -> Value:
    return _ratio(sum(t.queue["marks"]), t.queue["arrivals"])


@_metric("overflow_ratio", "", "queue", "drops because the buffer was full / arrivals", "RFC 2309", "lower")
def _(t: Table) -> Value:
    return _ratio(t.queue["drops"][0], t.queue["arrivals"])


@_metric(
    "mean_queue_packets", "packets", "queue", "time average of waiting packets", "RFC 7928, 2.5", "lower"
)
def _(t: Table) -> Value:
    return _ratio(t.queue["packet_ns"], t.seconds * 1e9)


@_metric(
    "std_queue_packets",
    "packets",
    "queue",
    "sqrt(time average of squared waiting packets - mean squared)",
    "definition of the standard deviation over time",
    "lower",
)
def _(t: Table) -> Value:
    window = t.seconds * 1e9
    if window <= 0:
        return None
    mean = t.queue["packet_ns"] / window
    return math.sqrt(max(0.0, t.queue["packet_squared_ns"] / window - mean * mean))


@_metric("mean_queue_bytes", "B", "queue", "time average of waiting bytes", "RFC 7928, 2.5", "lower")
def _(t: Table) -> Value:
    return _ratio(t.queue["byte_ns"], t.seconds * 1e9)


@_metric("max_queue_packets", "packets", "queue", "most packets that ever waited", "RFC 7928, 2.5", "lower")
def _(t: Table) -> Value:
    return float(t.queue["max_packets"])


@_metric("mean_delay_s", "s", "queue", "mean of (start of service - arrival)", "RFC 7928, 2.5", "lower")
def _(t: Table) -> Value:
    return _ratio(t.queue["delay_sum_ns"] / 1e9, t.queue["departures"])


@_metric(
    "std_delay_s",
    "s",
    "queue",
    "sqrt(mean of squared delays - mean squared)",
    "definition of the standard deviation over packets",
    "lower",
)
def _(t: Table) -> Value:
    n = t.queue["departures"]
    if n == 0:
        return None
    mean = t.queue["delay_sum_ns"] / n
    return math.sqrt(max(0.0, t.queue["delay_squared_ns"] / n - mean * mean)) / 1e9


@_metric(
    "p99_delay_s",
    "s",
    "queue",
    "99th percentile of the histogram of delays, linear inside a bucket "
    "(at most 1/64 wide; exact below 128 ns)",
    "RFC 7928, 2.5",
    "lower",
)
def _(t: Table) -> Value:
    edges = numbers(t.queue["delay_edges_ns"], TYPES["queue"]["delay_edges_ns"])
    counts = numbers(t.queue["delay_counts"], TYPES["queue"]["delay_counts"])
    value = percentile(edges, counts, 0.99)
    return None if value is None else value / 1e9


@_metric(
    "mean_drop_run",
    "packets",
    "queue",
    "mean length of runs of drops of consecutive arrivals, any flow",
    "Iannaccone, May, Diot: Aggregate traffic performance with active queue management",
    "lower",
)
def _(t: Table) -> Value:
    lengths = numbers(t.queue["run_lengths"], TYPES["queue"]["run_lengths"])
    counts = numbers(t.queue["run_counts"], TYPES["queue"]["run_counts"])
    return _ratio(sum(n * k for n, k in zip(lengths, counts, strict=True)), sum(counts))


@_metric("idle_share", "", "queue", "time without a packet in transmission / window", "definition", "lower")
def _(t: Table) -> Value:
    return _ratio(t.queue["idle_ns"], t.seconds * 1e9)


@_metric(
    "goodput_bps",
    "bit/s",
    "flows",
    "payload bits that reached receivers for the first time / window",
    "RFC 7928, 2.3",
    "higher",
)
def _(t: Table) -> Value:
    return _ratio(sum(t.flows["goodput_bytes"]) * 8, t.seconds)


@_metric("timeouts", "", "tcp", "retransmission timers that expired", "RFC 6298", "lower")
def _(t: Table) -> Value:
    return _total(t.flows["timeouts"]) if t.has_tcp else None


@_metric("retransmit_ratio", "", "tcp", "retransmitted / sent packets", "RFC 5681", "lower")
def _(t: Table) -> Value:
    again, sent = (_total(t.flows[name]) for name in ("retransmitted_packets", "sent_packets"))
    return None if again is None or sent is None else _ratio(again, sent)


@_metric(
    "jain_index",
    "",
    "endless",
    "(sum x)^2 / (n sum x^2), x = goodput of each endless TCP flow",
    "Jain, Chiu, Hawe: DEC-TR-301, 1984",
    "higher",
)
def _(t: Table) -> Value:
    x = [float(g) for g, endless in zip(t.flows["goodput_bytes"], t.endless, strict=True) if endless]
    return _ratio(math.fsum(x) ** 2, len(x) * math.fsum(v * v for v in x))


def _times(rows: Mapping[str, list[int]]) -> list[float]:
    """Return how long each row that has an end took, in order of size."""
    pairs = zip(rows["start_ns"], rows["end_ns"], strict=True)
    return sorted((end - start) / 1e9 for start, end in pairs if end != UNFINISHED)


def _mean(values: list[float]) -> Value:
    return _ratio(math.fsum(values), len(values))


def quantile(values: list[float], share: float) -> Value:
    """Return the quantile of sorted values, linear between ranks; None of nothing."""
    if not values:
        return None
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


@_metric(
    "completion_time_mean_s",
    "s",
    "objects",
    "mean of (end - start) of the transfers that started in the window and finished; end: last byte "
    "acknowledged (an object of a page: at the client), start: first packet (a page's object: its request)",
    "RFC 7928, 2.1",
    "lower",
)
def _(t: Table) -> Value:
    return _mean(_times(t.objects))


@_metric("completion_time_max_s", "s", "objects", "largest completion time", "RFC 7928, 2.1", "lower")
def _(t: Table) -> Value:
    return max(_times(t.objects), default=None)


def _percentile_of(scope: str, name: str, what: str, source: str, percent: int) -> None:
    @_metric(
        f"{name}_p{percent}_s",
        "s",
        scope,
        f"{percent}th percentile of {what}, linear between ranks",
        source,
        "lower",
    )
    def _(t: Table) -> Value:
        return quantile(_times(t.objects if scope == "objects" else t.pages), percent / 100)


for _percent in (50, 95, 99):
    _percentile_of("objects", "completion_time", "completion times", "RFC 7928, 2.1", _percent)


@_metric(
    "active_transfers",
    "",
    "objects",
    "time average of transfers under way: sum of the parts of them in the window / window",
    "definition",
)
def _(t: Table) -> Value:
    begin, end = t.record.data["window"]
    parts = (max(0, min(stop, end) - max(start, begin)) for start, stop in spans(t, "objects"))
    return _ratio(sum(parts), end - begin)


@_metric("completed", "", "objects", "transfers that started in the window and finished", "definition")
def _(t: Table) -> Value:
    return float(len(_times(t.objects)))


@_metric("unfinished", "", "objects", "transfers that started in the window, end unknown", "definition")
def _(t: Table) -> Value:
    return float(len(t.objects["end_ns"]) - len(_times(t.objects)))


@_metric(
    "page_time_mean_s",
    "s",
    "pages",
    "mean of (last byte of the last object at the client - first request) of the pages that were asked for "
    "in the window and came",
    "Feldmann, Gilbert, Huang, Willinger: Dynamics of IP traffic, SIGCOMM 1999",
    "lower",
)
def _(t: Table) -> Value:
    return _mean(_times(t.pages))


@_metric("page_time_max_s", "s", "pages", "largest page time", "as page_time_mean_s", "lower")
def _(t: Table) -> Value:
    return max(_times(t.pages), default=None)


for _percent in (50, 95, 99):
    _percentile_of("pages", "page_time", "page times", "as page_time_mean_s", _percent)


@_metric("pages_completed", "", "pages", "pages that were asked for in the window and came", "definition")
def _(t: Table) -> Value:
    return float(len(_times(t.pages)))


@_metric(
    "pages_unfinished", "", "pages", "pages that were asked for in the window, end unknown", "definition"
)
def _(t: Table) -> Value:
    return float(len(t.pages["end_ns"]) - len(_times(t.pages)))


def bucket_width(edge: int) -> int:
    """Return the width of the delay bucket that starts at `edge` ns: 1, or edge / 64 rounded to a power."""
    return 1 << max(0, edge.bit_length() - 7)


def percentile(edges: list[int], counts: list[int], share: float) -> Value:
    """Return the value that `share` of the counts do not exceed: linear inside its bucket, or its only value.

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
            return float(edge) if width == 1 else edge + width * (wanted - below) / count
        below += count
    return None


def compute(record: Record) -> Metrics:
    """Return every metric of a record by its full name, in the order of tables."""
    everything = whole(record)
    values = {
        name: metric.read(everything)
        for name, metric in METRICS.items()
        if metric.scope not in ("objects", "pages")
    }
    for group, traffic in groups(record).items():
        for name, value in _group(whole(record, traffic)).items():
            values[f"{group}.{name}"] = value
    for number, counters in classes(record.queues[0]).items():
        table = replace(everything, queue=counters)
        for name in PER_CLASS:
            values[f"classes.{number}.{name}"] = METRICS[name].read(table)
    for queue in record.queues[1:]:
        table = replace(everything, queue=queue)
        for name, metric in METRICS.items():
            if metric.scope == "queue":
                values[f"queues.{queue['name']}.{name}"] = metric.read(table)
    return values


def _group(table: Table) -> dict[str, Value]:
    """Return the metrics of one group of flows; ratios are about what the measured queue saw of them."""
    arrivals = sum(table.flows["queue_arrivals"])
    drops, marks = sum(table.flows["queue_drops"]), sum(table.flows["queue_marks"])
    values: dict[str, Value] = {
        "arrivals": float(arrivals),
        "drops": float(drops),
        "marks": float(marks),
        "drop_ratio": _ratio(drops, arrivals),
        "mark_ratio": _ratio(marks, arrivals),
    }
    scopes = {"flows"}
    scopes |= {"tcp"} if table.has_tcp else set()
    scopes |= {"endless"} if "tcp" in table.kinds else set()
    scopes |= {"objects"} if table.kinds & {"tcp_short", "web"} else set()
    scopes |= {"pages"} if "web" in table.kinds else set()
    values.update({name: metric.read(table) for name, metric in METRICS.items() if metric.scope in scopes})
    return values


def find(name: str) -> Metric | None:
    """Return the metric behind a full name: ``ftp.goodput_bps`` is ``goodput_bps``."""
    return METRICS.get(name) or METRICS.get(name.rpartition(".")[2])


@functools.cache
def metrics_version() -> str:
    """Return a hash of the formulas: stored metrics of others are computed again."""
    folder = Path(__file__).parent
    content = b"".join((folder / name).read_bytes() for name in FORMULAS)
    return hashlib.sha256(content).hexdigest()[:12]
