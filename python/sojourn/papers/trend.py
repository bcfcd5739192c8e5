"""A metric that rises, or falls, along a parameter: "RED's throughput rises with the queue".

`Trend` looks at each step, `RankCorrelation` at the order of all settings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from sojourn.papers.checks import complete, too_few, union, unit
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.terms import Samples, Source, Term
from sojourn.study import stats

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


@dataclass(frozen=True)
class Trend:
    """A number goes one way from each setting to the next.

    The means over seeds decide, and a reversal smaller than one half-width of the 95 % interval (of the
    paired difference of the two neighbours) is tolerated; so a step fails only if its interval lies wholly
    on the other side. Since a constant would pass that, the last setting must differ from the first: with
    its interval wholly on the claim's side.

    Attributes
    ----------
    what : str
        What it is, along what.
    terms : tuple of Term
        The number at each setting, in order.
    rises : bool
        False: it falls.
    seeds : int
        Fewest seeds.
    """

    what: str
    terms: tuple[Term, ...]
    rises: bool = True
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of all terms."""
        return union(term.sources for term in self.terms)

    def wanting(self, samples: Samples, /) -> frozenset[Source]:
        """Return the arms at both ends while these are undecided."""
        return (
            self.terms[0].sources | self.terms[-1].sources
            if self.judge(samples).verdict is U
            else frozenset()
        )

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding; its effect is the difference between the ends."""
        total, rows = complete(samples, self.terms)
        sign = 1 if self.rises else -1
        measure = f"{self.what}: {self.terms[-1].label} - {self.terms[0].label}{unit(self.terms[0])}"
        finding = Finding(U, n=len(rows), measure=measure, claimed="> 0" if self.rises else "< 0")
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        ends = stats.paired([row[0] for row in rows], [row[-1] for row in rows])
        back = sum(
            _side(stats.paired([row[i] for row in rows], [row[i + 1] for row in rows])) == -sign
            for i, _ in enumerate(pairwise(self.terms))
        )
        towards = sign * _side(ends)
        verdict = N if back or towards < 0 else R if towards > 0 else U
        steps = len(self.terms) - 1
        reason = f"{back} of {steps} steps go the other way by more than their interval"
        return replace(
            finding, verdict=verdict, effect=ends.mean, low=ends.low, high=ends.high, p=ends.p, reason=reason
        )


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of a number with its setting is at least `least`.

    Decided on means over seeds: a fall from one setting to the next that is smaller than one half-width of
    the 95 % interval counts as a tie. The interval shown is that of single seeds.

    Attributes
    ----------
    what : str
        The setting and the number: ``D_target and delay``.
    terms : tuple of Term
        The number at each setting, settings in increasing order.
    least : float
        The claimed correlation.
    seeds : int
        Fewest seeds.
    """

    what: str
    terms: tuple[Term, ...]
    least: float
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of all terms."""
        return union(term.sources for term in self.terms)

    def wanting(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: no inequality between samples."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding on the means."""
        total, rows = complete(samples, self.terms)
        measure = f"Spearman correlation of {self.what}"
        finding = Finding(U, n=len(rows), measure=measure, claimed=f">= {self.least:g}")
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        order = list(range(len(self.terms)))
        whole = stats.spearman(order, self._means(rows))
        each, half, _ = stats.mean_ci([stats.spearman(order, row) for row in rows])
        low, high = (None, None) if each is None or half is None else (each - half, each + half)
        verdict = R if whole >= self.least else N
        reason = "on means over seeds at each setting"
        return replace(finding, verdict=verdict, effect=whole, low=low, high=high, reason=reason)

    def _means(self, rows: list[list[float]]) -> list[float]:
        """Return the mean at each setting, small falls made ties."""
        flat: list[float] = []
        for column in zip(*rows, strict=True):
            mean, half, _ = stats.mean_ci(column)
            falls = bool(flat) and mean is not None and 0 < flat[-1] - mean < (half or 0.0)
            flat.append(flat[-1] if falls else mean or 0.0)
        return flat


def _side(effect: stats.Effect) -> int:
    """Return 1 or -1 where the interval lies wholly above or below 0, else 0."""
    if effect.low is None or effect.high is None:
        return 0
    return 1 if effect.low > 0 else -1 if effect.high < 0 else 0
