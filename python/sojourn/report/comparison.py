"""The report of ``sojourn compare``: differences from the baseline, then the report of the runs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from sojourn import plots
from sojourn.report import live
from sojourn.report.document import Block, Column, Document, Figure, Note, Section, Table, Text
from sojourn.report.results import for_results, metric_column
from sojourn.report.verdict import frame_of, of_comparison
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
    rest = [block for block in whole.blocks if not (isinstance(block, Section) and block.title == "Results")]
    notes = [
        one
        for block in whole.blocks
        if isinstance(block, Section)
        for one in block.blocks
        if isinstance(one, Note)
    ]
    own = [
        Section("Against the baseline", _blocks(comparison)),
        Section("How the differences are judged", [Text(_lead(comparison)), *notes]),
    ]
    return replace(whole, kind="Comparison", verdict=of_comparison(comparison), blocks=[*own, *rest])


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
                "ellipse of RFC 7928, section 2.7. Upper left is better. On the screen, any two metrics "
                "can be chosen.",
                live=live.points(runs, comparison.aqms),
            )
        )
    found.append(differences(comparison))
    return found


def differences(comparison: Comparison) -> Table:
    """Return the table of means, with the difference from the baseline below each."""
    columns = {"aqm": Column("algorithm", kind="spec")}
    for name in comparison.metrics:
        columns[name] = replace(
            metric_column(name, f"{name}_ci95"), tint=f"{name} tint", below=f"{name} below"
        )
    caption = (
        f"Means with their intervals; below: the difference from {comparison.baseline}, in parentheses if "
        "it is not significant. Green: better, red: worse."
    )
    return Table(frame_of(comparison), caption, columns)
