"""Whether a queue had settled when the window began: three outcomes, from the seeds of an algorithm.

What is left of the start in the window is modelled as a decay, A exp(-t / tau), with the time constants
`DECAYS`. Least squares fit each of them to the mean of the seeds, over the window and as much of the warm-up
as a decay can describe (`STARTS`). The error of a fit comes from the differences between the seeds at low
frequencies: a transient is common to all seeds and cancels in them, and the correlation within a run does not
matter if it is shorter than the window (`_variance`). Then

- **not settled**: a decay that the data do not reject is significant (Bonferroni over `DECAYS`) and moves the
  mean of the window by more than its half-width;
- **settled**: otherwise, if for every time constant the one-sided 95 % bound of the shift is below the
  half-width of the mean (two one-sided tests, Schuirmann 1987; as all must pass, no correction is needed:
  Berger 1982);
- **not settled**, too: otherwise, if MSER-5 (White 1997) cuts most runs later than the warm-up, which changes
  their mean;
- **inconclusive**: otherwise.

So at most 5 % of the studies without a transient are called not settled, and at most 5 % of those with a
transient of a half-width settled, if it is a decay with a time constant of at most the last of `DECAYS`.
``validation/error_rates.py`` measures both, and which share of such transients is found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from sojourn.stats.estimates import mean_ci, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BATCH = 5
#: Time constants of a decay, in windows.
DECAYS = (1 / 20, 1 / 10, 1 / 5, 2 / 5, 2 / 3)
#: Shares of the warm-up that are not used: the first after which a decay fits. Queues fill and overflow at
#: the start, which is no decay.
STARTS = (1 / 8, 1 / 2, 1.0)
#: Lowest frequencies, in half-waves over the parts that are used: for the error, and to test the fit.
LOW, FITTED = 4, 8
#: Probability that a decay is rejected although it is the true one, and that the true model does not fit.
REJECTED = 0.02
#: A shift below this share of the mean is ignored.
NEGLIGIBLE = 0.01
#: A cut by MSER-5 matters if it changes the mean of the run by this share, and by a packet.
MATTERS = 0.1
LEAST_PARTS = 8
ERROR = 0.05

SETTLED: Literal["settled"] = "settled"
NOT_SETTLED: Literal["not settled"] = "not settled"
INCONCLUSIVE: Literal["inconclusive"] = "inconclusive"
Word = Literal["settled", "not settled", "inconclusive"]


class QueueParts(NamedTuple):
    """The queue of one run over time."""

    #: Means of consecutive equal parts of the run, from time 0.
    values: Floats
    #: Length of a part, and of the warm-up (s).
    step: float
    warmup: float
    #: Mean over the window.
    mean: float
    #: Where MSER-5 cuts the run (s), and the shift that this avoids; None if it is small.
    cut: tuple[float, float] | None


class Settling(NamedTuple):
    """The outcome of the check for one algorithm.

    Attributes
    ----------
    outcome : str
        ``settled``, ``not settled`` or ``inconclusive``.
    mean, half_width : float or None
        The mean queue over the window, and its 95 % half-width over the seeds.
    shift : float or None
        A shift of the mean that the runs do not reject: of the decay that fits best among those that move it
        by more than the half-width, or what MSER-5 cuts.
    bound : float or None
        The largest shift of the mean that the runs do not exclude (one-sided 95 %).
    slowest : float
        The longest time constant (s) of a decay that was considered.
    cut : float or None
        Where MSER-5 cuts the runs, on average over those in which that matters (s).
    n : int
        Number of runs.
    """

    outcome: Word
    mean: float | None = None
    half_width: float | None = None
    shift: float | None = None
    bound: float | None = None
    slowest: float = 0.0
    cut: float | None = None
    n: int = 0


def queue_parts(parts: Floats, step: float, warmup: float, end: float) -> QueueParts | None:
    """Return what `settling` needs of a run; None if the window has too few parts.

    Parameters
    ----------
    parts : array
        Means of consecutive parts of the run, from time 0 to `end`.
    step : float
        Length of a part (s).
    warmup, end : float
        The window (s).
    """
    if step <= 0 or (end - warmup) / step < LEAST_PARTS:
        return None
    begin = _begins(len(parts), step)
    mean = float(parts[begin >= warmup - step / 1e6].mean())
    return QueueParts(parts, step, warmup, mean, _cut(parts, step, warmup, mean))


def _begins(parts: int, step: float) -> Floats:
    import numpy as np

    return np.arange(parts, dtype=np.float64) * step


def _cut(parts: Floats, step: float, warmup: float, mean: float) -> tuple[float, float] | None:
    """Return where MSER-5 cuts a run, and the shift that this avoids, if it cuts in the window."""
    cut = mser(parts)
    if cut is None or cut * step <= warmup:
        return None
    shift = mean - float(parts[cut:].mean())
    return (cut * step, shift) if abs(shift) > max(1.0, MATTERS * mean) else None


def settling(runs: Sequence[QueueParts], length: float) -> Settling:
    """Return the outcome for runs with different seeds; `length` is that of the window (s).

    Examples
    --------
    >>> import numpy as np
    >>> rng, decay = np.random.default_rng(1), np.exp(-np.arange(100.0) / 30)
    >>> def study(start):
    ...     runs = 40 + start * decay + rng.normal(size=(5, 100))
    ...     return [queue_parts(run, 1.0, 50.0, 100.0) for run in runs]
    >>> settling(study(0.0), 50.0).outcome, settling(study(0.0)[:1], 50.0).outcome
    ('settled', 'inconclusive')
    >>> found = settling(study(20.0), 50.0)
    >>> found.outcome, round(found.shift), round(20 * float(decay[50:].mean()))
    ('not settled', 2, 2)
    """
    n, slowest = len(runs), DECAYS[-1] * length
    cuts = [run.cut for run in runs if run.cut is not None]
    cut, cut_shift = (_middle(one) for one in zip(*cuts, strict=True)) if cuts else (None, None)
    is_cut = 2 * len(cuts) > n
    mean, half, _ = mean_ci([run.mean for run in runs])
    if mean is None:
        return Settling(INCONCLUSIVE)
    if half is None or half == 0.0:  # one run, or equal runs: no error can be estimated
        word: Word = NOT_SETTLED if is_cut else INCONCLUSIVE
        return Settling(word, mean, half, cut_shift, None, slowest, cut, n)
    least = max(half, NEGLIGIBLE * abs(mean))
    fits = [_fit(runs, length, start) for start in STARTS]
    fit = next((one for one in fits if one.misfit <= 1), None) or min(fits, key=lambda one: one.misfit)
    shift = fit.shift(least)
    bound = fit.bound()
    word = INCONCLUSIVE
    if shift is not None:
        word = NOT_SETTLED
    elif bound <= least:
        word = SETTLED
    elif is_cut:
        word, shift = NOT_SETTLED, cut_shift
    return Settling(word, mean, half, shift, bound, slowest, cut, n)


class _Fit(NamedTuple):
    """Least-squares fits of the `DECAYS` to the mean of the seeds."""

    #: Products of the decays with each other, and with the series; all without their means.
    products: Floats
    with_series: Floats
    #: Means of the decays over the window.
    means: Floats
    #: Variance of the series at low frequencies, and its degrees of freedom.
    variance: float
    degrees: int
    #: Lack of fit of the best decay, relative to what noise exceeds with the probability `REJECTED`.
    misfit: float

    @property
    def ratios(self) -> Floats:
        """The t-statistic of each decay."""
        import numpy as np

        return self.with_series / np.sqrt(self.products.diagonal() * self.variance)

    @property
    def limit(self) -> float:
        """The t-statistic above which one of the decays is significant (Bonferroni)."""
        return t_quantile(1 - ERROR / len(DECAYS), self.degrees)

    def shift(self, least: float) -> float | None:
        """Return the shift of the best-fitting significant decay above `least`; None if there is none."""
        import numpy as np

        shifts = self.with_series / self.products.diagonal() * self.means
        ratios = np.abs(self.ratios)
        tolerance = t_quantile(1 - REJECTED, self.degrees) ** 2
        is_possible = ratios**2 >= float(ratios.max()) ** 2 - tolerance
        chosen = np.flatnonzero(is_possible & (ratios > self.limit) & (np.abs(shifts) > least))
        return float(shifts[chosen[np.argmax(ratios[chosen])]]) if len(chosen) else None

    def bound(self) -> float:
        """Return the largest one-sided bound of the shift by a decay, and the best one if it is significant.

        A queue may have two transients of opposite signs, which hide each other from a single decay.
        """
        import numpy as np

        best = int(np.argmax(np.abs(self.ratios)))
        beside = [best] if abs(self.ratios[best]) > self.limit else []
        quantile = t_quantile(1 - 2 * ERROR, self.degrees)
        found = []
        for one in range(len(DECAYS)):
            chosen = sorted({*beside, one})
            means = self.means[chosen]
            inverse = np.linalg.inv(self.products[np.ix_(chosen, chosen)])
            shift = means @ inverse @ self.with_series[chosen]
            error = np.sqrt(means @ inverse @ means * self.variance)
            found.append(float(abs(shift) + quantile * error))
        return max(found)


def _fit(runs: Sequence[QueueParts], length: float, start: float) -> _Fit:
    """Fit the decays to the parts after this share of the warm-up."""
    import numpy as np
    from scipy.special import fdtri

    values, step, warmup, _, _ = runs[0]
    begin = _begins(len(values), step)
    used = begin >= start * warmup - step / 1e6
    at = begin[used] - warmup
    series = np.array([run.values for run in runs])[:, used]
    low = min(FITTED, len(at) - 1)
    waves = np.cos(np.pi * np.arange(1, low + 1)[:, None] * (np.arange(len(at)) + 0.5) / len(at))
    waves *= math.sqrt(2 / len(at))
    variance, degrees = _variance(series @ waves.T)
    decays = np.array([np.exp(-at / (share * length)) for share in DECAYS])
    means = decays[:, at >= -step / 1e6].mean(axis=1)
    decays -= decays.mean(axis=1, keepdims=True)
    middle = series.mean(axis=0)
    fit = _Fit(decays @ decays.T, decays @ middle, means, variance, degrees, 0.0)
    best = int(np.argmax(np.abs(fit.ratios)))
    rest = waves @ (middle - fit.with_series[best] / fit.products[best, best] * decays[best])
    ratio = float(rest @ rest) / (low - 1) / variance
    misfit = ratio / float(fdtri(low - 1, degrees, 1 - REJECTED))
    # If no decay fits, what is left is noise, too.
    return fit._replace(misfit=misfit, variance=variance * max(1.0, ratio if misfit > 1 else 1.0))


def _variance(waves: Floats) -> tuple[float, int]:
    """Return the variance of the seeds' mean at low frequencies, and its degrees of freedom.

    An orthonormal-series estimate (Lazarus, Lewis, Stock and Watson 2018) from the deviations of the seeds
    from their mean, which have no common transient. `waves` are the coefficients of each seed.
    """
    n = len(waves)
    away = (waves - waves.mean(axis=0))[:, :LOW]
    degrees = (n - 1) * away.shape[1]
    return max(float((away**2).sum()) / degrees / n, 1e-300), degrees


def _middle(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def mser(values: Floats, batch: int = BATCH) -> int | None:
    """Return the number of initial values to discard, a multiple of `batch`; None if unknown.

    White (1997): of all truncations d of a series of n batch means (five observations each), take the one
    with the smallest variance / (n - d), the squared standard error of the mean of the rest. If it lies
    beyond half the series, there is too little data.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.linspace(50, 0, 20)
    >>> mser(np.concatenate([start, np.tile([0.0, 1.0, 2.0], 60)]))
    20
    """
    import numpy as np

    n = len(values) // batch
    if n < 4:
        return None
    means = values[: n * batch].reshape(n, batch).mean(axis=1)
    # Sums over the rest after d batches, d = 0 ... n - 1.
    left = np.arange(n, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(((means - means.mean()) ** 2)[::-1])[::-1]
    away = total - left * means.mean()
    error = (squares - away**2 / left) / left**2
    best = int(np.argmin(error[: n - 1]))
    return best * batch if best <= n // 2 else None
