"""The rank rule on simulated settings: G and H from means over seeds, and the checks that rest on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn import stats
from sojourn.papers.avqred2007.measures import TABLE2
from sojourn.papers.checks import union
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.published import Cell
from sojourn.papers.terms import Quantity, Samples, Source
from sojourn.study.tune import rank

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
#: The weights stated in the text, and those that give the printed G.
WEIGHTS: dict[str, rank.Weight] = {"2^rank": rank.literal, "weights of the printed G": rank.printed}
#: Bootstrap draws, and the fraction of them in either tail.
DRAWS, TAIL = 200, 0.025

Rows = Mapping[int, Mapping[tuple[str, str], float]]


@dataclass(frozen=True)
class Ranking:
    """Settings of one experiment under the rank rule."""

    experiment: str
    settings: tuple[str, ...]

    @property
    def sources(self) -> frozenset[Source]:
        """All settings."""
        return union(Quantity("", name, self.experiment).sources for name in self.settings)

    def rows(self, samples: Samples) -> Rows:
        """Return columns A to F of all settings by seed, for the seeds with no missing value."""
        cells = {
            (name, metric): samples.values(self.experiment, name, metric)
            for name in self.settings
            for metric in TABLE2
        }
        seeds = set.intersection(*(set(values) for values in cells.values()))
        found: dict[int, dict[tuple[str, str], float]] = {}
        for seed in sorted(seeds):
            row = {key: value for key, values in cells.items() if (value := values[seed]) is not None}
            if len(row) == len(cells):
                found[seed] = row
        return found

    def sums(self, rows: Rows, weight: rank.Weight, seeds: Sequence[int] | None = None) -> dict[str, int]:
        """Return G of each setting from means over all seeds or the given ones (possibly repeated)."""
        kept = [rows[seed] for seed in seeds or rows]
        columns = [
            rank.Column(
                {name: stats.mean([row[name, metric] for row in kept]) for name in self.settings},
                metric == "utilisation",
            )
            for metric in TABLE2
        ]
        return rank.weigh(columns, weight)


@dataclass(frozen=True)
class ByRank:
    """A statement about G.

    The paper ranks means over runs, so G is computed from means over all seeds and has no value per seed. Its
    uncertainty comes from a bootstrap over seeds: a statement that is true in at least 97.5 % of the draws is
    reproduced, in at most 2.5 % not reproduced. The interval is that of the draws.

    Attributes
    ----------
    what : str
        What the value is.
    ranking : Ranking
        The settings.
    value : callable
        Takes G by setting; returns the number that decides.
    holds : callable
        Takes that number.
    claimed : str
        The claimed value.
    weights : str
        Which of `WEIGHTS`.
    seeds : int
        Fewest seeds.
    """

    what: str
    ranking: Ranking
    value: Callable[[Mapping[str, int]], float]
    holds: Callable[[float], bool]
    claimed: str
    weights: str
    seeds: int = 10

    @property
    def sources(self) -> frozenset[Source]:
        """All settings: each affects every rank."""
        return self.ranking.sources

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: seeds are not added to ranks."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding, by the bootstrap over seeds."""
        rows = self.ranking.rows(samples)
        finding = Finding(U, n=len(rows), measure=f"{self.what} ({self.weights})", claimed=self.claimed)
        if len(rows) < 2:
            return replace(finding, reason="not run" if not rows else "too few seeds")
        weight, seeds = WEIGHTS[self.weights], list(rows)
        effect = self.value(self.ranking.sums(rows, weight))
        draw = random.Random(0)
        draws = [draw.choices(seeds, k=len(seeds)) for _ in range(DRAWS)]
        values = sorted(self.value(self.ranking.sums(rows, weight, one)) for one in draws)
        true = sum(map(self.holds, values))
        verdict = R if true >= (1 - TAIL) * DRAWS else N if true <= TAIL * DRAWS else U
        end = round(TAIL * DRAWS)
        reason = f"true in {true} of {DRAWS} bootstrap draws of seeds"
        found = replace(finding, met=int(self.holds(effect)), parts=1)
        return replace(
            found, verdict=verdict, effect=effect, low=values[end], high=values[-1 - end], reason=reason
        )


def by_both(
    what: str,
    ranking: Ranking,
    value: Callable[[Mapping[str, int]], float],
    holds: Callable[[float], bool],
    claimed: str,
    seeds: int = 10,
) -> tuple[ByRank, ...]:
    """Return a statement about G under both weights."""
    return tuple(ByRank(what, ranking, value, holds, claimed, name, seeds) for name in WEIGHTS)


@dataclass(frozen=True)
class RankCell(Cell):
    """G or H of a setting beside the printed one, from means over seeds and therefore without an interval.

    Attributes
    ----------
    ranking : Ranking or None
        All settings.
    setting : str
        The setting.
    is_place : bool
        H, not G.
    """

    ranking: Ranking | None = None
    setting: str = ""
    is_place: bool = False

    def estimate(self, samples: Samples) -> stats.Estimate:
        """Return ours, with the weights that give the printed G."""
        rows = self.ranking.rows(samples) if self.ranking else {}
        if not self.ranking or not rows:
            return stats.Estimate(None, None, 0)
        sums = self.ranking.sums(rows, rank.printed)
        value = place(sums, [self.setting], 1) if self.is_place else sums[self.setting]
        return stats.Estimate(float(value), None, len(rows))


def place(sums: Mapping[str, int], names: Sequence[str], nth: int) -> float:
    """Return the rank among all settings of the `nth` best of the given settings."""
    order = sorted(sums, key=sums.__getitem__)
    return float(sorted(order.index(name) + 1 for name in names)[nth - 1])
