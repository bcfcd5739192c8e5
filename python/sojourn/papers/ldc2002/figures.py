"""The figures of the paper, redrawn, and its tables beside our results.

Every function takes the re-run and returns SVG, or None if the runs that it needs were not made.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sojourn import plots
from sojourn.papers.ldc2002 import analytic
from sojourn.papers.ldc2002.measures import FIG4, smoothed
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, long, select

#: Panels of the tables: metric, heading, unit.
TABLE3 = {
    "http_response_time_mean": ("mean response time", "s"),
    "udp_delay_mean": ("mean UDP delay", "s"),
    "udp_delay_max": ("longest UDP delay", "s"),
    "throughput_http": ("web throughput", "Mbit/s"),
    "drop_ratio_http": ("web drop ratio", "%"),
    "drop_ratio_udp": ("UDP drop ratio", "%"),
}

#: Panels of the comparison with printed cells.
HEADINGS = {
    "http_response_time_mean": "response time (s)",
    "http_response_time_max": "longest response (s)",
    "udp_delay_mean": "UDP delay (s)",
    "udp_delay_max": "longest UDP delay (s)",
    "throughput_http": "web (Mbit/s)",
    "throughput_udp": "UDP (Mbit/s)",
    "throughput_ftp": "FTP (Mbit/s)",
    "drop_ratio_http": "web drops (%)",
    "drop_ratio_udp": "UDP drops (%)",
    "drop_ratio_ftp": "FTP drops (%)",
    "drop_ratio_total": "drops (%)",
    "packet_delay": "delay (s)",
    "throughput": "throughput (Mbit/s)",
    "drop_ratio": "drops (%)",
}


def picture(result: Reproduction, experiment: str, names: list[str], **options: object) -> str | None:
    """Draw the queue of an experiment's one run with the state of its algorithm."""
    (arm,) = result.paper.experiment(experiment).arms
    frame = result.campaign.trace(arm)
    if frame is None:
        return None
    return plots.probes(frame, arm.algorithm, names=names, title=f"{arm.name} over time", **options)  # type: ignore[arg-type]


def load(result: Reproduction) -> str | None:
    """Draw Fig. 4: the queue, the probability from the queue alone, and the load, from 80 s to 100 s."""
    (arm,) = result.paper.experiment("ldc-fig4-load-vs-queue").arms
    frame = result.campaign.trace(arm)
    if frame is None:
        return None
    shown = frame.with_columns(pl.Series("load (mean over 1 s)", smoothed(frame, "r_avg")))
    late, names = shown.filter(pl.col("time_s") > FIG4[0]), ["p", "load (mean over 1 s)"]
    return plots.probes(late, arm.algorithm, names=names, start=FIG4[0], title="Queue, p and load")


def delay(result: Reproduction) -> str | None:
    """Draw Fig. 8: queueing delay and its average against the target."""
    (arm,) = result.paper.experiment("ldc-fig8-target-delay").arms
    frame = result.campaign.trace(arm)
    if frame is None:
        return None
    columns = {"queue / C": "queue_bytes", "averaged queue / C": "q_avg"}
    rate = 100_000
    parts = [
        frame.select("time_s", aqm=pl.lit(f"ldc {name}"), delay=pl.col(column).cast(pl.Float64) * 8 / rate)
        for name, column in columns.items()
    ]
    return plots.queue_traces(
        pl.concat(parts),
        value="delay",
        reference=1.6,
        reference_label="D_target",
        smooth=None,
        y_label="Delay (s)",
        title="Queueing delay under LDC",
        panel_height=1.2,
    )


def function() -> str:
    """Draw Fig. 6 as curves: P against the averaged queue for several loads."""
    q = np.linspace(0, 1.5, 301)
    loads = (0.0, 0.75, 1.0)
    lines = [[sum(analytic.probability(x, r)) for x in q] for r in loads]
    points = [p for p in analytic.table()["points"] if p["q_ratio"] <= 1.5 and p["r_ratio"] in loads]
    return plots.curve(
        np.concatenate([np.append(q, np.nan) for _ in lines]),
        np.concatenate([np.append(line, np.nan) for line in lines]),
        x_label="Q_avg / Q_target",
        y_label="P",
        title="Eq. 3 for loads of 0, 3/4 and 1 times the target",
        vertical=[plots.Rule(1, "target")],
        points=([p["q_ratio"] for p in points], [p["P_34_14"] for p in points]),
        points_label="tabulated",
        marks=[
            plots.Mark(1.45, line[-1], f"load {r:g}", (-40, 5)) for r, line in zip(loads, lines, strict=True)
        ],
        y_limits=(0, 1.1),
    )


def bars(result: Reproduction, experiment: str, metrics: dict[str, tuple[str, str]]) -> str | None:
    """Draw metrics of all algorithms of an experiment."""
    table = estimates(select(result.metrics, experiment), list(metrics))
    if not table.height:
        return None
    frame = long(table, {name: unit for name, (_, unit) in metrics.items()}).with_columns(
        name=pl.when(pl.col("arm").str.starts_with("("))
        .then(pl.lit("ldc ") + pl.col("arm"))
        .otherwise(pl.col("arm").str.to_lowercase())
    )
    titles = {name: title for name, (title, _) in metrics.items()}
    return plots.bars(frame, list(metrics), by="name", titles=titles, title=experiment)


def cells(result: Reproduction, table: str, margin: float) -> str | None:
    """Draw every cell of a printed table against ours."""
    frame = result.published.filter(pl.col("table_or_figure") == table)
    if not frame["ours"].is_not_null().any():
        return None
    weights = pl.col("parameter_set").str.replace("weights=", "ldc ")
    name = pl.when(pl.col("algorithm") == "LDC") if table == "Table 5" else None
    by = name.then(weights).otherwise(weights) if name is not None else pl.col("algorithm").str.to_lowercase()
    frame = frame.with_columns(aqm=by, metric=pl.col("metric").replace(HEADINGS))
    return plots.agreement(frame, margin=margin, title=f"{table}: ours against published")


def sweep(result: Reproduction, prefix: str, label: str, metric: str, y_label: str) -> str | None:
    """Draw a metric against one parameter of section 5.3."""
    table = estimates(select(result.metrics, "ldc-sensitivity"), [metric])
    rows = [row for row in table.iter_rows(named=True) if row["arm"].startswith(f"{prefix}=")]
    if len(rows) < 2:
        return None
    for row in rows:
        word = row["arm"].split("=")[1]
        row["curve"], row["at"] = "ldc", float(word.rstrip("ms")) / (1000 if word.endswith("ms") else 1)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return plots.tradeoff(
        frame, x="at", y=metric, by="curve", along="at", x_label=label, y_label=y_label, width=plots.HALF,
        height=2.2,
    )  # fmt: skip
