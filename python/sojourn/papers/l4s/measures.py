"""Measures of each run: the queueing delay of each kind of traffic, and the ratio of their rates.

All links but the bottleneck have (nearly) no delay on the way of data, so the queueing delay of a packet is
its one-way delay less the times of transmission of a full packet.
"""

from __future__ import annotations

import hashlib
from importlib import resources

import polars as pl

from sojourn.metrics.queue import percentile
from sojourn.record import Record

Values = dict[str, float | None]

#: Bytes of a full packet, and the rate of the links of hosts.
PACKET, FAST = 1500, 10e9
#: Percentiles of the queueing delay, in the names of measures.
SHARES = {"p50": 0.5, "p99": 0.99}


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics.

    Names begin with that of the traffic: ``l4s_p99`` (ms), ``classic_rate`` (Mbit/s for each flow).
    """
    rate = record.queues[0]["capacity_bits"] / record.seconds
    transmission = PACKET * 8e9 * (1 / rate + 2 / FAST)
    values: Values = {}
    for number, one in enumerate(record.traffic):
        name, rows = one["name"], record.flows.filter(pl.col("traffic") == one["name"])
        values |= _waits(record, number, name, transmission)
        values[f"{name}_rate"] = float(rows["goodput_bps"].sum()) / rows.height / 1e6
        values[f"{name}_losses"] = float(rows["queue_drops"].sum())
        packets = int(rows["received_packets"].sum())
        if one["kind"] == "tcp" and packets:  # web pages have requests, which take the other way
            values[f"{name}_mean"] = (float(rows["delay_ns"].sum()) / packets - transmission) / 1e6
    scalable, classic = values["l4s_rate"], values["classic_rate"]
    if scalable is not None and classic:
        values["ratio"] = scalable / classic
        values["classic_share"] = classic / (scalable + classic)
    return values


def _waits(record: Record, number: int, name: str, transmission: float) -> Values:
    """Return percentiles of the queueing delay of one traffic, ms."""
    table = record.rows("one_way_delays")
    rows = [i for i, traffic in enumerate(table.get("traffic", [])) if traffic == number]
    edges, counts = ([table[key][i] for i in rows] for key in ("edge_ns", "count"))
    values: Values = {}
    for word, share in SHARES.items():
        found = percentile(edges, counts, share)
        values[f"{name}_{word}"] = None if found is None else max(0.0, found - transmission) / 1e6
    return values


def version() -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    content = (resources.files(__package__) / "measures.py").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
