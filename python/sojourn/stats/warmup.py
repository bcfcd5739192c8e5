"""Whether a queue had settled when the window began: three outcomes, from the seeds of an algorithm.

What is left of the start in the window is modelled as a decay, A exp(-t / tau), with the time constants
`DECAYS`. For each of them, least squares give the shift of the window's mean in every run. The shifts of the
seeds are independent, so Student's t holds for their mean however correlated the queue is within a run
(replication and deletion: Welch 1983; Law, Simulation Modeling and Analysis, section 9.5). Then

- **settled**: for every time constant the one-sided 95 % bound of the shift is below the half-width of the
  mean (two one-sided tests, Schuirmann 1987; as all must pass, no correction is needed: Berger 1982);
- **not settled**: otherwise, if a shift in the window alone is significant (Bonferroni over `DECAYS`) and
- **not settled**: else, if a shift in the window alone is significant (Bonferroni over `DECAYS`) and larger
  than the half-width, or MSER-5 (White 1997) cuts most runs later than the warm-up, which changes their
- **inconclusive**: otherwise.

So at most 5 % of the studies without a transient are called not settled, and at most 5 % of those with a
transient of a half-width settled, if it decays with a time constant of at most the last of `DECAYS`.
``validation/error_rates.py`` measures both.
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
#: The share of the warm-up that is not used: queues fill and overflow at the start, which is no decay.
UNUSED = 1 / 8
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


class Shifts(NamedTuple):
    """Estimates from one run of how far a decay moves the mean of its window, one for each of `DECAYS`."""

    #: From all parts but the first of the warm-up: precise.
    all: tuple[float, ...]
    #: From the parts of the window only: independent of what happened in the warm-up.
    window: tuple[float, ...]
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
        The estimated shift of the mean: of the most significant decay, or what MSER-5 cuts.
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


def shifts(parts: Floats, step: float, warmup: float, end: float) -> Shifts | None:
    """Return the estimates of a run from the means of its equal parts; None if the window has too few.

    Parameters
    ----------
    parts : array
        Means of consecutive parts of the run, from time 0.
    step : float
        Length of a part (s).
    warmup, end : float
        The window (s).

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(100.0) + 0.5
    >>> found = shifts(40 + 30 * np.exp(-(time - 50) / 10), 1.0, 50.0, 100.0)
    >>> [round(shift, 2) for shift in found.window[2:4]], round(found.mean - 40, 2)
    ([5.96, 10.4], 5.96)
    """
    import numpy as np

    length = end - warmup
    begin = np.arange(len(parts)) * step
    inside = begin >= warmup - step / 1e6
    used = begin >= UNUSED * warmup - step / 1e6
    if step <= 0 or inside.sum() < LEAST_PARTS:
        return None
    found: list[tuple[float, ...]] = []
    for chosen in (used, inside):
        values, at = parts[chosen], begin[chosen] - warmup
        away = values - values.mean()
        row = []
        for tau in (share * length for share in DECAYS):
            decay = np.exp(-at / tau) * tau * -math.expm1(-step / tau) / step
            decay_away = decay - decay.mean()
            size = float(decay_away @ away) / float(decay_away @ decay_away)
            row.append(size * tau * -math.expm1(-length / tau) / length)
        found.append(tuple(row))
    mean = float(parts[inside].mean())
    return Shifts(found[0], found[1], mean, _cut(parts, step, warmup, mean))


def _cut(parts: Floats, step: float, warmup: float, mean: float) -> tuple[float, float] | None:
    """Return where MSER-5 cuts a run, and the shift that this avoids, if it cuts in the window."""
    cut = mser(parts)
    if cut is None or cut * step <= warmup:
        return None
    shift = mean - float(parts[cut:].mean())
    return (cut * step, shift) if abs(shift) > max(1.0, MATTERS * mean) else None


def settling(runs: Sequence[Shifts], length: float) -> Settling:
    """Return the outcome for runs with different seeds; `length` is that of the window (s).

    Examples
    --------
    >>> steady = [Shifts((0.1 * sign,) * 5, (0.0,) * 5, 40.0 + sign, None) for sign in (-1.0, 0.0, 1.0)]
    >>> settling(steady, 10.0).outcome, settling(steady[:1], 10.0).outcome
    ('settled', 'inconclusive')
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
    least = NEGLIGIBLE * abs(mean)
    bounds = []
    for one in zip(*(run.all for run in runs), strict=True):
        middle, error = _mean_and_error(one)
        bounds.append(abs(middle) + t_quantile(1 - 2 * ERROR, n - 1) * error)
    significant = []
    for one in zip(*(run.window for run in runs), strict=True):
        middle, error = _mean_and_error(one)
        ratio = abs(middle) / error if error > 0 else math.inf
        if ratio > t_quantile(1 - ERROR / len(DECAYS), n - 1) and abs(middle) > max(half, least):
            significant.append((ratio, middle))
    shift = max(significant)[1] if significant else cut_shift
    moved = bool(significant) or is_cut
    word = SETTLED if max(bounds) <= max(half, least) else NOT_SETTLED if moved else INCONCLUSIVE
    return Settling(word, mean, half, shift, max(bounds), slowest, cut, n)


def _middle(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and its standard error."""
    middle, half, n = mean_ci(values)
    assert middle is not None
    assert half is not None
    return middle, half / t_quantile(0.95, n - 1)


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
