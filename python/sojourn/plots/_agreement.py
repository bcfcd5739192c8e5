"""Measured against published values: every number that a paper prints, with the line of equality."""

from __future__ import annotations

from math import ceil, floor, log10

import polars as pl
from matplotlib.ticker import FixedLocator, FuncFormatter

from sojourn.plots.canvas import WIDTH, drawing, figure, legend, to_svg
from sojourn.plots.theme import MUTED, pale, styles


def agreement(
    frame: pl.DataFrame,
    *,
    x: str = "published",
    y: str = "ours",
    by: str = "aqm",
    panel: str = "metric",
    margin: float = 0.0,
    x_label: str = "Published",
    y_label: str = "Ours",
    title: str = "Ours against published",
    columns: int = 4,
) -> str:
    """Draw our values against published ones, one panel per metric, on logarithmic axes; zeros are omitted.

    Parameters
    ----------
    frame
        Columns `x`, `y`, `by`, `panel` and, where known, ``<y>_ci95`` (half-widths).
    x, y
        The columns to draw.
    by
        The column of specs, or of names that begin with that of an algorithm.
    panel
        The column that distinguishes the panels.
    margin
        Half-width of the band around equality, as a fraction.
    x_label, y_label
        Names of the axes.
    title
        For screen readers.
    columns
        Panels per row.

    Returns
    -------
    str
        SVG.
    """
    known = frame.filter((pl.col(x) > 0) & (pl.col(y) > 0))
    panels, looks = (
        list(dict.fromkeys(known[panel].to_list())),
        styles(list(dict.fromkeys(known[by].to_list()))),
    )
    across = max(1, min(columns, len(panels)))
    down = max(1, -(-len(panels) // across))
    with drawing():
        fig = figure(WIDTH, 0.5 + 1.8 * down)
        grid = fig.subplots(down, across, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, name in zip(grid.flat, panels, strict=False):
            rows = known.filter(pl.col(panel) == name)
            ends = [*rows[x].to_list(), *rows[y].to_list()]
            low, high = min(ends) / 1.5, max(ends) * 1.5
            axes.set_xscale("log")
            axes.set_yscale("log")
            if margin:
                axes.fill_between(
                    [low, high],
                    [low * (1 - margin), high * (1 - margin)],
                    [low * (1 + margin), high * (1 + margin)],
                    color=pale(MUTED, 0.88),
                    linewidth=0,
                )
            axes.plot([low, high], [low, high], color=MUTED, linewidth=0.8, dashes=(4, 3))
            for row in rows.iter_rows(named=True):
                look = looks[row[by]]
                drawn = axes.errorbar(
                    row[x],
                    row[y],
                    yerr=row.get(f"{y}_ci95") or None,
                    color=look.colour,
                    marker=look.marker,
                    markersize=4.5,
                    markerfacecolor=look.colour if look.filled else "white",
                    elinewidth=0.8,
                    linewidth=0,
                    label=look.title if name == panels[0] else None,
                )
                fig.names[drawn.lines[0]] = [look.title]
            axes.set_title(str(name), fontsize=8, fontweight="normal")
            axes.set_xlim(low, high)
            axes.set_ylim(low, high)
            axes.minorticks_off()
            ticks = _ticks(low, high)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(FixedLocator(ticks))
                axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
        for axes in grid[-1, :]:
            axes.set_xlabel(x_label)
        for axes in grid[:, 0]:
            axes.set_ylabel(y_label)
        handles, titles = grid[0, 0].get_legend_handles_labels()
        once = dict(zip(titles, handles, strict=True))
        legend(fig, once, most=min(len(once), 8))
        return to_svg(fig, title)


def _ticks(low: float, high: float) -> list[float]:
    """Return about three round numbers between two ends, evenly spaced on a logarithmic axis."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    round_ = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    inside = [value for value in round_ if low <= value <= high]
    return inside[:: max(1, ceil(len(inside) / 3))]
