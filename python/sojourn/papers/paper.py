"""A paper: its claims, its experiments, and the check of each claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from sojourn.errors import unknown
from sojourn.papers.answers import Question
from sojourn.papers.checks import Check
from sojourn.papers.claims import Claim, ClaimResult, Finding, Verdict, load_claims, rows
from sojourn.papers.experiment import Arm, Experiment, Reading
from sojourn.papers.published import Counterpart
from sojourn.papers.real import Testbed
from sojourn.papers.reasons import Reasons
from sojourn.worlds import Reduce

if TYPE_CHECKING:
    from sojourn.papers.result import Reproduction
    from sojourn.report import Section

#: The worlds in which a claim is judged unless the real one is selected; of several, the first.
BUILT = ("simulated", "analytic", "fluid")


@dataclass(frozen=True)
class Paper:
    """A paper with its claims, data, experiments and checks.

    Attributes
    ----------
    id : str
        Its name in commands.
    title : str
        Its title.
    citation : str
        Authors, journal, year.
    data : Traversable
        The directory with ``claims.csv``, ``assumptions.csv``, ``published.csv``, ``parameters.csv``, and the
        files of `sojourn.papers.reasons`.
    experiments : sequence of Experiment
        The experiments, in the order of the report.
    readings : sequence of Reading
        The other readings of what the paper leaves open.
    checks : mapping
        The check of each claim, by claim id.
    measure : callable
        Maps a record to the metrics that the checks use; has a ``version``.
    sections : callable
        Makes the paper's own part of the report: figures with captions.
    published : mapping
        The number that the paper prints for a claim's effect, by claim id.
    traced : callable
        Whether an arm's samples over time are stored (first seed), by (reading id, experiment id, arm).
    cell : callable
        Our counterpart of a row of ``published.csv``, or the reason why there is none.
    questions : sequence of Question
        Questions about the paper that its verdicts answer.
    columns : mapping or None
        The metrics of the report's tables, name to heading and unit; the default ones if None.
    testbeds : mapping
        The testbeds of the real world, by the experiment whose checks use them.
    """

    id: str
    title: str
    citation: str
    data: Traversable
    experiments: Sequence[Experiment]
    readings: Sequence[Reading]
    checks: Mapping[str, Check]
    measure: Reduce
    sections: Callable[[Reproduction], list[Section]]
    published: Mapping[str, float] = field(default_factory=dict)
    traced: Callable[[str, str, Arm], bool] = lambda _reading, _experiment, _arm: False
    cell: Callable[[Mapping[str, str]], Counterpart] = lambda _row: "not compared"
    questions: Sequence[Question] = ()
    columns: Mapping[str, tuple[str, str]] | None = None
    testbeds: Mapping[str, Testbed] = field(default_factory=dict)

    def with_aqms(self, specs: Sequence[str]) -> Paper:
        """Return the paper with further algorithms in the scenarios of all its experiments."""
        extra_aqms = {one.id: [one.extra_aqms(specs)] if one.arms else [] for one in self.experiments}
        return replace(self, experiments=[e for one in self.experiments for e in (one, *extra_aqms[one.id])])

    @cached_property
    def claims(self) -> list[Claim]:
        """Every claim, in order."""
        return load_claims(self.data / "claims.csv")

    @cached_property
    def worlds(self) -> list[str]:
        """The worlds of its claims."""
        return list(dict.fromkeys(world for claim in self.claims for world in self.worlds_of(claim)))

    @cached_property
    def reasons(self) -> Reasons:
        """Why printed numbers and claims are missed."""
        return Reasons(self.data)

    def table(self, name: str) -> list[dict[str, str]]:
        """Return the rows of one of the data files."""
        return rows(self.data / f"{name}.csv")

    def experiment(self, name: str) -> Experiment:
        """Return an experiment by its id.

        Raises
        ------
        InputError
            If no experiment has this id.
        """
        found = {experiment.id: experiment for experiment in self.experiments}
        if name not in found:
            raise unknown(name, f"an experiment of {self.id}", found)
        return found[name]

    def worlds_of(self, claim: Claim) -> list[str]:
        """Return the worlds of a claim, first the one in which it is judged, if available."""
        experiments = [self.experiment(name) for name in claim.experiments]
        worlds = dict.fromkeys(world for one in experiments for world in (one.world, *one.also))
        judged = [world for world in BUILT if world in worlds][:1]
        return judged + [world for world in worlds if world not in BUILT]

    def details(self, claim: Claim, finding: Finding, world: str | None = None) -> ClaimResult:
        """Return a claim's row in a world (its first): finding, assumptions and published value."""
        experiments = [self.experiment(name) for name in claim.experiments]
        found = dict.fromkeys(name for one in experiments for name in one.assumptions)
        assumptions = tuple(found) if claim.assumed else ()
        world = world or self.worlds_of(claim)[0]
        missed = finding.verdict is Verdict.NOT_REPRODUCED and world in BUILT
        cause = self.reasons.claims.get(claim.id) if missed else None
        printed = self.published.get(claim.id)
        return ClaimResult(claim, finding, world, assumptions, printed, cause.words if cause else "")
