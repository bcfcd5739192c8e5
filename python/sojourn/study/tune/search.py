"""Searches the parameters of an algorithm with Optuna; poor trials stop early.

The sampler is Optuna's multivariate tree-structured Parzen estimator (Bergstra and others 2011), for one
objective or several. The first trial is the given setting. Trials are sampled in groups of a fixed size, so
the sequence of trials depends on the seed alone, not on the executor; a restarted search samples the same
trials, whose runs are in the store.

A trial stops after half its seeds if a finished trial is better in every objective, by a paired t-test with p
below 0.1 in each. Weak evidence is enough, since the recommended setting is tested on other seeds.

Sampled settings of an algorithm that Linux has are rounded to the values that ``tc`` accepts before they run.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.algorithms.tc import Place, accepted
from sojourn.errors import InputError
from sojourn.metrics import Metrics
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.stats import mean, paired
from sojourn.study.axes import with_parameter
from sojourn.study.significance import Requirement
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.search_space import Dimension
from sojourn.worlds.simulated.memory import refusal, run_limit

if TYPE_CHECKING:
    import optuna

#: Number of trials that are sampled together.
GROUP = 4
#: Minimum number of seeds before a trial may stop.
LEAST_SEEDS = 3
ERROR = 0.1
#: Limit of invalid settings (such as thresholds in the wrong order) per trial; they cost no run.
MOST_INVALID = 20
#: Attribute of a trial of Optuna: how far it is from each requirement.
SHORTFALL = "shortfall"
#: Where values are rounded for ``tc``; the size of a packet converts bytes where ``tc`` counts packets.
PLACE = Place(10_000_000, "100p", 1500.0)

#: Runs points and returns their metrics.
Run = Callable[[Sequence[Point]], Mapping[Point, Metrics]]


@dataclass
class Trial:
    """One setting, and the values of each objective by seed."""

    number: int
    spec: str
    values: dict[str, list[float]] = field(default_factory=dict)
    state: str = "running"
    #: Values of the metrics that have a requirement.
    watched: dict[str, list[float]] = field(default_factory=dict)

    def means(self) -> tuple[float, ...]:
        """Return the mean of each objective."""
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
    requirements: Sequence[Requirement] = (),
) -> list[Trial]:
    """Search the settings of one algorithm; the first trial is `spec` itself.

    Parameters
    ----------
    scenario : Scenario
        The network and its traffic.
    spec : str
        The algorithm with its initial setting.
    dimensions : sequence of Dimension
        The search space.
    objectives : sequence of Objective
        The metrics to optimise; several give a front.
    trials : int
        Number of settings to run.
    seeds : sequence of int
        Seeds of each trial.
    run : callable
        Executes runs, or reads them from the store.
    sampler_seed : int
        Seed of the search.
    requirements : sequence of Requirement
        Limits that the settings should meet; the sampler prefers settings that do.

    Returns
    -------
    list of Trial
        In sampling order; ``state`` is ``finished`` or ``stopped``.
    """
    study = _study(objectives, sampler_seed, bool(requirements))
    distributions = {dimension.name: _distribution(dimension) for dimension in dimensions}
    found: list[Trial] = []
    invalid = 0
    while len(found) < trials:
        group: list[tuple[Any, Trial]] = []
        while len(group) < min(GROUP, trials - len(found)):
            asked = study.ask(distributions)
            number = len(found) + len(group)
            wanted = spec if number == 0 else _spec(spec, dimensions, asked.params)
            if wanted is None or not _runs(scenario, wanted):
                invalid += 1
                if invalid > MOST_INVALID * trials:
                    raise InputError(
                        f"aqm {spec!r}:", "is invalid for almost every setting in the ranges", "other ranges"
                    )
                study.tell(asked, state=_failed())
            else:
                group.append((asked, Trial(number, wanted)))
        _evaluate(scenario, [trial for _, trial in group], found, objectives, seeds, run, requirements)
        for asked, trial in group:
            asked.set_user_attr(SHORTFALL, [_shortfall(one, trial) for one in requirements])
            # The sampler uses stopped trials, too, with the mean of half the seeds.
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
    requirements: Sequence[Requirement],
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
            for name in dict.fromkeys(one.metric for one in requirements):
                known = [metrics[points[trial.number, seed]].get(name) for seed in part]
                trial.watched.setdefault(name, []).extend(_numbers(name, trial.spec, known))
        for trial in group:
            if last or len(seeds) <= half:
                trial.state = "finished"
            elif not requirements and any(beats(one, trial, objectives) for one in finished):
                trial.state = "stopped"
        group = [trial for trial in group if trial.state == "running"]


def beats(better: Trial, worse: Trial, objectives: Sequence[Objective], error: float = ERROR) -> bool:
    """Return whether a trial is better in every objective on the common seeds, each with p < `error`."""
    for name, higher in objectives:
        count = min(len(worse.values[name]), len(better.values[name]))
        effect = paired(worse.values[name][:count], better.values[name][:count])
        if effect.mean is None or effect.p is None or effect.p >= error or (effect.mean > 0) != higher:
            return False
    return True


def front(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the Pareto front of the finished trials."""
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
        raise InputError(
            f"metric {name}", f"has no value in some runs of {spec}", "a metric that every run has"
        )
    return known


def _runs(scenario: Scenario, spec: str) -> bool:
    plan = scenario.plan_json(spec)
    try:
        if refusal(plan, run_limit(1)) is None:  # the core builds what it checks
            _core.check(plan)
    except ValueError:
        return False
    return True


def _spec(spec: str, dimensions: Sequence[Dimension], values: Mapping[str, Any]) -> str | None:
    try:
        for dimension in dimensions:
            spec = with_parameter(spec, dimension.name, dimension.text(values[dimension.name]))
    except InputError:
        return None
    return accepted(spec, PLACE)


def _shortfall(requirement: Requirement, trial: Trial) -> float:
    """Return how far the mean of a trial is from meeting a requirement; at most 0 if it does."""
    difference = requirement.limit - mean(trial.watched[requirement.metric])
    return difference if requirement.at_least else -difference


def _study(objectives: Sequence[Objective], seed: int, is_limited: bool) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about experimental features of Optuna
        sampler = optuna.samplers.TPESampler(
            seed=seed,
            multivariate=True,
            constant_liar=True,
            constraints_func=(lambda trial: trial.user_attrs[SHORTFALL]) if is_limited else None,
        )
        direction = optuna.study.StudyDirection
        directions = [direction.MAXIMIZE if higher else direction.MINIMIZE for _, higher in objectives]
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
