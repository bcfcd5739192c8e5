"""A paper as the library sees it: what it claims, what is run for it, how each claim is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from sojourn.errors import unknown
from sojourn.papers.checks import Check
from sojourn.papers.claims import Claim, Finding, Judged, load_claims, rows
from sojourn.papers.experiment import Arm, Experiment, Reading
from sojourn.study.execute import Reduce

if TYPE_CHECKING:
    from sojourn.papers.reproduction import Reproduction
    from sojourn.report import Section


@dataclass(frozen=True)
class Paper:
    """Everything that is known of a paper.

    Attributes
    ----------
    id : str
        Its name in commands.
    title : str
        Its title.
    citation : str
        Authors, journal, year.
    data : Traversable
        The folder with ``claims.csv``, ``assumptions.csv``, ``published.csv`` and ``parameters.csv``.
    experiments : sequence of Experiment
        What is run or computed, in the order of the report.
    readings : sequence of Reading
        The other readings of what the paper leaves open.
    checks : mapping
        The check of each claim, by claim id.
    measure : callable
        Record to the metrics that the checks need; has a ``version``.
    sections : callable
        Makes the paper's own part of the report: figures, and what they show.
    published : mapping
        The number that the paper prints for a claim's effect, by claim id.
    traced : callable
        Whether an arm's samples over time are kept (of the first seed), by (reading id, experiment id, arm).
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

    @cached_property
    def claims(self) -> list[Claim]:
        """Every claim, in order."""
        return load_claims(self.data / "claims.csv")

    @cached_property
    def worlds(self) -> list[str]:
        """The worlds that its experiments need."""
        return list(dict.fromkeys(experiment.world for experiment in self.experiments))

    def table(self, name: str) -> list[dict[str, str]]:
        """Return the rows of one of the data files."""
        return rows(self.data / f"{name}.csv")

    def experiment(self, name: str) -> Experiment:
        """Return an experiment by its id.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        found = {experiment.id: experiment for experiment in self.experiments}
        if name not in found:
            raise unknown(name, f"an experiment of {self.id}", found)
        return found[name]

    def details(self, claim: Claim, finding: Finding) -> Judged:
        """Return a claim's row: its finding with world, assumptions and published value."""
        found = [self.experiment(name) for name in claim.experiments]
        resting = dict.fromkeys(name for one in found for name in one.assumptions) if claim.assumed else ()
        return Judged(claim, finding, found[0].world, tuple(resting), self.published.get(claim.id))
