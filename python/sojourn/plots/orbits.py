"""Iterates of a map, and its bifurcation diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from sojourn.plots._curve import Rule
from sojourn.plots.canvas import WIDTH, drawing, figure, side_title, to_svg, y_title
from sojourn.plots.theme import MUTED, pale, strong, style


def iterates(
    orbits: Mapping[str, Sequence[float]],
    *,
    fixed: float | None = 1.0,
    x_label: str = "Period k",
    y_label: str = "x_k = r_k / r₀",
    title: str = "Iterates of the map",
    colour: str = "",
    columns: int = 3,
    notes: Mapping[str, str] | None = None,
    width: float = WIDTH,
    panel_height: float = 1.35,
) -> str:
    """Draw orbits, one small panel each, on common axes.

    Parameters
    ----------
    orbits
        The values x_0, x_1, ... by the heading of their panel, for instance ``m = 3.9``.
    fixed
        The fixed point, a dashed line; ``None``: no line.
    x_label, y_label
        Names of the axes.
    title
        For screen readers.
    colour
        Colour of the orbits; that of RAQM if empty.
    columns
        Panels per row.
    notes
        A short text in the right corner of a panel's heading.
    width, panel_height
        Inches.

    Returns
    -------
    str
        SVG.
    """
    hue = colour or style("raqm").colour
    across = max(1, min(columns, len(orbits)))
    down = max(1, ceil(len(orbits) / across))
    with drawing():
        fig = figure(width, 0.4 + down * panel_height)
        grid = fig.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        panels = list(grid.flat)
        for panel, (name, orbit) in zip(panels, orbits.items(), strict=False):
            if fixed is not None:
                panel.axhline(fixed, color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1)
            steps = np.arange(len(orbit))
            panel.plot(steps, np.asarray(orbit), color=pale(hue, 0.4), linewidth=0.8)
            panel.plot(
                steps, np.asarray(orbit), linestyle="", marker="o", markersize=2.6, markeredgewidth=0,
                color=strong(hue),
            )  # fmt: skip
            panel.set_title(name, pad=3)
            if notes and name in notes:
                panel.set_title(
                    notes[name], loc="right", fontsize=7.5, fontweight="normal", color=MUTED, pad=3
                )
        for panel in panels[len(orbits) :]:
            panel.set_axis_off()
        fig.supxlabel(x_label, fontsize=8)
        side_title(fig, y_label)
        return to_svg(fig, title, f"Panels: {', '.join(orbits)}.")


def bifurcation(
    parameter: ArrayLike,
    orbits: ArrayLike,
    *,
    x_label: str = "m = α r₀",
    y_label: str = "x = r / r₀ after many periods",
    vertical: Sequence[Rule] = (),
    title: str = "Bifurcation diagram",
    colour: str = "",
    width: float = WIDTH,
    height: float = 3.0,
    resolution: tuple[int, int] = (480, 240),
) -> str:
    """Draw the values that the map visits in the long run, over its parameter.

    Parameters
    ----------
    parameter
        Values of the parameter, shape (M,).
    orbits
        For each the last values of a long orbit, shape (M, K); NaN are left out.
    x_label, y_label
        Names of the axes.
    vertical
        Thresholds to mark.
    title
        For screen readers.
    colour
        Colour of the points; that of RAQM if empty.
    width, height
        Inches.
    resolution
        Cells across and down; a cell is drawn if any value falls into it. All cells are one path, so that
        even a chaotic orbit gives a small file.

    Returns
    -------
    str
        SVG.
    """
    values = np.asarray(parameter, dtype=np.float64)
    ends = np.asarray(orbits, dtype=np.float64)
    hue = colour or style("raqm").colour
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        axes.add_patch(
            PathPatch(
                _ink(values, ends, resolution), facecolor="none", edgecolor=strong(hue),
                linewidth=1.1 * 72 * width / resolution[0], capstyle="butt",
            )
        )  # fmt: skip
        axes.set_xlim(float(values.min()), float(values.max()))
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        axes.set_ylim(low - 0.04 * (high - low or 1), high + 0.04 * (high - low or 1))
        for rule in vertical:
            axes.axvline(rule.at, color=MUTED, linewidth=0.9, dashes=(4, 3), zorder=0)
            axes.annotate(
                rule.text, (rule.at, 1), xycoords=axes.get_xaxis_transform(), xytext=(-4, -2),
                textcoords="offset points", va="top", ha="right", color=MUTED, fontsize=7.5,
            )  # fmt: skip
        axes.set_xlabel(x_label)
        y_title(axes, y_label)
        return to_svg(fig, title)


def _ink(values: NDArray[np.float64], ends: NDArray[np.float64], resolution: tuple[int, int]) -> Path:
    """Return vertical strokes along runs of drawn cells, column by column."""
    across, down = resolution
    x0, x1 = values.min(), values.max()
    y0, y1 = np.nanmin(ends), np.nanmax(ends)
    wide, tall = (x1 - x0 or 1.0) / across, (y1 - y0 or 1.0) / down
    column = np.minimum((values - x0) / wide, across - 1).astype(np.int64)
    known = ~np.isnan(ends)
    row = np.minimum(np.where(known, (ends - y0) / tall, 0), down - 1).astype(np.int64)
    inked = np.zeros((across, down + 1), dtype=bool)
    inked[np.broadcast_to(column[:, None], ends.shape)[known], row[known]] = True
    vertices: list[tuple[float, float]] = []
    for i in np.flatnonzero(inked.any(axis=1)):
        edges = np.flatnonzero(np.diff(np.r_[False, inked[i]]))
        vertices += [(x0 + (i + 0.5) * wide, y0 + edge * tall) for edge in edges]
    return Path(np.array(vertices), np.tile([Path.MOVETO, Path.LINETO], len(vertices) // 2))
