"""Printed numbers beside ours: the comparison for each row of ``published.csv``.

A paper maps a row to a `Cell`: a term and its statistic over seeds (the mean, or the standard deviation if
the paper prints that). Some numbers are calculated. A row without a counterpart (settings, background
statements) stays in the table with the reason; so does one that ours misses (`sojourn.papers.reasons`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from sojourn import stats
from sojourn.papers.reasons import Reasons
from sojourn.papers.terms import Samples, Term


@dataclass(frozen=True)
class Cell:
    """Our counterpart of a published number.

    Attributes
    ----------
    term : Term
        The number of one seed, in the published unit.
    over : str
        Statistic over seeds: ``mean`` or ``deviation`` (the sample standard deviation).
    """

    term: Term
    over: Literal["mean", "deviation"] = "mean"

    def estimate(self, samples: Samples) -> stats.Estimate:
        """Return ours with the half-width of its 95 % interval and the number of seeds."""
        values = [value for value in self.term.values(samples).values() if value is not None]
        if self.over == "mean":
            return stats.mean_ci(values)
        return stats.Estimate(stats.deviation(values) if len(values) > 1 else None, None, len(values))


#: The counterpart of a printed number: a cell, a calculated number, or the reason why there is none.
Counterpart: TypeAlias = Cell | float | str


def beside(
    rows: Sequence[Mapping[str, str]],
    cell: Callable[[Mapping[str, str]], Counterpart],
    samples: Samples,
    reasons: Reasons,
) -> pl.DataFrame:
    """Return the published numbers joined with ours.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of ``published.csv``.
    cell : callable
        Maps a row to its counterpart.
    samples : Samples
        Metrics of the runs.
    reasons : Reasons
        Why numbers are missed.

    Returns
    -------
    polars.DataFrame
        The columns of ``published.csv`` (value as ``published``), and ``ours``, ``ours_ci95``, ``n``,
        ``ratio`` (ours / published), ``reason`` (the id of the reason why ours is off by more than 25 %),
        and ``why``: its words, or why a row has no counterpart.
    """
    table = []
    for row in rows:
        ours, why = _ours(cell(row), samples)
        value = float(row["value"])
        ratio = ours.mean / value if ours.mean is not None and value else None
        reason = reasons.cell(row, ratio)
        table.append(
            {
                **{name: row[name] for name in TEXTS},
                "published": value,
                "ours": ours.mean,
                "ours_ci95": ours.ci95,
                "n": ours.n or None,
                "ratio": ratio,
                "reason": reason.id if reason else "",
                "why": reason.words if reason else why,
            }
        )
    return pl.DataFrame(table, schema=COLUMNS)


def _ours(found: Counterpart, samples: Samples) -> tuple[stats.Estimate, str]:
    """Return our number, or the reason why there is none."""
    if isinstance(found, str):
        return stats.Estimate(None, None, 0), found
    if isinstance(found, float):
        return stats.Estimate(found, None, 0), ""
    ours = found.estimate(samples)
    if ours.mean is not None:
        return ours, ""
    return ours, getattr(found.term, "unknown", "") if found.term.values(samples) else "not run"


TEXTS = (
    "table_or_figure",
    "experiment_id",
    "algorithm",
    "parameter_set",
    "metric",
    "unit",
    "statistic",
    "note",
)
#: The columns of ``published.csv`` in the results.
COLUMNS = pl.Schema(
    {
        **dict.fromkeys(TEXTS[:-1], pl.String),
        "published": pl.Float64,
        "ours": pl.Float64,
        "ours_ci95": pl.Float64,
        "n": pl.Int64,
        "ratio": pl.Float64,
        "reason": pl.String,
        "why": pl.String,
        "note": pl.String,
    }
)
