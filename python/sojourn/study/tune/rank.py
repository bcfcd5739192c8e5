"""The rank rule: settings ordered by the sum of the weights of their ranks in several metrics.

Byun and Baras (AVQRED, 2007, section 4.1.1) rank every setting in each metric, give rank r the weight 2^r,
and select the settings with the smallest sums, so that one bad rank costs more than many good ones gain.
Their printed sums do not follow from 2^r, but from 0, 2, 4, 6, 8 for the first five ranks and 2^(r-2) from
the sixth; both weights are implemented.

Printed values are rounded, which causes ties, and the order within a tie affects the sums. The order is
therefore an input; ``implied_ties`` finds the orders that are consistent with a printed column of sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Weight = Callable[[int], int]


def literal(rank: int) -> int:
    """Return 2^rank, the weight in the text of the AVQRED paper."""
    return 1 << rank


def printed(rank: int) -> int:
    """Return the weight that reproduces column G of the AVQRED paper's Table 2 in all 20 rows.

    Examples
    --------
    >>> [printed(r) for r in range(1, 9)]
    [0, 2, 4, 6, 8, 16, 32, 64]
    """
    return 2 * (rank - 1) if rank <= 5 else 1 << (rank - 2)


@dataclass(frozen=True)
class Column:
    """One metric of every setting.

    Parameters
    ----------
    values : mapping of str to float
        Values by the name of the setting.
    higher_is_better : bool
        Whether rank 1 is the largest value.
    ties : sequence of sequence of str
        Groups of settings with equal values, better first. Equal values in no group share the better rank.
    """

    values: Mapping[str, float]
    higher_is_better: bool = False
    ties: Sequence[Sequence[str]] = ()

    def ranks(self) -> dict[str, int]:
        """Return the rank of each setting, 1 the best.

        Raises
        ------
        ValueError
            If `ties` orders settings that do not tie.
        """
        found = {}
        for group, first in self.groups():
            order = next((t for t in self.ties if set(t) & set(group)), None)
            if order is not None and set(order) != set(group):
                raise ValueError(f"{', '.join(order)} are not the settings that tie: {', '.join(group)}")
            for name in group:
                found[name] = first + (order.index(name) if order is not None else 0)
        return found

    def groups(self) -> Iterator[tuple[list[str], int]]:
        """Yield each group of settings with equal values and the group's first rank."""
        sign = -1 if self.higher_is_better else 1
        order = sorted(self.values, key=lambda name: sign * self.values[name])
        first = 1
        for _, equal in itertools.groupby(order, key=lambda name: self.values[name]):
            group = list(equal)
            yield group, first
            first += len(group)


def weigh(columns: Sequence[Column], weight: Weight = literal) -> dict[str, int]:
    """Return the sum of the weights of each setting's ranks; the smallest is the best.

    Examples
    --------
    >>> delay = Column({"a": 5.0, "b": 7.0, "c": 9.0})
    >>> used = Column({"a": 0.8, "b": 0.9, "c": 0.7}, higher_is_better=True)
    >>> weigh([delay, used])
    {'a': 6, 'b': 6, 'c': 16}
    """
    ranks = [column.ranks() for column in columns]
    return {name: sum(weight(one[name]) for one in ranks) for name in columns[0].values}


def best(columns: Sequence[Column], count: int, weight: Weight = literal) -> list[str]:
    """Return the `count` settings with the smallest sums, best first; equal sums in the order given."""
    sums = weigh(columns, weight)
    return sorted(sums, key=lambda name: sums[name])[:count]


def implied_ties(
    columns: Sequence[Column], sums: Mapping[str, int], weight: Weight = printed
) -> list[list[dict[str, int]]]:
    """Return every order within ties that gives exactly these sums: the ranks, column by column.

    The ties of `columns` are ignored. The list is empty if no order gives these sums.
    """
    possible = [
        {name: range(first, first + len(group)) for group, first in column.groups() for name in group}
        for column in columns
    ]
    choices = {
        name: [r for r in itertools.product(*(one[name] for one in possible)) if sum(map(weight, r)) == total]
        for name, total in sums.items()
    }
    names = sorted(sums, key=lambda name: len(choices[name]))
    found: list[list[dict[str, int]]] = []

    def go(
        left: Sequence[str], taken: frozenset[tuple[int, int]], chosen: dict[str, tuple[int, ...]]
    ) -> None:
        if not left:
            found.append([{name: chosen[name][i] for name in sums} for i in range(len(columns))])
            return
        for ranks in choices[left[0]]:
            places = set(enumerate(ranks))
            if not places & taken:
                go(left[1:], taken | places, {**chosen, left[0]: ranks})

    go(names, frozenset(), {})
    return found
