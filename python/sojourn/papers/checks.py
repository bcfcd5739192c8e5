"""The checks that decide claims; each is written like its claim.

* `Below`: one number is smaller than another. Reproduced if the 95 % t-interval of the paired difference (of
  logarithms for ratios and times) lies wholly on the claim's side, not reproduced if wholly on the other
  side, else undecided, and more seeds may decide. An effect below the smallest one of interest decides
  nothing. Times that were never reached are compared by a sign test.
* `Within`: a number, a difference or a ratio lies inside a margin. Reproduced if both ends of the interval
  are inside, not reproduced if the interval is wholly outside, else undecided.
* `ShareOfSeeds`: a statement about one run holds in at least 8 of 10 runs.
* `Computed`: the verdict is calculated without samples.

Pairs are always by seed; a pair with an unknown value is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sojourn import stats
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.terms import Samples, Source, Term, together

#: Fraction of seeds in which a statement about a single run must hold ("4 of 5 seeds" in ``claims.csv``).
SHARE = 0.8

#: The reason of an inequality whose effect is too small to decide it.
TRIVIAL = "less than the smallest effect of interest"

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


class Check(Protocol):
    """Decides a claim from samples."""

    @property
    def sources(self) -> frozenset[Source]:
        """The arms that it uses."""
        ...

    @property
    def seeds(self) -> int:
        """Minimum number of seeds for a verdict; 0 if it needs none."""
        ...

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding from the available seeds, even if they are too few for a verdict."""
        ...

    def undecided_sources(self, samples: Samples, /) -> frozenset[Source]:
        """Return the arms whose further seeds may decide an undecided check."""
        ...


@dataclass(frozen=True)
class Below:
    """``a < factor * b + offset``.

    Attributes
    ----------
    a, b : Term
        The two numbers.
    log : bool
        Compare logarithms (for ratios and times); `offset` must then be 0.
    factor, offset : float
        Shift the bound; 1 and 0 for a plain "a < b".
    strict : bool
        If False the claim is ``<=``: exact equality in every seed is on the claim's side.
    seeds : int
        Minimum number of seeds.
    least : float
        Smallest effect of interest, as a share of `b` (`sojourn.papers.smallest`).
    """

    a: Term
    b: Term
    log: bool = False
    factor: float = 1.0
    offset: float = 0.0
    strict: bool = True
    seeds: int = 10
    least: float = 0.0

    @property
    def bare(self) -> bool:
        """Whether it is "a < b", without a factor or offset that states how much less."""
        return self.factor == 1 and self.offset == 0

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of both terms."""
        return self.a.sources | self.b.sources

    def undecided_sources(self, samples: Samples) -> frozenset[Source]:
        """Return all arms while undecided, but not for an effect that is too small to matter."""
        finding = self.judge(samples)
        open_ = finding.verdict is U and not finding.reason.startswith(TRIVIAL)
        return self.sources if open_ else frozenset()

    def judge(self, samples: Samples) -> Finding:
        """Return the finding by t-interval, or by sign test if a time was never reached."""
        pairs = list(together(samples, (self.a, self.b)))
        known = {seed: self._sides(a, b) for seed, (a, b) in pairs if a is not None and b is not None}
        if len(known) < 2:
            reason = too_few(len(pairs), len(known), (self.a, self.b))
            return Finding(U, n=len(known), measure=self._text("<"), reason=reason)
        late_a, late_b = self.a.censored(samples), self.b.censored(samples)
        if any(late_a[seed] or late_b[seed] for seed in known):
            return self._by_sign(known, late_a, late_b)
        return self._by_interval(*zip(*known.values(), strict=True))

    def _sides(self, a: float, b: float) -> tuple[float, float]:
        return a, self.factor * b + self.offset

    def _text(self, sign: str) -> str:
        return versus(self.a, sign, self.b, self.factor, self.offset)

    def _by_interval(self, a: tuple[float, ...], b: tuple[float, ...]) -> Finding:
        log = self.log and min(*a, *b) > 0
        effect, border = stats.paired(b, a, log=log), 1.0 if log else 0.0
        measure = self._text("/") if log else self._text("-") + unit(self.a)
        claimed = f"{'<' if self.strict else '<='} {border:g}"
        finding = Finding(U, effect.mean, effect.low, effect.high, effect.n, measure, claimed, effect.p)
        if effect.mean is not None:
            met = effect.mean < border or (not self.strict and effect.mean == border)
            finding = replace(finding, met=int(met), parts=1)
        if effect.low is None or effect.high is None:
            return replace(finding, reason="no interval")
        if effect.low == effect.high == border:
            verdict = N if self.strict else R
            return replace(finding, verdict=verdict, p=None, reason=f"equal in all {effect.n} seeds")
        verdict = R if effect.high < border else N if effect.low > border else U
        if verdict is not U and self._trivial(effect.mean, b):
            reason = (
                f"{TRIVIAL} ({self.least:.1%}); interval {'below' if verdict is R else 'above'} {border:g}"
            )
            return replace(finding, p=None, reason=reason)
        where = {R: "below", N: "above", U: "across"}[verdict]
        return replace(finding, verdict=verdict, reason=f"interval {where} {border:g}")

    def _trivial(self, effect: float | None, b: tuple[float, ...]) -> bool:
        """Whether an effect is smaller than the smallest one of interest."""
        if effect is None or not self.least:
            return False
        if self.log and effect > 0:
            return abs(math.log(effect)) < math.log1p(self.least)
        return abs(effect) < self.least * abs(stats.mean(b))

    def _by_sign(
        self,
        known: Mapping[int, tuple[float, float]],
        late_a: Mapping[int, bool],
        late_b: Mapping[int, bool],
    ) -> Finding:
        lost_a, lost_b = (sum(late[seed] for seed in known) for late in (late_a, late_b))
        never = f"never reached in {lost_a} and {lost_b} of {len(known)} seeds"
        told = {seed: a - b for seed, (a, b) in known.items() if not (late_a[seed] and late_b[seed])}
        differences = [difference for difference in told.values() if difference != 0]
        wins, n = sum(difference < 0 for difference in differences), len(differences)
        finding = Finding(U, n=len(known), measure=f"share of seeds with {self._text('<')}", claimed="> 0.5")
        finding = replace(finding, met=int(2 * wins > n), parts=1)
        if n == 0:
            return replace(finding, reason=never)
        low, high = stats.share_interval(wins, n)
        verdict = R if low > 0.5 else N if high < 0.5 else U
        reason = f"so in {wins} of the {n} seeds in which one side reached it; {never}"
        p = stats.sign_test(differences)
        return replace(finding, verdict=verdict, effect=wins / n, low=low, high=high, p=p, reason=reason)


@dataclass(frozen=True)
class Within:
    """A term, its difference from another or its ratio to another lies in [low, high].

    With one infinite end it is an inequality, for which seeds are added while it is undecided.

    Attributes
    ----------
    a : Term
        The number.
    low, high : float
        The margin; an end may be infinite.
    b : Term or None
        Subtracted (or the divisor) before the comparison.
    ratio : bool
        Compare ``a / b`` through logarithms instead of ``a - b``.
    seeds : int
        Minimum number of seeds.
    """

    a: Term
    low: float
    high: float
    b: Term | None = None
    ratio: bool = False
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of both terms."""
        return self.a.sources | (self.b.sources if self.b else frozenset())

    def undecided_sources(self, samples: Samples, /) -> frozenset[Source]:
        """Return the arms while an inequality is undecided: no seeds are added for an equality."""
        one_sided = math.isinf(self.low) or math.isinf(self.high)
        return self.sources if one_sided and self.judge(samples).verdict is U else frozenset()

    def judge(self, samples: Samples) -> Finding:
        """Return the finding by the position of the 95 % interval."""
        total, known = complete(samples, (self.a, self.b) if self.b else (self.a,))
        sign = "/" if self.ratio else "-"
        measure = versus(self.a, sign, self.b) if self.b else self.a.label
        finding = Finding(U, n=len(known), measure=measure + ("" if self.ratio else unit(self.a)))
        finding = replace(finding, claimed=self._claimed())
        base = [row[1] if self.b else 1.0 if self.ratio else 0.0 for row in known]
        effect = stats.paired(base, [row[0] for row in known], log=self.ratio)
        inside = stats.equivalent(effect, self.low, self.high)
        finding = replace(finding, effect=effect.mean, low=effect.low, high=effect.high)
        if effect.mean is not None:
            finding = replace(finding, met=int(self.low <= effect.mean <= self.high), parts=1)
        if effect.low is None:
            return replace(finding, reason=too_few(total, len(known), (self.a, self.b)))
        verdict, where = {True: (R, "inside"), False: (N, "outside"), None: (U, "across an end of")}[inside]
        slack = min(effect.low - self.low, self.high - effect.high) if effect.high is not None else None
        return replace(finding, verdict=verdict, reason=f"interval {where} the margin", slack=slack)

    def _claimed(self) -> str:
        if math.isinf(self.high):
            return f">= {self.low:g}"
        return f"<= {self.high:g}" if math.isinf(self.low) else f"in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class ShareOfSeeds:
    """A statement about single runs that must hold in at least `SHARE` of them.

    Attributes
    ----------
    statement : str
        The statement, for reasons.
    holds : callable
        Takes the values of `terms` in order.
    terms : tuple of Term
        Its arguments; the first is shown as the effect.
    seeds : int
        Minimum number of seeds.
    """

    statement: str
    holds: Callable[..., bool]
    terms: tuple[Term, ...]
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of all terms."""
        return union(term.sources for term in self.terms)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: the threshold is fixed."""
        return frozenset()

    def judge(self, samples: Samples) -> Finding:
        """Return the finding by counting seeds."""
        total, known = complete(samples, self.terms)
        measure = self.terms[0].label + unit(self.terms[0])
        finding = Finding(
            U, n=len(known), measure=measure, claimed=f"{self.statement} in {SHARE:.0%} of seeds"
        )
        if not known:
            return replace(finding, reason=too_few(total, 0, self.terms))
        true = sum(self.holds(*row) for row in known)
        verdict = R if true >= math.ceil(SHARE * len(known) - 1e-9) else N
        reason = f"{self.statement}: true in {true} of {len(known)} seeds"
        mean, half, _ = stats.mean_ci([row[0] for row in known])
        if mean is not None and half is not None:
            finding = replace(finding, low=mean - half, high=mean + half)
        return replace(finding, verdict=verdict, effect=mean, reason=reason, met=int(verdict is R), parts=1)


@dataclass(frozen=True)
class Computed:
    """A claim that is calculated, not sampled; `under`: the functions of other readings, by id."""

    find: Callable[[], Finding]
    sources: frozenset[Source] = frozenset()
    seeds: int = 0
    under: Mapping[str, Callable[[], Finding]] = field(default_factory=dict)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding of the function, or of the one for the reading of the samples."""
        finding = self.under.get(getattr(samples, "reading", ""), self.find)()
        return replace(finding, met=int(finding.verdict is R), parts=1)


def union(sets: Iterable[frozenset[Source]]) -> frozenset[Source]:
    """Return the union of any number of sets."""
    return frozenset().union(*sets)


def complete(samples: Samples, terms: tuple[Term, ...]) -> tuple[int, list[list[float]]]:
    """Return the number of seeds common to all terms, and the rows in which every value is known."""
    rows = [row for _, row in together(samples, terms)]
    known = [[value for value in row if value is not None] for row in rows]
    return len(rows), [row for row in known if len(row) == len(terms)]


def versus(a: Term, sign: str, b: Term, factor: float = 1.0, offset: float = 0.0) -> str:
    """Return ``a sign (factor x b + offset)`` as text, with the common part written once."""
    share = bool(a.who) and a.what == b.what
    left, right = (a.who, b.who) if share else (a.label, b.label)
    right = right if factor == 1 else f"{factor:g} x {right}"
    right = f"({right} {offset:+g})" if offset else right
    return f"{a.what}: {left} {sign} {right}" if share else f"{left} {sign} {right}"


def too_few(total: int, known: int, terms: tuple[Term | None, ...] = ()) -> str:
    """Return the reason why there is no interval."""
    if total == 0:
        return "not run"
    causes = dict.fromkeys(cause for term in terms if (cause := getattr(term, "unknown", "")))
    return "; ".join([f"unknown in {total - known} of {total} seeds", *causes])


def unit(term: Term) -> str:
    """Return the unit of a term as the end of a phrase."""
    name = getattr(term, "unit", "")
    return f", {name}" if name else ""
