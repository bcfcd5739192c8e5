"""The claims that are computed: Fig. 1, and the arithmetic of the printed parameters."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from typing import Any

from sojourn import _core
from sojourn.papers.checks import Check, Computed
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.taildrop2001.experiments import FLOWS, SESSIONS, printed

R, N = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
#: RED's thresholds as shares of the buffer: "3/20 times buffer size", "13/20"; REDopt's are not printed.
SHARES = {"REDstd": (3 / 20, 13 / 20), "REDopt": (1 / 6, 2 / 3)}
#: "increases by a factor 2.6 ... 1000, while max_p increases by a factor 16.7": loads, factor.
FACTORS = {(800, 1000): 2.6, (1200, 1400): 16.7}
#: End of gentle RED's slope (A-TD-3), as RED's parameter.
GENTLE = "2max_th"
#: The average may be half a packet, a queue may not: all lengths are doubled.
TWICE = 2


def checks() -> dict[str, Check]:
    """Return the checks by claim id."""
    return {
        "TD-52": Computed(thresholds),
        "TD-53": Computed(factors),
        "TD-56": Computed(drop_functions, under={"gentle to buffer": partial(drop_functions, "limit")}),
    }


def thresholds() -> Finding:
    """TD-52: every printed threshold is its share of the printed buffer, rounded."""
    wrong, count = [], 0
    for name, shares in SHARES.items():
        for load in (*FLOWS, *SESSIONS):
            one = printed()[name, load]
            for value, share in zip((one.min_th, one.max_th), shares, strict=True):
                count += 1
                by_rule = math.floor(share * one.buffer + 0.5)
                if value != by_rule:
                    wrong.append(f"{value} printed for {name} at {load}, {by_rule} by the rule")
    reason = "; ".join(wrong) or "all are"
    share_ok = 1 - len(wrong) / count
    measure = "share of printed thresholds that are the rounded share of the buffer"
    return Finding(N if wrong else R, share_ok, n=count, measure=measure, claimed="1", reason=reason)


def factors() -> Finding:
    """TD-53: REDopt's max_p between loads."""
    found = {
        ends: float(printed()["REDopt", ends[1]].max_p) / float(printed()["REDopt", ends[0]].max_p)
        for ends in FACTORS
    }
    away = {ends: abs(found[ends] - factor) for ends, factor in FACTORS.items()}
    reason = "; ".join(
        f"{found[ends]:.3f} from {ends[0]} to {ends[1]} sessions, {factor} in the text"
        for ends, factor in FACTORS.items()
    )
    worst = max(away.values())
    measure = "largest distance of a ratio of printed max_p from the factor in the text"
    verdict = R if worst <= 0.1 else N
    return Finding(verdict, worst, n=len(away), measure=measure, claimed="<= 0.1", reason=reason)


@cache
def points() -> list[Mapping[str, Any]]:
    """Return the tabulated points of Fig. 1."""
    file = resources.files(__package__) / "data" / "td-fig1-dropfunc.toml"
    found: list[Mapping[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["points"]
    return found


def probabilities(gentle: str, averages: list[int]) -> list[float]:
    """Return the drop probability of RED, set as REDstd at 256 flows, at averages in half packets.

    `gentle` is the end of the gentle slope (RED's `gentle_end`); empty: not gentle.
    """
    one = printed()["REDstd", FLOWS[-1]]
    spec = f"red limit {TWICE * one.buffer}p min_th {TWICE * one.min_th}p max_th {TWICE * one.max_th}p"
    words = f"gentle on gentle_end {gentle}" if gentle else "gentle off"
    return _core.drop_function(f"{spec} max_p {one.max_p} w_q 1 {words}", 0, averages)


def at(average: str, gentle: str = "") -> float:
    """Return the probability at an average such as ``195p-``: a sign means the limit from that side."""
    place = round(TWICE * float(average.rstrip("p+-")))
    if average.endswith("-"):
        before, nearer = probabilities(gentle, [place - 2, place - 1])
        return 2 * nearer - before  # linear up to that point
    return probabilities(gentle, [place])[0]


def drop_functions(gentle: str = GENTLE) -> Finding:
    """TD-56: the library's RED and gentle RED, whose slope ends at `gentle`, match the tabulated points."""
    away = [
        abs(at(point["avg"], end) - point[name])
        for point in points()
        for name, end in (("red", ""), ("gred", gentle))
    ]
    worst = max(away)
    measure = "largest distance of RED's drop probability from a tabulated point"
    reason = "the algorithm itself, with w_q = 1, at thresholds 45 and 195 of a buffer of 300 packets"
    return Finding(
        R if worst <= 1e-6 else N, worst, n=len(away), measure=measure, claimed="<= 1e-6", reason=reason
    )
