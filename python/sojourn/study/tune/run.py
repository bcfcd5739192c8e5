"""Which parameters for my link? Settings are tried, the best is chosen by rule, and confirmed on fresh seeds.

Settings come from a grid or list (``rank``) or from a search (``search``). Of several aims the search gives a
front, settings of which none is better in every aim; the choice among them, or among the grid, is made by the
rank rule of the AVQRED paper (`sojourn.study.tune.rank`). The best of many noisy figures is too good by
selection: what is reported is measured again, under seeds that the choice never saw, beside the settings as
they were.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.errors import InputError, place, unknown
from sojourn.runner.point import Point, digest, points
from sojourn.runner.store import Metrics
from sojourn.spec.scenario import Scenario
from sojourn.study.compare import Comparison, keep
from sojourn.study.tune.ranking import Objective, Ranking
from sojourn.study.tune.search import Run, Trial, front, search
from sojourn.study.tune.search_space import Knob

if TYPE_CHECKING:
    import polars as pl

    from sojourn.runner.execute import Progress
    from sojourn.worlds.simulated.executors import Executor

RULES = ("search", "rank")
AIMS = ("mean_delay_s", "drop_ratio", "utilization")
CONFIRM = "confirm"


@dataclass(frozen=True)
class Tune:
    """What is to be tuned.

    Parameters
    ----------
    scenario : Scenario
        The link and what happens on it.
    aqms : sequence of str
        The algorithms to search, or with the rule ``rank`` every setting to be ranked.
    objectives : sequence of Objective
        What counts.
    knobs : mapping of str to sequence of Knob
        With the rule ``search``: what may be turned, by algorithm.
    trials : int
        Settings to try of each algorithm.
    seeds, seed_from : int
        Of each setting.
    confirm : int
        Fresh seeds for the best.
    best : int
        How many settings are confirmed.
    baseline : str
        What they are compared with.
    weight : str
        Of a rank: ``literal`` or ``printed``.
    sampler_seed : int
        Of the search.
    """

    scenario: Scenario
    aqms: Sequence[str]
    objectives: Sequence[Objective]
    knobs: Mapping[str, Sequence[Knob]]
    trials: int = 40
    seeds: int = 6
    seed_from: int = 1
    confirm: int = 20
    best: int = 1
    baseline: str = ""
    weight: str = "literal"
    rule: str = "search"
    sampler_seed: int = 1

    def __post_init__(self) -> None:
        from sojourn.api import canonical

        object.__setattr__(self, "aqms", [canonical(one) for one in self.aqms])
        object.__setattr__(self, "knobs", {canonical(aqm): found for aqm, found in self.knobs.items()})
        object.__setattr__(self, "baseline", canonical(self.baseline or self.aqms[0]))
        if self.rule not in RULES:
            raise unknown(self.rule, "a rule", RULES, "by")
        if self.rule == "rank" and len(self.aqms) < 2:
            raise InputError("aqms", "is one setting: nothing to rank", "several --aqm, or -L, or -P")
        limits = {"trials": (2, 100_000), "seeds": (2, 10_000), "confirm": (2, 100_000), "best": (1, 100)}
        for name, (low, high) in (limits | {"sampler_seed": (0, 2**32 - 1)}).items():
            if not low <= getattr(self, name) <= high:
                raise InputError(name, f"= {getattr(self, name)} is out of range", f"{low} to {high}")

    def facts(self) -> dict[str, Any]:
        """Return the plan as data: what the folder keeps, and what names it."""
        return {
            "rule": self.rule,
            "aqms": list(self.aqms),
            "objectives": [f"{o.metric}:{'higher' if o.higher else 'lower'}" for o in self.objectives],
            "knobs": {aqm: [str(knob) for knob in found] for aqm, found in self.knobs.items()},
            "trials": self.trials,
            "seeds": [self.seed_from, self.seed_from + self.seeds - 1],
            "fresh_seeds": [self.fresh[0], self.fresh[-1]],
            "best": self.best,
            "baseline": self.baseline,
            "weight": self.weight,
            "sampler_seed": self.sampler_seed,
        }

    @property
    def fresh(self) -> range:
        """Seeds that no trial has."""
        first = self.seed_from + self.seeds
        return range(first, first + self.confirm)

    @property
    def default_directory(self) -> Path:
        """``results/NAME-tune-ID``: the same question of the same version continues in the same folder."""
        text = json.dumps(self.facts())
        return Path("results") / (
            f"{self.scenario.name}-tune-{digest(self.scenario.to_toml(), text, _core.CORE_VERSION, length=8)}"
        )


@dataclass(frozen=True)
class Tuned:
    """What came of it: every setting, the choice, and the comparison on fresh seeds."""

    plan: Tune
    trials: Sequence[Trial]
    ranking: Ranking
    comparison: Comparison
    directory: Path | None = None

    @property
    def chosen(self) -> list[str]:
        """The best settings, best first."""
        return self.ranking.order[: self.plan.best]

    @cached_property
    def front(self) -> list[str]:
        """Settings of which none is better in every aim."""
        return [trial.spec for trial in front(self.trials, self.plan.objectives)]

    def table(self) -> pl.DataFrame:
        """Return one row a trial: number, aqm, state, seeds, each aim's mean, on_front, each aim by seed."""
        import polars as pl

        rows = [
            {
                "trial": trial.number,
                "aqm": trial.spec,
                "state": trial.state,
                "seeds": len(next(iter(trial.values.values()))),
                **dict(zip(trial.values, trial.means(), strict=True)),
                "on_front": trial.spec in self.front,
                **{f"{name}_by_seed": values for name, values in trial.values.items()},
            }
            for trial in self.trials
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def tune(
    plan: Tune,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
    executor: Executor | None = None,
) -> Tuned:
    """Try settings, choose, confirm.

    Parameters
    ----------
    plan : Tune
        What is to be tuned.
    out : path, optional
        Folder; the same call goes on there where it was interrupted. Nothing is written if None.
    progress : callable, optional
        Called after each group of runs with (share, done, total).
    command : sequence of str
        The words that repeat this, for the manifest.
    executor : Executor, optional
        Who makes the runs; all cores of this machine if None. The results do not depend on it.

    Raises
    ------
    InputError
        Before anything runs, for what cannot be tuned.
    RunFailed
        If a run fails.
    """
    from sojourn.api import run as run_scenario
    from sojourn.runner.execute import check, execute
    from sojourn.study.tune.folder import keep_trials, prepare

    check(points(plan.scenario, plan.aqms, [plan.seed_from]))
    folder = None if out is None else place(out)
    store = None if folder is None else prepare(plan, folder, command)
    groups = len(plan.aqms) * (plan.trials if plan.rule == "search" else 1)
    total, done = groups * plan.seeds + (1 + plan.best) * plan.confirm, 0

    def run(wanted: Sequence[Point]) -> dict[Point, Metrics]:
        nonlocal done
        found = {one.point: one.metrics for one in execute(wanted, store, executor=executor)}
        done += len(found)
        if progress is not None:
            progress(min(1.0, done / total), done, total)
        return found

    seeds = range(plan.seed_from, plan.seed_from + plan.seeds)
    trials = _searched(plan, seeds, run) if plan.rule == "search" else _listed(plan, seeds, run)
    ranking = choose(plan, trials)
    baseline = plan.baseline
    results = run_scenario(
        plan.scenario,
        list(dict.fromkeys([*ranking.order[: plan.best], baseline])),
        plan.fresh,
        out=None if folder is None else folder / CONFIRM,
        progress=None,
        command=command or None,
        executor=executor,
    )
    comparison = keep(Comparison(results, baseline, plan.objectives[0].metric))
    tuned = Tuned(plan, trials, ranking, comparison, folder)
    if folder is not None:
        keep_trials(tuned, folder)
    return tuned


def choose(plan: Tune, trials: Sequence[Trial]) -> Ranking:
    """Rank what may be chosen: the front of a search for several aims, else whatever was finished."""
    several = len(plan.objectives) > 1 and plan.rule == "search"
    may = front(trials, plan.objectives) if several else [one for one in trials if one.state == "finished"]
    values = {one.spec: dict(zip(one.values, one.means(), strict=True)) for one in may}
    return Ranking(values, plan.objectives, plan.weight)


def _searched(plan: Tune, seeds: range, run: Run) -> list[Trial]:
    found: list[Trial] = []
    for aqm in plan.aqms:
        trials = search(
            plan.scenario, aqm, plan.knobs[aqm], plan.objectives, plan.trials, seeds, run, plan.sampler_seed
        )
        for trial in trials:
            trial.number += len(found)
        found += trials
    return found


def _listed(plan: Tune, seeds: range, run: Run) -> list[Trial]:
    metrics = run(points(plan.scenario, plan.aqms, seeds))
    found = []
    for number, spec in enumerate(plan.aqms):
        rows = [metrics[Point(plan.scenario, spec, seed)] for seed in seeds]
        values = {}
        for name, _ in plan.objectives:
            known = [row.get(name) for row in rows]
            if any(value is None for value in known):
                raise InputError(f"metric {name}", f"is not known of every run of {spec}", "a metric that is")
            values[name] = [value for value in known if value is not None]
        found.append(Trial(number, spec, values, "finished"))
    return found
