"""Metrics of a queue over time, for claims about transients.

They read the frame of ``Record.series``: exact means since the previous sample (10 ms), so that means and
deviations over any window of samples are exact, too. The "1 s mean" is over the preceding second. If an event
does not occur, its time is the end of the run, marked as censored.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OVERSHOOT_WINDOW = 20.0
_EPSILON = 1e-9  # sample times are multiples of the interval up to rounding


class Reached(NamedTuple):
    """A duration in seconds; censored if the run ended earlier."""

    value: float
    censored: bool


def _column(series: pl.DataFrame, name: str) -> Floats:
    import numpy as np

    return series[name].to_numpy().astype(np.float64)


def _within(series: pl.DataFrame, start: float, end: float | None) -> pl.DataFrame:
    import polars as pl

    last = math.inf if end is None else end
    return series.filter((pl.col("time_s") > start + _EPSILON) & (pl.col("time_s") <= last + _EPSILON))


def _average(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def queue_mean(series: pl.DataFrame, start: float = 0.0, end: float | None = None) -> float | None:
    """Return the time average of waiting packets over (start, end] seconds."""
    part = _column(_within(series, start, end), "queue_mean")
    return _average(part) if len(part) else None


def queue_rms_about(
    series: pl.DataFrame, q0: float, start: float = 0.0, end: float | None = None
) -> float | None:
    """Return sqrt(time average of (waiting packets - q0)^2) over (start, end] seconds."""
    part = _within(series, start, end)
    if part.is_empty():
        return None
    square, mean = _average(_column(part, "queue_mean_square")), _average(_column(part, "queue_mean"))
    return math.sqrt(max(0.0, square - 2 * q0 * mean + q0 * q0))


def queue_std(series: pl.DataFrame, start: float = 0.0, end: float | None = None) -> float | None:
    """Return the standard deviation over time of waiting packets over (start, end] seconds."""
    mean = queue_mean(series, start, end)
    return None if mean is None else queue_rms_about(series, mean, start, end)


def running_mean(series: pl.DataFrame, seconds: float = 1.0) -> tuple[Floats, Floats]:
    """Return times and the mean of waiting packets over the `seconds` before each."""
    import numpy as np

    time, mean = _column(series, "time_s"), _column(series, "queue_mean")
    if len(time) == 0:
        return time, mean
    width = max(1, round(seconds / time[0]))
    total = np.concatenate([[0.0], np.cumsum(mean)])
    return time[width - 1 :], (total[width:] - total[:-width]) / width


def _crossing(series: pl.DataFrame, q0: float, after: float) -> float | None:
    """Return the first time after `after` at which the queue is at q0 or above, having been below."""
    import numpy as np

    time, queue = _column(series, "time_s"), _column(series, "queue_packets")
    above = (queue >= q0) & (time > after + _EPSILON)
    return float(time[np.argmax(above)]) if above.any() else None


def overshoot(series: pl.DataFrame, q0: float, after: float = 0.0) -> float:
    """Return the largest queue between the first crossing of q0 and 20 s later, minus q0.

    0 if the queue never reaches q0.
    """
    crossing = _crossing(series, q0, after)
    if crossing is None:
        return 0.0
    time, queue = _column(series, "time_s"), _column(series, "queue_packets")
    part = queue[(time >= crossing - _EPSILON) & (time <= crossing + OVERSHOOT_WINDOW + _EPSILON)]
    return float(part.max()) - q0


def overshoot_duration(series: pl.DataFrame, q0: float, after: float = 0.0) -> Reached:
    """Return the time from the first crossing of q0 until the 1 s mean is back at q0.

    0 if the queue never reaches q0, or its 1 s mean never exceeds q0 within the 20 s that count as
    overshoot.
    """
    import numpy as np

    crossing = _crossing(series, q0, after)
    if crossing is None:
        return Reached(0.0, False)
    time, mean = running_mean(series)
    over = (mean > q0) & (time >= crossing - _EPSILON) & (time <= crossing + OVERSHOOT_WINDOW + _EPSILON)
    if not over.any():
        return Reached(0.0, False)
    first = int(np.argmax(over))
    back = mean[first:] <= q0
    if not back.any():
        return Reached(float(time[-1]) - crossing, True)
    return Reached(float(time[first + int(np.argmax(back))]) - crossing, False)


def response_time(
    series: pl.DataFrame, q0: float, band: float = 20.0, hold: float = 10.0, after: float = 0.0
) -> Reached:
    """Return the time from `after` until the 1 s mean stays within q0 +- band for `hold` seconds."""
    import numpy as np

    time, mean = running_mean(series)
    if len(time) == 0:
        return Reached(0.0, True)
    end = float(time[-1])
    inside = np.abs(mean - q0) <= band
    # For each moment: the first later moment outside the band.
    outside = np.where(~inside, np.arange(len(time)), len(time))
    leaves = np.minimum.accumulate(outside[::-1])[::-1]
    leaves_at = np.where(leaves < len(time), time[np.minimum(leaves, len(time) - 1)], np.inf)
    good = inside & (time >= after - _EPSILON) & (leaves_at > time + hold) & (time + hold <= end + _EPSILON)
    if not good.any():
        return Reached(end - after, True)
    return Reached(float(time[np.argmax(good)]) - after, False)


def queue_at_ends(
    series: pl.DataFrame, low: float, high: float, start: float = 0.0, end: float | None = None
) -> float | None:
    """Return the share of samples in (start, end] seconds with the queue at `low` or less, or `high` or more.

    This quantifies "out of control": the queue is either empty or full.
    """
    part = _column(_within(series, start, end), "queue_packets")
    return float(((part <= low) | (part >= high)).mean()) if len(part) else None
