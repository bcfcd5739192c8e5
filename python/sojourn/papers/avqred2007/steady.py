"""Claims that a number varies little from run to run ("run-to-run deviations are small")."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy.special import chdtri

from sojourn import stats
from sojourn.papers.checks import complete, too_few, union
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.terms import Quantity, Samples, Source

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


@dataclass(frozen=True)
class Steady:
    """No number varies by more than `most` of its mean over runs.

    The largest of the coefficients of variation is tested with its chi-square interval. Because it is the
    maximum of many, the test is conservative: it rejects the claim too often rather than too rarely.
    """

    terms: tuple[Quantity, ...]
    most: float = 0.05
    seeds: int = 3

    @property
    def sources(self) -> frozenset[Source]:
        """All arms."""
        return union(term.sources for term in self.terms)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: the rule adds seeds to no equality."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding on the number that varies most."""
        total, rows = complete(samples, self.terms)
        finding = Finding(U, n=len(rows), measure="largest std. dev. over runs / mean")
        finding = replace(finding, claimed=f"<= {self.most:g}")
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        shares = [stats.deviation(values) / stats.mean(values) for values in zip(*rows, strict=True)]
        worst = max(range(len(shares)), key=shares.__getitem__)
        share, degrees = shares[worst], len(rows) - 1
        low, high = (share * (degrees / chdtri(degrees, tail)) ** 0.5 for tail in (0.025, 0.975))
        verdict = R if high <= self.most else N if low > self.most else U
        over = sum(one > self.most for one in shares)
        reason = f"that of {self.terms[worst].label}; {over} of {len(shares)} are over {self.most:g}"
        found = replace(finding, verdict=verdict, effect=share, low=float(low), high=float(high))
        found = replace(found, met=len(shares) - over, parts=len(shares))
        return replace(found, reason=reason)
