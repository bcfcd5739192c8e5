"""The queue in two worlds: packets as pale samples with their mean, the other world as one dark line."""

from __future__ import annotations

import polars as pl

from sojourn.plots._decimate import block_means, decimate
from sojourn.plots.canvas import WIDTH, drawing, figure, legend, to_svg, y_title
from sojourn.plots.theme import INK, pale, strong, style


def overlay(
    packets: pl.DataFrame,
    other: pl.DataFrame,
    *,
    aqm: str,
    labels: tuple[str, str],
    value: str = "queue_mean",
    y_label: str = "Queue (packets)",
    smooth: float = 1.0,
    width: float = WIDTH,
    height: float = 2.6,
) -> str:
    """Draw one quantity over time in both worlds.

    Parameters
    ----------
    packets, other
        Columns ``time_s`` and `value`.
    aqm
        The algorithm, for its colour.
    labels
        Labels of the packets and of the other world.
    value
        The column to draw.
    y_label
        Its name and unit.
    smooth
        Length in seconds of the blocks whose means the strong line of the packets shows.
    width, height
        Inches.

    Returns
    -------
    str
        SVG.
    """
    hue = style(aqm).colour
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        time, values = packets["time_s"].to_numpy(), packets[value].cast(pl.Float64).to_numpy()
        axes.plot(*decimate(time, values), color=pale(hue, 0.6), linewidth=0.6, label=labels[0])
        axes.plot(
            *block_means(time, values, smooth), color=strong(hue), linewidth=1.3,
            label=f"{labels[0]}, mean over {smooth:g} s",
        )  # fmt: skip
        found = decimate(other["time_s"].to_numpy(), other[value].cast(pl.Float64).to_numpy())
        axes.plot(*found, color=INK, linewidth=1.1, dashes=(4, 1.6), label=labels[1])
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("Time (s)")
        y_title(axes, y_label)
        legend(fig, most=3)
        return to_svg(fig, f"Queue of {labels[0]} and {labels[1]}")
