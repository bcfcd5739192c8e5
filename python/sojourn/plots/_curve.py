"""The graph of a function: y(x) with asymptotes, limits and tabulated values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sojourn.plots._decimate import decimate
from sojourn.plots.canvas import WIDTH, drawing, figure, to_svg, y_title
from sojourn.plots.theme import INK, MUTED, strong


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted point with a text."""

    x: float
    y: float
    text: str
    offset: tuple[float, float] = (8.0, 8.0)
    filled: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line across the figure: an asymptote or a limit."""

    at: float
    text: str = ""


def curve(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    colour: str = INK,
    vertical: Sequence[Rule] = (),
    horizontal: Sequence[Rule] = (),
    marks: Sequence[Mark] = (),
    points: tuple[ArrayLike, ArrayLike] | None = None,
    points_label: str = "",
    x_limits: tuple[float, float] | None = None,
    y_limits: tuple[float, float] | None = None,
    width: float = WIDTH,
    height: float = 2.8,
) -> str:
    """Draw y(x).

    Parameters
    ----------
    x, y
        The curve, `x` ascending; NaN makes a gap (put one where the function is undefined).
    x_label, y_label
        Names of the axes.
    title
        For screen readers.
    colour
        Colour of the curve.
    vertical, horizontal
        Asymptotes and limits, dashed, each with a short text.
    marks
        Points with a text; hollow where the value is only a limit.
    points
        Further points without text, such as published or tabulated values.
    points_label
        Label of these points.
    x_limits, y_limits
        Limits of the axes; needed if the curve is unbounded.
    width, height
        Inches.

    Returns
    -------
    str
        SVG.
    """
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        axes.plot(*decimate(xs, ys), color=colour, linewidth=1.6, zorder=3)
        if points is not None:
            axes.plot(
                np.asarray(points[0]), np.asarray(points[1]), linestyle="", marker="o", markersize=4,
                markerfacecolor="white", markeredgecolor=strong(colour), markeredgewidth=1, zorder=4,
                label=points_label, clip_on=True,
            )  # fmt: skip
        if x_limits is not None:
            axes.set_xlim(*x_limits)
        else:
            axes.margins(x=0)
        if y_limits is not None:
            axes.set_ylim(*y_limits)
        for rule in vertical:
            axes.axvline(rule.at, color=MUTED, linewidth=0.9, dashes=(4, 3), zorder=2)
            axes.annotate(
                rule.text, (rule.at, 1), xycoords=axes.get_xaxis_transform(), xytext=(4, -2),
                textcoords="offset points", va="top", color=MUTED, fontsize=7.5,
            )  # fmt: skip
        for rule in horizontal:
            axes.axhline(rule.at, color=MUTED, linewidth=0.9, dashes=(4, 3), zorder=2)
            axes.annotate(
                rule.text, (1, rule.at), xycoords=axes.get_yaxis_transform(), xytext=(4, 0),
                textcoords="offset points", va="center", color=MUTED, fontsize=7.5,
            )  # fmt: skip
        for mark in marks:
            axes.plot(
                [mark.x], [mark.y], marker="o", markersize=5, color=strong(colour), zorder=5,
                markerfacecolor=strong(colour) if mark.filled else "white", markeredgewidth=1.2,
            )  # fmt: skip
            axes.annotate(
                mark.text, (mark.x, mark.y), xytext=mark.offset, textcoords="offset points", fontsize=8,
                color=INK, ha="left" if mark.offset[0] >= 0 else "right", zorder=6,
            )  # fmt: skip
        axes.set_xlabel(x_label)
        y_title(axes, y_label)
        if points is not None and points_label:
            fig.legend(loc="outside upper right")
        return to_svg(fig, title or f"{y_label} over {x_label}")
