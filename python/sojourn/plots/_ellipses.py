"""Goodput against delay: one point per seed, the median, and the 1-sigma ellipse (RFC 7928, section 2.7)."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.patches import Ellipse

from sojourn.format import capitalized
from sojourn.metrics import display, heading
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, legend, to_svg, y_title
from sojourn.plots.theme import styles


def ellipses(
    frame: pl.DataFrame,
    *,
    x: str = "mean_delay_s",
    y: str = "goodput_bps",
    title: str = "Goodput against delay",
    width: float = WIDTH,
    height: float = 3.2,
) -> Svg:
    """Draw the trade-off of each algorithm; upper left is better.

    The ellipse is the contour at one standard deviation of the normal distribution that fits the points best
    (maximum likelihood: moments divided by n); it is omitted for fewer than three points.

    Parameters
    ----------
    frame
        One row per run: ``aqm``, `x`, `y`.
    x, y
        The metrics to draw.
    title
        For screen readers.
    width, height
        Inches.

    Returns
    -------
    Svg
        SVG text.
    """
    specs = list(dict.fromkeys(frame["aqm"].to_list()))
    looks = styles(specs)
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        for spec in specs:
            look = looks[spec]
            rows = frame.filter(pl.col("aqm") == spec).drop_nulls([x, y])
            across, up = rows[x].to_numpy() * display(x).factor, rows[y].to_numpy() * display(y).factor
            if len(across) == 0:
                continue
            (dots,) = axes.plot(
                across, up, ".", color=look.colour, alpha=0.3, markersize=3, markeredgewidth=0
            )
            if "seed" in rows.columns:
                fig.names[dots] = [f"{look.title}, seed {seed}" for seed in rows["seed"]]
            if len(across) > 2:
                size, angle = contour(across, up)
                axes.add_patch(
                    Ellipse(
                        (float(across.mean()), float(up.mean())), 2 * size[0], 2 * size[1], angle=angle,
                        fill=False, edgecolor=look.colour, linewidth=1.0,
                    )
                )  # fmt: skip
            axes.plot(
                [float(np.median(across))],
                [float(np.median(up))],
                color=look.colour,
                marker=look.marker,
                markerfacecolor=look.colour if look.filled else "white",
                markeredgewidth=0.8,
                linestyle="none",
                label=look.title,
            )
        axes.set_xlabel(capitalized(heading(x)))
        y_title(axes, capitalized(heading(y)))
        axes.margins(0.08)
        legend(fig, most=min(len(specs), 5))
        return to_svg(fig, title)


def contour(
    x: np.ndarray[tuple[int], np.dtype[np.float64]], y: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[tuple[float, float], float]:
    """Return the half-axes of the 1-sigma ellipse, larger first, and the angle of the first in degrees.

    Examples
    --------
    >>> size, angle = contour(np.array([0.0, 2.0, 0.0, -2.0]), np.array([1.0, 0.0, -1.0, 0.0]))
    >>> [round(one, 6) for one in size], round(angle) % 180
    ([1.414214, 0.707107], 0)
    """
    values, vectors = np.linalg.eigh(np.cov(np.stack([x, y]), bias=True))
    small, large = (math.sqrt(max(0.0, float(one))) for one in values)
    return (large, small), math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
