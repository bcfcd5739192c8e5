"""Measures of each run: the paper's metrics (its Table 1), and the properties of its figures.

Metrics have the names and units of ``published.csv`` and cover the whole run. Response times are those of
completed pages; a page that is incomplete at the end of the run has none. A comment beside each formula
states the wording that it quantifies ("the queue is nearly empty while the probability stays high").
"""

from __future__ import annotations

import hashlib
from importlib import resources

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn import _core
from sojourn.record import Record

Values = dict[str, float | None]
Floats = NDArray[np.float64]

#: Buffer of every queue, packets.
BUFFER = 120
#: The window of Fig. 4, and the averaging time of its load: that of Q_avg, tau / w_q.
FIG4, SMOOTHING = (80.0, 100.0), 1.0
#: Fig. 8's target.
TARGET = 1.6


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    values = _table1(record)
    series = record.series()
    if series.height:
        name = _core.spec_info(str(record.queues[0]["spec"]))["name"]
        values |= PICTURES.get(name, lambda _series, _record: {})(series, record)
    return values


def _table1(record: Record) -> Values:
    """Return the metrics of Table 1: of web traffic, of UDP, of FTP, and of all packets."""
    flows = record.flows
    web = {one["name"] for one in record.traffic if one["kind"] == "web"}
    kind = (
        pl.when(pl.col("traffic").is_in(web))
        .then(pl.lit("http"))
        .otherwise(pl.col("traffic").replace({"cbr": "udp"}))
    )
    rows = {
        str(row["kind"]): row
        for row in flows.group_by(kind.alias("kind"))
        .agg(
            pl.col("sent_packets", "dropped_packets", "received_packets", "goodput_bytes", "delay_ns").sum(),
            pl.col("delay_max_ns").max(),
        )
        .iter_rows(named=True)
    }
    values: Values = {}
    for name, row in rows.items():
        values[f"throughput_{name}"] = row["goodput_bytes"] * 8 / record.seconds / 1e6
        values[f"drop_ratio_{name}"] = _ratio(100 * row["dropped_packets"], row["sent_packets"])
        values[f"{name}_delay_mean"] = _ratio(row["delay_ns"] / 1e9, row["received_packets"])
        values[f"{name}_delay_max"] = row["delay_max_ns"] / 1e9 if row["received_packets"] else None
    dropped, sent = (sum(row[name] for row in rows.values()) for name in ("dropped_packets", "sent_packets"))
    values["drop_ratio_total"] = _ratio(100 * dropped, sent)
    if web:
        values |= _pages(record)
    return values


def _pages(record: Record) -> Values:
    times = record.pages["response_time_s"]
    came = times.drop_nulls()
    return {
        "http_response_time_mean": float(came.mean()) if len(came) else None,  # type: ignore[arg-type]
        "http_response_time_max": float(came.max()) if len(came) else None,  # type: ignore[arg-type]
        "http_unfinished": _ratio(100 * times.null_count(), len(times)),
    }


def _blue(series: pl.DataFrame, _record: Record) -> Values:
    """Count the changes of p_m: up with a full queue, down with an empty one.

    A transmission takes 80 ms and samples are 5 ms apart: a queue that was full when p_m changed has lost at
    most one packet at the next sample. The queue of an idle link is empty at the next or the previous sample.
    """
    p, queue = _column(series, "p"), _column(series, "queue_packets")
    step, before = np.diff(p), queue[:-1]
    up, down = step > 0, step < 0
    return {
        "rises": float(up.sum()),
        "falls": float(down.sum()),
        "rises_below_full": float((queue[1:][up] < BUFFER - 1).sum()),
        "falls_not_idle": float((np.minimum(before, queue[1:])[down] > 0).sum()),
    }


def _red(series: pl.DataFrame, _record: Record) -> Values:
    """Fraction of time with a queue below 5 % of the buffer and p above half of its maximum."""
    p, queue = _column(series, "p"), _column(series, "queue_packets")
    odd = (queue < 0.05 * BUFFER) & (p > 0.5 * p.max())
    return {"empty_while_p_high": float(odd.mean()), "p_max": float(p.max())}


def _ldc(series: pl.DataFrame, record: Record) -> Values:
    """Load against probability (Fig. 4), and queueing delay against the target (Fig. 8)."""
    rate = record.queues[0]["capacity_bits"] / record.seconds
    queue, average = (_column(series, name) * 8 / rate for name in ("queue_bytes", "q_avg"))
    time, p, load = _column(series, "time_s"), _column(series, "p"), smoothed(series, "r_avg")
    late = (time > FIG4[0]) & (time <= FIG4[1])
    return {
        "queueing_delay_max": float(queue.max()),
        "averaged_delay_max": float(average.max()),
        "queueing_delay_above_target": float((queue > TARGET).mean()),
        "averaged_delay_above_target": float((average > TARGET).mean()),
        "load_high_while_p_low": float(
            (late & (load > 1.2) & (p < 0.25 * p.max())).sum() / max(1, late.sum())
        ),
        "p_high_while_load_low": float(
            (late & (load <= 1.0) & (p > 0.75 * p.max())).sum() / max(1, late.sum())
        ),
    }


def smoothed(series: pl.DataFrame, name: str, seconds: float = SMOOTHING) -> Floats:
    """Return the mean of a column over the `seconds` before each sample (fewer at the start)."""
    values, time = _column(series, name), _column(series, "time_s")
    width = max(1, round(seconds / time[0]))
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - width)
    means: Floats = (total[ends] - total[starts]) / (ends - starts)
    return means


def _zombies(series: pl.DataFrame, _record: Record) -> Values:
    return {"zombies_max": float(_column(series, "zombies").max())}


def _active(series: pl.DataFrame, _record: Record) -> Values:
    return {"n_active_max": float(_column(series, "n_active").max())}


#: Functions of the samples of a run, by algorithm.
PICTURES = {"blue": _blue, "red": _red, "ldc": _ldc, "sred": _zombies, "fred": _active}


def _column(series: pl.DataFrame, name: str) -> Floats:
    return series[name].to_numpy().astype(np.float64)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def version() -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    content = (resources.files(__package__) / "measures.py").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
