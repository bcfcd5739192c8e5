"""A metric against the mean queue, with intervals in both directions."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Bbox

from sojourn.plots.canvas import WIDTH, drawing, figure, legend, plain_ticks, to_svg, y_title
from sojourn.plots.theme import MUTED, styles


def tradeoff(
    frame: pl.DataFrame,
    *,
    y: str,
    x: str = "mean_queue_packets",
    by: str = "aqm",
    along: str | None = None,
    along_label: str = "",
    x_label: str = "Mean queue (packets)",
    y_label: str = "",
    log_x: bool = False,
    title: str = "",
    width: float = WIDTH,
    height: float = 3.0,
) -> str:
    """Draw points with 95 % intervals in both directions, joined along a parameter.

    Parameters
    ----------
    frame
        Columns `by`, `x`, `y` and, where known, ``<x>_ci95`` and ``<y>_ci95`` (half-widths). Rows without
        `x` or `y` are left out.
    x, y
        The columns to draw.
    by
        The column of specs, or of names that begin with that of an algorithm: one line per value. Pass a spec
        without the parameter that varies.
    along
        The parameter that varies along a line; its rows are joined in ascending order, and the ends of
        the line carry its value unless it is `x`.
    along_label
        Label of that parameter, for instance ``q₀``; its name if empty.
    x_label, y_label
        Names and units of the axes.
    log_x
        Whether the x axis is logarithmic, with a tick at each value. Along a parameter, intervals may extend
        the y axis by at most half the range of the points.
    title
        For screen readers.
    width, height
        Inches.

    Returns
    -------
    str
        SVG.
    """
    frame = frame.drop_nulls([x, y])
    specs = list(dict.fromkeys(frame[by].to_list()))
    looks = styles(specs)
    with drawing():
        fig = figure(width, height)
        axes = fig.subplots()
        labels: list[Annotation] = []
        for spec in specs:
            look = looks[spec]
            rows = frame.filter(pl.col(by) == spec)
            if along is not None:
                rows = rows.sort(along)
            axes.errorbar(
                rows[x].to_list(),
                rows[y].to_list(),
                xerr=_half_widths(rows, x),
                yerr=_half_widths(rows, y),
                label=look.title,
                color=look.colour,
                marker=look.marker,
                markerfacecolor=look.colour if look.filled else "white",
                markeredgewidth=0.8,
                linewidth=1.2 if along is not None else 0.0,
                dashes=look.dash or (None, None),
                elinewidth=0.8,
                capsize=1.5,
                capthick=0.8,
            )
            if along not in (None, x) and rows.height > 1:
                for i, row in enumerate((rows.row(0, named=True), rows.row(-1, named=True))):
                    name = f"{along_label or along} = {row[along]:g}" if i == 0 else f"{row[along]:g}"
                    labels.append(
                        axes.annotate(
                            name, (row[x], row[y]), xytext=(5, -9), textcoords="offset points", fontsize=7,
                            color=MUTED,
                        )
                    )  # fmt: skip
        axes.set_xlabel(x_label)
        y_title(axes, y_label)
        axes.margins(0.06)
        if log_x:
            axes.set_xscale("log")
            axes.set_xticks(sorted(frame[x].unique().to_list()), minor=False)
            axes.xaxis.set_minor_locator(NullLocator())
            plain_ticks(axes.xaxis)
        if along == x:
            _limit(axes, frame[y].drop_nulls().to_list())
        if len(specs) > 1:
            legend(fig, most=min(len(specs), 5))
        _separate(fig, labels)
        return to_svg(fig, title or f"{y_label} against {x_label}")


def _separate(fig: Figure, labels: list[Annotation]) -> None:
    """Remove each label that overlaps an earlier one."""
    if not labels:
        return
    fig.draw_without_rendering()  # places the axes
    kept: list[Bbox] = []
    for label in labels:
        box = label.get_window_extent()
        if any(box.overlaps(other) for other in kept):
            label.remove()
        else:
            kept.append(box)


def _limit(axes: Axes, means: list[float]) -> None:
    """Let intervals extend the y axis by at most half the range of the means, and not below 0 without one."""
    if not means:
        return
    low, high = min(means), max(means)
    margin = 0.5 * (high - low) or 0.1 * abs(high) or 1.0
    bottom, top = axes.get_ylim()
    least = 0.0 if low >= 0 else low - margin
    axes.set_ylim(max(bottom, least, low - margin), min(top, high + margin))


def _half_widths(rows: pl.DataFrame, column: str) -> list[float] | None:
    name = f"{column}_ci95"
    return rows[name].cast(pl.Float64).fill_null(0.0).to_list() if name in rows.columns else None
