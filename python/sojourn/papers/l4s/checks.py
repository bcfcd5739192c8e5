"""The check of every claim, by its id; the claims are in ``data/claims.csv``.

A statement about "a wide range of conditions" is checked on each of the 25 links, and its finding counts the
links on which it holds. The margins are those of the column ``check``; none was chosen after seeing a result.
"""

from __future__ import annotations

import math

from sojourn.papers.checks import Below, Check, Within
from sojourn.papers.judge import All
from sojourn.papers.l4s.experiments import DYNAMIC, LINKS, MIXES, PAIRS, SEEDS, SHARES, name
from sojourn.papers.terms import Quantity

#: Titles and units of measures.
TITLES = {
    "l4s_p50": ("median queueing delay of L4S", "ms"),
    "l4s_p99": ("99th percentile of the queueing delay of L4S", "ms"),
    "l4s-web_p99": ("99th percentile of the queueing delay of L4S pages", "ms"),
    "l4s_mean": ("mean queueing delay of L4S", "ms"),
    "classic_mean": ("mean queueing delay of the classic flow", "ms"),
    "l4s_losses": ("losses of L4S", "packets"),
    "utilization": ("utilization", ""),
    "ratio": ("rate of a scalable flow / rate of a classic flow", ""),
    "classic_share": ("share of the classic flow", ""),
    "classic_rate": ("rate of the classic flow", "Mbit/s"),
}
#: "About the same rate", and rates of flows with a queue each.
SAME, EQUAL = (0.5, 2.0), (0.9, 1.1)


def checks() -> dict[str, Check]:
    """Return the check of every claim by its id."""
    dual = {
        "L4S-01": everywhere("l4s_p50", "Prague+CUBIC", "DualPI2", 0.1, 0.3),
        "L4S-02": everywhere("l4s_p99", "Prague+CUBIC", "DualPI2", -math.inf, 2),
        "L4S-03": All(
            tuple(_within(of(m, "DualPI2", DYNAMIC), -math.inf, 2) for m in ("l4s_p99", "l4s-web_p99"))
        ),
        "L4S-04": everywhere("l4s_losses", "Prague+CUBIC", "DualPI2", 0, 0),
        "L4S-05": everywhere("utilization", "Prague+CUBIC", "DualPI2", 0.95, math.inf),
        "L4S-06": everywhere("l4s_mean", "DCTCP+CUBIC", "DualPI2", -math.inf, 1),
        "L4S-07": everywhere("ratio", "DCTCP+CUBIC", "DualPI2", *SAME),
        "L4S-08": everywhere("ratio", "Prague+CUBIC", "DualPI2", *SAME),
        "L4S-09": everywhere("ratio", "Prague+Reno", "DualPI2", *SAME),
        "L4S-10": All(
            tuple(_within(of("ratio", f"DualPI2 {n}:{10 - n}", MIXES), *SAME) for n in SHARES)
        ),
        "L4S-11": everywhere("classic_share", "DCTCP+CUBIC", "PIE", -math.inf, 0.1),
        "L4S-12": compared("classic_rate", 0.8, math.inf),
        "L4S-13": compared("classic_mean", -math.inf, 1.1),
        "L4S-14": everywhere("ratio", "Prague+CUBIC", "FQ-CoDel L4S", *EQUAL),
        "L4S-15": All(
            tuple(
                Below(
                    of("l4s_p99", name("Prague+CUBIC", "DualPI2", *link)),
                    of("l4s_p99", name("Prague+CUBIC", "FQ-CoDel", *link)),
                    log=True,
                    seeds=SEEDS,
                )
                for link in LINKS
            )
        ),
    }  # fmt: skip
    return dict(dual)


def of(metric: str, arm: str, experiment: str = PAIRS) -> Quantity:
    """Return a measure of an arm."""
    title, unit = TITLES[metric]
    return Quantity(metric, arm, experiment, unit, title)


def _within(term: Quantity, low: float, high: float) -> Check:
    return Within(term, low, high, seeds=SEEDS)


def everywhere(metric: str, pair: str, queue: str, low: float, high: float) -> Check:
    """Return the check that a measure lies in a margin on each link."""
    return All(tuple(_within(of(metric, name(pair, queue, *link)), low, high) for link in LINKS))


def compared(metric: str, low: float, high: float) -> Check:
    """Return the check of a CUBIC flow beside Prague in DualPI2, against one beside CUBIC in PIE."""
    return All(
        tuple(
            Within(
                of(metric, name("Prague+CUBIC", "DualPI2", *link)),
                low,
                high,
                of(metric, name("CUBIC+CUBIC", "PIE", *link)),
                ratio=True,
                seeds=SEEDS,
            )
            for link in LINKS
        )
    )
