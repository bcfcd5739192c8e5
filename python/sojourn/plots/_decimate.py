"""Decimation of long series without a visible change."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

COLUMNS = 600
"""Pixel columns that a full-width figure can show."""

POINTS = 6 * COLUMNS
"""Columns of all curves of a figure: each of more than six has fewer, so that the picture stays small."""

Floats: TypeAlias = NDArray[np.float64]


def shared_columns(curves: int) -> int:
    """Return the number of columns of each of the curves of a figure."""
    return min(COLUMNS, POINTS // max(1, curves))


def decimate(x: ArrayLike, y: ArrayLike, columns: int = COLUMNS) -> tuple[Floats, Floats]:
    """Keep the smallest and the largest sample of every pixel column.

    A line through these samples covers the same pixels as a line through all: no spike is lost, however
    short. Gaps (NaN) remain gaps.

    Parameters
    ----------
    x
        Positions, in ascending order.
    y
        Values.
    columns
        Number of columns into which the range of `x` is divided.

    Returns
    -------
    x, y : arrays
        A subset of the samples in their order, at most three per column and the two ends.
    """
    xs = np.asarray(x, dtype=np.float64)
    ys = np.asarray(y, dtype=np.float64)
    if xs.shape != ys.shape or xs.ndim != 1:
        raise ValueError(f"x and y must be two series of one length, not {xs.shape} and {ys.shape}")
    if len(xs) <= 2 * columns + 2 or not xs[-1] > xs[0]:
        return xs, ys
    column = np.minimum((xs - xs[0]) / (xs[-1] - xs[0]) * columns, columns - 1).astype(np.int64)
    first = np.flatnonzero(np.r_[True, np.diff(column) > 0])
    gaps = np.isnan(ys)
    gaps_in_column = np.add.reduceat(gaps.astype(np.int64), first)
    end = np.r_[first[1:], len(xs)]
    order = np.lexsort((ys, column))  # within a column: ascending, NaN last
    smallest = order[first]
    largest = order[np.maximum(end - 1 - gaps_in_column, first)]
    gap = order[(end - 1)[gaps_in_column > 0]]
    kept = np.unique(np.r_[0, smallest, largest, gap, len(xs) - 1])
    return xs[kept], ys[kept]


def block_means(x: ArrayLike, y: ArrayLike, width: float) -> tuple[Floats, Floats]:
    """Average a series over consecutive blocks of `width`, each placed at its middle.

    Parameters
    ----------
    x
        Positions, in ascending order.
    y
        Values; NaN are ignored.
    width
        Length of a block in units of `x`; blocks begin at multiples of it.

    Returns
    -------
    x, y : arrays
        Midpoints and means of the blocks with any value.
    """
    xs = np.asarray(x, dtype=np.float64)
    ys = np.asarray(y, dtype=np.float64)
    known = ~np.isnan(ys)
    xs, ys = xs[known], ys[known]
    if len(xs) == 0:
        return xs, ys
    # A sample at the end of a block belongs to it, because it covers the time before it.
    block = np.ceil(np.round(xs / width, 9)).astype(np.int64) - 1
    first = np.flatnonzero(np.r_[True, np.diff(block) > 0])
    counts = np.diff(np.r_[first, len(xs)])
    middles = (block[first] + 0.5) * width
    means = np.add.reduceat(ys, first) / counts
    return middles.astype(np.float64), means.astype(np.float64)


def time_end(times: ArrayLike) -> float:
    """Return the end of a time axis: the last sample, or the next full second if it is near.

    Parameters
    ----------
    times
        Times of the samples in seconds.

    Returns
    -------
    float
        For 119.99 s, 120 s.
    """
    seconds = np.asarray(times, dtype=np.float64)
    last = float(seconds.max()) if len(seconds) else 0.0
    full = float(np.ceil(last))
    return full if last > 10 and full - last < 0.02 * last else last
