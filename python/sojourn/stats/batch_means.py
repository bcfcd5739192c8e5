"""Batch means of one long run, and a test for heavy tails.

Samples of one run are correlated, so that their standard deviation underestimates the error of their mean;
means over long batches are nearly uncorrelated. If values have a heavy tail (an index below 2: no variance),
means converge as n^(1/index - 1), not as n^(-1/2), for more seeds as for more batches (Crovella and Lipsky
1997).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from sojourn.stats import Estimate, mean_ci

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FINE, BATCHES, CORRELATED = 400, 40, 0.4
#: Share of the largest values that Hill's estimator uses, and share of those whose shape is tested.
TAIL, SHAPE = 0.05, 0.2
#: One-sided 5 % quantile of the normal distribution.
BELOW = 1.645
LEAST_VALUES = 200


class Tail(NamedTuple):
    """A heavy tail: its index (the exponent) with a 95 % interval, and the share of the largest hundredth.

    `is_power` is false if the tail becomes lighter than a power, as that of lognormal values does.
    """

    exponent: float
    low: float
    high: float
    top_share: float
    is_power: bool


def batch_means(values: Floats, level: float = 0.95) -> Estimate:
    """Return mean and half-width of the interval from the samples of one run; None if they are too few.

    The samples are cut into 400 batches. If the correlation of neighbouring batches is below 0.4, forty
    batches of ten times the length are nearly uncorrelated, and Student's t holds for their means (Law and
    Carson 1979). If not, the run is too short. Samples at the end that fill no batch are ignored.

    Parameters
    ----------
    values : array
        Samples at equal distances, without the warm-up.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> batch_means(np.tile([1.0, 3.0], 4000))
    Estimate(mean=2.0, ci95=0.0, n=40)
    """
    if len(values) == 0:
        return Estimate(None, None, 0)
    whole = float(values.mean())
    size = len(values) // FINE
    if size == 0 or _serial(values[: size * FINE].reshape(FINE, size).mean(axis=1)) >= CORRELATED:
        return Estimate(whole, None, 0)
    means = values[: size * FINE].reshape(BATCHES, -1).mean(axis=1)
    return Estimate(whole, mean_ci(means.tolist(), level).ci95, BATCHES)


def _serial(values: Floats) -> float:
    """Return the first serial correlation."""
    away = values - values.mean()
    squares = float(away @ away)
    return float(away[:-1] @ away[1:]) / squares if squares > 0 else 0.0


def heavy_tail(values: Floats) -> Tail | None:
    """Return the tail of values if it is heavy: its index is significantly below 2.

    Hill's estimate (1975) from the largest twentieth: 1 / index is the mean of the logarithms of these values
    over the smallest of them. Its standard error is index / sqrt(k), with k values. Lognormal tails of a
    finite but large variance can have such an estimate, too. They differ in their shape: above a bound, the
    logarithms of values with a power tail are exponential, those of lognormal ones normal and truncated, with
    a coefficient of variation below 1 (Castillo and Puig 1999); that of n exponential values has the standard
    error 1 / sqrt(n). A one-sided test of level 5 % with the largest fifth decides.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> tail = heavy_tail(rng.pareto(1.2, 20000) + 1)
    >>> round(tail.exponent, 1), heavy_tail(rng.exponential(1.0, 20000))
    (1.2, None)
    """
    import numpy as np

    known = np.sort(values[np.isfinite(values) & (values > 0)])[::-1]
    count = int(len(known) * TAIL)
    if len(known) < LEAST_VALUES or known[count] == known[0]:
        return None
    index = 1.0 / float(np.log(known[:count] / known[count]).mean())
    error = 1.96 * index / math.sqrt(count)
    if index + error >= 2.0:
        return None
    top = float(known[: max(1, len(known) // 100)].sum() / known.sum())
    return Tail(index, index - error, index + error, top, _is_power(known[: int(len(known) * SHAPE) + 1]))


def _is_power(largest: Floats) -> bool:
    """Return whether the logarithms of values over the smallest of them vary as exponential ones do."""
    import numpy as np

    excess = np.log(largest[:-1] / largest[-1])
    variation = float(excess.std(ddof=1) / excess.mean())
    return variation > 1 - BELOW / math.sqrt(len(excess))
