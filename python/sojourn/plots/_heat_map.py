"""A metric over two quantities: a panel for each algorithm, with the value in each cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize

from sojourn.plots.canvas import WIDTH, drawing, figure, to_svg
from sojourn.plots.frames import Cells
from sojourn.plots.theme import INK, styles

#: From the least to the largest value; below text, and without text.
PALE = ("#f6fafa", "#c3e3e6", "#93d3d9")
SCALE = ("#e8f2f2", "#7fbcc0", "#0f7078", "#06343b")
#: Panels side by side, and cells across up to which each has its value as text.
ACROSS, MOST_CELLS = 3, 12


def heat_map(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    z: str,
    columns: Sequence[str],
    rows: Sequence[str],
    by: str = "aqm",
    x_label: str = "",
    y_label: str = "",
    z_label: str = "",
    title: str = "",
    width: float = WIDTH,
) -> str:
    """Draw a metric over two quantities as coloured cells, on one scale for all panels.

    Parameters
    ----------
    frame
        Columns `x`, `y`, `by` and `z`; a cell without a row, or whose `z` is null, stays empty.
    x, y
        The quantities, as text.
    z
        The metric.
    columns, rows
        The values of `x` from left to right, and of `y` from the bottom to the top.
    by
        The column of specs, or of names that begin with that of an algorithm: one panel per value.
    x_label, y_label, z_label
        Names and units.
    title
        For screen readers.
    width
        Inches.

    Returns
    -------
    str
        SVG.
    """
    specs = list(dict.fromkeys(frame[by].to_list()))
    looks = styles(specs)
    known = frame.drop_nulls([z])
    scale = Normalize(known[z].min(), known[z].max())  # type: ignore[arg-type]
    deep, across = -(-len(specs) // ACROSS), min(ACROSS, len(specs))
    is_written = len(columns) * across <= MOST_CELLS * ACROSS
    colours = LinearSegmentedColormap.from_list("cells", PALE if is_written else SCALE)
    with drawing():
        fig = figure(width, 0.5 + deep * (0.75 + 0.26 * max(3, len(rows))))
        panels = fig.subplots(deep, across, squeeze=False, sharex=True, sharey=True)
        for axes in panels.flat[len(specs) :]:
            axes.set_visible(False)
        for axes, spec in zip(panels.flat, specs, strict=False):
            cells = np.full((len(rows), len(columns)), np.nan)
            for row in known.filter(pl.col(by) == spec).iter_rows(named=True):
                cells[rows.index(row[y]), columns.index(row[x])] = row[z]
            axes.pcolormesh(np.ma.masked_invalid(cells), cmap=colours, norm=scale, edgecolors="none")
            fig.cells[axes] = Cells(
                np.arange(len(columns)) + 0.5, np.arange(len(rows)) + 0.5, cells, z_label, (columns, rows)
            )
            axes.set_title(looks[spec].title)
            axes.grid(visible=False)
            axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
            axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
            if is_written:
                _write(axes, cells)
        for axes in panels[-1]:
            axes.set_xlabel(x_label)
        for axes in panels[:, 0]:
            axes.set_ylabel(y_label)
        extent = f"{scale.vmin:.3g} (faint) to {scale.vmax:.3g} (strong)" if known.height else "no value"
        fig.suptitle(f"{z_label}: {extent}", x=0.01, horizontalalignment="left", fontsize=8)
        return to_svg(fig, title or f"{z_label} over {x_label} and {y_label}")


def _write(axes: Axes, cells: np.ndarray) -> None:
    """Write the value of each cell with three digits."""
    for (up, right), value in np.ndenumerate(cells):
        if np.isfinite(value):
            axes.text(
                right + 0.5, up + 0.5, f"{value:.3g}", horizontalalignment="center",
                verticalalignment="center", fontsize=7, color=INK,
            )  # fmt: skip
