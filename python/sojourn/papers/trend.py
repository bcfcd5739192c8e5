"""A metric that rises or falls along a parameter: "RED's throughput rises with the queue".

`Trend` tests each step, `RankCorrelation` the order of all settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sojourn import stats
from sojourn.papers.checks import complete, too_few, union, unit
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.terms import Samples, Source, Term

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


@dataclass(frozen=True)
class Trend:
    """A number rises (or falls) from each setting to the next.

    The means over seeds decide, and a reversal smaller than one half-width of the 95 % interval (of the
    paired difference of the two neighbours) is tolerated; so a step fails only if its interval lies wholly on
    the other side. Because a constant would pass, the interval of the difference between last and first
    setting must also lie wholly on the claim's side.

    Attributes
    ----------
    what : str
        The quantity and the parameter.
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

    def undecided_sources(self, samples: Samples, /) -> frozenset[Source]:
        """Return the arms at both ends while their difference is undecided."""
        return (
            self.terms[0].sources | self.terms[-1].sources
            if self.judge(samples).verdict is U
            else frozenset()
        )

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding; its effect is the difference between the ends."""
        total, rows = complete(samples, self.terms)
        sign = 1 if self.rises else -1
        first, last = self.terms[0], self.terms[-1]
        ends = (last.who, first.who) if last.what == first.what and last.who else (last.label, first.label)
        measure = f"{self.what}: {' - '.join(ends)}{unit(first)}"
        finding = Finding(U, n=len(rows), measure=measure, claimed="> 0" if self.rises else "< 0")
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        whole = stats.paired([row[0] for row in rows], [row[-1] for row in rows])
        columns = list(zip(*rows, strict=True))
        steps = [stats.paired(a, b) for a, b in pairwise(columns)]
        back = [step.p or 0.0 for step in steps if _side(step) == -sign]
        towards = sign * _side(whole)
        verdict = N if back or towards < 0 else R if towards > 0 else U
        # A failing step decides; its p is corrected for the number of steps.
        p = min(1.0, len(steps) * min(back)) if back else whole.p
        reason = f"{len(back)} of {len(steps)} steps go the other way by more than their interval"
        parts = [*steps, whole]
        met = len(steps) - len(back) + (sign * (whole.mean or 0.0) > 0)
        finding = replace(finding, met=met, parts=len(parts), reason=reason)
        return replace(finding, verdict=verdict, effect=whole.mean, low=whole.low, high=whole.high, p=p)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of a number with its setting, or with another number, is at least `least`.

    Decided on means over seeds: a step against the claim that is smaller than one half-width of the 95 %
    interval counts as a tie. There is no interval: single seeds have no such ties and therefore another
    correlation, which the reason states.

    Attributes
    ----------
    what : str
        The correlated quantities: ``D_target and delay``.
    terms : tuple of Term
        The number at each setting, settings in increasing order.
    least : float
        The claimed correlation; its absolute value if the number falls.
    rises : bool
        False: the number falls.
    along : tuple of Term
        The other number at each setting; none: the settings' own order.
    seeds : int
        Fewest seeds.
    """

    what: str
    terms: tuple[Term, ...]
    least: float
    rises: bool = True
    along: tuple[Term, ...] = ()
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """The arms of all terms."""
        return union(term.sources for term in (*self.along, *self.terms))

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: the check is no inequality between samples."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding on the means."""
        total, rows = complete(samples, (*self.along, *self.terms))
        sign = 1 if self.rises else -1
        claimed = f">= {self.least:g}" if self.rises else f"<= {-self.least:g}"
        finding = Finding(U, n=len(rows), measure=f"Spearman correlation of {self.what}", claimed=claimed)
        if len(rows) < 2:
            return replace(finding, reason=too_few(total, len(rows), self.terms))
        whole = stats.spearman(*self._means(rows, sign))
        each = stats.mean_ci([stats.spearman(*self._split(row)) for row in rows])
        verdict = R if sign * whole >= self.least else N
        reason = "on means over seeds at each setting, small steps back being ties"
        if each.mean is not None and each.ci95 is not None:
            reason += f"; single seeds: {each.mean:.3g} +- {each.ci95:.2g}"
        return replace(finding, verdict=verdict, effect=whole, reason=reason, met=int(verdict is R), parts=1)

    def _split(self, row: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return settings and numbers of a row."""
        settings = row[: len(self.along)] or range(len(self.terms))
        return list(settings), list(row[len(self.along) :])

    def _means(self, rows: list[list[float]], sign: int) -> tuple[list[float], list[float]]:
        """Return settings in increasing order and their means; small steps against `sign` become ties."""
        columns = [stats.mean_ci(column) for column in zip(*rows, strict=True)]
        settings, means = self._split([column.mean or 0.0 for column in columns])
        _, errors = self._split([column.ci95 or 0.0 for column in columns])
        order = sorted(range(len(means)), key=settings.__getitem__)
        flat: list[float] = []
        for i in order:
            back = bool(flat) and 0 < sign * (flat[-1] - means[i]) < errors[i]
            flat.append(flat[-1] if back else means[i])
        return [settings[i] for i in order], flat


def _side(effect: stats.Effect) -> int:
    """Return 1 or -1 where the interval lies wholly above or below 0, else 0."""
    if effect.low is None or effect.high is None:
        return 0
    return 1 if effect.low > 0 else -1 if effect.high < 0 else 0
