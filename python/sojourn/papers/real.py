"""The arms of a paper in the real world, their number of repetitions, and the default selection.

Real runs take real time, so they are few and short. An experiment's real arms have the names of the simulated
ones, so that the same checks judge them on the available repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sojourn.errors import unknown
from sojourn.papers.campaign import Job
from sojourn.papers.experiment import Arm

#: Minimum number of repetitions for a verdict.
LEAST = 3


@dataclass(frozen=True)
class Testbed:
    """The real side of one experiment.

    Attributes
    ----------
    arms : callable
        Makes every arm, by its name in the checks.
    usual : sequence of str
        Those that are run by default.
    quick : sequence of str
        Those of a quick run, each run once.
    repetitions : int
        Number of runs of each.
    """

    arms: Callable[[], Mapping[str, Arm]]
    usual: Sequence[str]
    quick: Sequence[str]
    repetitions: int = LEAST


def jobs(
    testbeds: Mapping[str, Testbed], experiment: str | None, names: Sequence[str], quick: bool
) -> Iterator[Job]:
    """Yield the real runs of a paper, one repetition of every arm after the other.

    Parameters
    ----------
    testbeds : mapping
        By the experiment whose checks use them.
    experiment : str or None
        Only this one.
    names : sequence of str
        Only these arms; none: the default ones.
    quick : bool
        One repetition, fewer arms.

    Raises
    ------
    InputError
        If no arm has this name.
    """
    wanted = {name: one for name, one in testbeds.items() if experiment in (None, name)}
    known = {arm for one in wanted.values() for arm in one.arms()}
    for name in names:
        if name not in known:
            raise unknown(name, "an arm of the real world", sorted(known), "arm")
    most = max((one.repetitions for one in wanted.values()), default=0)
    for seed in range(1, 2 if quick else most + 1):
        for where, one in wanted.items():
            every = one.arms()
            for name in names or (one.quick if quick else one.usual):
                if name in every and seed <= one.repetitions:
                    yield Job("", where, every[name], seed, traced=True, world="real")
