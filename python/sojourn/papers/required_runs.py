"""The runs and solutions that claims need: the arms of each claim, and seeds that may decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from sojourn.errors import InputError
from sojourn.papers.campaign import Campaign, Job, seeds_for
from sojourn.papers.experiment import Arm, Experiment, ModelArm, Reading
from sojourn.papers.paper import Paper
from sojourn.papers.real import jobs as real_jobs
from sojourn.papers.selection import Selection
from sojourn.papers.terms import Source
from sojourn.spec.units import number

#: (reading, experiment, arm in equations, seeds).
Solved: TypeAlias = tuple[str, str, ModelArm, range]
One = TypeVar("One", Arm, ModelArm)


def jobs(paper: Paper, claims: frozenset[str], selection: Selection) -> list[Job]:
    """Return the initial runs that claims need: the primary ones, then those of the other readings.

    Raises
    ------
    InputError
        If the real world is selected and the paper has no testbed.
    """
    if not selection.real:
        quick = selection.quick

        def arms(reading: Reading | None, one: Experiment) -> Iterable[Arm]:
            return reading.arms(one, quick) if reading else one.runs(quick)

        return list(seeds_for(_cells(paper, claims, quick, arms), paper.traced))
    found = list(real_jobs(paper.testbeds, selection.experiment, selection.arms, selection.quick))
    if not found:
        raise InputError("world 'real':", f"is not built for {paper.id}", "simulated")
    return found


def how_long(wanted: Sequence[Job], selection: Selection) -> str:
    """Return the minimum duration of real runs as text; empty for others."""
    if not selection.real:
        return ""
    minutes = sum(number("span", job.arm.scenario.duration) for job in wanted) / 60e9
    return f" in real time: {minutes:.0f} minutes at least"


def models(paper: Paper, claims: frozenset[str], quick: bool) -> list[Solved]:
    """Return the arms in equations that claims use: the primary ones, then those of other readings."""

    def arms(reading: Reading | None, one: Experiment) -> Iterable[ModelArm]:
        return reading.models(one, quick) if reading else one.models

    return list(_cells(paper, claims, quick, arms))


def more(paper: Paper, claims: frozenset[str], campaign: Campaign) -> tuple[list[Job], list[Solved]]:
    """Return the seeds beyond the first of the arms whose inequalities are undecided; runs and equations."""
    samples = campaign.observations.under()
    wanted = frozenset().union(*(paper.checks[name].undecided_sources(samples) for name in claims))

    def further(arms: Callable[[Experiment], Iterable[One]]) -> Iterator[tuple[str, str, One, range]]:
        for one in paper.experiments:
            seeds = range(one.seeds + 1, one.most_seeds + 1)
            yield from (("", one.id, arm, seeds) for arm in arms(one) if (one.id, arm.name) in wanted)

    return list(seeds_for(further(lambda one: one.arms))), list(further(lambda one: one.models))


def sources(paper: Paper, claims: frozenset[str]) -> frozenset[Source]:
    """Return the arms that claims use, with all other arms of the claims' experiments."""
    mine = {name for claim in paper.claims if claim.id in claims for name in claim.experiments}
    whole = {(e.id, name) for e in paper.experiments if {e.id, e.beside} & mine for name in e.names}
    return frozenset(whole) | _judged(paper, claims)


def _judged(paper: Paper, claims: frozenset[str]) -> frozenset[Source]:
    return frozenset().union(*(paper.checks[name].sources for name in claims))


def _cells(
    paper: Paper,
    claims: frozenset[str],
    quick: bool,
    arms: Callable[[Reading | None, Experiment], Iterable[One]],
) -> Iterator[tuple[str, str, One, range]]:
    """Yield (reading, experiment, arm, seeds); of other readings only arms that a check uses."""
    whole, judged = sources(paper, claims), _judged(paper, claims)
    for reading in (None, *paper.readings):
        needed, name = (judged, reading.id) if reading else (whole, "")
        for one in paper.experiments:
            seeds = range(1, one.count(quick) + 1)
            yield from (
                (name, one.id, arm, seeds) for arm in arms(reading, one) if (one.id, arm.name) in needed
            )
