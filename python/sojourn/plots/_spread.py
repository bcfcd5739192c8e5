"""How values spread: empirical distribution functions of many values, boxes of a few."""

from __future__ import annotations

import numpy as np
import polars as pl

from sojourn.format import scale
from sojourn.metrics import display, heading
from sojourn.plots._decimate import decimate, shared_columns
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, legend, plain_ticks, to_svg, y_title
from sojourn.plots.theme import pale, styles


def cdf(
    frame: pl.DataFrame,
    *,
    value: str,
    unit: str = "s",
    by: str = "aqm",
    x_label: str = "Completion time",
    title: str = "",
    width: float = WIDTH,
    height: float = 2.8,
) -> Svg:
    """Draw the fraction of values of at most x, on a logarithmic x axis.

    Parameters
    ----------
    frame
        Columns `by` (specs) and `value`. A null value has not ended: it counts as larger than all others, so
        that a curve with such values ends below 100 %.
    value
        The column of values, above 0.
    unit
        Their unit; the axis is scaled as a whole.
    by
        The column of specs.
    x_label
        Name of the value.
    title
        For screen readers.
    width, height
        Inches.

    Returns
    -------
    Svg
        SVG text.
    """
    specs = list(dict.fromkeys(frame[by].to_list()))
    looks = styles(specs)
    largest = frame[value].cast(pl.Float64).max()
    chosen = scale([largest if isinstance(largest, float) else None], unit)
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        for spec in specs:
            rows = frame.filter(pl.col(by) == spec)
            known = np.sort(rows[value].drop_nulls().cast(pl.Float64).to_numpy()) * chosen.factor
            if not len(known):
                continue
            look, share = looks[spec], 100 * np.arange(1, len(known) + 1) / rows.height
            x, y = decimate(np.log10(known), share, shared_columns(len(specs)))
            axes.plot(
                10**x, y, label=look.title, color=look.colour, dashes=look.dash or (None, None),
                drawstyle="steps-post",
            )  # fmt: skip
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
        axes.set_ylim(0, 102)
        axes.set_xlabel(f"{x_label} ({chosen.unit})" if chosen.unit else x_label)
        y_title(axes, "Fraction that took at most this long (%)")
        if len(specs) > 1:
            legend(fig, most=min(len(specs), 5))
        return to_svg(fig, title or f"Distribution of {x_label.lower()}")


def boxes(runs: pl.DataFrame, metric: str, *, title: str = "", width: float = WIDTH) -> Svg:
    """Draw a metric of every run by algorithm: quartiles as a box, the most extreme values as whiskers.

    Parameters
    ----------
    runs
        One row per run: ``aqm`` and `metric`.
    metric
        The metric.
    title
        For screen readers.
    width
        Inches.

    Returns
    -------
    Svg
        SVG text.
    """
    specs = list(dict.fromkeys(runs["aqm"].to_list()))
    looks = styles(specs)
    with drawing():
        fig = figure(width, 0.8 + 0.35 * len(specs))
        axes = fig.subplots()
        for i, spec in enumerate(specs):
            rows = runs.filter(pl.col("aqm") == spec)[metric].drop_nulls().cast(pl.Float64)
            if not rows.len():
                continue
            look, values = looks[spec], rows.to_numpy() * display(metric).factor
            axes.boxplot(
                [values], positions=[i], orientation="horizontal", whis=(0, 100), widths=0.5,
                patch_artist=True, boxprops={"facecolor": pale(look.colour), "edgecolor": look.colour},
                medianprops={"color": look.colour, "linewidth": 1.8},
                whiskerprops={"color": look.colour}, capprops={"color": look.colour},
            )  # fmt: skip
            axes.plot(values, [i] * len(values), ".", color=look.colour, alpha=0.5, markeredgewidth=0)
        axes.set_yticks(range(len(specs)), [looks[spec].title for spec in specs])
        axes.set_ylim(len(specs) - 0.4, -0.6)
        axes.set_xlabel(heading(metric))
        return to_svg(fig, title or f"{heading(metric)} by algorithm")
