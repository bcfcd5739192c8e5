"""A property over two quantities: a map with contours, the boundary of the property, and tested points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import ArrayLike

from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, to_svg, y_title
from sojourn.plots.frames import Cells
from sojourn.plots.theme import INK, MUTED, SHADE

#: Columns and rows whose values a page can read.
MOST = 40


def contours(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    holds: ArrayLike,
    *,
    levels: Sequence[float],
    x_label: str,
    y_label: str,
    z_label: str,
    points: Sequence[tuple[float, float, bool]] = (),
    points_labels: tuple[str, str] = ("steady", "oscillates"),
    title: str = "",
    caption: str = "",
    width: float = WIDTH,
    height: float = 3.6,
) -> Svg:
    """Draw contours of z(x, y) on logarithmic axes.

    Parameters
    ----------
    x, y
        Values of the axes, shapes (A,) and (B,).
    z
        The quantity, shape (B, A); NaN where there is none.
    holds
        Where the property holds, shape (B, A); elsewhere the map is shaded.
    levels
        Levels of the contours.
    x_label, y_label, z_label
        Labels of the axes and of the contours.
    points
        (x, y, filled) of points to mark.
    points_labels
        Labels of hollow and of filled points.
    title
        For screen readers.
    caption
        What the map is of, above it.
    width, height
        Inches.

    Returns
    -------
    Svg
        SVG text.
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    values, inside = np.asarray(z, dtype=np.float64), np.asarray(holds, dtype=np.float64)
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.contourf(xs, ys, inside, levels=[-0.5, 0.5], colors=[SHADE], zorder=0)
        if inside.min() < 0.5 < inside.max():
            axes.contour(xs, ys, inside, levels=[0.5], colors=[INK], linewidths=1.4, zorder=3)
        every = max(1, len(xs) // MOST), max(1, len(ys) // MOST)
        fig.cells[axes] = Cells(xs[:: every[0]], ys[:: every[1]], values[:: every[1], :: every[0]], z_label)
        finite = np.ma.masked_invalid(values)
        if finite.count():
            drawn = axes.contour(
                xs, ys, finite, levels=sorted(levels), colors=[MUTED], linewidths=0.8, zorder=2
            )
            axes.clabel(drawn, fontsize=7, fmt="%g")
        for at, up, filled in points:
            axes.plot(
                [at], [up], marker="o", markersize=5, markerfacecolor=INK if filled else "white",
                markeredgecolor=INK, markeredgewidth=1, zorder=4,
            )  # fmt: skip
        handles = [
            Line2D([], [], color=INK, linewidth=1.4, label="border of stability"),
            Line2D([], [], color=MUTED, linewidth=0.8, label=z_label),
        ]
        if points:
            look = {"linestyle": "", "marker": "o", "markersize": 5, "markeredgecolor": INK}
            handles += [
                Line2D([], [], markerfacecolor=colour, label=label, **look)  # type: ignore[arg-type]
                for label, colour in zip(points_labels, ("white", INK), strict=True)
            ]
        axes.set_xlim(xs.min(), xs.max())
        axes.set_ylim(ys.min(), ys.max())
        axes.set_xlabel(x_label)
        y_title(axes, y_label)
        if caption:
            fig.suptitle(caption, x=0.01, horizontalalignment="left", fontsize=9)
        fig.legend(handles=handles, loc="outside upper right", ncols=2)
        return to_svg(fig, title or f"{z_label} over {x_label} and {y_label}")
