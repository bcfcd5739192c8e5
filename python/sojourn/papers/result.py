"""The result of re-running a paper: judged claims, runs, and the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from sojourn.papers.campaign import Campaign
from sojourn.papers.claims import ClaimResult, Verdict, claims_frame
from sojourn.papers.paper import Paper
from sojourn.papers.published import beside
from sojourn.papers.selection import Selection, command
from sojourn.runner.identity import keep_rows


@dataclass(frozen=True)
class Reproduction:
    """The result of re-running a paper.

    Attributes
    ----------
    paper : Paper
        The paper.
    selection : Selection
        The selected part of the paper.
    judged : sequence of ClaimResult
        Every claim of the paper, in order, in each of its worlds.
    campaign : Campaign
        The runs and their metrics.
    directory : Path
        The output directory.
    seconds : float
        Wall time of this call.
    cpu_seconds : float
        Processor time of this call, all threads.
    """

    paper: Paper
    selection: Selection
    judged: Sequence[ClaimResult]
    campaign: Campaign
    directory: Path
    seconds: float
    cpu_seconds: float

    @cached_property
    def claims(self) -> pl.DataFrame:
        """One row per claim, as in ``claims.csv``."""
        return claims_frame(self.judged)

    @cached_property
    def published(self) -> pl.DataFrame:
        """The numbers that the paper prints with ours beside them, as in ``published.csv``."""
        samples = self.campaign.observations.under()
        return beside(self.paper.table("published"), self.paper.cell, samples, self.paper.reasons)

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

    @cached_property
    def id(self) -> str:
        """The id of the runs (`sojourn.runner.identity`); their hashes are written to the directory."""
        return keep_rows(self.directory, self.campaign.leaves())

    @property
    def report(self) -> Path:
        """The report."""
        return self.directory / "report.html"

    @property
    def command(self) -> str:
        """The command that reproduces it."""
        return command(self.paper, self.selection)

    @cached_property
    def counted(self) -> list[ClaimResult]:
        """The rows of the selected worlds: at most one per claim."""
        return [item for item in self.judged if item.world in self.selection.worlds]

    @cached_property
    def elsewhere(self) -> list[ClaimResult]:
        """The rows of other worlds, without runs."""
        return [item for item in self.judged if item.world not in self.selection.worlds]

    def count(self, verdict: Verdict) -> int:
        """Return the number of claims with a verdict, in the selected worlds."""
        return sum(item.finding.verdict is verdict for item in self.counted)

    @cached_property
    def kinds(self) -> str:
        """How many claims of each kind are reproduced: found in runs, calculated, or not printed."""
        groups: dict[str, list[ClaimResult]] = {
            "rest on runs": [],
            "are calculated": [],
            "are not printed": [],
        }
        for item in self.counted:
            calculated = item.world in ("analytic", "fluid") or not self.paper.checks[item.claim.id].sources
            kind = (
                "are not printed"
                if item.claim.derived
                else "are calculated"
                if calculated
                else "rest on runs"
            )
            groups[kind].append(item)
        yes = Verdict.REPRODUCED
        words = [
            f"{len(items)} {kind} ({sum(one.finding.verdict is yes for one in items)} reproduced)"
            for kind, items in groups.items()
            if items
        ]
        return f"Of these claims, {', '.join(words)}." if len(words) > 1 else ""

    @cached_property
    def standings(self) -> str:
        """How many claims have each verdict over all readings, in words."""
        return over_all_readings([item.standing for item in self.counted])

    @cached_property
    def counts(self) -> str:
        """The number of claims by verdict, as text."""
        words = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in Verdict)
        return f"Of {len(self.counted)} claims: {words}."


def over_all_readings(standings: Iterable[str]) -> str:
    """Return how many claims have each verdict over all readings, in words; those not run have none.

    Examples
    --------
    >>> over_all_readings(["reproduced", "impossible", ""])
    'Over all readings, of 2: 1 as assumed, 0 only under another reading, 0 under none that was tried, \
1 impossible, 0 undecided.'
    """
    found = [one for one in standings if one]
    kinds = {
        "as assumed": found.count("reproduced"),
        "only under another reading": sum(one.startswith("reproduced under") for one in found),
        "under none that was tried": sum(one.startswith("not under") for one in found),
        "impossible": found.count("impossible"),
        "undecided": found.count("undecided"),
    }
    words = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return f"Over all readings, of {len(found)}: {words}." if found else ""
