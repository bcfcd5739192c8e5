"""Experiments of a paper, which consist of arms, and other readings of what the paper leaves open.

An `Arm` is one algorithm with its parameters in one scenario; an `Experiment` is the arms that a figure
or claim compares, all under the same seeds. A `Reading` is another interpretation of the paper's text: it
changes arms. Under a reading only the arms that it changes are run again, and those that are compared with
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from sojourn import _core
from sojourn.papers.terms import Source
from sojourn.spec.scenario import Scenario

#: Initial and maximum number of seeds of a full run, and seeds of a quick run; an experiment may have its
#: own.
SEEDS, MOST_SEEDS, QUICK_SEEDS = 10, 40, 3


@dataclass(frozen=True)
class Arm:
    """One algorithm in one scenario.

    Attributes
    ----------
    name : str
        Its name within the experiment: ``RAQM q_0=20``.
    scenario : Scenario
        Its scenario.
    algorithm : str
        The algorithm's name.
    parameters : mapping
        Its parameters, name to word.
    target : float
        The target queue length in packets, to which measures such as overshoot refer.
    beside : bool
        Whether a reading changes only its duration, to that of the arms with which it is compared; no claim
        is judged because of it.
    """

    name: str
    scenario: Scenario
    algorithm: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    target: float = 50.0
    beside: bool = False

    @cached_property
    def spec(self) -> str:
        """The canonical spec."""
        words = [self.algorithm, *(word for pair in self.parameters.items() for word in pair)]
        return _core.canonical(" ".join(words))

    def having(self, **parameters: str) -> Arm:
        """Return the arm with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})

    def within(self, scenario: Scenario) -> Arm:
        """Return the arm in another scenario."""
        return replace(self, scenario=scenario)


#: Takes parameters of several arms and seeds; returns for each arm its metrics by seed.
Solve: TypeAlias = Callable[
    [Sequence[Mapping[str, str]], Sequence[int]], Sequence[Mapping[int, Mapping[str, float | None]]]
]


@dataclass(frozen=True)
class ModelArm:
    """One algorithm in a paper's own equations instead of a scenario.

    Attributes
    ----------
    name : str
        Its name within the experiment.
    algorithm : str
        The algorithm's name.
    parameters : mapping
        All parameters of the equations, name to word.
    solve : callable
        Solves the equations for many arms and seeds at once.
    """

    name: str
    algorithm: str
    parameters: Mapping[str, str]
    solve: Solve

    @property
    def spec(self) -> str:
        """The algorithm and its parameters as text."""
        return " ".join([self.algorithm, *(word for pair in self.parameters.items() for word in pair)])

    def having(self, **parameters: str) -> ModelArm:
        """Return the arm with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})


@dataclass(frozen=True)
class Experiment:
    """Arms that are compared, under the same seeds.

    Attributes
    ----------
    id : str
        As in ``claims.csv``.
    title : str
        Description, one line.
    figure : str
        Figure, table or section of the paper.
    arms : tuple of Arm
        The arms; empty for a computed experiment.
    assumptions : tuple of str
        Ids of its assumptions.
    world : str
        ``simulated``, ``analytic``, ``real`` or ``fluid``.
    also : tuple of str
        Further worlds of its claims: a simulated testbed is also ``real``.
    seeds, most_seeds, quick_seeds : int
        Seeds of the full run, the maximum for an undecided inequality, and seeds of ``--quick``.
    short : callable
        Maps an arm to the arm that ``--quick`` runs instead; None leaves it out.
    models : tuple of ModelArm
        The arms of a fluid experiment.
    beside : str
        For an experiment without claims, the experiment with which it is run.
    """

    id: str
    title: str
    figure: str
    arms: tuple[Arm, ...] = ()
    assumptions: tuple[str, ...] = ()
    world: str = "simulated"
    also: tuple[str, ...] = ()
    seeds: int = SEEDS
    most_seeds: int = MOST_SEEDS
    quick_seeds: int = QUICK_SEEDS
    short: Callable[[Arm], Arm | None] = lambda arm: arm
    models: tuple[ModelArm, ...] = ()
    beside: str = ""

    def extra_aqms(self, specs: Sequence[str]) -> Experiment:
        """Return an experiment with other algorithms in this one's scenarios; it has no claims."""
        # Some papers vary the buffer by the algorithm's parameter `limit`, which the others then get, too.
        places = {
            (arm.scenario.to_toml(), limit): arm.scenario
            for arm in self.arms
            for limit in [_core.spec_info(arm.spec)["limit"]]
        }
        arms = []
        for i, ((_, limit), scenario) in enumerate(places.items(), 1):
            for spec in specs:
                own = spec if limit is None or _core.spec_info(spec)["limit"] else f"{spec} limit {limit}"
                where = f", {scenario.name} {i}" if len(places) > 1 else ""
                arms.append(Arm(own + where, scenario, own))
        name, title = f"{self.id}+", f"other algorithms in the scenarios of {self.id}"
        return replace(self, id=name, title=title, arms=tuple(arms), models=(), beside=self.id)

    @property
    def names(self) -> list[str]:
        """The names of all arms."""
        return [*(arm.name for arm in self.arms), *(model.name for model in self.models)]

    def runs(self, quick: bool = False) -> list[Arm]:
        """Return the arms to be run."""
        return self._shortened(self.arms) if quick else list(self.arms)

    def count(self, quick: bool = False) -> int:
        """Return the initial number of seeds."""
        return self.quick_seeds if quick else self.seeds

    def _shortened(self, arms: Iterable[Arm]) -> list[Arm]:
        return [one for arm in arms if (one := self.short(arm)) is not None]


@dataclass(frozen=True)
class Reading:
    """Another reading of the paper.

    Attributes
    ----------
    id : str
        Short name, for columns.
    title : str
        The different interpretation, one line.
    change : callable
        Takes an arm; returns the changed arm, or None if the reading does not change it (see `Arm.beside`).
    model : callable
        The same for arms in equations.
    metrics : mapping
        Metrics that replace others under this reading: name of the primary one to that of the replacement.
    experiments : frozenset of str or None
        Experiments to which it applies; None: all.
    quick : frozenset of str
        Those of them that ``--quick`` includes.
    assumption : str
        Ids of the assumptions that it replaces.
    """

    id: str
    title: str
    change: Callable[[Arm], Arm | None] = lambda _arm: None
    model: Callable[[ModelArm], ModelArm | None] = lambda _arm: None
    metrics: Mapping[str, str] = field(default_factory=dict)
    experiments: frozenset[str] | None = None
    quick: frozenset[str] = frozenset()
    assumption: str = ""

    def arms(self, experiment: Experiment, quick: bool = False) -> list[Arm]:
        """Return the arms of `experiment` that this reading changes, changed, and those beside them."""
        if not self.touches(experiment, quick):
            return []
        runs = experiment.runs(quick)
        return [changed for arm in runs if (changed := self.change(arm)) is not None]

    def models(self, experiment: Experiment, quick: bool = False) -> list[ModelArm]:
        """Return the arms in equations of `experiment` that this reading changes, changed."""
        if not self.touches(experiment, quick):
            return []
        return [changed for arm in experiment.models if (changed := self.model(arm)) is not None]

    def touches(self, experiment: Experiment, quick: bool = False) -> bool:
        """Whether this reading is run on `experiment`."""
        wanted = self.quick if quick else self.experiments
        return wanted is None or experiment.id in wanted

    def stands_for(self, experiment: str, metric: str) -> str:
        """Return the metric that replaces another one in an experiment under this reading."""
        here = self.experiments is None or experiment in self.experiments
        return self.metrics.get(metric, metric) if here else metric


@dataclass(frozen=True)
class Joint(Reading):
    """Several readings combined: with one part that reading, with none the paper as assumed.

    It lists all arms of an experiment, also the arms that no part changes.

    Attributes
    ----------
    parts : tuple of Reading
        Applied in order.
    """

    parts: tuple[Reading, ...] = ()

    def arms(self, experiment: Experiment, quick: bool = False) -> list[Arm]:
        """Return the arms of `experiment`, changed by each part that is run on it, in order."""
        parts = [part for part in self.parts if part.touches(experiment)]
        arms = experiment.runs(quick)
        for part in parts:
            arms = [replace(part.change(arm) or arm, beside=False) for arm in arms]
        return arms

    def stands_for(self, experiment: str, metric: str) -> str:
        """Return the metric that replaces another one under the parts."""
        for part in self.parts:
            metric = part.stands_for(experiment, metric)
        return metric


class Observations:
    """Metrics of every run so far: by reading ("" is the primary one), experiment, arm and seed."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, Source], dict[int, Mapping[str, float | None]]] = {}
        self._changed: set[tuple[str, Source]] = set()

    def add(
        self,
        reading: str,
        source: Source,
        seed: int,
        metrics: Mapping[str, float | None],
        *,
        beside: bool = False,
    ) -> None:
        """Store the metrics of one run; `beside`: of an arm that the reading does not change."""
        self._cells.setdefault((reading, source), {})[seed] = metrics
        if not beside:
            self._changed.add((reading, source))

    def seeds(self, reading: str, source: Source) -> int:
        """Return the number of stored seeds of an arm."""
        return len(self._cells.get((reading, source), {}))

    def under(self, reading: Reading | None = None) -> View:
        """Return the samples under a reading; None is the primary one."""
        return View(self, reading)

    def cell(self, reading: str, source: Source) -> Mapping[int, Mapping[str, float | None]]:
        """Return the runs of an arm: the reading's own, or the primary ones if it has none."""
        return self._cells.get((reading, source)) or self._cells.get(("", source), {})

    def sources(self, reading: str) -> frozenset[Source]:
        """Return the arms that a reading changed."""
        return frozenset(source for name, source in self._changed if name == reading)


class View:
    """Samples under one reading."""

    def __init__(self, observations: Observations, reading: Reading | None) -> None:
        self._observations, self._reading = observations, reading
        self._id = reading.id if reading else ""

    @property
    def reading(self) -> str:
        """The reading's id; empty for the primary one."""
        return self._id

    def changes(self, experiment: str, arm: str, metric: str) -> bool:
        """Whether this reading changes the arm or replaces the metric."""
        renamed = self._named(experiment, metric) != metric
        return renamed or (experiment, arm) in self._observations.sources(self._id)

    def values(self, experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        """Return a metric of an arm by seed."""
        name = self._named(experiment, metric)
        cell = self._observations.cell(self._id, (experiment, arm))
        return {seed: metrics.get(name) for seed, metrics in sorted(cell.items())}

    def _named(self, experiment: str, metric: str) -> str:
        return self._reading.stands_for(experiment, metric) if self._reading else metric
