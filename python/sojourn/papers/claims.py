"""Claims of a paper, the findings on them, and the table of both.

A `Claim` is a row of a paper's ``claims.csv``. A `Finding` is the result of its check: a verdict with its
effect, interval, number of seeds and reason. `claims_frame` joins both to the table that ``sojourn
reproduce`` writes. It has a row for every claim of the paper, also for claims without runs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources.abc import Traversable

import polars as pl


class Verdict(StrEnum):
    """The outcome of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be true or false.

    ``experiment`` may name several, separated by semicolons: the claim needs all of them.
    """

    id: str
    section: str
    experiment: str
    statement: str
    check: str
    strength: str
    how_to_judge: str
    assumed: bool
    remark: str

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it needs."""
        return tuple(self.experiment.split(";"))

    @property
    def derived(self) -> bool:
        """Whether the catalogue derived it: the paper does not print it."""
        remark = self.remark.startswith(("derived", "not in the paper"))
        return remark or self.section.endswith("derived")


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    verdict : Verdict
        Reproduced, not reproduced or undecided.
    effect, low, high : float or None
        The number that decides and the ends of its 95 % interval.
    n : int
        Number of seeds (for a computed claim: of points) used.
    measure : str
        Description of the effect, with its unit.
    claimed : str
        Condition on the effect under which the claim holds, for instance ``< 0``.
    p : float or None
        p-value: probability of an effect at least this far from the bound by chance; None without a test.
    reason : str
        Reason for the verdict.
    slack : float or None
        For a margin: distance from the interval to the nearest end of the margin, negative if the interval
        extends beyond it.
    leans : Verdict or None
        The verdict that the seeds would give if they were enough for one; None if they are enough.
    met, parts : int
        Comparisons whose estimate is on the claim's side, without regard to the interval, and all
        comparisons of the claim; no comparison if no seed has a value.
    """

    verdict: Verdict
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    measure: str = ""
    claimed: str = ""
    p: float | None = None
    reason: str = ""
    slack: float | None = None
    leans: Verdict | None = None
    met: int = 0
    parts: int = 0

    @property
    def share(self) -> float:
        """The share of comparisons whose estimate is on the claim's side; 0 without one."""
        return self.met / self.parts if self.parts else 0.0


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its finding and the other columns of its row.

    Attributes
    ----------
    assumptions : tuple of str
        Ids of the assumptions of the claim's experiment.
    published : float or None
        The number that the paper prints, if it prints one.
    world : str
        ``analytic``, ``simulated``, ``real`` or ``fluid``; a claim has a row for each of its worlds.
    cause : str
        Why the claim is not reproduced, with the evidence; empty if it is.
    standing : str
        The verdict over all readings (`sojourn.papers.search.standing`); empty for a claim that was not run.
    p_holm : float or None
        `Finding.p` corrected for the number of claims tested in the paper.
    sensitivity : mapping
        Verdict under each other reading of the paper, by the reading's id.
    run_seconds : tuple of float
        Distinct durations of its runs.
    """

    claim: Claim
    finding: Finding
    world: str
    assumptions: tuple[str, ...] = ()
    published: float | None = None
    cause: str = ""
    standing: str = ""
    p_holm: float | None = None
    sensitivity: Mapping[str, Verdict] = field(default_factory=dict)
    run_seconds: tuple[float, ...] = ()

    @property
    def lasting(self) -> str:
        """The lengths of its runs in words: ``500 s``; empty without runs."""
        return ", ".join(f"{seconds:g} s" for seconds in self.run_seconds)

    @property
    def holm_changes(self) -> bool:
        """Whether the verdict depends on a test that is not significant after Holm's correction."""
        decided = self.finding.verdict is not Verdict.UNDECIDED
        return decided and self.p_holm is not None and self.p_holm >= 0.05

    @property
    def flips(self) -> tuple[str, ...]:
        """Ids of the readings under which the claim has the opposite verdict."""
        silent = {Verdict.UNDECIDED, self.finding.verdict}
        return tuple(name for name, verdict in self.sensitivity.items() if verdict not in silent)


def rows(source: Traversable) -> list[dict[str, str]]:
    """Return the rows of a CSV file, a path or a packaged resource."""
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def load_claims(source: Traversable) -> list[Claim]:
    """Read the claims of a paper from its ``claims.csv``.

    Parameters
    ----------
    source : Traversable
        The file, a path or a packaged resource.
    """
    return [
        Claim(
            id=row["claim_id"],
            section=row["section"],
            experiment=row["experiment_id"],
            statement=row["statement"],
            check=row["check"],
            strength=row["strength"],
            how_to_judge=row["how_to_judge"],
            assumed=row["depends_on_assumption"] == "yes",
            remark=row["remark"],
        )
        for row in rows(source)
    ]


def claims_frame(judged: Iterable[ClaimResult]) -> pl.DataFrame:
    """Return one row per claim."""
    table = [
        {
            "claim_id": item.claim.id,
            "world": item.world,
            "experiment_id": item.claim.experiment,
            "verdict": str(item.finding.verdict),
            "effect": item.finding.effect,
            "ci_low": item.finding.low,
            "ci_high": item.finding.high,
            "published": item.published,
            "n": item.finding.n,
            "assumptions": " ".join(item.assumptions),
            "reason": item.finding.reason,
            "measure": item.finding.measure,
            "claimed": item.finding.claimed,
            "p": item.finding.p,
            "p_holm": item.p_holm,
            "holm_changes": item.holm_changes,
            "sensitivity": "; ".join(f"{name}: {verdict}" for name, verdict in item.sensitivity.items()),
            "flips": "; ".join(item.flips),
            "statement": item.claim.statement,
            "run_seconds": " ".join(f"{seconds:g}" for seconds in item.run_seconds),
            "met": item.finding.met if item.finding.parts else None,
            "parts": item.finding.parts or None,
            "cause": item.cause,
            "standing": item.standing,
        }
        for item in judged
    ]
    return pl.DataFrame(table, schema=CLAIM_COLUMNS)


#: The columns of ``claims.csv`` and their types.
CLAIM_COLUMNS = pl.Schema(
    {
        "claim_id": pl.String,
        "world": pl.String,
        "experiment_id": pl.String,
        "verdict": pl.String,
        "effect": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "published": pl.Float64,
        "n": pl.Int64,
        "assumptions": pl.String,
        "reason": pl.String,
        "measure": pl.String,
        "claimed": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "holm_changes": pl.Boolean,
        "sensitivity": pl.String,
        "flips": pl.String,
        "statement": pl.String,
        "run_seconds": pl.String,
        "met": pl.Int64,
        "parts": pl.Int64,
        "cause": pl.String,
        "standing": pl.String,
    }
)
