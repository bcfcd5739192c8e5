"""The computed claims: theory against the tabulated values, without any seed.

Each function checks one claim: it searches for the worst case over the points of ``data/raqm-*.toml`` or over
a grid. The tables were computed independently of this code.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import Any

from sojourn.papers.claims import Finding, Verdict
from sojourn.worlds.fluid import raqm as theory
from sojourn.worlds.fluid.raqm import c, g, lyapunov_difference, orbit, step, steps_to

#: Absolute tolerance against tables that are printed to six decimals.
TABLE = 1e-6
#: Shares of the link that unresponsive traffic takes.
SHARES = tuple(i / 10 for i in range(10))
#: Starts of orbits: on both sides of 1, and beyond 2, which the theorem excludes.
STARTS = (0.01, 0.5, 1.3, 1.9, 2.5)


@cache
def table(name: str) -> dict[str, Any]:
    """Return one of the tables of values."""
    file = resources.files(__package__) / "data" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def grid(step_size: float = 1e-3) -> list[float]:
    """Return points of (0, 2) without 1."""
    count = round(2 / step_size)
    return [i * step_size for i in range(1, count) if i != count // 2]


def found(true: bool, effect: float, n: int, measure: str, claimed: str, reason: str) -> Finding:
    """Return the finding of a computed claim."""
    verdict = Verdict.REPRODUCED if true else Verdict.NOT_REPRODUCED
    return Finding(verdict, effect, n=n, measure=measure, claimed=claimed, reason=reason)


def bound_above_four() -> Finding:
    """Judge RAQM-01: c(x) > 4 everywhere."""
    points = [p["x"] for p in table("raqm-fig1")["points"]]
    least = min(map(c, points))
    reason = f"the least of {len(points)} points lies {least - 4:.2g} above 4"
    return found(least > 4, least, len(points), "least c(x)", "> 4", reason)


def bound_tends_to_four() -> Finding:
    """Judge RAQM-02: c -> 4 as x -> 1."""
    away = max(abs(c(1 - 1e-3) - 4), abs(c(1 + 1e-3) - 4))
    reason = f"|c(1 +- 0.001) - 4| = {away:.3g}"
    return found(away < 2e-6, away, 2, "|c(1 +- 1e-3) - 4|", "< 2e-6", reason)


def bound_grows_at_the_ends() -> Finding:
    """Judge RAQM-03: c grows without bound at 0 and 2."""
    ends, low = min(c(1e-3), c(1.999)), [x for x in grid() if x < 1]
    falling = all(c(a) > c(b) for a, b in itertools.pairwise(low))
    rising = all(c(2 - a) > c(2 - b) for a, b in itertools.pairwise(low))
    reason = f"c = {ends:.2f} at both ends; monotone towards them on a grid of 0.001"
    return found(ends > 15 and falling and rising, ends, 2 * len(low), "c(0.001), c(1.999)", "> 15", reason)


def bound_as_tabulated() -> Finding:
    """Judge RAQM-04: c has the tabulated values and is symmetric about 1."""
    points = table("raqm-fig1")["points"]
    worst = max(abs(c(p["x"]) - p["c"]) for p in points)
    skew = max(abs(c(x) - c(2 - x)) for x in grid())
    reason = f"largest distance from the table {worst:.1e}, from symmetry {skew:.1e}"
    return found(
        worst < TABLE and skew < 1e-9, worst, len(points), "largest |c(x) - table|", "< 1e-6", reason
    )


def g_increases() -> Finding:
    """Judge RAQM-05: x c(x) increases, and has the tabulated values."""
    points, xs = table("raqm-fig3")["points"], grid()
    worst = max(abs(g(p["x"]) - p["g"]) for p in points)
    least = min(g(b) - g(a) for a, b in itertools.pairwise(xs))
    reason = f"least increase on a grid of 0.001: {least:.2g}; largest distance from the table {worst:.1e}"
    return found(least > 0 and worst < TABLE, least, len(xs), "least increase of g", "> 0", reason)


def one_fixed_point() -> Finding:
    """Judge RAQM-06: r_0 is the only positive fixed point."""
    gains, xs = (0.5, 1, 2, 3, 4, 5), [x for x in grid() if x > 0] + [2.5, 3, 5]
    nearest = min(abs(step(x, m) - x) / abs(x - 1) / x for m in gains for x in xs)
    fixed = all(step(1, m) == 1 for m in gains)
    reason = "x exp(m (1 - x) / 2) = x only where the exponent is 0; x = 0 is a second fixed point, unstable"
    measure = "least |step(x) - x| / (x |x - 1|)"
    return found(nearest > 0 and fixed, nearest, len(xs) * len(gains), measure, "> 0", reason)


def _differences(share: Callable[[float], bool]) -> list[tuple[float, float]]:
    """Return (computed, tabulated) Lyapunov differences of the rows whose share of the bound qualifies."""
    rows = [row for row in table("raqm-theorems")["lyapunov"] if share(row["f"])]
    return [(lyapunov_difference(row["x"], row["f"] * c(row["x"])), row["dV"]) for row in rows]


def decreases_below_the_bound() -> Finding:
    """Judge RAQM-07: below the bound the Lyapunov function decreases."""
    shares = [i / 100 for i in range(1, 100)]
    worst = max(lyapunov_difference(x, f * c(x)) / (1 - x) ** 2 for x in grid(0.01) for f in shares)
    apart = max(abs(a - b) for a, b in _differences(lambda f: f < 1))
    reason = f"largest dV / (x - 1)^2 on the grid {worst:.3g}; largest distance from the table {apart:.1e}"
    n = len(grid(0.01)) * len(shares)
    return found(worst < 0 and apart < TABLE, worst, n, "largest dV / (x - 1)^2 for f < 1", "< 0", reason)


def increases_above_the_bound() -> Finding:
    """Judge RAQM-08: above the bound it increases, at the bound it is constant."""
    shares = [1 + i / 100 for i in range(1, 51)]
    least = min(lyapunov_difference(x, f * c(x)) / (1 - x) ** 2 for x in grid(0.01) for f in shares)
    still = max(abs(lyapunov_difference(x, c(x))) for x in grid(0.01))
    apart = max(abs(a - b) for a, b in _differences(lambda f: f >= 1))
    reason = (
        f"least dV / (x - 1)^2 above {least:.3g}; |dV| at the bound {still:.1e}; from the table {apart:.1e}"
    )
    true = least > 0 and still < 1e-12 and apart < 2 * TABLE
    n = len(grid(0.01)) * len(shares)
    return found(true, least, n, "least dV / (x - 1)^2 for f > 1", "> 0", reason)


def static_gain_bound() -> Finding:
    """Judge RAQM-09: a constant gain is stable below m = 4 and unstable above."""
    stable = [0.5 + 0.1 * i for i in range(35)]
    ends = [orbit(x, m) for m in stable for x in STARTS]
    settled = all(len(end) == 1 and abs(end[0] - 1) < 1e-6 for end in ends)
    cycles = [
        (sorted(orbit(0.5, row["m"])), sorted(row["limit"])) for row in table("raqm-theorems")["orbits"]
    ]
    same = all(len(a) == len(b) for a, b in cycles)
    apart = max(abs(x - y) for a, b in cycles for x, y in zip(a, b, strict=False))
    reason = (
        f"settles from {len(STARTS)} starts for all {len(stable)} gains in [0.5, 3.9]; 2-cycles at 4.1, 4.5 "
        f"and 5 and the 4-cycle at 5.3 as tabulated (largest distance {apart:.1e}); no cycle at 5.5 and 6 "
        "(chaos)"
    )
    chaos = not orbit(0.5, 5.5) and not orbit(0.5, 6.0)
    true = settled and same and chaos and apart < TABLE
    return found(true, 4.0, len(ends) + len(cycles), "largest stable m", "4", reason)


def faster_with_a_larger_gain() -> Finding:
    """Judge RAQM-10: a larger gain always converges faster (it does not)."""
    rows = table("raqm-theorems")["steps_to_1_percent"]
    static = {row["m"]: steps_to(row["x0"], theory.static(row["m"])) for row in rows if "m" in row}
    adaptive = {
        row["epsilon"]: steps_to(row["x0"], theory.adaptive(row["epsilon"]))
        for row in rows
        if "epsilon" in row
    }
    as_tabulated = [*static.values(), *adaptive.values()] == [row["steps"] for row in rows]
    steps = [math.inf if count is None else count for count in static.values()]
    true = all(a > b for a, b in itertools.pairwise(steps))
    words = ", ".join(f"{m:g}: {count}" for m, count in static.items())
    other = ", ".join(f"{e:g}: {count}" for e, count in adaptive.items())
    reason = (
        f"steps from x = 0.5 to within 1 % by m: {words}; by eps: {other}"
        f"{'' if as_tabulated else ' (NOT as tabulated)'}; the gain that gets there in one step is "
        "2 ln(r_0/r_k)/(r_0 - r_k), about half of the bound near r_0, and at the bound it never gets there"
    )
    return found(true, steps[-1] - steps[-2], len(steps), "steps(m = 3.9) - steps(m = 3)", "< 0", reason)


def alpha_hat_above_four() -> Finding:
    """Judge RAQM-11: alpha_hat r_0 > 4, from its definition (Eq. 12) at several r_0."""
    rates = (1.0, 1250.0, 1.25e6)
    least = min(r0 * _alpha_hat(x * r0, r0) for r0 in rates for x in grid())
    reason = f"least alpha_hat r_0 on a grid of 0.001 at three link rates: 4 + {least - 4:.2g}"
    return found(least > 4, least, len(rates) * len(grid()), "least alpha_hat r_0", "> 4", reason)


def _alpha_hat(rate: float, wanted: float) -> float:
    """Return the bound of Eq. 12 as it is printed."""
    return (math.log(2 * wanted - rate) - math.log(rate)) / (0.5 * (wanted - rate))


def static_with_unresponsive_traffic() -> Finding:
    """Judge RAQM-12: static m < 4 stays stable with unresponsive traffic r_u < r_0."""
    gains = (0.5, 1, 2, 3, 3.9)
    ends = [orbit(x, m * (1 - share)) for m in gains for share in SHARES for x in STARTS]
    true = all(len(end) == 1 and abs(end[0] - 1) < 1e-6 for end in ends)
    reason = f"r_u takes its share out of the gain, m (1 - r_u/r_0) < 4; {len(ends)} orbits end at r_0 - r_u"
    worst = max(abs(end[0] - 1) if len(end) == 1 else math.inf for end in ends)
    return found(true, worst, len(ends), "largest |x' - 1| at the end", "0", reason)


def adaptive_with_unresponsive_traffic() -> Finding:
    """Judge RAQM-13: adaptive alpha stays below the bound with unresponsive traffic.

    Both readings of r_k are checked: as in the proof (the responsive rate over r_0), and as measured
    (with the unresponsive traffic in it).
    """
    cells = [(x, 1 - share) for share in SHARES[1:] for x in grid(0.01)]
    proof = max(c(x * left) / (c(x) / left) for x, left in cells)
    measured = max(c(1 + (x - 1) * left) / (c(x) / left) for x, left in cells)
    worst = max(proof, measured)
    reason = (
        f"largest alpha_hat / alpha_tilde: {proof:.4f} as in the proof, {measured:.4f} with r_k as measured"
    )
    return found(worst < 1, worst, 2 * len(cells), "largest alpha_hat / alpha_tilde", "< 1", reason)


def lyapunov_identity() -> Finding:
    """Judge RAQM-14: the difference equals Eq. 11; Eq. 9 as printed has a wrong sign."""
    cells = [(x, m) for x in grid(0.01) for m in (0.5, 1, 2, 4, 5)]

    def apart(sides: Iterable[tuple[float, float]]) -> float:
        return max(abs(a - b) for a, b in sides)

    steps = [(x, step(x, m), lyapunov_difference(x, m), math.exp(0.5 * m * (1 - x))) for x, m in cells]
    right = apart((dv, (y - x) * (y + x - 2)) for x, y, dv, _ in steps)
    eleven = apart((dv, (y - x) * (x * (factor + 1) - 2)) for x, y, dv, factor in steps)
    nine = apart((dv, (y - x) * (y - x - 2)) for x, y, dv, _ in steps)
    worst = max(right, eleven)
    reason = (
        f"Eq. 11 and the corrected Eq. 9 hold to {worst:.1e}; Eq. 9 as printed is off by up to {nine:.2g}"
    )
    return found(worst < 1e-9, worst, len(cells), "largest |dV - Eq. 11|", "< 1e-9", reason)
