"""Measures of each run beside the library's metrics: the paper's own (its section 3.1).

Goodput is TCP payload received for the first time, in Mbit/s. N is the number of consecutive drops at the
port, of any flow; P(N > n) is the fraction of such runs that are longer than n.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from itertools import compress

import numpy as np
import polars as pl

from sojourn.record import TYPES, Record, numbers

Values = dict[str, float | None]

#: The n of P(N > n): those of the claims, and further ones for figures.
RUNS = (*range(1, 21), 25, 30, 40, 50, 75, 100, 150, 200)
#: Mean packet of TCP on the wire, and the bottleneck.
PACKET, RATE = 1514, 10_000_000
#: Addition to every round trip under another reading.
FURTHER = 0.1


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    return {**_goodput(record), **_udp(record), **_runs(record), **_average(record), **_lifetime(record)}


def over(n: int) -> str:
    """Return the name of P(N > n)."""
    return f"P(N>{n})"


def _goodput(record: Record) -> Values:
    flows = record.flows.filter(pl.col("transport") == "tcp")
    payload = float(flows["goodput_bytes"].sum()) * 8 / record.seconds / 1e6
    tcp = next(iter(record.plan["traffic"][0]["kind"].values()))
    tcp = tcp.get("tcp", tcp)
    packets = int(flows["received_packets"].sum())
    values: Values = {
        "tcp_goodput": payload,
        "tcp_goodput_wire": payload * (tcp["payload"] + tcp["header"]) / tcp["payload"],
        "pipe_packets": None,
    }
    if packets:
        back = sum(_back(record, i) * n for i, n in flows.select("index", "received_packets").iter_rows())
        trip = (float(flows["delay_ns"].sum()) + back) / packets / 1e9
        values["pipe_packets"] = RATE * trip / 8 / PACKET
        values["pipe_packets_long"] = RATE * (trip + FURTHER) / 8 / PACKET
    return values


def _back(record: Record, index: int) -> int:
    """Return the propagation delay of a flow's acknowledgements, in ns.

    It is 0 in the paper's testbed, where all delay is on the forward path, and in its simulated twin. Real
    hosts form a dumbbell, whose links have the same delay in both directions.
    """
    bell = record.plan["topology"].get("dumbbell")
    if bell is None:
        return 0
    ends = (bell["access"], bell["server"])
    return int(bell["delay"]) + sum(
        int(end["delays"][index % end["nodes"] % len(end["delays"])]) for end in ends
    )


def _udp(record: Record) -> Values:
    """Return UDP's share of the link, and its sources' round-trip times without queueing."""
    flows = record.flows.filter(pl.col("transport") == "udp")
    size = record.plan["traffic"][1]["kind"]["udp_cbr"]["size"]
    queue = record.queues[0]
    waiting = queue["delay_sum_ns"] / queue["departures"]
    ways = [
        (row["delay_ns"] / row["received_packets"] - waiting + _back(record, row["index"])) / 1e6
        for row in flows.iter_rows(named=True)
    ]
    return {
        "udp_share": float(flows["queue_arrivals"].sum()) * size * 8 / record.seconds / RATE,
        "way_least_ms": min(ways),
        "way_most_ms": max(ways),
    }


def _runs(record: Record) -> Values:
    queue = record.queues[0]
    lengths, counts = (numbers(queue[name], TYPES["queue"][name]) for name in ("run_lengths", "run_counts"))
    total = sum(counts)
    longest = max(compress(lengths, counts), default=0)
    shares = {
        over(n): sum(k for length, k in zip(lengths, counts, strict=True) if length > n) / total
        if total
        else None
        for n in RUNS
    }
    return {**shares, "drop_runs": float(total), "longest_run": float(longest)}


def _average(record: Record) -> Values:
    """Return the fraction of the window with RED's average at max_th or above."""
    found = re.search(r"max_th (\d+)p", str(record.queues[0]["spec"]))
    series = record.series()
    if not found or "avg" not in series.columns:
        return {}
    late = series.filter(pl.col("time_s") > record.window[0])
    average = late["avg"].to_numpy().astype(np.float64)
    return {"avg_above_max_th": float((average >= int(found[1])).mean()) if len(average) else None}


def _lifetime(record: Record) -> Values:
    """Return the duration of web transfers by Little's law, which includes those incomplete at the end."""
    if record.plan["traffic"][0]["name"] != "web":
        return {}
    start, end = record.window
    objects = record.objects.select("start_s", pl.col("end_s").fill_null(end))
    inside = pl.col("end_s").clip(start, end) - pl.col("start_s").clip(start, end)
    begun = objects.filter((pl.col("start_s") >= start) & (pl.col("start_s") < end)).height
    under_way = float(objects.select(inside.sum()).item())
    return {"flow_lifetime": under_way / begun if begun else None}


def version() -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    content = (resources.files(__package__) / "measures.py").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
