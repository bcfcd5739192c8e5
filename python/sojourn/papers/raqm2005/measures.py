"""Measures of each run: the library's metrics, and those over the time windows of the claims.

A window is part of the name: ``queue_mean[50,200]`` is the mean over 50 s to 200 s. A time has a companion
metric that is 1 if it was never reached (``response_time_censored``). A comment beside each formula states
the wording of the paper that it quantifies ("holds the queue", "is more stable"). The target q_0 of a run is
read from its own algorithm spec.
"""

from __future__ import annotations

import hashlib
from importlib import resources

import polars as pl

from sojourn import _core
from sojourn.metrics import timeseries
from sojourn.papers.raqm2005.experiments import TARGET
from sojourn.papers.terms import CENSORED
from sojourn.record import Record
from sojourn.stats import deviation, mean

Values = dict[str, float | None]

USUAL_TARGET = 50.0
#: Start and end of the extra traffic of Fig. 9.
ARRIVAL, DEPARTURE = 50.0, 150.0
#: Windows of the mean queue, and of its standard deviation.
MEANS = ((0, 20), (0, 200), (20, 200), (50, 200), (100, 200))
DEVIATIONS = ((20, 200), (50, 200))


def measure(record: Record) -> Values:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    info, table = _core.spec_info(str(record.queues[0]["spec"])), record.series()
    own = TARGET.get(info["name"])  # an added algorithm has none: the default q_0
    target = float(str(info["values"][own]).removesuffix("p")) if own else USUAL_TARGET
    values = _goodput(record)
    values |= _windows(table, target)
    values |= _transient(table, target, any(one["stop"] is not None for one in record.plan["traffic"]))
    if info["name"] == "raqm":
        values |= _probability(table)
    return values


def _goodput(record: Record) -> Values:
    """Goodput of all traffic as a share of the link: the unit of Fig. 8."""
    rate = record.plan["topology"]["dumbbell"]["rate"]
    return {"goodput": sum(record.column("flows", "goodput_bytes")) * 8 / record.seconds / rate}


def _windows(table: pl.DataFrame, target: float) -> Values:
    """Mean and spread of the queue: "holds the queue at q_0", "is more stable"."""
    values: Values = {}
    for start, end in MEANS:
        values[f"queue_mean[{start},{end}]"] = timeseries.queue_mean(table, start, end)
    for start, end in DEVIATIONS:
        values[f"queue_std[{start},{end}]"] = timeseries.queue_std(table, start, end)
        values[f"queue_rms[{start},{end}]"] = timeseries.queue_rms_about(table, target, start, end)
    values["queue_at_ends[50,200]"] = timeseries.queue_at_ends(table, 0, 95, 50, 200)
    values["drop_ratio[100,200]"] = _drop_ratio(table, 100, 200)
    values |= _input_rate(table)
    return values


def _input_rate(table: pl.DataFrame) -> Values:
    """Packets that arrive in a second: "make the input rate close to the expected value", "is stable"."""
    late = table.filter(pl.col("time_s") > 50)
    by_second = late.group_by(second=(pl.col("time_s") - 1e-6).floor()).agg(pl.col("arrivals").sum())
    settled = by_second.filter(pl.col("second") >= 100)["arrivals"].to_list()
    if len(settled) < 2:
        return {"arrivals_per_s[50,200]": None, "arrivals_cv[100,200]": None}
    return {
        "arrivals_per_s[50,200]": mean(by_second["arrivals"].to_list()),
        "arrivals_cv[100,200]": deviation(settled) / mean(settled),
    }


def _transient(table: pl.DataFrame, target: float, disturbed: bool) -> Values:
    """Rise time and overshoot of the queue relative to q_0: from the start, and from each change.

    A recovery from the start of the extra traffic counts as never reached if it lasts beyond its end.
    """
    times = {
        "response_time": timeseries.response_time(table, target),
        "overshoot_duration": timeseries.overshoot_duration(table, target),
    }
    if disturbed:
        before = table.filter(pl.col("time_s") <= DEPARTURE)
        times["recovery_50s"] = timeseries.response_time(before, target, after=ARRIVAL)
        times["recovery_150s"] = timeseries.response_time(table, target, after=DEPARTURE)
    values: Values = {"overshoot": timeseries.overshoot(table, target)}
    for name, reached in times.items():
        values |= {name: reached.value, name + CENSORED: float(reached.censored)}
    return values


def _probability(table: pl.DataFrame) -> Values:
    """RAQM's probability p_k in the second half of the run."""
    late = table.filter(pl.col("time_s") > 100)["p_k"].to_numpy()
    return {
        "p_k_min[100,200]": float(late.min()),
        "p_k_mean[100,200]": float(late.mean()),
        "p_k_at_1[100,200]": float((late >= 1).mean()),
    }


def _drop_ratio(table: pl.DataFrame, start: float, end: float) -> float | None:
    part = table.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end))
    arrivals = int(part["arrivals"].sum())
    return int(part["drops"].sum()) / arrivals if arrivals else None


def version() -> str:
    """Return a hash of the formulas: values stored under another hash are computed again."""
    here, library = resources.files(__package__), resources.files("sojourn")
    files = (here / "measures.py", library / "metrics/timeseries.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


measure.version = version()  # type: ignore[attr-defined]
