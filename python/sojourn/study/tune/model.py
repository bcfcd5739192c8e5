"""The data of a tuning: its plan (`Tune`), its result (`Tuned`), and the selection rule (`choose`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.algorithms import digests
from sojourn.algorithms import spec_of as canonical
from sojourn.errors import InputError, unknown
from sojourn.runner.point import digest
from sojourn.spec.scenario import Scenario
from sojourn.study.compare import Comparison
from sojourn.study.significance import Aim, Requirement, Standings, is_share
from sojourn.study.tune.ranking import WEIGHTS, Objective, Ranking
from sojourn.study.tune.search import Trial, front
from sojourn.study.tune.search_space import Dimension

if TYPE_CHECKING:
    import polars as pl


RULES = ("search", "rank")
#: The rule that orders the settings: `sojourn.study.significance`, or the rank rule with its weights.
SIGNIFICANCE = "significance"
RANKS = (SIGNIFICANCE, *WEIGHTS)
AIMS = ("mean_delay_s", "drop_ratio", "utilization")
CONFIRM = "confirm"


@dataclass(frozen=True)
class Tune:
    """The plan of a tuning.

    Parameters
    ----------
    scenario : Scenario
        The network and its traffic.
    aqms : sequence of str
        The algorithms to search, or with the rule ``rank`` all settings to rank.
    objectives : sequence of Objective
        The metrics to optimise.
    dimensions : mapping of str to sequence of Dimension
        With the rule ``search``: the search space of each algorithm.
    trials : int
        Number of settings to try per algorithm.
    seeds, seed_from : int
        Number of seeds per setting, and the first.
    confirm : int
        Number of held-out seeds for the best settings.
    best : int
        Number of settings to confirm.
    baseline : str
        The setting that they are compared with.
    rank : str
        What orders the settings: ``significance``, or the rank rule (``literal`` or ``printed``).
    weights : sequence of float
        With ``significance``: the weight of each objective; all 1 if empty.
    requirements : sequence of Requirement
        Limits that the recommended setting should meet.
    sampler_seed : int
        Seed of the search.
    """

    scenario: Scenario
    aqms: Sequence[str]
    objectives: Sequence[Objective]
    dimensions: Mapping[str, Sequence[Dimension]]
    trials: int = 40
    seeds: int = 6
    seed_from: int = 1
    confirm: int = 20
    best: int = 1
    baseline: str = ""
    rank: str = SIGNIFICANCE
    rule: str = "search"
    sampler_seed: int = 1
    weights: Sequence[float] = ()
    requirements: Sequence[Requirement] = ()

    def __post_init__(self) -> None:

        object.__setattr__(self, "aqms", [canonical(one) for one in self.aqms])
        object.__setattr__(
            self, "dimensions", {canonical(aqm): found for aqm, found in self.dimensions.items()}
        )
        object.__setattr__(self, "baseline", canonical(self.baseline or self.aqms[0]))
        if self.rule not in RULES:
            raise unknown(self.rule, "a rule", RULES, "by")
        if self.rank not in RANKS:
            raise unknown(self.rank, "a rule", RANKS, "rank")
        if self.rank != SIGNIFICANCE and (self.requirements or any(w != 1 for w in self.weights)):
            raise InputError("rank", f"= {self.rank} has no weights or requirements", SIGNIFICANCE)
        if self.rule == "rank" and len(self.aqms) < 2:
            raise InputError("aqms", "is one setting: nothing to rank", "several --aqm, or -L, or -P")
        limits = {"trials": (2, 100_000), "seeds": (2, 10_000), "confirm": (2, 100_000), "best": (1, 100)}
        for name, (low, high) in (limits | {"sampler_seed": (0, 2**32 - 1)}).items():
            if not low <= getattr(self, name) <= high:
                raise InputError(name, f"= {getattr(self, name)} is out of range", f"{low} to {high}")

    def facts(self) -> dict[str, Any]:
        """Return the plan as data, for the manifest and the name of the directory."""
        return {
            "rule": self.rule,
            "aqms": list(self.aqms),
            "objectives": [f"{o.metric}:{'higher' if o.higher else 'lower'}" for o in self.objectives],
            "knobs": {aqm: [str(dimension) for dimension in found] for aqm, found in self.dimensions.items()},
            "trials": self.trials,
            "seeds": [self.seed_from, self.seed_from + self.seeds - 1],
            "fresh_seeds": [self.fresh[0], self.fresh[-1]],
            "best": self.best,
            "baseline": self.baseline,
            "rank": self.rank,
            "weights": list(self.weights),
            "requirements": [list(one) for one in self.requirements],
            "sampler_seed": self.sampler_seed,
        }

    @property
    def aims(self) -> list[Aim]:
        """The objectives with their weights."""
        weights = self.weights or [1.0] * len(self.objectives)
        return [
            Aim(metric, higher, weight, is_share(metric))
            for (metric, higher), weight in zip(self.objectives, weights, strict=True)
        ]

    @property
    def fresh(self) -> range:
        """The held-out seeds: no trial uses them."""
        first = self.seed_from + self.seeds
        return range(first, first + self.confirm)

    @property
    def specs(self) -> list[str]:
        """The algorithms, with the baseline."""
        return list(dict.fromkeys([*self.aqms, self.baseline]))

    @property
    def default_directory(self) -> Path:
        """``results/NAME-tune-ID``: the same plan, code and version continue in the same directory."""
        code = sorted({one for spec in self.specs for one in digests(self.scenario.plan_json(spec))})
        parts = (self.scenario.to_toml(), json.dumps(self.facts()), _core.CORE_VERSION, *code)
        return Path("results") / f"{self.scenario.name}-tune-{digest(*parts, length=8)}"


@dataclass(frozen=True)
class Tuned:
    """The result of a tuning: all trials, the ranking, and the comparison on held-out seeds."""

    plan: Tune
    trials: Sequence[Trial]
    ranking: Ranking | Standings
    comparison: Comparison
    directory: Path | None = None
    #: The id of the result (`sojourn.runner.identity`).
    id: str | None = None

    @property
    def chosen(self) -> list[str]:
        """The best settings, best first."""
        return self.ranking.order[: self.plan.best]

    @cached_property
    def front(self) -> list[str]:
        """The Pareto front of the settings."""
        return [trial.spec for trial in front(self.trials, self.plan.objectives)]

    def table(self) -> pl.DataFrame:
        """Return one row per trial: number, aqm, state, seeds, means, on_front, and the values by seed."""
        import polars as pl

        rows = [
            {
                "trial": trial.number,
                "aqm": trial.spec,
                "state": trial.state,
                "seeds": len(next(iter(trial.values.values()))),
                **dict(zip(trial.values, trial.means(), strict=True)),
                "on_front": trial.spec in self.front,
                **{f"{name}_by_seed": values for name, values in {**trial.watched, **trial.values}.items()},
            }
            for trial in self.trials
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def choose(plan: Tune, trials: Sequence[Trial]) -> Ranking | Standings:
    """Order the candidates: the front if a search has several objectives, otherwise all finished trials.

    If there are requirements, only the trials whose means miss the fewest of them are candidates.
    """
    may = [one for one in trials if one.state == "finished"]
    by_seed = {one.spec: {**one.watched, **one.values} for one in may}
    everything = Standings(by_seed, plan.aims, plan.requirements)
    misses = {spec: len(everything.missed(spec)) for spec in by_seed}
    may = [one for one in may if misses[one.spec] == min(misses.values())]
    if len(plan.objectives) > 1 and plan.rule == "search":
        may = front(may, plan.objectives)
    if plan.rank == SIGNIFICANCE:
        return Standings({one.spec: by_seed[one.spec] for one in may}, plan.aims, plan.requirements)
    values = {one.spec: dict(zip(one.values, one.means(), strict=True)) for one in may}
    return Ranking(values, plan.objectives, plan.rank)
