"""The agreement of a reading's runs with the printed results: claims met, and numbers within a factor.

The score of a claim is the share of its comparisons whose estimate supports it ("8 of 9"). The score of a
printed number is 1 if ours is equal, and falls to 0 at a factor of four, linearly in the logarithm of the
ratio. A table of n numbers has the weight of sqrt(n) claims, because its cells are not independent. The score
of a reading is the weighted mean over one half of them (`sojourn.papers.search.halves`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sojourn.papers.checks import Check, Computed
from sojourn.papers.claims import Claim
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell
from sojourn.papers.search.halves import Half, load
from sojourn.papers.search.space import Space
from sojourn.papers.terms import Samples

#: From this factor on the score of a printed number is 0.
FAR = 4.0


@dataclass(frozen=True)
class Number:
    """A printed number and our counterpart.

    Attributes
    ----------
    id : str
        Its row in ``published.csv``, from 1.
    table : str
        The table in which it is printed.
    name : str
        Name of the quantity.
    value : float
        The printed value.
    ours : Cell
        Our counterpart.
    """

    id: str
    table: str
    name: str
    value: float
    ours: Cell


@dataclass(frozen=True)
class Scored:
    """One reading compared with the printed results.

    Attributes
    ----------
    met : mapping
        Comparisons that are met, and all, by claim id.
    ratios : mapping
        Ours divided by the printed number, by its id; None where ours is unknown.
    """

    met: Mapping[str, tuple[int, int]]
    ratios: Mapping[str, float | None]

    def holds(self, claim: str) -> bool:
        """Whether every comparison of a claim is on its side."""
        met, parts = self.met[claim]
        return met == parts > 0


class Target:
    """The printed results with which readings are compared: the claims and numbers that depend on runs.

    Computed claims are excluded, because they do not depend on runs. Claims that the catalogue derived are
    not the paper's, and claims that count the cells of a table would count them twice: both are judged, not
    scored.
    """

    def __init__(self, paper: Paper, space: Space) -> None:
        here = frozenset(space.experiments)
        self.claims: dict[str, Check] = {}
        self.unscored: set[str] = set()
        for claim in paper.claims:
            check = paper.checks[claim.id]
            if _sampled(check) and {name for name, _ in check.sources} <= here:
                self.claims[claim.id] = check
                if claim.derived or getattr(check, "counts_cells", False):
                    self.unscored.add(claim.id)
        self.statements: dict[str, Claim] = {c.id: c for c in paper.claims if c.id in self.claims}
        self.numbers = {one.id: one for one in _numbers(paper, here)}
        self.halves = load(paper)

    @cached_property
    def sources(self) -> frozenset[tuple[str, str]]:
        """The arms that the claims and numbers need."""
        needed = [check.sources for check in self.claims.values()]
        needed += [frozenset(_sources(one.ours)) for one in self.numbers.values()]
        return frozenset().union(*needed)

    def score(self, samples: Samples) -> Scored:
        """Compare one reading with the printed results."""
        met = {}
        for name, check in self.claims.items():
            finding = check.judge(samples)
            met[name] = (finding.met, max(1, finding.parts))
        return Scored(met, {name: self._ratio(one, samples) for name, one in self.numbers.items()})

    def _ratio(self, one: Number, samples: Samples) -> float | None:
        ours = one.ours.estimate(samples).mean
        return None if ours is None else ours / one.value

    def mean(self, scored: Scored, half: Half) -> float:
        """Return the score of a reading on one half: 0 is the worst, 1 the best."""
        total = weight = 0.0
        for name, (met, parts) in scored.met.items():
            if name not in self.unscored and self.halves["claim", name] is half:
                total, weight = total + met / parts, weight + 1
        for ratios in self.tables(scored, half).values():
            share = math.sqrt(len(ratios))
            total += share * sum(map(nearness, ratios)) / len(ratios)
            weight += share
        return total / weight if weight else 0.0

    def tables(self, scored: Scored, half: Half | None = None) -> dict[str, list[float | None]]:
        """Return ours / printed of each table, of one half or of both."""
        found: dict[str, list[float | None]] = {}
        for name, ratio in scored.ratios.items():
            if half is None or self.halves["number", name] is half:
                found.setdefault(self.numbers[name].table, []).append(ratio)
        return found

    def held(self, scored: Scored, half: Half | None = None) -> tuple[int, int]:
        """Return the number of scored claims that hold by their estimates, and of all scored claims."""
        names = [
            name
            for name in scored.met
            if name not in self.unscored and (half is None or self.halves["claim", name] is half)
        ]
        return sum(map(scored.holds, names)), len(names)


def nearness(ratio: float | None) -> float:
    """Return the score of a printed number from ours / printed.

    Examples
    --------
    >>> nearness(1.0), nearness(2.0), nearness(0.5), nearness(10.0), nearness(None)
    (1.0, 0.5, 0.5, 0.0, 0.0)
    """
    if ratio is None or ratio <= 0:
        return 0.0
    return max(0.0, 1 - abs(math.log(ratio)) / math.log(FAR))


def within(ratios: list[float | None], factor: float) -> float:
    """Return the share of numbers within a factor of the printed ones; 0 if there are none."""
    near = sum(one is not None and 1 / factor <= one <= factor for one in ratios)
    return near / len(ratios) if ratios else 0.0


def _sampled(check: Check) -> bool:
    """Whether a check depends on runs instead of computing its verdict."""
    inner = check.check if isinstance(check, WithRemark | WithSecondary) else check
    parts = inner.flat() if isinstance(inner, All) else [inner]
    return any(part.sources and not isinstance(part, Computed) for part in parts)


def _numbers(paper: Paper, experiments: frozenset[str]) -> Iterator[Number]:
    """Yield the printed numbers other than 0 with a counterpart in the runs of some experiments."""
    for number, row in enumerate(paper.table("published"), 1):
        ours, value = paper.cell(row), float(row["value"])
        if not isinstance(ours, Cell) or not value:
            continue
        sources = _sources(ours)
        if sources and {name for name, _ in sources} <= experiments:
            words = (row["metric"], row["statistic"], row["algorithm"], row["parameter_set"])
            yield Number(str(number), row["table_or_figure"], " ".join(filter(None, words)), value, ours)


def _sources(cell: Cell) -> frozenset[tuple[str, str]]:
    """Return the arms of a counterpart, also of one that takes them from a ranking."""
    ranking = getattr(cell, "ranking", None)
    return ranking.sources if ranking else cell.term.sources
