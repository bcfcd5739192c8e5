"""The design of the joint readings: a Sobol sequence over the categories of all factors.

A point of the sequence gives each factor a number in [0, 1), which its values share equally. Each value of
a factor then occurs almost equally often, and so does each pair of values of two factors, so that effects
of one factor are not mistaken for those of another (scipy.stats.qmc; Owen's scrambling with a fixed seed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from scipy.stats import qmc

#: Seed of the scrambling.
SEED = 2002
#: Maximum number of points that are drawn for each one that is kept.
MOST = 8

#: The number of the value of each factor.
Levels: TypeAlias = tuple[int, ...]


def sobol(
    sizes: Sequence[int], count: int, allowed: Callable[[Levels], bool] = lambda _levels: True
) -> list[Levels]:
    """Return different points of a Sobol sequence over categories.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each factor.
    count : int
        Number of points; the balance is best for a power of two. Fewer are returned if the space is smaller.
    allowed : callable
        Whether a point can be run; others are replaced by the next points of the sequence.
    """
    if not sizes:
        return [()]
    sequence = qmc.Sobol(d=len(sizes), scramble=True, rng=SEED)
    found: dict[Levels, None] = {}
    refused: set[Levels] = set()
    batch = 1 << (count - 1).bit_length()
    for _ in range(MOST):
        for row in sequence.random(batch):
            point = tuple(min(int(u * size), size - 1) for u, size in zip(row, sizes, strict=True))
            if point in found or point in refused:
                continue
            if not allowed(point):
                refused.add(point)
                continue
            found[point] = None
            if len(found) == count:
                return list(found)
    return list(found)
