"""Estimates with confidence intervals from the values of several seeds.

Runs are paired by seed (common random numbers), so two algorithms are compared by the differences
within a seed. Sums use ``math.fsum``: the result does not depend on the order of the values. Intervals are
Student's t, two-sided, 95 % by default.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A mean with the half-width of its 95 % interval; None where it is unknown."""

    mean: float | None
    ci95: float | None
    n: int


class Effect(NamedTuple):
    """A paired difference b - a (or the ratio b / a) with its interval and two-sided p."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None


@functools.cache
def t_quantile(level: float, degrees: int) -> float:
    """Return t such that P(|T| <= t) = `level` for Student's T with `degrees` of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + level / 2))


def t_tail(t: float, degrees: int) -> float:
    """Return the two-sided P(|T| >= |t|)."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))


def mean(values: Sequence[float]) -> float:
    """Return the mean, summed exactly."""
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1)."""
    centre = mean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))


def _known(values: Sequence[float | None]) -> list[float]:
    return [x for x in values if x is not None and math.isfinite(x)]


def mean_ci(values: Sequence[float | None], level: float = 0.95) -> Estimate:
    """Return mean and half-width over the known values.

    Examples
    --------
    >>> estimate = mean_ci([1.0, 2.0, 3.0])
    >>> estimate.mean, round(estimate.ci95, 9), estimate.n
    (2.0, 2.484137712, 3)
    >>> mean_ci([5.0, None])
    Estimate(mean=5.0, ci95=None, n=1)
    """
    known = _known(values)
    n = len(known)
    if n == 0:
        return Estimate(None, None, 0)
    if n == 1:
        return Estimate(known[0], None, 1)
    return Estimate(mean(known), t_quantile(level, n - 1) * deviation(known) / math.sqrt(n), n)


def prediction(values: Sequence[float], level: float = 0.95) -> float:
    """Return the half-width of the interval around the mean in which one further value is expected.

    Examples
    --------
    >>> round(prediction([1.0, 2.0, 3.0]), 9)
    4.968275424
    """
    n = len(values)
    return t_quantile(level, n - 1) * deviation(values) * math.sqrt(1 + 1 / n)


def paired(
    a: Sequence[float | None], b: Sequence[float | None], log: bool = False, level: float = 0.95
) -> Effect:
    """Return the effect of `b` relative to `a`, paired by position (seed).

    Parameters
    ----------
    a, b : sequence of float or None
        Values under the same seeds; a pair with an unknown value is ignored.
    log : bool
        Compare ratios: work on log b - log a and return b / a. Pairs with a value <= 0 are ignored.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> effect = paired([1.0, 2.0, 3.0], [2.0, 3.1, 3.9])
    >>> round(effect.mean, 6), effect.n, effect.low > 0
    (1.0, 3, True)
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values cannot be paired")
    pairs = [
        (x, y)
        for x, y in zip(a, b, strict=True)
        if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]
    if log:
        differences = [math.log(y) - math.log(x) for x, y in pairs if x > 0 and y > 0]
    else:
        differences = [y - x for x, y in pairs]
    back = math.exp if log else float
    n = len(differences)
    if n == 0:
        return Effect(None, None, None, 0, None)
    centre = mean(differences)
    if n == 1:
        return Effect(back(centre), None, None, 1, None)
    error = deviation(differences) / math.sqrt(n)
    half = t_quantile(level, n - 1) * error
    p = t_tail(centre / error, n - 1) if error > 0 else 1.0 if centre == 0 else 0.0
    return Effect(back(centre), back(centre - half), back(centre + half), n, p)


def bootstrap(
    values: Sequence[float | None], statistic: str = "median", level: float = 0.95
) -> tuple[float, float] | None:
    """Return the bootstrap interval of a statistic without a closed form; None for fewer than 3 values.

    Bias-corrected and accelerated (Efron 1987), 9,999 resamples from a fixed seed: the same values, in any
    order, give the same interval. For means of a few seeds Student's t is better: the bootstrap interval
    is too narrow for fewer than about ten values.

    Parameters
    ----------
    values : sequence of float or None
        Unknown values are ignored.
    statistic : str
        ``median`` or ``mean``.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> low, high = bootstrap([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 50.0])
    >>> 1 <= low < 4 < high <= 50
    True
    """
    import numpy as np
    from scipy.stats import bootstrap as resample

    known = sorted(_known(values))
    if len(known) < 3:
        return None
    of: Any = {"median": np.median, "mean": np.mean}[statistic]
    if known[0] == known[-1]:
        return known[0], known[0]
    rng = np.random.Generator(np.random.PCG64(1))
    with np.errstate(all="ignore"):
        found: Any = resample((known,), of, confidence_level=level, rng=rng, method="BCa").confidence_interval
    return float(found.low), float(found.high)


def equivalent(effect: Effect, low: float, high: float) -> bool | None:
    """Test equivalence: True if the interval is inside [`low`, `high`], False if outside, else None.

    Examples
    --------
    >>> equivalent(Effect(1.0, 0.97, 1.03, 10, 0.9), 0.9, 1.1)
    True
    >>> equivalent(Effect(1.0, 0.5, 1.5, 3, 0.9), 0.9, 1.1) is None
    True
    """
    if effect.low is None or effect.high is None:
        return None
    if low <= effect.low and effect.high <= high:
        return True
    if effect.high < low or effect.low > high:
        return False
    return None


def equivalence(a: Sequence[float | None], b: Sequence[float | None], share: float) -> float | None:
    """Return p of the hypothesis that the mean of `b` is not within `share` of that of `a`, paired.

    Two one-sided tests (Schuirmann 1987) of b - (1 + share) a < 0 and b - (1 - share) a > 0, so that the
    margin may depend on an estimated mean (Sasabuchi 1988). None for fewer than two pairs, or if the mean of
    `a` is not positive.

    Examples
    --------
    >>> round(equivalence([10.0, 11.0, 12.0], [10.1, 11.0, 11.9], 0.05), 4)
    0.012
    """
    pairs = [
        (x, y)
        for x, y in zip(a, b, strict=True)
        if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]
    n = len(pairs)
    if n < 2 or mean([x for x, _ in pairs]) <= 0:
        return None
    found = []
    for sign in (1.0, -1.0):
        inside = [sign * ((1 + sign * share) * x - y) for x, y in pairs]
        centre, error = mean(inside), deviation(inside) / math.sqrt(n)
        if error == 0:
            found.append(0.0 if centre > 0 else 1.0)
        else:
            tail = t_tail(centre / error, n - 1) / 2
            found.append(tail if centre > 0 else 1 - tail)
    return max(found)


def correlation(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Return Pearson's correlation of the known pairs; None for fewer than three or a constant side.

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 4)
    0.9934
    """
    pairs = [
        (x, y)
        for x, y in zip(a, b, strict=True)
        if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]
    if len(pairs) < 3:
        return None
    x, y = ([one[i] for one in pairs] for i in (0, 1))
    spread = deviation(x) * deviation(y)
    if spread == 0:
        return None
    products = math.fsum((p - mean(x)) * (q - mean(y)) for p, q in pairs)
    return max(-1.0, min(1.0, products / (len(pairs) - 1) / spread))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return Holm's step-down adjusted p-values, in the order given; None stays None.

    Examples
    --------
    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    running = 0.0
    for rank, (p, i) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[i] = running
    return adjusted


def sign_test(differences: Sequence[float]) -> float:
    """Return the exact two-sided p of the sign test; zeros are ignored.

    For times that may never be reached (censored), of which a mean is undefined.

    Examples
    --------
    >>> sign_test([1, 2, 1, 3, 1])
    0.0625
    """
    positive = sum(d > 0 for d in differences)
    n = sum(d != 0 for d in differences)
    if n == 0:
        return 1.0
    tail = min(positive, n - positive)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(tail + 1)) / 2.0**n)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rank correlation, ties at their mean rank; 0 if one side is constant.

    Examples
    --------
    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30]), spearman([1, 2, 3], [5, 5, 5])
    (0.8, 0.0)
    """
    x, y = _ranks(a), _ranks(b)
    centre = mean(x)
    products = math.fsum((p - centre) * (q - centre) for p, q in zip(x, y, strict=True))
    squares = [math.fsum((rank - centre) ** 2 for rank in ranks) for ranks in (x, y)]
    return products / math.sqrt(squares[0] * squares[1]) if all(squares) else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2
        for value in values
    ]


def kaplan_meier(done: ArrayLike, censored: ArrayLike, share: float) -> float | None:
    """Return the quantile of durations, of which the censored are only known to exceed a value.

    Kaplan and Meier (1958): at each duration, the estimated share that lasts longer is multiplied by 1 - d/n,
    with d that end there and n that lasted until then (those censored there, too). The quantile is the first
    duration at which at most 1 - `share` last longer; None if there is none.

    Examples
    --------
    >>> kaplan_meier([1.0, 2.0, 4.0], [3.0], 0.5), kaplan_meier([1.0, 2.0, 4.0], [5.0], 0.9)
    (2.0, None)
    """
    import numpy as np

    times, ended = np.unique(np.asarray(done, float), return_counts=True)
    everything = np.sort(np.concatenate([done, censored]))
    at_risk = len(everything) - np.searchsorted(everything, times)
    surviving = np.cumprod(1 - ended / at_risk)
    reached = times[surviving <= 1 - share + 1e-12]
    return float(reached[0]) if len(reached) else None


def share_interval(wins: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share.

    It excludes 1/2 where `sign_test` is significant.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(9, 10)]
    [0.555, 0.9975]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(wins, n - wins + 1, tail)) if wins > 0 else 0.0
    high = float(betaincinv(wins + 1, n - wins, 1 - tail)) if wins < n else 1.0
    return low, high
