"""The figures: rates, delays and utilization over the grid of links, a panel for each queue."""

from __future__ import annotations

import polars as pl

from sojourn import plots
from sojourn.papers.l4s.experiments import PAIRS, RATES, ROUND_TRIPS
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select


def grid(result: Reproduction, pair: str, metric: str, title: str) -> str | None:
    """Draw the mean of a metric over rate and round trip for each queue; None without runs."""
    rows = []
    for row in estimates(select(result.metrics, PAIRS), [metric]).iter_rows(named=True):
        senders, *queue, rate, rtt = row["arm"].split()
        if senders == pair:
            where = {"rate": rate.removesuffix("M"), "rtt": rtt.removesuffix("ms")}
            rows.append({"queue": " ".join(queue), **where, metric: row[metric]})
    if not rows:
        return None
    return plots.heat_map(
        pl.DataFrame(rows),
        x="rtt",
        y="rate",
        z=metric,
        by="queue",
        columns=[str(one) for one in ROUND_TRIPS],
        rows=[str(one) for one in RATES],
        x_label="round trip (ms)",
        y_label="link (Mbit/s)",
        z_label=title,
        title=f"{title}: {pair}",
    )
