"""The figures of the paper, redrawn, and those that its text mentions but does not show.

Every function takes the re-run and returns SVG, or None if the runs that it needs were not made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sojourn import plots
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select
from sojourn.papers.taildrop2001 import printed
from sojourn.papers.taildrop2001.experiments import BUFFER, FTP, MECHANISMS, WEIGHT, WEIGHTS
from sojourn.papers.taildrop2001.experiments import printed as settings
from sojourn.papers.taildrop2001.measures import RUNS, over
from sojourn.plots.canvas import plain_ticks, y_title

#: Mechanisms as specs, which determine their line styles in figures.
SPECS = {"TD": "droptail", "REDstd": "red", "GREDstd": "gred", "REDopt": "REDopt"}


def function() -> str:
    """Draw Fig. 1: RED and gentle RED as computed by the algorithm, with the tabulated points."""
    one = settings()["REDstd", 256]
    averages = list(range(2 * one.buffer + 1))
    lines = [printed.probabilities(gentle, averages) for gentle in ("", printed.GENTLE)]
    x = np.array(averages) / 2
    table = printed.points()
    at = [float(point["avg"].rstrip("p+-")) for point in table]
    return plots.curve(
        np.concatenate([np.append(x, np.nan) for _ in lines]),
        np.concatenate([np.append(line, np.nan) for line in lines]),
        x_label="Average queue (packets)",
        y_label="Drop probability",
        title="Drop functions of RED and gentle RED",
        points=(at * 2, [point[name] for name in ("red", "gred") for point in table]),
        points_label="tabulated",
        vertical=[plots.Rule(one.min_th, "min_th"), plots.Rule(one.max_th, "max_th")],
        marks=[plots.Mark(270, 1.0, "RED", (0, -14)), plots.Mark(270, lines[1][540], "gentle RED", (4, -14))],
        y_limits=(0, 1.1),
    )


def along(
    result: Reproduction,
    experiment: str,
    metric: str,
    y_label: str,
    x_label: str,
    scale: float = 1.0,
    mechanisms: Sequence[str] = MECHANISMS,
    published: Mapping[int, float] | None = None,
) -> str | None:
    """Draw a metric of the mechanisms against the load, with 95 % intervals, and the published values."""
    table = estimates(select(result.metrics, experiment), [metric])
    name, load = (pl.col("arm").str.split(" ").list.get(i) for i in (0, 1))
    frame = table.with_columns(
        mechanism=name,
        curve=name.replace(SPECS),
        load=load.cast(pl.Float64),
        y=pl.col(metric) * scale,
        y_ci95=pl.col(f"{metric}_ci95") * scale,
    ).filter(pl.col("mechanism").is_in(mechanisms))
    if frame.height < 2 or not frame["y"].is_not_null().any():
        return None
    frame = frame.select("curve", "load", "y", "y_ci95")
    if published:
        loads, values = (list(map(float, part)) for part in zip(*published.items(), strict=True))
        rows = {"curve": ["published"] * len(loads), "load": loads, "y": values, "y_ci95": [0.0] * len(loads)}
        frame = pl.concat([frame, pl.DataFrame(rows)])
    return plots.tradeoff(
        frame, x="load", y="y", by="curve", along="load", x_label=x_label, y_label=y_label, height=2.5,
    )  # fmt: skip


def consecutive(result: Reproduction, experiment: str, load: int) -> str | None:
    """Draw P(N > n), means over seeds, on a logarithmic axis (Figs. 3d and 4d)."""
    table = estimates(select(result.metrics, experiment), [over(n) for n in RUNS])
    rows = {str(row["arm"]): row for row in table.iter_rows(named=True)}
    arms = [(name, rows.get(f"{name} {load}")) for name in MECHANISMS]
    looks = plots.styles(list(SPECS.values()))
    with plots.drawing():
        fig = plots.figure(height=2.8)
        axes = fig.subplots()
        for name, row in arms:
            if row is None:
                return None
            look = looks[SPECS[name]]
            known = [(n, float(row[over(n)])) for n in RUNS if row[over(n)]]
            axes.plot(
                [n for n, _ in known], [p for _, p in known], label=look.title, color=look.colour,
                marker=look.marker, markersize=3, markerfacecolor=look.colour if look.filled else "white",
                linewidth=1.2, dashes=look.dash or (None, None),
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
        axes.minorticks_off()
        plain_ticks(axes.yaxis)
        axes.set_xlabel("n (packets lost in a row)")
        y_title(axes, "P(N > n)")
        fig.legend(loc="outside upper right", ncols=4)
        return plots.to_svg(fig, f"Consecutive losses at {load}")


def queues(result: Reproduction, experiment: str, load: int) -> str | None:
    """Draw the queues of all mechanisms over time at a load."""
    arms = {arm.name: arm for arm in result.paper.experiment(experiment).runs(result.selection.quick)}
    parts = []
    for name in MECHANISMS:
        frame = result.campaign.trace(arms[f"{name} {load}"])
        if frame is None:
            return None
        columns = [pl.col("time_s"), pl.col("queue_packets").cast(pl.Float64)]
        parts.append(frame.select(*columns, aqm=pl.lit(SPECS[name])))
    limit = settings()["TD", load].buffer
    title = f"Queues at {load} flows"
    return plots.queue_traces(pl.concat(parts), limit=limit, start=100, end=200, smooth=None, title=title)


def buffers(result: Reproduction, loads: Sequence[int] = (16, 256)) -> str | None:
    """Draw the goodput of tail drop with several buffers against its delay, beside that of REDopt."""
    metrics = ["mean_delay_s", "tcp_goodput"]
    parts = [estimates(select(result.metrics, where), metrics) for where in (BUFFER, FTP)]
    if not all(part.height for part in parts):
        return None
    rows = []
    for row in pl.concat(parts).iter_rows(named=True):
        name, load, *size = str(row["arm"]).split()
        if int(load) in loads and (size or name == "REDopt"):
            curve = f"{'droptail' if size else 'REDopt'} {load} flows"
            rows.append({**row, "curve": curve, "at": float(size[0][2:]) if size else math.nan})
    return plots.tradeoff(
        pl.DataFrame(rows, infer_schema_length=None), x="mean_delay_s", y="tcp_goodput", by="curve",
        along="at", along_label="B", x_label="Mean queueing delay (s)", y_label="TCP goodput (Mbit/s)",
        height=2.8,
    )  # fmt: skip


def weights(result: Reproduction, metric: str, y_label: str) -> str | None:
    """Draw a metric of REDopt against its queue weight under web traffic."""
    table = estimates(select(result.metrics, WEIGHT), [metric])
    rows = []
    for row in table.iter_rows(named=True):
        load, weight = str(row["arm"]).split(" w_q=")
        value = float(settings()["REDopt", int(load)].w_q if weight == WEIGHTS[0] else weight)
        rows.append({**row, "curve": f"REDopt {load} sessions", "at": math.log10(value)})
    if len(rows) < 2:
        return None
    return plots.tradeoff(
        pl.DataFrame(rows, infer_schema_length=None), x="at", y=metric, by="curve", along="at",
        x_label="log₁₀ w_q", y_label=y_label, width=plots.HALF, height=2.4,
    )  # fmt: skip
