"""Measures of each run: columns A to F of Table 2, and those of other claims.

Windows are the samples, 100 ms as in the paper; only those after the warm-up count. Every formula uses
counters and samples that are available in every world.
"""

from __future__ import annotations

import hashlib
from importlib import resources

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn.record import CAUSES, Record

Values = dict[str, float | None]
Floats = NDArray[np.float64]

#: Columns A to F of Table 2: title and unit.
TABLE2 = {
    "utilisation": ("utilisation", "Mbit/s"),
    "util_std": ("std. dev. of utilisation", "kbit/s"),
    "delay": ("queueing delay", "ms"),
    "delay_std": ("std. dev. of delay", "ms"),
    "drops": ("drops per 100 ms", "packets"),
    "drop_std": ("std. dev. of drops", "packets"),
}
#: "after 120 s": the time at which the virtual capacity is read.
FOUND = 120.0
#: Windows of another reading, in samples.
WIDE = 10


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    queue = record.queues[0]
    lost = dict(zip(CAUSES, queue["drops"], strict=True))
    total, left = sum(lost.values()), queue["departures"]
    mean = queue["delay_sum_ns"] / left if left else None
    values: Values = {
        "utilisation": queue["departed_bytes"] * 8 / record.seconds / 1e6,
        "delay": mean / 1e6 if mean is not None else None,
        "delay_std": max(0.0, queue["delay_squared_ns"] / left - mean**2) ** 0.5 / 1e6 if mean else None,
        "overflow_share": lost["overflow"] / total if total else None,
        "mean_packet": queue["departed_bytes"] / left if left else None,
        "births_per_s": record.objects.filter(pl.col("start_s") >= record.window[0]).height / record.seconds,
    }
    series = record.series()
    counted = series.filter(pl.col("time_s") > record.window[0] + 1e-9)
    return values | (_windows(counted) if counted.height else {})


def _windows(series: pl.DataFrame) -> Values:
    """Return means and deviations over windows of one sample, and deviations over longer windows."""
    step = float(series["time_s"][1] - series["time_s"][0]) if series.height > 1 else 0.1
    rate = _column(series, "departed_bytes") * 8 / step
    drops, arrivals = (_column(series, name) * 0.1 / step for name in ("drops", "arrivals"))
    values: Values = {
        "util_std": _deviation(rate) / 1e3,
        "util_std[1s]": _deviation(_wide(rate)) / 1e3,
        "drops": float(drops.mean()),
        "drop_std": _deviation(drops),
        "drop_std[1s]": _deviation(_wide(drops)),
        "arrivals_100ms": float(arrivals.mean()),
    }
    for name in ("max_p", "v_capacity"):
        if name in series.columns:
            late = series.filter(pl.col("time_s") > FOUND) if name == "v_capacity" else series
            values[name] = float(_column(late, name).mean()) if late.height else None
    return values


def over_time(series: pl.DataFrame) -> pl.DataFrame:
    """Return time, utilisation (Mbit/s), queueing delay (ms) and drops of each sample: Figs. 3 to 5.

    The delay is the mean queue divided by the departure rate (Little's law).
    """
    step = float(series["time_s"][0])
    left = (
        pl.col("arrivals").cast(pl.Int64)
        - pl.col("drops").cast(pl.Int64)
        - pl.col("queue_packets").cast(pl.Int64).diff().fill_null(0)
    )
    return series.select(
        "time_s",
        utilisation=pl.col("departed_bytes") * 8 / step / 1e6,
        delay=pl.when(left > 0).then(pl.col("queue_mean") * step / left * 1e3),
        drops=pl.col("drops").cast(pl.Float64) * 0.1 / step,
    )


def _wide(values: Floats) -> Floats:
    whole = values[: len(values) // WIDE * WIDE]
    means: Floats = whole.reshape(-1, WIDE).mean(axis=1)
    return means


def _deviation(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _column(series: pl.DataFrame, name: str) -> Floats:
    return series[name].to_numpy().astype(np.float64)


def version() -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    content = (resources.files(__package__) / "measures.py").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
