"""Re-running a paper: runs what is needed, judges every claim, writes claims, metrics and report.

One call of `reproduce` makes five files in the output folder: ``claims.csv`` (a row for every claim and
world, whatever was run), ``published.csv`` (the paper's numbers with ours beside them), ``metrics.parquet``
(one row a run and use), ``summary.md`` and ``report.html``. Every finished run is kept under the same folder,
so that the same call continues where it was stopped.
"""

from __future__ import annotations

import io
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import polars as pl

from sojourn import _core
from sojourn.errors import InputError, disk, unknown
from sojourn.own import Aqm
from sojourn.papers.campaign import Campaign, Job, seeds_for
from sojourn.papers.claims import Claim, Finding, Judged, Verdict, claims_frame
from sojourn.papers.experiment import Arm, Modelled
from sojourn.papers.judge import judge_all
from sojourn.papers.manifest import begin, command, finish
from sojourn.papers.paper import BUILT, Paper
from sojourn.papers.published import beside
from sojourn.papers.real import LEAST
from sojourn.papers.real import jobs as real_jobs
from sojourn.papers.terms import Source
from sojourn.run import canonical
from sojourn.study.execute import Progress
from sojourn.study.plan import digest
from sojourn.study.store import write_whole
from sojourn.units import number

#: The world whose runs are made only when asked for.
REAL = "real"


@dataclass(frozen=True)
class Selection:
    """Which part of a paper is asked for.

    Attributes
    ----------
    experiment, world : str or None
        Only this one; None: all.
    quick : bool
        Few seeds, and no verdict that asks for more.
    aqms : tuple of str
        Further algorithms, run beside the paper's.
    arms : tuple of str
        In the real world: only these arms.
    """

    experiment: str | None = None
    world: str | None = None
    quick: bool = False
    aqms: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()

    @property
    def real(self) -> bool:
        """Whether runs in the real world are asked for."""
        return self.world == REAL

    @property
    def worlds(self) -> tuple[str, ...]:
        """The worlds in which claims are judged."""
        return (REAL,) if self.real else BUILT

    @property
    def name(self) -> str:
        """What is asked for, as part of a folder's name."""
        words = (
            self.experiment,
            self.world,
            "quick" if self.quick else "",
            "with" if self.aqms else "",
            "some" if self.arms else "",
        )
        return "-".join(filter(None, words))

    @property
    def options(self) -> str:
        """The same as options of the command."""
        words = [f"--experiment {self.experiment}"] if self.experiment else []
        words += [f"--world {self.world}"] if self.world else []
        words += [f"--aqm {shlex.quote(spec)}" for spec in self.aqms]
        words += [f"--arm {shlex.quote(name)}" for name in self.arms]
        return " ".join([*words, *(["--quick"] if self.quick else [])])


@dataclass(frozen=True)
class Reproduction:
    """What became of a paper.

    Attributes
    ----------
    paper : Paper
        The paper.
    selection : Selection
        What was asked for.
    judged : sequence of Judged
        Every claim of the paper, in order, in every world that it stands in.
    campaign : Campaign
        The runs and their metrics.
    directory : Path
        Where everything is.
    seconds : float
        Wall time of this call.
    cpu_seconds : float
        Processor time of this call, all threads.
    """

    paper: Paper
    selection: Selection
    judged: Sequence[Judged]
    campaign: Campaign
    directory: Path
    seconds: float
    cpu_seconds: float

    @cached_property
    def claims(self) -> pl.DataFrame:
        """One row a claim, as in ``claims.csv``."""
        return claims_frame(self.judged)

    @cached_property
    def published(self) -> pl.DataFrame:
        """The numbers that the paper prints with ours beside them, as in ``published.csv``."""
        samples = self.campaign.observations.under()
        return beside(self.paper.table("published"), self.paper.cell, samples)

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row for each run and each use of it, as in ``metrics.parquet``."""
        frame = pl.DataFrame(self.campaign.rows, infer_schema_length=None)
        if not frame.height:
            return frame
        readings = ["", *(reading.id for reading in self.paper.readings)]
        arms = [name for experiment in self.paper.experiments for name in experiment.names]
        experiments = [experiment.id for experiment in self.paper.experiments]
        ranks = {"experiment_id": experiments, "reading": readings, "arm": list(dict.fromkeys(arms))}
        order = [
            pl.col(name).replace_strict({key: place for place, key in enumerate(keys)}, return_dtype=pl.Int64)
            for name, keys in ranks.items()
        ]
        return frame.sort(*order, "seed")

    @property
    def report(self) -> Path:
        """The report."""
        return self.directory / "report.html"

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return command(self.paper, self.selection)

    @cached_property
    def counted(self) -> list[Judged]:
        """The rows of the worlds that were asked for: a claim has no more than one."""
        return [item for item in self.judged if item.world in self.selection.worlds]

    @cached_property
    def elsewhere(self) -> list[Judged]:
        """The rows of other worlds: nothing was run for them."""
        return [item for item in self.judged if item.world not in self.selection.worlds]

    def count(self, verdict: Verdict) -> int:
        """Return how many claims have a verdict, in the worlds that were asked for."""
        return sum(item.finding.verdict is verdict for item in self.counted)

    @cached_property
    def counts(self) -> str:
        """Verdicts and how many claims have each, in words."""
        words = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in Verdict)
        return f"Of {len(self.counted)} claims: {words}."


def reproduce(
    paper: Paper,
    *,
    experiment: str | None = None,
    world: str | None = None,
    quick: bool = False,
    aqms: Sequence[str | Aqm | type[Aqm]] = (),
    arms: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Reproduction:
    """Re-run a paper and write what came of it.

    Parameters
    ----------
    paper : Paper
        The paper.
    experiment, world : str or None
        Only this one; every claim still gets a row, the others with the reason ``not run``.
    quick : bool
        Few seeds, and what an experiment shortens; claims that ask for more seeds stay undecided with the
        reason ``quick``.
    aqms : sequence of str or Aqm
        Further algorithms, run in every scenario beside the paper's: specs, or your own.
    arms : sequence of str
        In the real world: only these arms, by name; none: the usual ones.
    out : path or None
        The output folder; ``results/<paper>-<id>`` if None.
    workers : int or None
        Threads; all cores if None.
    progress : callable or None
        Called about ten times a second with (share, done, total).
    announce : callable or None
        Called with one line at each stage.

    Raises
    ------
    InputError
        If there is no such experiment, world or algorithm.
    RunFailed
        If runs failed or the results cannot be written.
    """
    started, spent, say = time.monotonic(), time.process_time(), announce or (lambda _text: None)
    guests = tuple(dict.fromkeys(canonical(spec) for spec in aqms))
    selection = Selection(experiment, world, quick, guests, tuple(dict.fromkeys(arms)))
    _check(selection)
    paper = paper.joined_by(guests) if guests else paper
    claims = _selected(paper, selection)
    directory = Path(out) if out is not None else default_directory(paper, selection)
    jobs = _jobs(paper, claims, selection)
    campaign = Campaign(directory, paper.measure, workers, progress, real=selection.real)
    _begin(directory, paper, selection, campaign)
    models = [] if selection.real else _models(paper, claims, quick)
    if models:
        say(f"solving the equations of {len(models)} models of {paper.id}")
        campaign.calculate(models)
    say(f"{len({job.point.run_id for job in jobs})} runs of {paper.id}{_how_long(jobs, selection)}")
    campaign.run(jobs)
    if not quick and not selection.real:
        more, harder = _more_jobs(paper, claims, campaign)
        if harder:
            campaign.calculate(harder)
        if more:
            say(f"{len({job.point.run_id for job in more})} more runs for claims that are undecided")
            campaign.run(more)
    judged = [_timed(item, paper, campaign) for item in _judge(paper, claims, campaign, selection)]
    times = time.monotonic() - started, time.process_time() - spent
    result = Reproduction(paper, selection, judged, campaign, directory, *times)
    for doubt in campaign.doubts:
        say(f"warning: {doubt}")
    say("writing the report")
    _write(result)
    return result


def _check(selection: Selection) -> None:
    """Refuse what has no sense in a world."""
    if selection.arms and not selection.real:
        raise InputError("arms", "can be chosen in the real world only", "with world = 'real'")
    if selection.aqms and selection.real:
        raise InputError("aqms", "cannot be added in the real world", "sojourn run FILE --world real")


def _jobs(paper: Paper, claims: frozenset[str], selection: Selection) -> list[Job]:
    if not selection.real:
        return list(_first_jobs(paper, claims, selection.quick))
    found = list(real_jobs(paper.testbeds, selection.experiment, selection.arms, selection.quick))
    if not found:
        raise InputError("world 'real':", f"is not built for {paper.id}", "simulated")
    return found


def _how_long(jobs: Sequence[Job], selection: Selection) -> str:
    if not selection.real:
        return ""
    minutes = sum(number("span", job.arm.scenario.duration) for job in jobs) / 60e9
    return f" in real time: {minutes:.0f} minutes at least"


def _begin(directory: Path, paper: Paper, selection: Selection, campaign: Campaign) -> None:
    try:
        begin(directory, paper, selection, campaign)
    except OSError as error:
        raise disk(error, directory) from None


def default_directory(paper: Paper, selection: Selection) -> Path:
    """Return ``results/<paper>-<id>``: the same for the same question to the same version."""
    name = "-".join(filter(None, (paper.id, selection.name)))
    version = getattr(paper.measure, "version", "")
    parts = (name, *selection.aqms, *selection.arms, _core.CORE_VERSION, version)
    return Path("results") / f"{name}-{digest(*parts, length=8)}"


def _selected(paper: Paper, selection: Selection) -> frozenset[str]:
    """Return the ids of the claims that are asked for."""
    if selection.world is not None and selection.world not in paper.worlds:
        raise unknown(selection.world, f"a world of {paper.id}", paper.worlds)
    if selection.experiment is not None:
        paper.experiment(selection.experiment)
    return frozenset(
        claim.id
        for claim in paper.claims
        if selection.experiment in (None, *claim.experiments)
        and (
            REAL in paper.worlds_of(claim)
            if selection.real
            else selection.world in (None, paper.worlds_of(claim)[0])
        )
    )


def _sources(paper: Paper, claims: frozenset[str]) -> frozenset[Source]:
    """Return the arms that claims look at, with all other arms of the claims' own experiments."""
    mine = {name for claim in paper.claims if claim.id in claims for name in claim.experiments}
    whole = {(e.id, name) for e in paper.experiments if {e.id, e.beside} & mine for name in e.names}
    return frozenset(whole).union(*(paper.checks[name].sources for name in claims))


def _first_jobs(paper: Paper, claims: frozenset[str], quick: bool) -> Iterator[Job]:
    """Yield the primary runs, then those of the other readings: only of arms that a check looks at."""
    wanted, judged = _sources(paper, claims), frozenset().union(*(paper.checks[n].sources for n in claims))
    cells: list[tuple[str, str, Arm, range]] = []
    for reading in (None, *paper.readings):
        needed, name = (judged, reading.id) if reading else (wanted, "")
        for one in paper.experiments:
            arms, seeds = reading.arms(one, quick) if reading else one.runs(quick), one.count(quick)
            cells += [
                (name, one.id, arm, range(1, seeds + 1)) for arm in arms if (one.id, arm.name) in needed
            ]
    yield from seeds_for(cells, paper.traced)


#: (reading, experiment, arm in equations, seeds).
Solved: TypeAlias = tuple[str, str, Modelled, range]


def _models(paper: Paper, claims: frozenset[str], quick: bool) -> list[Solved]:
    """Return the arms in equations that claims look at: the primary ones, then those of other readings."""
    wanted, judged = _sources(paper, claims), frozenset().union(*(paper.checks[n].sources for n in claims))
    cells: list[Solved] = []
    for reading in (None, *paper.readings):
        needed, name = (judged, reading.id) if reading else (wanted, "")
        for one in paper.experiments:
            models, seeds = reading.models(one, quick) if reading else one.models, one.count(quick)
            cells += [(name, one.id, m, range(1, seeds + 1)) for m in models if (one.id, m.name) in needed]
    return cells


def _more_jobs(paper: Paper, claims: frozenset[str], campaign: Campaign) -> tuple[list[Job], list[Solved]]:
    """Return the seeds beyond the first of the arms whose inequalities are undecided; runs and equations."""
    samples = campaign.observations.under()
    wanted = frozenset().union(*(paper.checks[name].wanting(samples) for name in claims))
    runs = seeds_for(
        ("", one.id, arm, range(one.seeds + 1, one.most_seeds + 1))
        for one in paper.experiments
        for arm in one.arms
        if (one.id, arm.name) in wanted
    )
    models = [
        ("", one.id, model, range(one.seeds + 1, one.most_seeds + 1))
        for one in paper.experiments
        for model in one.models
        if (one.id, model.name) in wanted
    ]
    return list(runs), models


def _judge(paper: Paper, claims: frozenset[str], campaign: Campaign, selection: Selection) -> list[Judged]:
    if selection.real:
        return _judge_real(paper, claims, campaign, selection)
    quick = selection.quick
    views = {reading.id: campaign.observations.under(reading) for reading in paper.readings}
    asked = [claim for claim in paper.claims if claim.id in claims and paper.worlds_of(claim)[0] in BUILT]
    primary = campaign.observations.under()
    found = judge_all(asked, paper.checks, primary, views, paper.details, quick)
    by_id = {item.claim.id: item for item in found}
    not_run = Finding(Verdict.UNDECIDED, reason="not run")
    return [
        (by_id.get(claim.id) or paper.details(claim, not_run))
        if world in BUILT
        else paper.awaits(claim, world)
        for claim in paper.claims
        for world in paper.worlds_of(claim)
    ]


def _judge_real(
    paper: Paper, claims: frozenset[str], campaign: Campaign, selection: Selection
) -> list[Judged]:
    """Judge the claims that stand in the real world, on few repetitions; all others were not run."""

    def details(claim: Claim, finding: Finding) -> Judged:
        return paper.details(claim, finding, REAL)

    asked = [claim for claim in paper.claims if claim.id in claims]
    primary = campaign.observations.under()
    found = judge_all(asked, paper.checks, primary, {}, details, selection.quick, LEAST)
    by_id = {item.claim.id: item for item in found}
    not_run = Finding(Verdict.UNDECIDED, reason="not run")
    return [
        by_id[claim.id] if world == REAL and claim.id in by_id else paper.details(claim, not_run, world)
        for claim in paper.claims
        for world in paper.worlds_of(claim)
    ]


def _timed(item: Judged, paper: Paper, campaign: Campaign) -> Judged:
    """Return a row with the lengths of the runs that it rests on."""
    sources = paper.checks[item.claim.id].sources if item.finding.n else frozenset()
    return replace(item, run_seconds=campaign.lasted(sources))


def _write(result: Reproduction) -> None:
    from sojourn.papers.markdown import summary
    from sojourn.papers.report import page

    frame = result.metrics
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    text = result.claims.write_csv()
    try:
        write_whole(result.directory / "metrics.parquet", buffer.getvalue())
        write_whole(result.directory / "claims.csv", text.encode())
        write_whole(result.directory / "published.csv", result.published.write_csv().encode())
        write_whole(result.directory / "summary.md", summary(result).encode())
        write_whole(result.report, page(result).encode())
        finish(result)
    except OSError as error:
        raise disk(error, result.directory) from None
