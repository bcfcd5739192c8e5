"""The data of figures that the script of a page draws: curves, metrics of every run.

A page has at most `DATA` bytes of data: if all seeds do not fit, it has the first ones (`in_words`).
The types are in `web/src/report/types.ts`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sojourn.metrics import display, label, shown
from sojourn.plots.theme import mirrored, styles

#: Bytes of data that a page may have; together with its static figures it stays below 2 MB.
DATA = 1_000_000
#: Points of a curve, and bytes that one takes.
POINTS, BYTES = 500, 6
#: Flows with curves of their own.
FLOWS = 8
#: Drops of a run that are drawn one by one.
MOST_DROPS = 2_000
#: Quantities of the queue's samples: name, label, unit; those in `COUNTS` are rates.
QUEUE = (
    ("queue_packets", "queue, mean", "packets"),
    ("largest", "queue, largest sample", "packets"),
    ("departed_bytes", "throughput", "Mbit/s"),
    ("drops", "drops", "packets/s"),
    ("marks", "marks", "packets/s"),
)
COUNTS = {"departed_bytes": 8e-6, "drops": 1.0, "marks": 1.0}

Live = dict[str, Any]


def compressed(live: Live | str) -> str:
    """Return the data as base64 of compressed JSON, as `web/src/report/data.ts` reads it."""
    return base64.b64encode(gzip.compress(_json(live).encode(), mtime=0)).decode()


def embedded(frames: list[Live | None]) -> str:
    """Return the frames of a picture as JSON for an attribute in single quotes."""
    return _json(frames).replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def lines(specs: Sequence[str]) -> list[dict[str, Any]]:
    """Return names and looks of algorithms."""
    return [line(look.title, look.colour, look.dash) for look in styles(list(specs)).values()]


def line(name: str, colour: str, dash: Sequence[float] = ()) -> dict[str, Any]:
    """Return one line; its colour on a dark page has the lightness mirrored."""
    return {"name": name, "colour": colour, "dark": mirrored(colour), "dash": list(dash)}


def rounded(values: Any, digits: int = 4) -> list[float | int | None]:
    """Return numbers with some significant digits, None for those that are unknown."""
    found: list[float | int | None] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        if not np.isfinite(value):
            found.append(None)
            continue
        short = float(f"{value:.{digits}g}")
        found.append(int(short) if short.is_integer() and abs(short) < 1e6 else short)
    return found


def fitting(seeds: Sequence[int], curves: int, share: float = 1.0) -> list[int]:
    """Return the seeds, of which each has `curves` curves, that fit into a share of the page's data."""
    most = int(share * DATA / max(1, curves * POINTS * BYTES))
    return list(seeds[: max(1, most)])


def in_words(kept: Sequence[int], seeds: Sequence[int]) -> str:
    """Return what the page leaves out."""
    if len(kept) == len(seeds):
        return ""
    return f" The page has the first {len(kept)} of {len(seeds)} seeds here; the folder has all."


def curves(
    x: Any,
    x_label: str,
    drawn: Sequence[dict[str, Any]],
    quantities: Sequence[dict[str, Any]],
    seeds: Sequence[int] = (),
    **more: Any,
) -> Live:
    """Return curves over a common axis; `more` replaces the defaults of the axes."""
    base = {"time": False, "logX": False, "logY": False, "warmup": None}
    return {
        "kind": "curves",
        "x": [float(f"{one:.6g}") for one in np.asarray(x, dtype=np.float64).tolist()],
        "xLabel": x_label,
        "seeds": list(seeds),
        "lines": list(drawn),
        "quantities": list(quantities),
        **base,
        **more,
    }


def means(frame: pl.DataFrame, x: str, by: str, metrics: Sequence[str], *, x_label: str, log_x: bool) -> Live:
    """Return means with their 95 % intervals over a quantity, in displayed units.

    Parameters
    ----------
    frame
        Columns `x`, `by`, and ``NAME`` and ``NAME_ci95`` of each metric.
    x, by
        The quantity, and the column of specs or of names that begin with that of an algorithm.
    metrics
        The metrics, of which the page shows one.
    x_label, log_x
        Name and scale of the axis.
    """
    names = list(dict.fromkeys(frame[by].to_list()))
    places = frame[x].unique().sort().to_list()
    quantities = []
    for name in metrics:
        unit = display(name)
        each = []
        for one in names:
            rows = frame.filter(pl.col(by) == one).select(x, name, f"{name}_ci95").iter_rows()
            known = {at: (mean, half or 0.0) for at, mean, half in rows if mean is not None}
            found = [known.get(at, (float("nan"), 0.0)) for at in places]
            mean, half = (unit.factor * np.asarray(column) for column in zip(*found, strict=True))
            ends = {"mean": mean, "low": mean - half, "high": mean + half}
            each.append({end: rounded(values, 6) for end, values in ends.items()})
        quantities.append({"label": label(name), "unit": unit.unit, "means": each})
    return curves(places, x_label, lines(names), quantities, logX=log_x)


def grid(end: float, samples: int = POINTS) -> tuple[np.ndarray[Any, Any], float]:
    """Return the ends of equal parts of the time to `end`, and their length.

    There are not more parts than samples, so that each has one: a gap in a curve is a gap in the samples.
    """
    points = max(1, min(POINTS, samples))
    step = end / points
    return (np.arange(points) + 1) * step, step


def binned(time: Any, values: Any, ends: Any, how: str = "mean") -> np.ndarray[Any, Any]:
    """Return mean, sum or largest value of the samples in each part of a `grid`; NaN where there is none."""
    points, end = len(ends), float(ends[-1])
    times, wanted = np.asarray(time, dtype=np.float64), np.asarray(values, dtype=np.float64)
    at = np.clip(np.ceil(times / end * points - 1e-9).astype(np.int64) - 1, 0, points - 1)
    known = np.isfinite(wanted)
    at, wanted = at[known], wanted[known]
    if how == "max":
        found = np.full(points, -np.inf)
        np.maximum.at(found, at, wanted)
        return np.where(np.isfinite(found), found, np.nan)
    sums, counts = np.bincount(at, wanted, points), np.bincount(at, minlength=points)
    if how == "sum":
        return np.asarray(sums)
    found = np.full(points, np.nan)
    np.divide(sums, counts, out=found, where=counts > 0)
    return found


def _floats(values: pl.Series) -> pl.Series:
    return values.cast(pl.Float64).fill_null(float("nan"))


def _held(at: pl.DataFrame, changes: pl.DataFrame, seed: int) -> pl.Series:
    """Return the window at some times: that of the last change before."""
    return at.join_asof(changes.filter(pl.col("seed") == seed), on="time_s")["cwnd"]


def over_time(
    trace: pl.DataFrame,
    specs: Sequence[str],
    seeds: Sequence[int],
    probes: Mapping[str, Sequence[tuple[str, str]]],
    warmup: float | None,
    drops: pl.DataFrame | None = None,
) -> tuple[Live, list[int]] | None:
    """Return the samples of the measured queue of all runs; None if they are too few for curves.

    Parameters
    ----------
    trace
        As ``Results.trace("queue")`` returns it.
    specs, seeds
        The runs.
    probes
        For each algorithm, names and units of its state.
    warmup
        Its end, s.
    drops
        As ``Results.trace("drops")`` returns it, if recorded.

    Returns
    -------
    Live, list of int
        The data, and the seeds in them.
    """
    end = float(trace["time_s"].max() or 0.0)  # type: ignore[arg-type]
    if not end or trace.height < 2:
        return None
    known = [one for one in QUEUE if one[0] in trace.columns or one[0] == "largest"]
    known = [one for one in known if one[0] not in COUNTS or trace[one[0]].sum()]
    state = [(spec, *one) for spec in specs for one in probes.get(spec, ())]
    kept = fitting(seeds, len(specs) * len(known) + len(state), 0.6)
    runs = trace.filter(pl.col("seed").is_in(kept)).partition_by("aqm", "seed", as_dict=True)
    x, step = grid(end, max(frame.height for frame in runs.values()))

    def values(spec: str, seed: int, name: str) -> list[float | int | None]:
        frame = runs[spec, seed]
        if name in COUNTS:
            return rounded(binned(frame["time_s"], frame[name], x, "sum") * COUNTS[name] / step)
        column, how = ("queue_packets", "max") if name == "largest" else (name, "mean")
        return rounded(binned(frame["time_s"], _floats(frame[column]), x, how))

    quantities: list[dict[str, Any]] = [
        {
            "label": title,
            "unit": unit,
            "runs": [[values(spec, seed, name) for seed in kept] for spec in specs],
        }
        for name, title, unit in known
    ]
    titles = {spec: look.title for spec, look in styles(list(specs)).items()}
    for spec, name, unit in state:
        own = [[values(one, seed, name) for seed in kept] if one == spec else None for one in specs]
        quantities.append({"label": f"{titles[spec]}: {name}", "unit": unit, "runs": own})
    more: dict[str, Any] = {"time": True, "warmup": warmup}
    if drops is not None and drops.height:
        times = drops.partition_by("aqm", "seed", as_dict=True)
        more["drops"] = [
            [
                rounded(times[spec, seed]["time_s"][:MOST_DROPS]) if (spec, seed) in times else []
                for seed in kept
            ]
            for spec in specs
        ]
    return curves(x, "time (s)", lines(specs), quantities, kept, **more), kept


#: Colours of flows, which have no meaning of their own.
PALETTE = ("#2766d8", "#c4572b", "#0a6728", "#7b3fb5", "#a08040", "#b93182", "#017880", "#5f6873")


def windows(
    changes: pl.DataFrame, specs: Sequence[str], seeds: Sequence[int], warmup: float | None, end: float
) -> tuple[Live, list[int], int] | None:
    """Return the congestion windows of the first flows; the data, the seeds and the number of flows."""
    if not changes.height:
        return None
    flows = changes["flow"].unique().sort().to_list()
    shown_flows = flows[:FLOWS]
    kept = fitting(seeds, len(specs) * len(shown_flows), 0.25)
    x, _ = grid(end)
    at = pl.DataFrame({"time_s": x})
    charts = []
    for spec in specs:
        own = changes.filter(pl.col("aqm") == spec)
        runs: list[list[list[float | int | None]]] = []
        for flow in shown_flows:
            each = own.filter(pl.col("flow") == flow)
            ordered = each.select("seed", "time_s", "cwnd").sort("time_s")
            runs.append([rounded(_floats(_held(at, ordered, seed))) for seed in kept])
        looks = [line(f"flow {flow}", PALETTE[i % len(PALETTE)]) for i, flow in enumerate(shown_flows)]
        quantity = {"label": "congestion window", "unit": "packets", "runs": runs}
        charts.append(curves(x, "time (s)", looks, [quantity], kept, time=True, warmup=warmup))
    names = [look.title for look in styles(list(specs)).values()]
    return {"kind": "choices", "label": "Algorithm", "names": names, "charts": charts}, kept, len(flows)


def rates(
    samples: pl.DataFrame, specs: Sequence[str], seeds: Sequence[int], warmup: float | None, end: float
) -> tuple[Live, list[int], int] | None:
    """Return rate, window and round-trip time of the first flows, if the scenario sampled flows."""
    if not samples.height:
        return None
    flows = samples.select("flow", "traffic", "index").unique().sort("flow").rows()
    shown_flows = flows[:FLOWS]
    known = [
        (name, title, unit, factor)
        for name, title, unit, factor in (
            ("goodput_bps", "goodput", "Mbit/s", 1e-6),
            ("cwnd", "congestion window", "packets", 1.0),
            ("rtt_s", "smoothed round-trip time", "ms", 1e3),
        )
        if name in samples.columns and samples[name].drop_nulls().drop_nans().len()
    ]
    kept = fitting(seeds, len(specs) * len(shown_flows) * len(known), 0.25)
    x, _ = grid(end, samples["time_s"].n_unique())
    charts = []
    looks = [
        line(f"{name} {index}", PALETTE[i % len(PALETTE)]) for i, (_, name, index) in enumerate(shown_flows)
    ]
    for spec in specs:
        runs = samples.filter((pl.col("aqm") == spec) & pl.col("seed").is_in(kept)).partition_by(
            "flow", "seed", as_dict=True
        )
        empty = samples.clear()
        quantities = [
            {
                "label": title,
                "unit": unit,
                "runs": [
                    [
                        rounded(binned(own["time_s"], _floats(own[name]), x) * factor)
                        for own in (runs.get((flow, seed), empty) for seed in kept)
                    ]
                    for flow, _, _ in shown_flows
                ],
            }
            for name, title, unit, factor in known
        ]
        charts.append(curves(x, "time (s)", looks, quantities, kept, time=True, warmup=warmup))
    names = [look.title for look in styles(list(specs)).values()]
    return {"kind": "choices", "label": "Algorithm", "names": names, "charts": charts}, kept, len(flows)


def delays(frame: pl.DataFrame, specs: Sequence[str], seeds: Sequence[int]) -> tuple[Live, list[int]]:
    """Return the fraction of packets with at least a delay, of every run, from its histogram."""
    own = frame.filter(pl.col("count") > 0)
    kept = fitting(own["seed"].unique().sort().to_list() or seeds, len(specs), 0.15)
    most = float(own["delay_s"].max() or 1e-3)  # type: ignore[arg-type]
    x = np.linspace(0, most, 301)
    runs = []
    for spec in specs:
        each = []
        for seed in kept:
            rows = own.filter((pl.col("aqm") == spec) & (pl.col("seed") == seed)).sort("delay_s")
            edges, counts = rows["delay_s"].to_numpy(), rows["count"].to_numpy().astype(np.float64)
            after = np.r_[np.cumsum(counts[::-1])[::-1], 0.0]
            share = after[np.searchsorted(edges, x)] / max(1.0, counts.sum())
            each.append(rounded(np.where(share > 0, 100 * share, np.nan)))
        runs.append(each)
    quantity = {"label": "packets with at least this delay", "unit": "%", "runs": runs}
    return curves(1e3 * x, "queueing delay (ms)", lines(specs), [quantity], kept, logY=True), kept


def points(
    runs: pl.DataFrame, specs: Sequence[str], x: str = "mean_delay_s", y: str = "goodput_bps"
) -> Live | None:
    """Return every metric of every run, in displayed units; None if the runs have no metric."""
    wanted = dict.fromkeys((y, x, *shown("comparison"), *shown("summary")))
    names = [*wanted, *(name for name in runs.columns if "." in name and not name.startswith("queues."))]
    names = [name for name in dict.fromkeys(names) if name in runs.columns and runs[name].drop_nulls().len()]
    if not names:
        return None
    seeds = runs["seed"].unique().sort().to_list()[:200]
    found = []
    for name in names[:60]:
        unit = display(name)
        by = {(aqm, seed): value for aqm, seed, value in runs.select("aqm", "seed", name).iter_rows()}
        values = []
        for spec in specs:
            own = [by.get((spec, seed)) for seed in seeds]
            values.append(rounded([np.nan if one is None else unit.factor * one for one in own], 7))
        found.append({"name": name, "label": label(name), "unit": unit.unit, "values": values})
    return {"kind": "points", "seeds": seeds, "lines": lines(specs), "metrics": found, "x": x, "y": y}
