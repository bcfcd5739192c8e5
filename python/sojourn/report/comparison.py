"""The report of ``sojourn compare``: differences from the baseline, then the report of the runs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from sojourn import plots
from sojourn.format import capitalized
from sojourn.metrics import label
from sojourn.report.document import Block, Column, Document, Figure, Section, Table
from sojourn.report.results import for_results, metric_column
from sojourn.study.compare import Comparison


def for_comparison(comparison: Comparison) -> Document:
    """Build the report of a comparison.

    Parameters
    ----------
    comparison
        The result of ``sojourn.compare`` or of ``Comparison.of(Results.open(directory))``.

    Returns
    -------
    Document
        To be passed to `sojourn.report.render` or `sojourn.report.write`.
    """
    whole = for_results(comparison.results)
    own = Section("Against the baseline", _blocks(comparison), _lead(comparison))
    return replace(whole, kind="Comparison", blocks=[own, *whole.blocks])


def _lead(comparison: Comparison) -> str:
    count = len(comparison.results.seeds)
    level = comparison.level
    text = (
        f"Differences from `{comparison.baseline}`, paired by seed, with {100 * level:.4g} % intervals over "
        f"{count} seeds. A difference is significant if its p-value is below {1 - level:.2g} after "
        "Holm\u2019s correction for all comparisons here. Otherwise no difference is shown, which is no "
        "evidence that there is none."
    )
    after = ", ".join(map(str, comparison.looks))
    if comparison.first:
        text += (
            "\n\nSeeds were added until the intervals of the means were narrow or the limit was reached: "
            f"{after}. The first {comparison.first} alone set the number and the half-widths (Stein 1945), "
            "so that the intervals keep their level."
        )
    elif comparison.looks:
        text += (
            "\n\nSeeds were added until every difference was decided or the limit was reached, with tests "
            f"after {after} seeds. All tests together have an error of 5 %."
        )
    if comparison.margin is not None:
        text += f" Equivalent: shown to be within {100 * comparison.margin:.3g} % of the baseline's mean."
    if comparison.pairing:
        text += f"\n\n{comparison.pairing[0].upper()}{comparison.pairing[1:]}."
    return text


def _blocks(comparison: Comparison) -> list[Block]:

    found: list[Block] = []
    runs = comparison.results.runs
    order = pl.DataFrame({"aqm": comparison.aqms}).with_row_index("_order")
    if {"mean_delay_s", "goodput_bps"} <= set(runs.columns):
        points = runs.join(order, on="aqm").sort("_order", "seed")
        found.append(
            Figure(
                plots.ellipses(points),
                "Goodput/delay trade-off: one pale dot per seed, the median (symbol), and the 1-sigma "
                "ellipse of RFC 7928, section 2.7. Upper left is better.",
            )
        )
    table = comparison.table()
    for metric in comparison.metrics:
        rows = table.filter((pl.col("metric") == metric) & (pl.col("aqm") != comparison.baseline))
        half = (pl.col("high") - pl.col("difference")).alias("difference_ci")
        columns = {
            "aqm": Column("algorithm", kind="spec"),
            "mean": metric_column(metric, "ci95"),
            "difference": metric_column(metric, "difference_ci", "difference from baseline"),
            "p_holm": Column("p (Holm)", kind="probability"),
            "verdict": Column("", kind="text"),
        }
        found.append(Table(rows.with_columns(half), capitalized(label(metric)), columns))
    return found
