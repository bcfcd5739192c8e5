"""Claims about Table 4: the spread of a metric over seeds, compared between algorithms.

Ratios of standard deviations have F intervals. The F distribution assumes independent samples, but the runs
of two algorithms share their demand, so these intervals are conservative (too wide).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.special import fdtr, fdtri

from sojourn import stats
from sojourn.papers.checks import complete, too_few, union
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.terms import Samples, Source, Term

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
#: The catalogue's "20 runs".
SEEDS = 20


def ratio_of_spreads(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> stats.Effect:
    """Return s_a / s_b with its F interval and the two-sided p of the F test.

    Parameters
    ----------
    a, b : sequence of float
        Values under the same number of seeds, at least two; `b` varies.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> effect = ratio_of_spreads([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> round(effect.mean, 6), round(effect.low, 6), round(effect.high, 6)
    (0.5, 0.080064, 3.122499)
    """
    degrees = len(a) - 1
    ratio = stats.deviation(a) / stats.deviation(b)
    tail = (1 - level) / 2
    low, high = (ratio / fdtri(degrees, degrees, end) ** 0.5 for end in (1 - tail, tail))
    below = fdtr(degrees, degrees, ratio**2)
    return stats.Effect(ratio, float(low), float(high), len(a), float(2 * min(below, 1 - below)))


@dataclass(frozen=True)
class SpreadBelow:
    """A number varies less over seeds than another."""

    a: Term
    b: Term
    seeds: int = SEEDS

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of both."""
        return self.a.sources | self.b.sources

    def undecided_sources(self, samples: Samples, /) -> frozenset[Source]:
        """Return all arms while undecided."""
        return self.sources if self.judge(samples).verdict is U else frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding by F test."""
        total, rows = complete(samples, (self.a, self.b))
        measure = f"standard deviation of {self.a.what}: {self.a.who} / {self.b.who}"
        finding = Finding(U, n=len(rows), measure=measure, claimed="< 1")
        a, b = ([row[i] for row in rows] for i in (0, 1))
        if len(rows) < 2 or not stats.deviation(b):
            return replace(finding, reason=too_few(total, len(rows), (self.a, self.b)))
        effect = ratio_of_spreads(a, b)
        found = replace(finding, effect=effect.mean, low=effect.low, high=effect.high, p=effect.p)
        found = replace(found, met=int(effect.mean is not None and effect.mean < 1), parts=1)
        if effect.low is None or effect.high is None:
            return found
        verdict = R if effect.high < 1 else N if effect.low > 1 else U
        return replace(found, verdict=verdict, reason=f"F interval {WHERE[verdict]} 1")


WHERE = {R: "below", N: "above", U: "across"}


@dataclass(frozen=True)
class RatioOfSpreads:
    """The largest standard deviation of several is at most `most` times the smallest.

    The interval is the F interval of those two. Because they are the extremes of several, it is too narrow
    towards "not reproduced".
    """

    terms: tuple[Term, ...]
    most: float
    seeds: int = SEEDS

    @property
    def sources(self) -> frozenset[Source]:
        """All arms."""
        return union(term.sources for term in self.terms)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: no seeds are added for an equality."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding by the interval of the extremes."""
        total, rows = complete(samples, self.terms)
        measure = f"largest / smallest standard deviation of {self.terms[0].what}"
        finding = Finding(U, n=len(rows), measure=measure, claimed=f"<= {self.most:g}")
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        columns = [list(column) for column in zip(*rows, strict=True)]
        order = sorted(range(len(columns)), key=lambda i: stats.deviation(columns[i]))
        effect = ratio_of_spreads(columns[order[-1]], columns[order[0]])
        finding = replace(finding, effect=effect.mean, low=effect.low, high=effect.high)
        if effect.mean is not None:
            finding = replace(finding, met=int(effect.mean <= self.most), parts=1)
        if effect.low is None or effect.high is None:
            return finding
        verdict = R if effect.high <= self.most else N if effect.low > self.most else U
        extremes = f"{self.terms[order[-1]].who} and {self.terms[order[0]].who}"
        where = {R: "inside", N: "outside", U: "across the end of"}[verdict]
        return replace(finding, verdict=verdict, reason=f"interval of {extremes} {where} the margin")


@dataclass(frozen=True)
class Highest:
    """One arm has the largest standard deviation in more than half of several metrics.

    Attributes
    ----------
    columns : tuple of tuple of Term
        For each metric the terms of all arms.
    who : str
        The arm.
    """

    columns: tuple[tuple[Term, ...], ...]
    who: str
    seeds: int = SEEDS

    @property
    def sources(self) -> frozenset[Source]:
        """All arms."""
        return union(term.sources for column in self.columns for term in column)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: metrics are counted, not tested."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding by counting metrics."""
        found, seeds = [], []
        for column in self.columns:
            total, rows = complete(samples, column)
            seeds.append(len(rows))
            if len(rows) < 2:
                return Finding(U, n=len(rows), reason=too_few(total, len(rows), column))
            spreads = [stats.deviation(values) for values in zip(*rows, strict=True)]
            found.append((column[0].what, column[spreads.index(max(spreads))].who))
        mine = [what for what, who in found if who == self.who]
        verdict = R if 2 * len(mine) > len(found) else N
        measure = f"metrics in which {self.who} varies most, of {len(found)}"
        claimed = f"> {len(found) / 2:g}"
        reason = f"it does in {', '.join(mine) or 'none'}"
        finding = Finding(
            verdict, float(len(mine)), n=min(seeds), measure=measure, claimed=claimed, reason=reason
        )
        return replace(finding, met=int(verdict is R), parts=1)
