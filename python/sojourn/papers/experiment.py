"""What is run for a paper: experiments made of arms, and other readings of what the paper leaves open.

An `Arm` is one algorithm with its parameters in one scenario; an `Experiment` is the arms that a figure
or claim compares, all under the same seeds. A `Reading` changes arms: it says what the paper's text would
mean otherwise. Only the arms that a reading changes are run again under it, and those that stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from sojourn import _core
from sojourn.papers.terms import Source
from sojourn.spec.scenario import Scenario

#: Seeds of a full run before any is added, at most, and of a quick one; an experiment may name its own.
SEEDS, MOST_SEEDS, QUICK_SEEDS = 10, 40, 3


@dataclass(frozen=True)
class Arm:
    """One algorithm in one scenario.

    Attributes
    ----------
    name : str
        Its name within the experiment: ``RAQM q_0=20``.
    scenario : Scenario
        Where it runs.
    algorithm : str
        The algorithm's name.
    parameters : mapping
        Its parameters, name to word.
    target : float
        The queue that it should hold, in packets; measures such as overshoot refer to it.
    beside : bool
        Whether a reading left it as it is, but for its length: it runs as long as the arms that it stands
        beside, and no claim is judged for its sake.
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
        Everything that the equations need, name to word.
    solve : callable
        Solves the equations for many arms and seeds at once.
    """

    name: str
    algorithm: str
    parameters: Mapping[str, str]
    solve: Solve

    @property
    def spec(self) -> str:
        """The algorithm and its parameters in words."""
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
        As in the catalogue of claims.
    title : str
        What it shows, one line.
    figure : str
        Where it stands in the paper.
    arms : tuple of Arm
        What is run; empty for a computed experiment.
    assumptions : tuple of str
        Ids of the assumptions that it rests on.
    world : str
        ``simulated``, ``analytic``, ``real`` or ``fluid``.
    also : tuple of str
        Further worlds in which its claims stand: a testbed that is simulated is ``real`` too.
    seeds, most_seeds, quick_seeds : int
        Seeds of the full run, the most that an undecided inequality gets, and those of ``--quick``.
    short : callable
        What ``--quick`` runs in place of an arm; None leaves the arm out.
    models : tuple of ModelArm
        What is solved; the arms of a fluid experiment.
    beside : str
        The experiment that it is run with, for one that no claim is about.
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
        """Return an experiment with other algorithms in this one's scenarios; no claim is about it."""
        # Some papers vary the buffer by the algorithm's own limit: it belongs to the place, too.
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
        """Return the arms that are run."""
        return self._shortened(self.arms) if quick else list(self.arms)

    def count(self, quick: bool = False) -> int:
        """Return the number of seeds that are run at first."""
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
        What is read differently, one line.
    change : callable
        Takes an arm; returns what it becomes, or None if the reading does not touch it (see `Arm.beside`).
    model : callable
        The same for arms in equations.
    metrics : mapping
        Metrics that stand for others under this reading: name of the primary one to the other's.
    experiments : frozenset of str or None
        Experiments that it is run on; None: all.
    quick : frozenset of str
        Those of them that ``--quick`` runs too.
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
        """Return the metric that stands for another in an experiment under this reading."""
        here = self.experiments is None or experiment in self.experiments
        return self.metrics.get(metric, metric) if here else metric


@dataclass(frozen=True)
class Joint(Reading):
    """Several readings at once; with one it is that reading, with none the paper as it is assumed.

    It lists all arms of an experiment, those that no part changes as they are.

    Attributes
    ----------
    parts : tuple of Reading
        Applied in order.
    """

    parts: tuple[Reading, ...] = ()

    def arms(self, experiment: Experiment, quick: bool = False) -> list[Arm]:
        """Return the arms of `experiment` as the parts that are run on it change them, in turn."""
        parts = [part for part in self.parts if part.touches(experiment)]
        arms = experiment.runs(quick)
        for part in parts:
            arms = [replace(part.change(arm) or arm, beside=False) for arm in arms]
        return arms

    def stands_for(self, experiment: str, metric: str) -> str:
        """Return the metric that the parts put in place of another."""
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
        """Take in the metrics of one run; `beside`: of an arm that the reading left as it is."""
        self._cells.setdefault((reading, source), {})[seed] = metrics
        if not beside:
            self._changed.add((reading, source))

    def seeds(self, reading: str, source: Source) -> int:
        """Return how many seeds of an arm are in."""
        return len(self._cells.get((reading, source), {}))

    def under(self, reading: Reading | None = None) -> View:
        """Return the samples as a reading sees them; None is the primary one."""
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
        """Whether this reading gives a metric of an arm another value: changes the arm, or renames it."""
        renamed = self._named(experiment, metric) != metric
        return renamed or (experiment, arm) in self._observations.sources(self._id)

    def values(self, experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        """Return a metric of an arm by seed."""
        name = self._named(experiment, metric)
        cell = self._observations.cell(self._id, (experiment, arm))
        return {seed: metrics.get(name) for seed, metrics in sorted(cell.items())}

    def _named(self, experiment: str, metric: str) -> str:
        return self._reading.stands_for(experiment, metric) if self._reading else metric
