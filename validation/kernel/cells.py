"""The cells that are compared: every pair of levels of five factors occurs in at least one of them.

Algorithms, flows, senders, ECN and round-trip time. Pairs are covered greedily: of all allowed cells, the one
with most pairs that are not covered yet comes next, ties in the order of the factors' levels; then cells that
repeat the rarest pairs follow until there are `LEAST`. DCTCP needs ECN, and tail drop and fq_pie's default
never mark.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import sojourn
from sojourn.spec.scenario import Scenario

#: Cells at least.
LEAST = 60
#: Algorithms with the thresholds of the reference in ``validation/linux``; the others have their defaults.
SPECS = {
    "pfifo": "droptail",
    "red": "red min_th 15p max_th 45p max_p 0.1 w_q 0.002",
    "codel": "codel",
    "pie": "pie",
    "fq_codel": "fq_codel",
    "fq_pie": "fq_pie",
    "cake": "cake",
    "fq": "fq",
    "fq_maxrate": "fq maxrate 1Mbit/s",
    "sfq": "sfq",
}
FLOWS = (1, 4, 20, 100)
SENDERS = ("reno", "cubic", "dctcp")
ECN = (False, True)
RTTS_MS = (10, 50, 200)
#: The factors of the cells that cover every pair; `MORE` follow them.
COVERED = ("pfifo", "red", "codel", "pie", "fq_codel", "fq_pie")


class Cell(NamedTuple):
    """One comparison."""

    aqm: str
    flows: int
    sender: str
    ecn: bool
    rtt_ms: int

    @property
    def name(self) -> str:
        """Its name in the report, and of its folder."""
        return f"{self.aqm}-{self.flows}-{self.sender}{'-ecn' if self.ecn else ''}-{self.rtt_ms}ms"

    @property
    def spec(self) -> str:
        """The algorithm."""
        return SPECS[self.aqm]

    def scenario(self) -> Scenario:
        """Return the scenario; the propagation delay is that of the bottleneck, 2 ms, and of the hosts."""
        base = sojourn.load(Path(__file__).parent / "dumbbell.toml")
        data = base.model_dump(by_alias=True, exclude_none=True)
        data["name"] = self.name
        data["dumbbell"]["access"]["delay"] = f"{self.rtt_ms / 2 - 3:g}ms"
        data["traffic"][0] |= {"count": self.flows, "variant": self.sender}
        data["tcp"] = {"ecn": self.ecn}
        data["queue"] |= {"aqm": self.spec, "ecn": self.ecn}
        return base.with_(**data)


def allowed(cell: Cell) -> bool:
    """Return whether a cell makes sense."""
    return (cell.ecn or cell.sender != "dctcp") and not (cell.ecn and cell.aqm == "pfifo")


def cells() -> list[Cell]:
    """Return the cells in the order in which they run: the first ones cover every pair."""
    every = [Cell(*one) for one in product(COVERED, FLOWS, SENDERS, ECN, RTTS_MS)]
    left = [one for one in every if allowed(one)]
    seen: Counter[tuple[object, ...]] = Counter({pair: 0 for one in left for pair in _pairs(one)})
    chosen: list[Cell] = []
    while len(chosen) < LEAST or min(seen.values()) == 0:
        best = max(left, key=lambda one: sum(1 / (1 + 100 * seen[pair]) for pair in _pairs(one)))
        left.remove(best)
        chosen.append(best)
        seen.update(_pairs(best))
    return chosen


#: Other senders, CAKE, fq and sfq: not among the pairs, so that the first cells are those of earlier reports.
MORE = (
    *(
        Cell(aqm, flows, sender, False, 50)
        for sender in ("bbr", "vegas", "westwood")
        for aqm, flows in (("pfifo", 1), ("pfifo", 4), ("fq_codel", 4))
    ),
    *(Cell("cake", flows, "cubic", ecn, 50) for flows in (1, 4, 20) for ecn in (False, True)),
    *(Cell(aqm, flows, "cubic", False, 50) for aqm in ("fq", "fq_maxrate", "sfq") for flows in (4, 20)),
)


def _pairs(cell: Cell) -> list[tuple[object, ...]]:
    """Return the pairs of levels in a cell."""
    return [(*a, *b) for a, b in combinations(enumerate(cell), 2)]
