"""The paper's computations: Eq. 2 and Eq. 3, and the shape of the drop probability (Figs. 5 and 6).

Eq. 3 is implemented here independently of the core's algorithm: the tabulated values check this
implementation, which draws Fig. 6.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from itertools import pairwise, product
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.papers.claims import Finding, Verdict

#: Number of points of the grids on which properties are checked.
GRID = np.linspace(0, 2, 81)


def probability(
    q: float, r: float, weights: tuple[float, float] = (0.75, 0.25), n: float = 3
) -> tuple[float, float]:
    """Return the delay's and the load's part of Eq. 3.

    Parameters
    ----------
    q, r : float
        Averaged queue and load as shares of their targets.
    weights : tuple of float
        Of delay and load.
    n : float
        The exponent.

    Examples
    --------
    >>> probability(0.5, 0.5)
    (0.09375, 0.03125)
    """
    return weights[0] * min(1.0, q**n), weights[1] * min(1.0, r**n)


@cache
def table() -> dict[str, Any]:
    """Return the tabulated values."""
    return tomllib.loads((resources.files(__package__) / "data" / "ldc-analytic.toml").read_text("utf-8"))


WEIGHTS = {"P_34_14": (0.75, 0.25), "P_12_12": (0.5, 0.5), "P_1_0": (1.0, 0.0), "P_0_1": (0.0, 1.0)}


def target_bytes(delay: str, rate: str) -> float:
    """Return Eq. 2: the queue, in bytes, of a target delay at a rate."""
    return _core.parse_unit("span", delay) / 1e9 * _core.parse_unit("rate", rate) / 8


def target_queue() -> Finding:
    """LDC-26: 1.6 s at 0.1 Mbit/s are 20 kB, and the other conversions."""
    wrong = []
    for one in table()["conversions"]:
        ours = target_bytes(one["D_target"], one["rate"])
        wrong.append(abs(ours / _core.parse_unit("bytes", one["Q_target"]) - 1))
    return _found(max(wrong) <= 1e-6, max(wrong), "largest relative error of Q_target", "<= 1e-6", len(wrong))


def bounded() -> Finding:
    """LDC-44: P in [0, 1], its load part in [0, 1/4], its delay part in [0, 3/4]; and as tabulated."""
    parts = [probability(q, r) for q, r in product(GRID, GRID)]
    inside = all(0 <= delay <= 0.75 and 0 <= load <= 0.25 and 0 <= delay + load <= 1 for delay, load in parts)
    errors = [
        abs(sum(probability(point["q_ratio"], point["r_ratio"], weights, point["n"])) - point[name])
        for point in table()["points"]
        for name, weights in WEIGHTS.items()
    ]
    reason = f"{len(errors)} tabulated values met to {max(errors):.1g}"
    most = max(sum(part) for part in parts)
    return _found(
        inside and max(errors) < 1e-6,
        most,
        "largest P on the grid",
        "<= 1, parts <= 3/4, 1/4",
        len(parts),
        reason,
    )


def without_threshold() -> Finding:
    """LDC-45: no minimum threshold, and continuous."""
    positive = all(sum(probability(q, 0)) > 0 for q in GRID[1:])
    fine = np.linspace(0, 2, 20001)
    steps = [abs(sum(probability(b, 0)) - sum(probability(a, 0))) for a, b in pairwise(fine)]
    # the slope is at most 3 * 3/4 at the target: no step may exceed the slope times the grid's
    steepest = 3 * 0.75 * (fine[1] - fine[0])
    reason = "P(q, 0) > 0 for every q > 0 of the grid" if positive else "P(q, 0) = 0 for some q > 0"
    holds = positive and max(steps) <= steepest
    return _found(
        holds, max(steps), "largest step of P between neighbours", f"<= {steepest:.3g}", len(fine), reason
    )


def concave() -> Finding:
    """LDC-46: "concave" on [0, 1]. A power of 3 is convex there."""
    x = np.linspace(0, 1, 101)
    p = np.array([sum(probability(q, 0)) for q in x])
    second = np.diff(p, 2)
    reason = f"second difference positive at {int((second > 0).sum())} of {len(second)} points: x^3 is convex"
    return _found(
        bool((second <= 0).all()),
        float(second.max()),
        "largest second difference of P",
        "<= 0",
        len(x),
        reason,
    )


def _found(holds: bool, effect: float, measure: str, claimed: str, n: int, reason: str = "") -> Finding:
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED
    return Finding(verdict, float(effect), n=n, measure=measure, claimed=claimed, reason=reason or "computed")
