"""Re-running a paper: execute the required runs, judge every claim, write claims, metrics and report.

One call of `reproduce` writes into the output directory: ``claims.csv`` (a row for every claim and world,
also those not run), ``published.csv`` (the paper's numbers with ours beside them), ``metrics.parquet`` (one
row per run and use), ``summary.md`` with the folder ``figures``, and ``report.html``. Every finished run is
stored in the same directory, so that the same call resumes an interrupted one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from sojourn import files
from sojourn.algorithms import Aqm, permitting, spec_of
from sojourn.arguments import folder as folder_of
from sojourn.papers import required_runs
from sojourn.papers.campaign import Campaign, Job
from sojourn.papers.claims import Claim, ClaimResult, Finding, Verdict
from sojourn.papers.judge import judge_all
from sojourn.papers.manifest import begin, finish
from sojourn.papers.markdown import summary, write_figures
from sojourn.papers.paper import BUILT, Paper
from sojourn.papers.real import LEAST
from sojourn.papers.report import page
from sojourn.papers.result import Reproduction
from sojourn.papers.search.run import default_directory as default_search
from sojourn.papers.search.run import stored
from sojourn.papers.search.standing import by_claim, overall, proofs
from sojourn.papers.selection import REAL, Selection, chosen, default_directory, refuse
from sojourn.runner.execute import Progress
from sojourn.runner.manifest import marking_interruption
from sojourn.runner.ownership import entering
from sojourn.runner.sealed import seal


def reproduce(
    paper: Paper,
    *,
    experiment: str | None = None,
    world: str | None = None,
    quick: bool = False,
    as_printed: bool = False,
    aqms: Sequence[str | Aqm | type[Aqm]] = (),
    arms: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    allow_code: bool = False,
) -> Reproduction:
    """Re-run a paper and write the results.

    Parameters
    ----------
    paper : Paper
        The paper.
    experiment, world : str or None
        Only this one; every claim still gets a row, the others with the reason ``not run``.
    quick : bool
        Few seeds and the shortened arms of each experiment; claims that need more seeds stay undecided with
        the reason ``quick``.
    as_printed : bool
        Run the paper as printed only, without other readings of what it leaves open.
    aqms : sequence of str or Aqm
        Further algorithms, specs or Python classes, which run in every scenario beside the paper's.
    arms : sequence of str
        In the real world: only these arms, by name; none: the default ones.
    out : path or None
        The output directory; ``results/<paper>-<id>`` if None.
    workers : int or None
        Threads; all cores if None.
    progress : callable or None
        Called about ten times a second with (share, done, total).
    announce : callable or None
        Called with one line at each stage.
    allow_code : bool
        Execute the Python files that `aqms` names as text.

    Raises
    ------
    InputError
        If there is no such experiment, world or algorithm.
    RunFailed
        If runs failed or the results cannot be written.
    """
    started, spent, say = time.monotonic(), time.process_time(), announce or (lambda _text: None)
    with permitting(allow_code):
        extra_aqms = tuple(dict.fromkeys(spec_of(spec) for spec in aqms))
    selection = Selection(experiment, world, quick, extra_aqms, tuple(dict.fromkeys(arms)), as_printed)
    refuse(selection)
    paper = replace(paper, readings=[]) if as_printed else paper
    paper = paper.with_aqms(extra_aqms) if extra_aqms else paper
    claims = chosen(paper, selection)
    directory = folder_of(out) if out is not None else default_directory(paper, selection)
    wanted = required_runs.jobs(paper, claims, selection)
    with entering(directory, "reproduce", paper.id):
        campaign = Campaign(directory, paper.measure, workers, progress, real=selection.real)
        begin(directory, paper, selection, campaign)
    with marking_interruption(directory):
        models = [] if selection.real else required_runs.models(paper, claims, quick)
        if models:
            say(f"solving the equations of {len(models)} models of {paper.id}")
            campaign.calculate(models)
        say(f"{_count(wanted)} runs of {paper.id}{required_runs.how_long(wanted, selection)}")
        campaign.run(wanted)
        if not quick and not selection.real:
            more, harder = required_runs.more(paper, claims, campaign)
            if harder:
                campaign.calculate(harder)
            if more:
                say(f"{_count(more)} more runs for claims that are undecided")
                campaign.run(more)
    judged = _standing(_judge(paper, claims, campaign, selection), paper, directory)
    times = time.monotonic() - started, time.process_time() - spent
    result = Reproduction(paper, selection, judged, campaign, directory, *times)
    for warning in campaign.warnings:
        say(f"warning: {warning}")
    say("writing the report")
    _write(result)
    return result


def _count(jobs: Sequence[Job]) -> int:
    """Return the number of distinct runs."""
    return len({job.point.run_id for job in jobs})


def _judge(
    paper: Paper, claims: frozenset[str], campaign: Campaign, selection: Selection
) -> list[ClaimResult]:
    """Return a row for every claim in each of its worlds; only the selected world is judged."""

    def home(claim: Claim) -> str | None:
        return next((world for world in paper.worlds_of(claim) if world in selection.worlds), None)

    def details(claim: Claim, finding: Finding) -> ClaimResult:
        return paper.details(claim, finding, home(claim))

    # Readings are not run in the real world, and repetitions there are few.
    readings, least = ([], LEAST) if selection.real else (paper.readings, None)
    views = {reading.id: campaign.observations.under(reading) for reading in readings}
    asked = [claim for claim in paper.claims if claim.id in claims and home(claim)]
    primary = campaign.observations.under()
    found = judge_all(asked, paper.checks, primary, views, details, selection.quick, least)
    by_id = {item.claim.id: item for item in found}

    def row(claim: Claim, world: str) -> ClaimResult:
        if world == home(claim) and claim.id in by_id:
            return by_id[claim.id]
        awaits = world == REAL and not selection.real
        reason = "needs the real world" if awaits else "not run"
        return paper.details(claim, Finding(Verdict.UNDECIDED, reason=reason), world)

    rows = [row(claim, world) for claim in paper.claims for world in paper.worlds_of(claim)]
    return [_timed(item, paper, campaign) for item in rows]


def _standing(judged: Sequence[ClaimResult], paper: Paper, directory: Path) -> list[ClaimResult]:
    """Return the rows with their verdicts over all readings, with those of a search beside `directory`."""
    known, searched = proofs(paper), by_claim(stored(directory.parent / default_search(paper).name))

    def words(item: ClaimResult) -> str:
        if item.world not in BUILT or not item.finding.n:
            return ""
        verdict, name = str(item.finding.verdict), item.claim.id
        return overall(verdict, item.sensitivity, known.get(name, ""), searched.get(name)).text

    return [replace(item, standing=words(item)) for item in judged]


def _timed(item: ClaimResult, paper: Paper, campaign: Campaign) -> ClaimResult:
    """Return a row with the durations of its runs."""
    sources = paper.checks[item.claim.id].sources if item.finding.n else frozenset()
    return replace(item, run_seconds=campaign.durations(sources))


def _write(result: Reproduction) -> None:
    files.write(result.directory / "metrics.parquet", seal(result.metrics, "metrics.parquet"))
    files.write(result.directory / "claims.csv", result.claims.write_csv())
    files.write(result.directory / "published.csv", result.published.write_csv())
    drawn = result.paper.sections(result)
    write_figures(result, drawn)
    files.write(result.directory / "summary.md", summary(result, drawn))
    files.write(result.report, page(result, drawn))
    finish(result)
