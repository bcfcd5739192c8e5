"""Compares a scenario with simulated packets and with those of another world, such as real ones.

`TARGETS` has the tolerance of each metric. A larger difference does not prove an error, since single runs
with few losses vary as much. Each row therefore also shows whether the other world's mean is within the
spread of single simulated runs.

If the queue of the other world is seeded, algorithms draw the same random numbers in both worlds with the
same seed, and the random draws of the first drops can affect a whole run. So a run is compared with simulated
runs of its seed (`simulate`) in which only the random numbers of the hosts differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.api import run
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.spec.scenario import Scenario
from sojourn.stats import deviation
from sojourn.study.two_worlds import copy_of
from sojourn.worlds import DEFAULT


@dataclass(frozen=True)
class Target:
    """Tolerance of a metric: a share of the simulated value, or the absolute difference `floor`."""

    metric: str
    share: float
    floor: float = 0.0


#: Throughput within 2 %, mean delay within 15 % or 1 ms, drops and marks within 25 %.
TARGETS = (
    Target("throughput_bps", 0.02),
    Target("mean_delay_s", 0.15, 1e-3),
    Target("drops", 0.25),
    Target("marks", 0.25),
)
#: Distance of the other mean, in standard deviations of single simulated runs, that is still usual.
USUAL = 3.0


@dataclass(frozen=True)
class Row:
    """One metric of one algorithm in both worlds.

    Attributes
    ----------
    simulated, other : float or None
        Means over seeds and repetitions.
    spread : float
        Standard deviation of single simulated runs.
    within : bool
        Whether the difference is within the tolerance.
    usual : bool
        Whether the real mean is within `USUAL` of these deviations.
    """

    aqm: str
    metric: str
    simulated: float | None
    other: float | None
    spread: float
    within: bool
    usual: bool

    @property
    def difference(self) -> float | None:
        """Relative difference: the other value divided by the simulated one, minus 1."""
        if self.simulated is None or self.other is None or not self.simulated:
            return None
        return self.other / self.simulated - 1

    @property
    def verdict(self) -> str:
        """``agrees``; ``within the spread`` of single runs; ``differs``."""
        return "agrees" if self.within else "within the spread" if self.usual else "differs"

    def data(self, world: str) -> dict[str, Any]:
        """Return the row as plain data, with each mean under the name of its world; `world` is the other."""
        return {
            "aqm": self.aqm,
            "metric": self.metric,
            DEFAULT: self.simulated,
            world: self.other,
            "spread": self.spread,
            "difference": self.difference,
            "verdict": self.verdict,
        }


def simulate(
    scenario: Scenario,
    specs: Sequence[str],
    repeats: int,
    count: int,
    workers: int | None = None,
    progress: Progress | None = None,
    directory: Path | None = None,
) -> list[Results]:
    """Return simulated runs for the comparison with another world.

    Parameters
    ----------
    scenario, specs
        The scenario and the algorithms.
    repeats : int
        Number of the other world's runs: seeds 1 to `repeats`.
    count : int
        Minimum number of simulated runs of each algorithm; every seed has the same number.
    directory : Path, optional
        The folder of the comparison, which keeps them.

    Returns
    -------
    list of Results
        Results of the scenario, and of copies in which traffic has other names. The random numbers of hosts
        (starts, sizes, gaps) depend on the seed and these names, those of queues on the seed alone.
    """
    copies = [scenario, *(_renamed(scenario, number) for number in range(1, -(-count // repeats)))]
    folders = [directory and copy_of(directory, number) for number in range(len(copies))]
    return [
        run(copy, specs, repeats, workers=workers, progress=progress, out=folder)
        for copy, folder in zip(copies, folders, strict=True)
    ]


def _renamed(scenario: Scenario, number: int) -> Scenario:
    traffic = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
    return scenario.with_(traffic=[{**one, "name": f"{one['name']}-{number}"} for one in traffic])


def rows(simulated: Sequence[Results], other: Results, targets: Sequence[Target] = TARGETS) -> list[Row]:
    """Return a row for every metric of `targets` and every algorithm."""
    return [_row(aqm, target, simulated, other) for aqm in other.aqms for target in targets]


def _row(aqm: str, target: Target, simulated: Sequence[Results], other: Results) -> Row:
    ours = _known([value for one in simulated for value in one.values(aqm, target.metric)])
    theirs = _known(other.values(aqm, target.metric))
    a, b = (sum(values) / len(values) if values else None for values in (ours, theirs))
    spread = deviation(ours) if len(ours) > 1 else 0.0
    if a is None or b is None:
        return Row(aqm, target.metric, a, b, spread, a == b, a == b)
    away = abs(b - a)
    within = away <= max(target.share * a, target.floor)
    return Row(aqm, target.metric, a, b, spread, within, away <= USUAL * spread)


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
