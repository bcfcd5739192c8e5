"""The same scenario in simulated and in real packets: what both measure, and whether they agree.

`TARGETS` says how near is near. A difference outside of them is not proof that one is wrong: a single run
of few losses varies as much. So each figure also says whether the real mean lies where single simulated
runs lie.

Algorithms draw the same random numbers in both worlds, by the seed; and if an algorithm forgets slowly, the
luck of its first drops lasts as long as the run. So what stands beside a real run are simulated ones of its
seed (`simulate`), in which the hosts draw anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.api import run
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.spec.scenario import Scenario
from sojourn.stats import deviation


@dataclass(frozen=True)
class Target:
    """How far the real figure may be from the simulated one: a share of it, or so much."""

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
#: Standard deviations of single simulated runs within which a real mean is nothing unusual.
USUAL = 3.0


@dataclass(frozen=True)
class Row:
    """One figure of one algorithm in both worlds.

    Attributes
    ----------
    simulated, real : float or None
        Means over seeds, and over repetitions.
    spread : float
        Standard deviation of single simulated runs.
    within : bool
        Whether the target is met.
    usual : bool
        Whether the real mean is within `USUAL` of these deviations.
    """

    aqm: str
    metric: str
    simulated: float | None
    real: float | None
    spread: float
    within: bool
    usual: bool

    @property
    def difference(self) -> float | None:
        """Real over simulated, less 1."""
        if self.simulated is None or self.real is None or not self.simulated:
            return None
        return self.real / self.simulated - 1

    @property
    def verdict(self) -> str:
        """``agrees``; ``within the spread`` of single runs; ``differs``."""
        return "agrees" if self.within else "within the spread" if self.usual else "differs"

    def data(self) -> dict[str, Any]:
        """Return the figure as plain data."""
        names = ("aqm", "metric", "simulated", "real", "spread", "difference", "verdict")
        return {name: getattr(self, name) for name in names}


def simulate(
    scenario: Scenario,
    specs: Sequence[str],
    repeats: int,
    count: int,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Results]:
    """Return simulated runs to stand beside real ones.

    Parameters
    ----------
    scenario, specs
        What is run.
    repeats : int
        Real runs: seeds 1 to `repeats`.
    count : int
        Simulated runs of each algorithm, at least; the same number with every seed.

    Returns
    -------
    list of Results
        The scenario itself, and the same with other names of its traffic. What hosts draw (starts, sizes,
        gaps) follows from the seed and these names, what queues draw from the seed alone.
    """
    twins = [scenario, *(_renamed(scenario, number) for number in range(1, -(-count // repeats)))]
    return [run(twin, specs, repeats, workers=workers, progress=progress) for twin in twins]


def _renamed(scenario: Scenario, number: int) -> Scenario:
    traffic = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
    return scenario.with_(traffic=[{**one, "name": f"{one['name']}-{number}"} for one in traffic])


def rows(simulated: Sequence[Results], real: Results) -> list[Row]:
    """Return every target's figure of every algorithm that both worlds have."""
    return [_row(aqm, target, simulated, real) for aqm in real.aqms for target in TARGETS]


def _row(aqm: str, target: Target, simulated: Sequence[Results], real: Results) -> Row:
    ours = _known([value for one in simulated for value in one.values(aqm, target.metric)])
    theirs = _known(real.values(aqm, target.metric))
    a, b = (sum(values) / len(values) if values else None for values in (ours, theirs))
    spread = deviation(ours) if len(ours) > 1 else 0.0
    if a is None or b is None:
        return Row(aqm, target.metric, a, b, spread, a == b, a == b)
    away = abs(b - a)
    within = away <= max(target.share * a, target.floor)
    return Row(aqm, target.metric, a, b, spread, within, away <= USUAL * spread)


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
