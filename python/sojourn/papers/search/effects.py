"""Main effects of factors, and interactions of pairs, estimated from the designed readings.

The response is a number of each reading: the share of a claim's comparisons that are met, or a score. A
main effect is tested by comparing the response's means at a factor's values (one-way analysis of variance),
a pair by comparing the means of all combinations of two factors' values with the sum of both main effects.
Each has a size in the response's own unit and the share of its variance, corrected for what chance
explains; p-values are corrected for the number of factors or pairs (Holm).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from sojourn import stats
from sojourn.papers.search.design import Levels
from sojourn.papers.search.space import Factor

Floats = NDArray[np.float64]
#: Effects with a corrected p-value below this are reported.
LEVEL = 0.05


@dataclass(frozen=True)
class Effect:
    """The main effect of one factor, or the interaction of two.

    Attributes
    ----------
    factors : tuple of str
        Keys of one factor or two.
    size : float
        One factor: the largest mean minus the smallest. Two: the largest distance of a combination's mean
        from the sum of both main effects.
    share : float
        Share of the response's variance, corrected for chance; may be slightly below 0.
    p : float
        Probability of such an effect by chance, corrected.
    means : tuple of (str, float)
        Mean response at each value, or at each combination, ``a / b``.
    """

    factors: tuple[str, ...]
    size: float
    share: float
    p: float
    means: tuple[tuple[str, float], ...]


def decisive(factors: Sequence[Factor], design: Sequence[Levels], response: Sequence[float]) -> list[Effect]:
    """Return the significant effects, factors before pairs, the largest share of variance first.

    Parameters
    ----------
    factors : sequence of Factor
        The free factors.
    design : sequence of tuple of int
        The number of each factor's value, for each reading.
    response : sequence of float
        A number for each reading.
    """
    y = np.asarray(response, dtype=float)
    if len(y) < 4 or np.ptp(y) == 0:
        return []
    columns = [np.array([levels[i] for levels in design]) for i in range(len(factors))]
    mains = [_main(factor, column, y) for factor, column in zip(factors, columns, strict=True)]
    pairs = [_pair(factors[i], factors[j], columns[i], columns[j], y)
             for i, j in combinations(range(len(factors)), 2)]  # fmt: skip
    return [*_kept(mains), *_kept(pairs)]


def _kept(found: Sequence[Effect | None]) -> list[Effect]:
    known = [one for one in found if one is not None]
    corrected = stats.holm([one.p for one in known])
    real = [replace(one, p=p) for one, p in zip(known, corrected, strict=True) if p is not None and p < LEVEL]
    return sorted(real, key=lambda one: -one.share)


def _main(factor: Factor, column: NDArray[np.int_], y: Floats) -> Effect | None:
    places = [column == level for level in range(len(factor.values)) if (column == level).any()]
    names = [value.id for level, value in enumerate(factor.values) if (column == level).any()]
    means = [float(y[place].mean()) for place in places]
    fitted = sum(np.where(place, mean, 0.0) for place, mean in zip(places, means, strict=True))
    tested = _test(y, np.full_like(y, y.mean()), np.asarray(fitted), len(places) - 1, len(y) - len(places))
    if tested is None:
        return None
    return Effect((factor.key,), max(means) - min(means), *tested, tuple(zip(names, means, strict=True)))


def _pair(a: Factor, b: Factor, at_a: NDArray[np.int_], at_b: NDArray[np.int_], y: Floats) -> Effect | None:
    cells = {
        (i, j): place
        for i, j in product(range(len(a.values)), range(len(b.values)))
        if (place := (at_a == i) & (at_b == j)).any()
    }
    levels = [(at_a == i) for i in range(1, len(a.values))] + [(at_b == j) for j in range(1, len(b.values))]
    additive = np.column_stack([np.ones_like(y), *levels])
    solution, _, rank, _ = np.linalg.lstsq(additive, y, rcond=None)
    sums = additive @ solution
    fitted = np.empty_like(y)
    for place in cells.values():
        fitted[place] = y[place].mean()
    tested = _test(y, sums, fitted, len(cells) - int(rank), len(y) - len(cells))
    if tested is None:
        return None
    means = tuple((f"{a.values[i].id} / {b.values[j].id}", float(y[p].mean())) for (i, j), p in cells.items())
    return Effect((a.key, b.key), float(np.abs(fitted - sums).max()), *tested, means)


def _test(y: Floats, less: Floats, more: Floats, extra: int, left: int) -> tuple[float, float] | None:
    """Return the corrected share of variance that `more` explains beyond `less`, and its p-value.

    `extra` degrees of freedom are spent on it and `left` remain; None if there are none.
    """
    if extra < 1 or left < 1:
        return None
    gained = float(((y - less) ** 2).sum() - ((y - more) ** 2).sum())
    noise = float(((y - more) ** 2).sum()) / left
    whole = float(((y - y.mean()) ** 2).sum())
    share = (gained - extra * noise) / (whole + noise)
    if noise <= 1e-12 * whole:
        return share, 0.0 if gained > 1e-9 * whole else 1.0
    return share, float(fdtrc(extra, left, max(0.0, gained) / extra / noise))
