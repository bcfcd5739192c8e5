"""The figures of the paper, redrawn.

Every function takes the re-run and returns SVG, or None if the runs that it needs were not made.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sojourn import plots
from sojourn.papers.bio2002 import curves, diffserv
from sojourn.papers.bio2002.experiments import TRACED
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select


def drop_curve(name: str) -> str:
    """Draw the drop curve of RED (Fig. 2) or of RIO (Fig. 16), with the tabulated values."""
    found = [point for point in curves.points() if point["curve"].startswith(name)]
    averages = np.linspace(0, 100 if name == "RIO" else TRACED, 2001)
    shown = [curves.OUT, curves.IN] if name == "RIO" else [(40.0, 120.0, 1.0)]
    lines = [[curves.red(avg, *one) for avg in averages] for one in shown]
    at = [float(point["avg"].strip("p+-")) for point in found]
    return plots.curve(
        np.concatenate([np.append(averages, np.nan) for _ in lines]),
        np.concatenate([np.append(line, np.nan) for line in lines]),
        x_label="Average queue (packets)",
        y_label="Probability p_b",
        title=f"Drop curve of {name}",
        points=(at, [point["p"] for point in found]),
        points_label="tabulated",
        y_limits=(0, 1.05),
        marks=[],
    )


def along_size(result: Reproduction, experiment: str, metric: str, label: str) -> str | None:
    """Draw a metric of RED and BLUE against the queue size, with 95 % intervals."""
    table = estimates(select(result.metrics, experiment), [metric])
    if table.height < 2:
        return None
    name, size = pl.col("arm").str.split(" ").list.get(0), pl.col("arm").str.extract(r"(\d+)p")
    frame = table.with_columns(curve=name.str.to_lowercase(), size=size.cast(pl.Float64))
    return plots.tradeoff(
        frame, x="size", y=metric, by="curve", along="size", x_label="Queue size (packets)", y_label=label,
        height=2.6,
    )  # fmt: skip


def queues(result: Reproduction, experiment: str) -> str | None:
    """Draw the queues of RED and BLUE over time, with RED's average."""
    arms = [arm for arm in result.paper.experiment(experiment).arms if arm.name.endswith(f" {TRACED}p")]
    frames = [(arm, result.campaign.trace(arm)) for arm in arms]
    known = [frame.with_columns(aqm=pl.lit(arm.spec)) for arm, frame in frames if frame is not None]
    if len(known) < len(arms):
        return None
    columns = ["aqm", "time_s", pl.col("queue_packets").cast(pl.Float64)]
    return plots.queue_traces(pl.concat([frame.select(columns) for frame in known]), limit=TRACED)


def profiles(result: Reproduction) -> str | None:
    """Draw the queues of BIO and RIO over time (Figs. 18 and 19)."""
    arms = {arm.name: arm for arm in result.paper.experiment(diffserv.ID).arms}
    frames = {name: result.campaign.trace(arms[name]) for name in ("BIO", "RIO", diffserv.SLOW)}
    parts = [
        frame.select(pl.col("time_s"), pl.col("queue_packets").cast(pl.Float64), aqm=pl.lit(arms[name].spec))
        for name, frame in frames.items()
        if frame is not None
    ]
    if len(parts) < len(frames):
        return None
    return plots.queue_traces(pl.concat(parts), limit=100)


def nodes(result: Reproduction) -> str | None:
    """Draw the bandwidth of each node under RIO and BIO, and its in-profile rate (Fig. 22)."""
    names = [f"bandwidth_{node}" for node in range(diffserv.NODES)]
    table = estimates(select(result.metrics, diffserv.ID), names).filter(pl.col("arm").is_in(["RIO", "BIO"]))
    if table.height < 2:
        return None
    rows = [
        {"curve": row["arm"].lower(), "node": node, "y": row[name], "y_ci95": row[f"{name}_ci95"]}
        for row in table.iter_rows(named=True)
        for node, name in enumerate(names)
    ]
    promised = [rate * curves.FLOWS / 1000 for rate in diffserv.PROMISED.values()]
    rows += [
        {"curve": "promised", "node": node, "y": promised[node % 2], "y_ci95": 0.0}
        for node in range(diffserv.NODES)
    ]
    return plots.tradeoff(
        pl.DataFrame(rows), x="node", y="y", by="curve", x_label="Node", y_label="Bandwidth (Mbit/s)",
        height=2.6,
    )  # fmt: skip


def states(result: Reproduction, experiment: str, name: str, probes: list[str]) -> str | None:
    """Draw the queue of one algorithm with its state."""
    arm = next(a for a in result.paper.experiment(experiment).arms if a.name == name)
    frame = result.campaign.trace(arm)
    if frame is None:
        return None
    frame = frame.rename({diffserv.OUT_COLUMN: "out packets"}, strict=False)
    return plots.probes(frame, arm.algorithm, names=probes)
