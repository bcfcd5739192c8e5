"""The computed claims: drop curves of RED and RIO, and the fraction of the link that is in profile.

The curves are those of the text. ``tests/papers/test_bio.py`` compares traces of the library's RED and RIO
with these functions.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from sojourn.papers.claims import Finding, Verdict

#: RIO's thresholds and largest probabilities, out and in: "min_out = 10, max_out = 30, max_p_out = 0.5, ...".
OUT, IN = (10.0, 30.0, 0.5), (40.0, 70.0, 0.02)
#: Profiles: flows on a node, nodes of a kind, kbit/s of each flow on even and on odd nodes, the link's.
FLOWS, NODES, EVEN, ODD, LINK = 100, 5, 105, 21, 70_000
#: Half a unit of the last digit of "90 %".
ROUNDING = 0.005


def red(avg: float, min_th: float, max_th: float, max_p: float) -> float:
    """Return RED's base probability: 0 below `min_th`, a line to `max_p`, 1 from `max_th` on."""
    if avg < min_th:
        return 0.0
    return 1.0 if avg >= max_th else max_p * (avg - min_th) / (max_th - min_th)


@cache
def points() -> list[dict[str, Any]]:
    """Return the tabulated points: curve, average (a trailing sign: the limit from that side), p."""
    file = resources.files(__package__) / "data" / "bio-curves.toml"
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["points"]
    return found


def at(point: dict[str, Any]) -> float:
    """Return the curve of a tabulated point at its average."""
    *_, settings = point["curve"].split()
    min_th, max_th, max_p = map(float, settings.split("/"))
    side = {"-": -1e-9, "+": 0.0}.get(point["avg"][-1], 0.0)
    return red(float(point["avg"].strip("p+-")) + side, min_th, max_th, max_p)


def drop_curves() -> Finding:
    """Judge BIO-42: the tabulated values, and out packets never safer than in packets."""
    worst = max(abs(at(point) - point["p"]) for point in points())
    averages = [i / 10 for i in range(1001)]
    left = all(red(avg, *OUT) >= red(avg, *IN) for avg in averages)
    verdict = Verdict.REPRODUCED if worst < 1e-6 and left else Verdict.NOT_REPRODUCED
    side = "nowhere" if left else "somewhere"
    reason = f"the curve for out packets lies {side} below that for in packets, average 0 to 100 packets"
    measure = "largest distance from a tabulated point"
    return Finding(verdict, worst, n=len(points()), measure=measure, claimed="< 1e-6", reason=reason)


def profile_share(flows: int = FLOWS) -> float:
    """Return the sum of all profiles as a fraction of the link, with `flows` on each node."""
    return flows * NODES * (EVEN + ODD) / LINK


def in_profile(flows: int = FLOWS) -> Finding:
    """Judge BIO-41: "to fill the 90 % of the bottleneck link capacity with in packets"."""
    share = profile_share(flows)
    fits = abs(share - 0.9) <= ROUNDING
    in_all = profile_share(FLOWS // (2 * NODES))
    reason = f"with {flows} flows on each of ten nodes; with {FLOWS} in all it would be {in_all:.2f}"
    return Finding(
        Verdict.REPRODUCED if fits else Verdict.NOT_REPRODUCED,
        share,
        n=1,
        measure="share of the link that is in profile",
        claimed="0.90",
        reason=reason,
    )
