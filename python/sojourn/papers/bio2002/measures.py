"""Measures of each run: the library's metrics, and those over the time windows of the claims.

A window is part of the name: ``queue_std[0,70]`` is the standard deviation over 0 s to 70 s. A comment beside
each formula states the wording of the paper that it quantifies ("oscillates", "is full most of the time").
Fractions of time and extremes are computed from samples, every 10 ms in the cases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import resources

import polars as pl

from sojourn import _core
from sojourn.metrics import timeseries
from sojourn.papers.bio2002 import diffserv
from sojourn.record import CAUSES, Record

Values = dict[str, float | None]

#: The measured window of the cases, and the time in which sources start.
WINDOW, STARTS = (100.0, 200.0), (0.0, 70.0)
#: The bottleneck rate of the three cases; the runs of section 4.2 have another.
CASES_RATE = 10_000_000
#: Tolerance of "empty" and "full" in packets: those that can arrive between two samples.
NEAR = 2


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    if record.plan["topology"]["dumbbell"]["rate"] != CASES_RATE:
        return _drops(record) | diffserv.measure(record)
    info = _core.spec_info(str(record.queues[0]["spec"]))
    limit = float(str(info["limit"]).removesuffix("p"))
    table = record.series()
    values = _drops(record)
    values |= _level(table, limit)
    if info["name"] == "red":
        values |= _red(table, info["values"])
    return values


def _drops(record: Record) -> Values:
    """Return the drops by cause: overflow or the algorithm.

    The paper calls drops by overflow *forced* and those of the algorithm *unforced*. In ns-2, drops of RED
    with the average above ``max_th`` are also forced: the second pair.
    """
    queue = record.queues[0]
    drops = dict(zip(CAUSES, queue["drops"], strict=True))
    total, arrivals = sum(drops.values()), queue["arrivals"]
    forced = drops["overflow"], drops["overflow"] + drops["forced"]
    values: Values = {}
    for name, count in zip(("forced", "forced_ns2"), forced, strict=True):
        values[f"{name}_ratio"] = count / arrivals if arrivals else None
        values[f"{name}_share"] = count / total if total else None
        values[f"un{name}_share"] = (total - count) / total if total else None
    return values


def _level(table: pl.DataFrame, limit: float) -> Values:
    """Return the distribution of the queue length: "oscillates between the limits", "behaves like a drop-tail
    queue".
    """
    queue = _within(table, *WINDOW)["queue_packets"]
    return {
        "queue_empty": _share(queue <= NEAR),
        "queue_full": _share(queue >= limit - NEAR),
        "queue_90": _share(queue >= 0.9 * limit),
        "queue_std[0,70]": timeseries.queue_std(table, *STARTS),
        "queue_std[100,200]": timeseries.queue_std(table, *WINDOW),
    }


def _red(table: pl.DataFrame, settings: dict[str, object]) -> Values:
    """Return the range of RED's average, and the fraction of time with the average at ``max_th`` or above."""
    part = _within(table, *WINDOW)
    average, max_th = part["avg"], float(str(settings["max_th"]).removesuffix("p"))
    swing = [average.max(), average.min()]
    return {
        "avg_swing": _float(swing[0]) - _float(swing[1]) if part.height else None,
        "avg_at_max_th": _share(average >= max_th),
        "p_b_mean": _float(part["p"].mean()) if part.height else None,
    }


def _within(table: pl.DataFrame, start: float, end: float) -> pl.DataFrame:
    return table.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end))


def _share(true: pl.Series) -> float | None:
    return _float(true.mean()) if len(true) else None


def _float(value: object) -> float:
    return float(str(value))


def version(files: Sequence[str] = ("measures.py", "diffserv.py")) -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    here, library = resources.files(__package__), resources.files("sojourn")
    texts = [(here / name).read_bytes() for name in files] + [
        (library / "metrics/timeseries.py").read_bytes()
    ]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
