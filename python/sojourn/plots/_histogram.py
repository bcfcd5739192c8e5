"""Distributions: the share of packets with a value of at least x, or the share in each bin."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator, NullLocator

from sojourn.format import scale
from sojourn.plots._decimate import Floats, decimate, shared_columns
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, legend, to_svg, y_title
from sojourn.plots.theme import styles


def histogram(
    frame: pl.DataFrame,
    *,
    value: str = "delay_s",
    by: str = "aqm",
    kind: Literal["ccdf", "density"] = "ccdf",
    unit: str = "s",
    x_label: str = "Queueing delay",
    smallest: float = 1e-4,
    bins: int = 80,
    title: str = "",
    width: float = WIDTH,
    height: float = 2.8,
) -> Svg:
    """Draw the distribution of a quantity from the counts of its buckets.

    Parameters
    ----------
    frame
        Columns `by` (specs), `value` (lower edge of a bucket) and ``count``. Rows of one spec and edge are
        added, so the rows of several seeds may be passed together.
    value
        The column of edges.
    by
        The column of specs.
    kind
        ``ccdf``: the share of values of at least x, on a logarithmic axis, which shows the tail.
        ``density``: the share in each of `bins` equal bins.
    unit
        Unit of the edges; seconds are shown in ms or µs if all are small.
    x_label
        Name of the quantity.
    smallest
        Lower end of the logarithmic axis.
    bins
        Number of bins of ``density``.
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
            rows = frame.filter(pl.col(by) == spec).group_by(value).agg(pl.col("count").sum()).sort(value)
            edges = rows[value].cast(pl.Float64).to_numpy() * chosen.factor
            counts = rows["count"].cast(pl.Float64).to_numpy()
            if counts.sum() == 0:
                continue
            columns = shared_columns(len(specs))
            x, y = _at_least(edges, counts, columns) if kind == "ccdf" else _shares(edges, counts, bins)
            look = looks[spec]
            axes.plot(
                x, y, label=look.title, color=look.colour, dashes=look.dash or (None, None), linewidth=1.4,
                drawstyle="default" if kind == "ccdf" else "steps-mid",
            )  # fmt: skip
        axes.set_xlabel(f"{x_label} ({chosen.unit})" if chosen.unit else x_label)
        axes.set_xlim(left=0)
        if kind == "ccdf":
            axes.set_yscale("log")
            axes.set_ylim(smallest, 1.15)
            axes.yaxis.set_major_locator(LogLocator(10))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(lambda share, _: _percent(share))
            y_title(axes, "Fraction of packets with at least this delay")
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(lambda share, _: _percent(share))
            y_title(axes, f"Fraction of packets in each of {bins} bins")
        if len(specs) > 1:
            legend(fig, most=min(len(specs), 5))
        return to_svg(fig, title or f"Distribution of {x_label.lower()}")


def _at_least(edges: Floats, counts: Floats, columns: int) -> tuple[Floats, Floats]:
    """Return for each bucket the share of all counts that are in it or in a later one."""
    later = np.cumsum(counts[::-1])[::-1] / counts.sum()
    return decimate(edges, later, columns)


def _shares(edges: Floats, counts: Floats, bins: int) -> tuple[Floats, Floats]:
    heights, ends = np.histogram(edges, bins=bins, range=(0.0, float(edges.max()) or 1.0), weights=counts)
    return (ends[:-1] + ends[1:]) / 2, heights / counts.sum()


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
