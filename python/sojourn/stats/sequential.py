"""Seeds until the intervals are narrow enough: when to look, and how sure each look must be.

Whoever looks at an interval again and again and stops when it pleases him is wrong more often than once in
twenty. Here the looks share one error: look k has the level 1 - 0.05 * 6 / (pi k)**2, and these errors add
up to 0.05 however many looks there are (Boole's inequality). So the intervals that are reported are right
in at least 95 of 100 studies, wherever the study stopped; they are a little wider for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from sojourn.stats import Estimate

#: Each look has this many times the seeds of the one before: few looks, and at most half too many seeds.
GROWTH = 1.5


def looks(first: int, most: int) -> Iterator[int]:
    """Yield the numbers of seeds after which to look: `first`, then half as many again, at last `most`.

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


def level(look: int, error: float = 0.05) -> float:
    """Return the level of the intervals at the look number `look` (1, 2, ...).

    Examples
    --------
    >>> [round(level(k), 4) for k in (1, 2, 3)]
    [0.9696, 0.9924, 0.9966]
    """
    return 1 - error * 6 / (math.pi * look) ** 2


def narrow(estimates: Iterable[Estimate], share: float) -> bool:
    """Tell whether every interval is known and its half-width at most `share` of the mean.

    A mean of exactly 0 in every seed has nothing to narrow.
    """
    return all(
        one.mean is not None and one.ci95 is not None and one.ci95 <= share * abs(one.mean)
        for one in estimates
    )
