"""A search for readings, in stages. Every run is stored under its id, so that the same call resumes it.

1. *Screening*: the paper as assumed, each value alone, the named joint readings, and a designed set of
   joint readings (`sojourn.papers.search.design`), on few seeds.
2. *Simplifying*: in the reading with the best score on the scored half, values that do not raise it are
reset;
   the same for the best reading that contradicts nothing printed.
3. *Confirming*: these, the paper as assumed and the named readings on other seeds; more where an inequality
   is undecided.
4. *Single claims*: a claim that none of them reproduces, but that some reading met, is judged on those
   seeds under the simplest such readings.

Readings are chosen by the scored half only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.errors import InputError, place, unknown
from sojourn.papers.campaign import Campaign, Job
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.judge import judge_claim
from sojourn.papers.paper import Paper
from sojourn.papers.search.design import Levels, sobol
from sojourn.papers.search.effects import Effect, decisive
from sojourn.papers.search.halves import Half
from sojourn.papers.search.score import Scored, Target
from sojourn.papers.search.space import Choice, Space
from sojourn.papers.terms import Source
from sojourn.runner import layout
from sojourn.runner.check import check
from sojourn.runner.execute import Progress
from sojourn.runner.ownership import MANIFEST, require_owner
from sojourn.runner.point import Point, digest
from sojourn.worlds import Executor

#: Designed readings and their seeds; seeds of a confirmation, which follow those of the screening.
READINGS, SEEDS, CONFIRM, MOST = 64, 2, 10, 20
#: The file with the complete result of a search.
FILE = "search.json"
#: A value stays in the simplified reading if the score falls by more than this without it.
WORTH = 0.002
#: Readings under which a single claim is judged, at most.
CANDIDATES = 2


@dataclass(frozen=True)
class Trial:
    """One reading on few seeds.

    Attributes
    ----------
    choice : mapping
        The values other than the first, by factor.
    origin : str
        Why it was tried: ``as assumed``, ``single``, ``named``, ``designed`` or ``simplified``.
    scored : Scored
        Its agreement with the printed results.
    """

    choice: Choice
    origin: str
    scored: Scored


@dataclass(frozen=True)
class Confirmed:
    """One reading on other seeds, with the finding of each claim."""

    choice: Choice
    origin: str
    findings: dict[str, Finding]
    scored: Scored


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Attributes
    ----------
    paper, space, target :
        The paper, its space of readings, and the printed results with which they are compared.
    experiment : str or None
        The only experiment that was searched; None: all of the space.
    trials : list of Trial
        Every reading of the screening and of the simplification, in the order of their runs.
    confirmed : list of Confirmed
        The paper as assumed, then the best reading, then others.
    single : dict
        Findings of single claims under the readings that they were judged under, by claim.
    effects : dict
        Significant effects on each claim, and on the score (key ``""``).
    seeds : int
        Seeds of the screening.
    fresh_seeds : tuple of int
        First and last seed of a confirmation.
    runs, fresh : int
        Number of runs, and of those executed by this call.
    directory : Path
        The folder of the runs.
    seconds, cpu_seconds : float
        Time of this call.
    """

    paper: Paper
    space: Space
    target: Target
    experiment: str | None
    trials: list[Trial]
    confirmed: list[Confirmed]
    single: dict[str, list[tuple[Choice, Finding]]]
    effects: dict[str, list[Effect]]
    seeds: int
    fresh_seeds: tuple[int, int]
    runs: int
    fresh: int
    directory: Path
    seconds: float
    cpu_seconds: float

    @property
    def primary(self) -> Confirmed:
        """The paper as assumed."""
        return self.confirmed[0]

    @property
    def best(self) -> Confirmed:
        """The best joint reading; the paper as assumed if none is better."""
        return self.confirmed[min(1, len(self.confirmed) - 1)]

    @property
    def command(self) -> str:
        """The command that repeats it."""
        designed = sum(trial.origin == "designed" for trial in self.trials)
        words = ["sojourn", "reproduce", self.paper.id, "--search"]
        words += ["--experiment", self.experiment] if self.experiment else []
        words += ["--readings", str(designed)] if designed != READINGS else []
        return " ".join(words)


@dataclass
class _Runner:
    """Runs readings and compares them with the printed results."""

    paper: Paper
    space: Space
    target: Target
    directory: Path
    workers: int | None
    progress: Progress | None
    executor: Executor | None
    runs: set[str] = field(default_factory=set)
    fresh: int = 0

    def campaign(
        self, choices: Sequence[Choice], seeds: Iterable[int], sources: frozenset[Source] | None = None
    ) -> Campaign:
        """Return the runs of some readings, by default of every arm that the target needs."""
        needed = self.target.sources if sources is None else sources
        found = Campaign(
            self.directory, self.paper.measure, self.workers, self.progress, executor=self.executor
        )
        self.add(found, choices, seeds, needed)
        return found

    def add(
        self, campaign: Campaign, choices: Sequence[Choice], seeds: Iterable[int], needed: frozenset[Source]
    ) -> None:
        """Execute further runs of a campaign."""
        arms = [(self.space.name(choice), *one) for choice in choices for one in self.arms(choice, needed)]
        before = campaign.fresh
        campaign.run(Job(name, experiment, arm, seed) for seed in seeds for name, experiment, arm in arms)
        self.runs |= campaign.runs
        self.fresh += campaign.fresh - before

    def arms(self, choice: Choice, needed: frozenset[Source]):  # type: ignore[no-untyped-def]
        """Yield (experiment, arm) of a reading."""
        joint = self.space.joint(choice)
        for name in self.space.experiments:
            for arm in joint.arms(self.paper.experiment(name), self.space.quick):
                if (name, arm.name) in needed:
                    yield name, arm

    def allowed(self, choice: Choice) -> bool:
        """Whether every run of a reading is valid."""
        try:
            check([Point(arm.scenario, arm.spec, 1) for _, arm in self.arms(choice, self.target.sources)])
        except (InputError, ValueError):
            return False
        return True

    def score(self, campaign: Campaign, choice: Choice) -> Scored:
        """Compare a reading with the printed results."""
        return self.target.score(campaign.observations.under(self.space.joint(choice)))

    def trials(self, wanted: Sequence[tuple[Choice, str]], seeds: Iterable[int]) -> list[Trial]:
        """Try readings."""
        campaign = self.campaign([choice for choice, _ in wanted], seeds)
        return [Trial(choice, origin, self.score(campaign, choice)) for choice, origin in wanted]


def search(
    paper: Paper,
    space: Space,
    *,
    experiment: str | None = None,
    readings: int = READINGS,
    seeds: int = SEEDS,
    confirm: int = CONFIRM,
    most: int = MOST,
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    executor: Executor | None = None,
) -> Search:
    """Search the readings of a paper.

    Parameters
    ----------
    paper : Paper
        The paper.
    space : Space
        Its readings.
    experiment : str or None
        Search only this one of the space's experiments.
    readings : int
        Designed joint readings, at best a power of two.
    seeds : int
        Seeds of each reading in the screening.
    confirm, most : int
        Seeds of a confirmation, and the most where an inequality is undecided; others than those before.
    out : path or None
        The output folder; ``results/<paper>-search-<id>`` if None.
    workers : int or None
        Threads; all cores if None.
    progress : callable or None
        Called about ten times a second with (share, done, total) of the present batch of runs.
    announce : callable or None
        Called with one line at each stage.
    executor : Executor or None
        Executes the runs; the cores of this machine if None.

    Raises
    ------
    InputError
        For a folder with other results.
    RunFailed
        If runs failed.
    """
    started, spent, say = time.monotonic(), time.process_time(), announce or (lambda _text: None)
    if readings < 1:
        raise InputError("readings", f"= {readings} is too few", "at least 1, at best a power of two")
    if experiment is not None:
        if experiment not in space.experiments:
            raise unknown(experiment, f"an experiment that is searched in {paper.id}", space.experiments)
        space = space.of(paper.experiment(experiment))
    directory = place(out) if out is not None else default_directory(paper, experiment)
    require_owner(directory, "search", paper.id)
    target = Target(paper, space)
    runner = _Runner(paper, space, target, directory, workers, progress, executor)
    begin(directory, paper, readings)
    few = range(1, seeds + 1)
    wanted = _screened(space, readings, runner.allowed)
    say(f"{paper.id}: {len(wanted)} readings on {seeds} seeds, of {space.size:,} in the space")
    trials = runner.trials(wanted, few)

    def scored(trial: Trial) -> float:
        return target.mean(trial.scored, Half.SCORED)

    effects = _effects(space, target, [trial for trial in trials if trial.origin == "designed"])
    deciding = frozenset(key for effect in effects[""] for key in effect.factors)
    chosen: list[tuple[Choice, str]] = [({}, "as assumed")]
    for origin, among in (
        ("best", trials),
        ("best that contradicts nothing printed", [one for one in trials if not space.prices(one.choice)]),
    ):
        top = max(among, key=scored)
        say(f"{origin}: {space.name(top.choice)}; leaving out what adds nothing")
        simple, path = _simplified(runner, top, few, scored, deciding)
        known = [one.choice for one in trials]
        trials += [one for one in path if one.choice not in known]
        if simple.choice not in [choice for choice, _ in chosen]:
            chosen.append((simple.choice, origin))
    chosen += [(dict(choice), f"named: {name}") for name, choice in space.starts.items()
               if dict(choice) not in [dict(one) for one, _ in chosen]]  # fmt: skip
    fresh_seeds = range(seeds + 1, seeds + confirm + 1)
    say(f"confirming {len(chosen)} readings on {confirm} other seeds")
    confirmed = _confirmed(runner, chosen, fresh_seeds, range(seeds + confirm + 1, seeds + most + 1))
    single = _single_claims(runner, trials, confirmed, fresh_seeds, say)
    return Search(
        paper,
        space,
        target,
        experiment,
        trials,
        confirmed,
        single,
        effects,
        seeds,
        (fresh_seeds[0], seeds + most),
        len(runner.runs),
        runner.fresh,
        directory,
        time.monotonic() - started,
        time.process_time() - spent,
    )


def begin(directory: Path, paper: Paper, readings: int) -> None:
    """Write the manifest that identifies the folder, before the first run."""
    facts = {"paper": paper.id, "readings": readings, "core": _core.CORE_VERSION, "status": "running"}
    files.make_folder(directory)
    files.write(directory / MANIFEST, json.dumps(facts, indent=1) + "\n")
    layout.write(directory, "search")


def default_directory(paper: Paper, experiment: str | None = None) -> Path:
    """Return ``results/<paper>-search-<id>``, a function of the arguments of the search and the version."""
    parts = (paper.id, experiment or "", _core.CORE_VERSION, getattr(paper.measure, "version", ""))
    return Path("results") / f"{paper.id}-search-{digest(*parts, length=8)}"


def stored(directory: Path) -> dict[str, Any]:
    """Return what a search wrote into its folder, as the object of ``--json``; empty if there is none."""
    text = files.read_text(directory / FILE)
    return json.loads(text) if text is not None else {}


def _screened(space: Space, readings: int, allowed: Callable[[Choice], bool]) -> list[tuple[Choice, str]]:
    """Return the readings of the screening, each once, with their origin."""
    sizes = [len(factor.values) for factor in space.free]
    points = sobol(sizes, readings, lambda levels: allowed(space.at(levels)))
    wanted: list[tuple[Choice, str]] = [({}, "as assumed")]
    wanted += [(choice, "single") for choice in space.singles() if allowed(choice)]
    wanted += [(dict(choice), "named") for choice in space.starts.values()]
    wanted += [(space.at(levels), "designed") for levels in points]
    found: dict[Levels, tuple[Choice, str]] = {}
    for choice, origin in wanted:
        levels = space.levels(choice)
        # A designed reading that was already listed still belongs to the design.
        found[levels] = (choice, origin) if origin == "designed" else found.get(levels, (choice, origin))
    return list(found.values())


def _simplified(
    runner: _Runner,
    top: Trial,
    seeds: Sequence[int],
    scored: Callable[[Trial], float],
    deciding: frozenset[str],
) -> tuple[Trial, list[Trial]]:
    """Return a reading without the values that do not raise its score, and all readings that were tried.

    The values of all factors outside `deciding` are left out at once, then each of the others.
    """
    best, path = top, []
    unproven = frozenset(top.choice) - deciding
    for group in (unproven, *({key} for key in top.choice)):
        without = {name: value for name, value in best.choice.items() if name not in group}
        if without == best.choice:
            continue
        [trial] = runner.trials([(without, "simplified")], seeds)
        path.append(trial)
        if scored(trial) >= scored(best) - WORTH:
            best = trial
    return best, path


def _confirmed(
    runner: _Runner, chosen: Sequence[tuple[Choice, str]], seeds: Sequence[int], more: Sequence[int]
) -> list[Confirmed]:
    """Judge readings on other seeds; arms of undecided inequalities get more."""
    campaign = runner.campaign([choice for choice, _ in chosen], seeds)
    checks = runner.target.claims
    found = []
    for choice, origin in chosen:
        view = campaign.observations.under(runner.space.joint(choice))
        scored = runner.target.score(view)
        undecided = frozenset().union(*(one.undecided_sources(view) for one in checks.values()))
        affordable = frozenset(
            (name, arm)
            for name, arm in undecided
            if runner.paper.experiment(name).most_seeds > runner.paper.experiment(name).seeds
        )
        if more and affordable:
            runner.add(campaign, [choice], more, affordable)
        findings = {name: judge_claim(one, view) for name, one in checks.items()}
        found.append(Confirmed(choice, origin, findings, scored))
    return found


def _single_claims(
    runner: _Runner,
    trials: Sequence[Trial],
    confirmed: Sequence[Confirmed],
    seeds: Sequence[int],
    say: Callable[[str], None],
) -> dict[str, list[tuple[Choice, Finding]]]:
    """Judge claims that no confirmed reading reproduces under the simplest readings that met them."""
    space, done = runner.space, [one.choice for one in confirmed]
    wanted: dict[str, list[Choice]] = {}
    for name in runner.target.claims:
        if any(one.findings[name].verdict is Verdict.REPRODUCED for one in confirmed):
            continue
        met = [one.choice for one in trials if one.scored.holds(name) and one.choice not in done]
        met.sort(key=lambda choice: (len(space.prices(choice)), len(choice)))
        if met:
            wanted[name] = met[:CANDIDATES]
    if wanted:
        say(f"judging {len(wanted)} claims under the simplest readings that met them")
    found: dict[str, list[tuple[Choice, Finding]]] = {}
    for name, choices in wanted.items():
        one = runner.target.claims[name]
        campaign = runner.campaign(choices, seeds, one.sources)
        found[name] = [
            (choice, judge_claim(one, campaign.observations.under(space.joint(choice)))) for choice in choices
        ]
    return found


def _effects(space: Space, target: Target, designed: Sequence[Trial]) -> dict[str, list[Effect]]:
    """Return the significant effects on the score of the scored half (key ``""``) and on each claim."""
    design = [space.levels(trial.choice) for trial in designed]
    score = [target.mean(trial.scored, Half.SCORED) for trial in designed]
    found = {"": decisive(space.free, design, score)}
    for name in target.claims:
        shares = [trial.scored.met[name][0] / trial.scored.met[name][1] for trial in designed]
        found[name] = decisive(space.free, design, shares)
    return found
