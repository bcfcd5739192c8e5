"""Fig. 8 as curves: a metric against the mean queue, one curve per algorithm and seed.

Each curve has a point for each target q_0, in order of mean queue, joined by straight lines. Two curves are
compared only over the range of mean queues that both reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from sojourn import stats
from sojourn.papers.raqm2005.experiments import TARGETS
from sojourn.papers.terms import Derived, Quantity

One = TypeVar("One")
#: The mean queue of a run, the abscissa of Fig. 8.
QUEUE = "queue_mean[0,200]"
#: Points at which two curves are compared.
POINTS = 101
#: Tolerance for a mean queue that a curve does not reach ("about 20").
NEAR = 0.2


def cells(metric: str, arm: str, experiment: str) -> tuple[Quantity, ...]:
    """Return mean queues, then metric, of all targets."""
    arms = [f"{arm} q_0={target}" for target in TARGETS]
    return tuple(Quantity(name, one, experiment) for name in (QUEUE, metric) for one in arms)


def halves(row: Sequence[One]) -> tuple[tuple[One, ...], tuple[One, ...]]:
    """Return the two halves of a row: mean queues and metric."""
    middle = len(row) // 2
    return tuple(row[:middle]), tuple(row[middle:])


def curve(row: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return mean queues in increasing order, and the metric at each."""
    pairs = sorted(zip(*halves(row), strict=True))
    return [queue for queue, _ in pairs], [value for _, value in pairs]


def at_equal_queue(metric: str, a: str, b: str, experiment: str) -> tuple[Derived, Derived]:
    """Return a metric of `a` and of `b`, each averaged over the mean queues that both reach.

    Unknown for a seed in which the two ranges do not overlap.
    """
    of = (*cells(metric, a, experiment), *cells(metric, b, experiment))

    def averaged(which: int) -> Callable[..., float | None]:
        def average(*values: float) -> float | None:
            both = [curve(half) for half in halves(values)]
            low, high = max(queues[0] for queues, _ in both), min(queues[-1] for queues, _ in both)
            if low >= high:
                return None
            queues, heights = both[which]
            return stats.mean(np.interp(np.linspace(low, high, POINTS), queues, heights).tolist())

        return average

    title = metric.replace("_", " ")
    apart = f"there is no mean queue that both {a} and {b} reach"
    first, second = (
        Derived(f"{title} at equal mean queue", of, averaged(which), who=name, unknown=apart)
        for which, name in enumerate((a, b))
    )
    return first, second


def at_queue(metric: str, arm: str, queue: float, experiment: str) -> Derived:
    """Return a metric of `arm` at the mean `queue`; the nearest end if it is `NEAR` enough, else unknown."""

    def read(*values: float) -> float | None:
        queues, heights = curve(values)
        if queues[0] > (1 + NEAR) * queue or queues[-1] < (1 - NEAR) * queue:
            return None
        return float(np.interp(queue, queues, heights))

    label = f"{metric} of {arm} at a mean queue of {queue:g} packets"
    apart = f"no target brings the mean queue of {arm} within {NEAR:.0%} of {queue:g} packets"
    return Derived(label, cells(metric, arm, experiment), read, unknown=apart)


def nearest_queue(arm: str, queue: float, experiment: str) -> Derived:
    """Return the mean queue nearest to `queue` over all targets."""
    of = cells("goodput", arm, experiment)[: len(TARGETS)]

    def nearest(*queues: float) -> float:
        return min(queues, key=lambda one: abs(one - queue))

    return Derived(f"mean queue nearest to {queue:g} packets", of, nearest, "packets", arm)


def best_target(metric: str, arms: Sequence[str], experiment: str) -> Derived:
    """Return the target with the largest metric, averaged over some algorithms."""
    of = tuple(Quantity(metric, f"{arm} q_0={target}", experiment) for arm in arms for target in TARGETS)

    def best(*values: float) -> float:
        count = len(TARGETS)
        parts = [values[i : i + count] for i in range(0, len(values), count)]
        return stats.mean([float(TARGETS[part.index(max(part))]) for part in parts])

    return Derived(f"target with the largest {metric}, mean of {' and '.join(arms)}", of, best, "packets")
