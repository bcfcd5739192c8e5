"""A search over parameters by Optuna: trials are asked for, run under a few seeds, told; bad ones stop early.

The sampler is the tree-structured Parzen estimator (Bergstra and others 2011; Optuna's, in all parameters at
once), for one aim or several. It begins with the settings as they are given. Trials are asked for in groups
of a fixed size, so the course of a search depends on its seed alone, not on who makes the runs; a search that
is started again asks for the same trials, whose runs are found in the store.

A trial stops after half its seeds if a finished trial is better in every aim, by a paired t-test with p below
0.1 in each: a hint is enough to stop, since what is recommended is tested on other seeds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.errors import InputError
from sojourn.metrics import Metrics
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.stats import mean, paired
from sojourn.study.axes import with_parameter
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.search_space import Dimension

if TYPE_CHECKING:
    import optuna

#: Trials that are asked for together.
GROUP = 4
#: No trial is judged on fewer seeds.
LEAST_SEEDS = 3
ERROR = 0.1
#: Settings that cannot be run, like thresholds the wrong way round, cost no run; but there is an end.
MOST_REFUSED = 20

#: Points in, their metrics out.
Run = Callable[[Sequence[Point]], Mapping[Point, Metrics]]


@dataclass
class Trial:
    """One setting: what it is, and each aim under each seed."""

    number: int
    spec: str
    values: dict[str, list[float]] = field(default_factory=dict)
    state: str = "running"

    def means(self) -> tuple[float, ...]:
        """Return the mean of each aim."""
        return tuple(mean(values) for values in self.values.values())


def search(
    scenario: Scenario,
    spec: str,
    dimensions: Sequence[Dimension],
    objectives: Sequence[Objective],
    trials: int,
    seeds: Sequence[int],
    run: Run,
    sampler_seed: int = 1,
) -> list[Trial]:
    """Search the settings of one algorithm; the first trial is `spec` itself.

    Parameters
    ----------
    scenario : Scenario
        What happens.
    spec : str
        The algorithm as it is given.
    dimensions : sequence of Dimension
        What may be turned.
    objectives : sequence of Objective
        What counts; several give a front.
    trials : int
        How many settings are run.
    seeds : sequence of int
        Of each trial.
    run : callable
        Makes runs, or finds them in the store.
    sampler_seed : int
        Of the search itself.

    Returns
    -------
    list of Trial
        In the order asked for; ``state`` is ``finished`` or ``stopped``.
    """
    study = _study(objectives, sampler_seed)
    distributions = {dimension.name: _distribution(dimension) for dimension in dimensions}
    found: list[Trial] = []
    refused = 0
    while len(found) < trials:
        group: list[tuple[Any, Trial]] = []
        while len(group) < min(GROUP, trials - len(found)):
            asked = study.ask(distributions)
            number = len(found) + len(group)
            wanted = spec if number == 0 else _spec(spec, dimensions, asked.params)
            if wanted is None or not _runs(scenario, wanted):
                refused += 1
                if refused > MOST_REFUSED * trials:
                    raise InputError(f"aqm {spec!r}:", "is refused for almost every setting", "other ranges")
                study.tell(asked, state=_failed())
            else:
                group.append((asked, Trial(number, wanted)))
        _evaluate(scenario, [trial for _, trial in group], found, objectives, seeds, run)
        for asked, trial in group:
            # A stopped trial is told too: the mean of half the seeds is news as well.
            study.tell(asked, trial.means())
        found += [trial for _, trial in group]
    return found


def _evaluate(
    scenario: Scenario,
    group: Sequence[Trial],
    before: Sequence[Trial],
    objectives: Sequence[Objective],
    seeds: Sequence[int],
    run: Run,
) -> None:
    half = max(LEAST_SEEDS, math.ceil(len(seeds) / 2))
    finished = [trial for trial in before if trial.state == "finished"]
    for last, part in enumerate((seeds[:half], seeds[half:])):
        points = {(trial.number, seed): Point(scenario, trial.spec, seed) for trial in group for seed in part}
        metrics = run(list(points.values())) if points else {}
        for trial in group:
            for name, _ in objectives:
                known = [metrics[points[trial.number, seed]].get(name) for seed in part]
                trial.values.setdefault(name, []).extend(_numbers(name, trial.spec, known))
        for trial in group:
            if last or len(seeds) <= half:
                trial.state = "finished"
            elif any(beats(one, trial, objectives) for one in finished):
                trial.state = "stopped"
        group = [trial for trial in group if trial.state == "running"]


def beats(better: Trial, worse: Trial, objectives: Sequence[Objective], error: float = ERROR) -> bool:
    """Tell whether a trial is better in every aim on the seeds that both have, each with p < `error`."""
    for name, higher in objectives:
        count = min(len(worse.values[name]), len(better.values[name]))
        effect = paired(worse.values[name][:count], better.values[name][:count])
        if effect.mean is None or effect.p is None or effect.p >= error or (effect.mean > 0) != higher:
            return False
    return True


def front(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the finished trials that no other is at least as good as in every aim and better in one."""
    signs = [1.0 if higher else -1.0 for _, higher in objectives]
    scores = {
        trial.number: tuple(sign * one for sign, one in zip(signs, trial.means(), strict=True))
        for trial in trials
        if trial.state == "finished"
    }

    def beaten(own: tuple[float, ...]) -> bool:
        return any(
            other != own and all(a >= b for a, b in zip(other, own, strict=True)) for other in scores.values()
        )

    return [trial for trial in trials if trial.number in scores and not beaten(scores[trial.number])]


def _numbers(name: str, spec: str, values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        raise InputError(f"metric {name}", f"is not known of every run of {spec}", "a metric that is")
    return known


def _runs(scenario: Scenario, spec: str) -> bool:
    try:
        _core.check(scenario.plan_json(spec))
    except ValueError:
        return False
    return True


def _spec(spec: str, dimensions: Sequence[Dimension], values: Mapping[str, Any]) -> str | None:
    try:
        for dimension in dimensions:
            spec = with_parameter(spec, dimension.name, dimension.text(values[dimension.name]))
    except InputError:
        return None
    return spec


def _study(objectives: Sequence[Objective], seed: int) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Optuna calls experimental
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        way = optuna.study.StudyDirection
        directions = [way.MAXIMIZE if higher else way.MINIMIZE for _, higher in objectives]
        return optuna.create_study(directions=directions, sampler=sampler)


def _failed() -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return TrialState.FAIL


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if dimension.choices:
        return CategoricalDistribution(dimension.choices)
    if dimension.whole:
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log)
