"""How many seeds a study needs, and when it may stop: without the error that repeated looks would cause.

**Means** (`needed`, `two_stage`): Stein (1945). The standard deviation s of the first n0 seeds alone sets the
number of seeds, n = (t s / d)^2 for a half-width d, and the half-width t s / sqrt(n), with t of n0 - 1
degrees of freedom; the mean is of all seeds. For normal values, s is independent of every mean, so that the
interval keeps its level although n is random.

**Differences** (`constant_level`): a t-test at every look, each at the same nominal level, chosen so that the
probability of any error over all looks is the wanted one (Pocock 1977; here for Student's t).

**Power** (`seeds_for_difference`): seeds with which a t-test finds a difference with a probability of 80 %.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

from sojourn.stats.estimates import Estimate, deviation, mean, t_quantile

#: Growth factor of the number of seeds: few looks, at most a third of the seeds superfluous.
GROWTH = 1.5
ERROR = 0.05
POWER = 0.8
#: Above this number of seeds, t and the normal distribution give the same one.
MANY = 1_000_000
#: Simulated studies that set the level of repeated tests: the error is met within 0.1 percentage points.
STUDIES = 200_000


def looks(first: int, most: int) -> Iterator[int]:
    """Yield the numbers of seeds at which to test: `first`, then half as many again, finally `most`.

    Examples
    --------
    >>> list(looks(10, 40))
    [10, 15, 23, 35, 40]
    """
    seeds = first
    while seeds < most:
        yield seeds
        seeds = math.ceil(seeds * GROWTH)
    yield most


def needed(first: Sequence[float], centre: float, share: float, level: float = 1 - ERROR) -> float:
    """Return the number of seeds for a half-width of `share` of the mean.

    Parameters
    ----------
    first : sequence of float
        The values of the first seeds, at least two.
    centre : float
        The mean of all seeds so far.
    share : float
        The half-width relative to the mean.
    level : float
        Confidence level.

    Examples
    --------
    >>> needed([9.0, 10.0, 11.0], 10.0, 0.05)
    75.0
    """
    spread = deviation(first)
    if spread == 0:
        return float(len(first))
    if centre == 0:
        return math.inf
    size = t_quantile(level, len(first) - 1) * spread / (share * abs(centre))
    return float(max(len(first), math.ceil(size * size * (1 - 1e-12))))


def seeds_for_width(values: Sequence[float], share: float, level: float = 1 - ERROR) -> float:
    """Return the number of seeds with which a t-interval has a half-width of `share` of the mean.

    For the mean and standard deviation of `values`, at least two, as if they were the true ones.

    Examples
    --------
    >>> seeds_for_width([9.0, 10.0, 11.0], 0.05)
    18.0
    """
    spread, centre = deviation(values), mean(values)
    if spread == 0:
        return 2.0
    if centre == 0:
        return math.inf
    ratio = spread / (share * abs(centre))
    least = math.ceil((NormalDist().inv_cdf((1 + level) / 2) * ratio) ** 2)
    if least > MANY:
        return float(least)
    size = max(2, least)
    while t_quantile(level, size - 1) * ratio > math.sqrt(size):
        size += 1
    return float(size)


def between(seeds: float, values: int) -> tuple[int, int]:
    """Return the 80 % interval of a number of seeds that is proportional to a variance of this many `values`.

    Examples
    --------
    >>> between(30, 3), between(30, 10)
    ((14, 285), (19, 65))
    """
    from scipy.special import chdtri

    free = values - 1
    low, high = (free / float(chdtri(free, upper)) for upper in (0.1, 0.9))
    return math.ceil(seeds * low), math.ceil(seeds * high)


def two_stage(values: Sequence[float | None], first: int, level: float = 1 - ERROR) -> Estimate:
    """Return the mean of all values, with the half-width that follows from the first ones.

    Examples
    --------
    >>> estimate = two_stage([9.0, 10.0, 11.0, 10.0], 3)
    >>> estimate.mean, round(estimate.ci95, 4)
    (10.0, 2.1513)
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    start = [value for value in values[:first] if value is not None and math.isfinite(value)]
    if len(start) < 2:
        return Estimate(mean(known) if known else None, None, len(known))
    half = t_quantile(level, len(start) - 1) * deviation(start) / math.sqrt(len(known))
    return Estimate(mean(known), half, len(known))


@functools.cache
def constant_level(sizes: tuple[int, ...], error: float = ERROR) -> float:
    """Return the level of each of several t-tests, at these numbers of values, for a total two-sided error.

    The level is the quantile of the smallest p-value in simulated studies without a difference, which are the
    same in every call.

    Examples
    --------
    >>> constant_level((10,)), 0.98 < constant_level((10, 20, 30, 40, 50)) < 0.99
    (0.95, True)
    """
    import numpy as np
    from scipy.special import stdtr

    if len(sizes) == 1:
        return 1 - error
    rng = np.random.Generator(np.random.PCG64(1))
    sums, squares, smallest = np.zeros(STUDIES), np.zeros(STUDIES), np.ones(STUDIES)
    for before, size in itertools.pairwise((0, *sizes)):
        step = size - before
        # The sum of `step` normal values, and the sum of their squares: of their mean, and of the rest.
        normal = rng.standard_normal(STUDIES)
        sums += normal * math.sqrt(step)
        squares += normal * normal + (rng.chisquare(step - 1, STUDIES) if step > 1 else 0.0)
        variance = (squares - sums * sums / size) / (size - 1)
        t = np.abs(sums) / np.sqrt(size * variance)
        smallest = np.minimum(smallest, 2 * stdtr(size - 1, -t))
    return 1 - float(np.quantile(smallest, error))


def seeds_for_difference(differences: Sequence[float], size: float) -> int | None:
    """Return the pairs with which a paired t-test shows a difference of `size` with a probability of 80 %.

    Examples
    --------
    >>> seeds_for_difference([1.0, 2.0, 3.0], 1.0)
    10
    """
    from scipy.special import nctdtr

    if len(differences) < 2 or size == 0:
        return None
    effect = abs(size) / deviation(differences) if deviation(differences) > 0 else math.inf

    def power(n: int) -> float:
        if math.isinf(effect):
            return 1.0
        bound = t_quantile(1 - ERROR, n - 1)
        return 1 - float(nctdtr(n - 1, effect * math.sqrt(n), bound))

    high = 2
    while power(high) < POWER:
        high *= 2
        if high > 1 << 24:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 2 and power(middle) >= POWER else (middle, high)
    return max(2, high)
