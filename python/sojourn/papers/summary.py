"""Means with intervals from the metrics of a campaign: the input of tables and figures of a paper."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sojourn.stats import mean_ci

#: The keys that distinguish runs of one seed.
KEYS = ("experiment_id", "reading", "arm", "aqm")


def select(metrics: pl.DataFrame, experiment: str, reading: str | None = "") -> pl.DataFrame:
    """Return the runs of one experiment under one reading (None: under all)."""
    if not metrics.height:
        return pl.DataFrame(schema=dict.fromkeys((*KEYS, "run_id"), pl.String) | {"seed": pl.Int64})
    chosen = metrics.filter(pl.col("experiment_id") == experiment)
    return chosen if reading is None else chosen.filter(pl.col("reading") == reading)


def estimates(runs: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return mean and half-width of each metric over seeds, one row per arm, in the order of `runs`.

    Parameters
    ----------
    runs : polars.DataFrame
        One row per run.
    names : sequence of str
        The metrics; each has a column with its name and one with the suffix ``_ci95``.
    """
    rows = []
    for key, group in runs.group_by(KEYS, maintain_order=True):
        row: dict[str, object] = {**dict(zip(KEYS, key, strict=True)), "n": group.height}
        for name in names:
            values = group[name].to_list() if name in group.columns else []
            row[name], row[f"{name}_ci95"], _ = mean_ci(values)
        rows.append(row)
    columns = {f"{name}{end}": pl.Float64 for name in names for end in ("", "_ci95")}
    return pl.DataFrame(rows, schema={**dict.fromkeys(KEYS, pl.String), "n": pl.Int64, **columns})


def long(table: pl.DataFrame, units: dict[str, str]) -> pl.DataFrame:
    """Return estimates with one row per metric, the input of bar plots.

    Parameters
    ----------
    table : polars.DataFrame
        The result of `estimates`.
    units : dict of str
        The metrics and their units.
    """
    parts = [
        table.select(
            *KEYS,
            "n",
            metric=pl.lit(name),
            unit=pl.lit(unit),
            mean=pl.col(name),
            ci95=pl.col(f"{name}_ci95"),
        )
        for name, unit in units.items()
    ]
    return pl.concat(parts)
