"""Confidence levels for studies that add seeds until the intervals are narrow enough.

With repeated evaluations and a stop at the first narrow interval, a 95 % interval is wrong in more than 5 %
of the studies. Here evaluation k has the level 1 - 0.05 * 6 / (pi k)**2, so that the errors sum to 0.05 for
any number of evaluations (Boole's inequality). The reported intervals contain the true value in at least 95 %
of the studies, for any stopping time, and are slightly wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from sojourn.stats import Estimate

#: Growth factor of the number of seeds: few evaluations, at most half of the seeds superfluous.
GROWTH = 1.5


def looks(first: int, most: int) -> Iterator[int]:
    """Yield the numbers of seeds at which to evaluate: `first`, then half as many again, finally `most`.

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
    """Return the confidence level of the intervals at evaluation `look` (1, 2, ...).

    Examples
    --------
    >>> [round(level(k), 4) for k in (1, 2, 3)]
    [0.9696, 0.9924, 0.9966]
    """
    return 1 - error * 6 / (math.pi * look) ** 2


def narrow(estimates: Iterable[Estimate], share: float) -> bool:
    """Return whether every interval is known and its half-width at most `share` of the mean.

    A value of exactly 0 in every seed counts as narrow.
    """
    return all(
        one.mean is not None and one.ci95 is not None and one.ci95 <= share * abs(one.mean)
        for one in estimates
    )
