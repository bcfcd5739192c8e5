"""From checks to verdicts: joined checks, minimum numbers of seeds, correction for many claims.

`All` joins checks with "and", `AtLeast` counts those that hold, `WithSecondary` reports a second check that
does not decide, `WithRemark` adds a remark. `judge_claim` returns the finding of one claim: undecided where
fewer seeds were run than the claim needs. `judge_all` judges every claim of a paper, under the primary
reading and under each other reading, and corrects the p-values for the number of claims (Holm).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn import stats
from sojourn.papers.checks import Check, Computed, union
from sojourn.papers.claims import Claim, ClaimResult, Finding, Verdict
from sojourn.papers.terms import Samples, Source

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
#: Maximum number of parts of a conjunction that its reason lists.
SHOWN = 8


class _Joined(ABC):
    """Base of the checks that join several parts."""

    parts: tuple[Check, ...]

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of all parts."""
        return union(part.sources for part in self.parts)

    @property
    def seeds(self) -> int:
        """The largest minimum of the parts."""
        return max(part.seeds for part in self.parts)

    def undecided_sources(self, samples: Samples) -> frozenset[Source]:
        """Return the arms of the parts that more seeds may decide, unless the whole is decided."""
        if self.judge(samples).verdict is not U:
            return frozenset()
        return union(part.undecided_sources(samples) for part in self.parts)

    @abstractmethod
    def judge(self, samples: Samples) -> Finding:
        """Return the finding."""


class _Wrapped:
    """Base of the checks that add a secondary result or a remark to a deciding check."""

    check: Check

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of the check."""
        return self.check.sources

    @property
    def seeds(self) -> int:
        """The minimum of the deciding check."""
        return self.check.seeds

    def undecided_sources(self, samples: Samples) -> frozenset[Source]:
        """Return those of the deciding check."""
        return self.check.undecided_sources(samples)


@dataclass(frozen=True)
class All(_Joined):
    """Every part holds: reproduced; one fails: not reproduced; else undecided."""

    parts: tuple[Check, ...]

    def flat(self) -> list[Check]:
        """Return the parts, with joined parts replaced by their own."""
        return [one for part in self.parts for one in (part.flat() if isinstance(part, All) else [part])]

    def judge(self, samples: Samples) -> Finding:
        """Return the part that decides, with all parts in the reason.

        All must hold, so *reproduced* is shown with the weakest part (largest p). One failure is enough, so
        *not reproduced* is shown with the clearest part (smallest p, multiplied by the number of parts:
        Bonferroni). Among margins it is the part with the least slack. For many parts the reason states the
        number that hold and lists some of the others.
        """
        found = [part.judge(samples) for part in self.flat()]
        verdicts = {finding.verdict for finding in found}
        verdict = N if N in verdicts else U if U in verdicts else R
        deciding = [finding for finding in found if finding.verdict is verdict]
        numbered = [finding for finding in deciding if finding.effect is not None]
        pick = max if verdict is R else min
        shown = pick(numbered or deciding, key=_chance)
        if shown.effect is None:  # a time that neither side reached has no number, so another part is shown
            others = (replace(one, verdict=verdict, p=None) for one in found if one.effect is not None)
            shown = next(others, shown)
        if verdict is N and shown.p is not None:
            shown = replace(shown, p=min(1.0, shown.p * len(found)))
        if all(finding.slack is not None for finding in deciding):
            shown = min(deciding, key=lambda finding: finding.slack or 0.0)
        n = max(one.n for one in deciding) if verdict is N else _seeds(deciding)
        met, parts = _counted(found)
        return replace(shown, n=n, reason=_listed(found), met=met, parts=parts)


def _seeds(deciding: Sequence[Finding]) -> int:
    """Return the fewest seeds of some parts, without those that were not run; 0 if none was."""
    return min((one.n for one in deciding if one.n), default=0)


def _counted(found: Sequence[Finding]) -> tuple[int, int]:
    """Return the number of comparisons that are met, and of all; a part without a value is not met."""
    return sum(one.met for one in found), sum(max(1, one.parts) for one in found)


def _chance(finding: Finding) -> float:
    """Return the p-value of a finding; 1 for a tie in every seed, the weakest evidence."""
    tie = finding.low is not None and finding.low == finding.high and finding.verdict is N
    return 1.0 if tie else finding.p or 0.0


def _listed(found: Sequence[Finding]) -> str:
    """Return all findings as text; for more than `SHOWN` the counts, and some of those that fail."""
    words = list(dict.fromkeys(map(brief, found)))
    if len(words) <= SHOWN:
        return "; ".join(words)
    others = [brief(one) for verdict in (N, U) for one in found if one.verdict is verdict]
    counts = ", ".join(f"{n} {v}" for v in (R, N, U) if (n := sum(one.verdict is v for one in found)))
    some = "; ".join(others[:SHOWN]) + ("; and so on" if len(others) > SHOWN else "")
    return f"{len(found)} parts: {counts}" + (f": {some}" if some else "")


@dataclass(frozen=True)
class AtLeast(_Joined):
    """Similar parts, of which at least `least` must hold: "at four of five loads".

    Attributes
    ----------
    least : int
        Number of parts that must hold. Reproduced if at least this number hold, not reproduced if too many
        fail, else undecided.
    parts : tuple of Check
        The parts.
    """

    least: int
    parts: tuple[Check, ...]

    def judge(self, samples: Samples) -> Finding:
        """Return the finding; its effect is the number of parts that hold."""
        found = [part.judge(samples) for part in self.parts]
        held, failed = (sum(one.verdict is verdict for one in found) for verdict in (R, N))
        count = len(self.parts)
        verdict = R if held >= self.least else N if failed > count - self.least else U
        fewest = _seeds(found if verdict is U else [one for one in found if one.verdict is verdict])
        measure = f"parts that hold, of {count}: {found[0].measure} and so on"
        reason = "; ".join(f"{one.verdict} ({brief(one)})" for one in found)
        finding = Finding(
            verdict, float(held), n=fewest, measure=measure, claimed=f">= {self.least}", reason=reason
        )
        met = sum(one.met == one.parts > 0 for one in found)
        return replace(finding, met=min(met, self.least), parts=self.least)


@dataclass(frozen=True)
class WithSecondary(_Wrapped):
    """A check that decides and a secondary one that is only reported."""

    check: Check
    also: Check

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of both."""
        return self.check.sources | self.also.sources

    def judge(self, samples: Samples) -> Finding:
        """Return the deciding finding, with the other in its reason."""
        finding, also = self.check.judge(samples), self.also.judge(samples)
        if also.n == 0:
            return finding
        if finding.n == 0:  # no run reached it, so the secondary check shows the distance
            return replace(also, verdict=U, p=None, claimed="", reason=f"{finding.reason}; {brief(also)}")
        text = also.reason if isinstance(self.also, All) else brief(also)
        return replace(finding, reason=f"{finding.reason} (beside it, not deciding: {text})")


@dataclass(frozen=True)
class WithRemark(_Wrapped):
    """A check whose verdict needs a remark."""

    check: Check
    remark: str

    def judge(self, samples: Samples) -> Finding:
        """Return the check's finding, with the remark at the end of its reason."""
        finding = self.check.judge(samples)
        return finding if finding.n == 0 else replace(finding, reason=f"{finding.reason}. {self.remark}")


def brief(finding: Finding) -> str:
    """Return a finding in one line: measure, effect with interval, verdict, and a reason that adds to it."""
    if finding.effect is None:
        return finding.reason if finding.n == 0 else f"{finding.measure}: {finding.verdict}, {finding.reason}"
    ends = (finding.low, finding.high)
    interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]" if ends[0] is not None and ends[1] is not None else ""
    plain = finding.reason.startswith("interval")
    why = finding.verdict if plain else f"{finding.verdict}, {finding.reason}"
    return f"{finding.measure}: {finding.effect:.4g}{interval}, {why}"


def judge_claim(check: Check, samples: Samples, quick: bool = False, least: int | None = None) -> Finding:
    """Return the finding of `check`, undecided if it has fewer seeds than its minimum.

    Parameters
    ----------
    check : Check
        The check.
    samples : Samples
        Metrics of the runs.
    quick : bool
        Whether this is a quick run with few seeds; the reason then begins with ``quick``.
    least : int or None
        Sufficient number of repetitions if the minimum of the check is larger.
    """
    finding = check.judge(samples)
    if finding.n >= (check.seeds if least is None else min(least, check.seeds)):
        return finding
    if finding.n == 0:
        return replace(finding, verdict=U, p=None)
    cause = "quick" if quick else "too few seeds"
    reason = (
        f"{cause}: {finding.n} of {check.seeds} seeds, which tend to: {finding.verdict} ({finding.reason})"
    )
    return replace(finding, verdict=U, p=None, reason=reason, leans=finding.verdict)


def judge_all(
    claims: Iterable[Claim],
    checks: Mapping[str, Check],
    primary: Samples,
    readings: Mapping[str, Samples],
    details: Callable[[Claim, Finding], ClaimResult],
    quick: bool = False,
    least: int | None = None,
) -> list[ClaimResult]:
    """Judge every claim of a paper, in order.

    Parameters
    ----------
    claims : iterable of Claim
        All claims of the paper.
    checks : mapping
        The check of each claim, by claim id.
    primary : Samples
        Runs under the primary reading of the paper.
    readings : mapping
        Runs under each other reading, by its id. A claim is judged under a reading if the reading changes one
        of its arms (its samples then hold all arms of the claim).
    details : callable
        Makes the row from claim and finding: world, assumptions, published value.
    quick : bool
        Whether this is a quick run with few seeds.
    least : int or None
        Sufficient number of repetitions if the minimum of a check is larger.
    """
    rows = []
    for claim in claims:
        check = checks[claim.id]
        row = details(claim, judge_claim(check, primary, quick, least))
        others = {name: samples for name, samples in readings.items() if touches(samples, check)}
        verdicts = {name: judge_claim(check, samples, quick).verdict for name, samples in others.items()}
        rows.append(replace(row, sensitivity=verdicts))
    corrected = stats.holm([row.finding.p for row in rows])
    return [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True)]


def touches(samples: Samples, check: Check) -> bool:
    """Whether a reading changed anything that `check` uses (assumed if the samples do not record it)."""
    changes = getattr(samples, "changes", None)
    if changes is None:
        return bool(check.sources)
    if isinstance(check, Computed):
        return getattr(samples, "reading", "") in check.under
    asked = _Asked()
    check.judge(asked)
    return any(changes(*one) for one in asked.names)


class _Asked:
    """Empty samples that record the requested values."""

    def __init__(self) -> None:
        self.names: set[tuple[str, str, str]] = set()

    def values(self, experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        """Return nothing."""
        self.names.add((experiment, arm, metric))
        return {}
