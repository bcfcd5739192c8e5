"""RAQM as a one-dimensional map: the theorems of its paper, and the speed of convergence.

With TCP's rate proportional to ``1/sqrt(p)`` and ``p`` multiplied by ``exp(alpha (r - r_0))`` each
period, the scaled rate ``x = r / r_0`` follows ``x <- x exp(m (1 - x) / 2)`` with ``m = alpha r_0`` (the
Ricker map). The paper's bound on alpha is ``c(x) / r_0``; its Figs. 1 and 3 draw ``c`` and ``x c``.

This module shares no code with the packet algorithm: it checks the theorems, not the implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Rates closer to 1 than this use the limit of ``c``, where its formula is 0/0.
NEAR_ONE = 1e-9


def c(x: float) -> float:
    """Return the bound on ``alpha r_0`` at the scaled rate `x` (Eq. 13; its limit 4 at x = 1).

    Parameters
    ----------
    x : float
        Scaled rate, strictly between 0 and 2.
    """
    if not 0 < x < 2:
        raise ValueError(f"c(x) is defined for 0 < x < 2, not {x}")
    away = 1 - x
    return 4.0 if abs(away) < NEAR_ONE else 4 * math.atanh(away) / away


def g(x: float) -> float:
    """Return ``x c(x)``, which Theorem 5 needs to be increasing (Fig. 3)."""
    return x * c(x)


def step(x: float, m: float) -> float:
    """Return the next scaled rate under the gain `m` = alpha r_0 (Eq. 10)."""
    return x * math.exp(0.5 * m * (1 - x))


def lyapunov_difference(x: float, m: float) -> float:
    """Return the change of ``(x - 1)**2`` in one step, straight from its definition (Eq. 8)."""
    return (step(x, m) - 1) ** 2 - (x - 1) ** 2


def orbit(x: float, m: float, transient: int = 20_000, most: int = 8, tolerance: float = 1e-9) -> list[float]:
    """Return the limit cycle of the map: one value for a fixed point, two for a 2-cycle, and so on.

    An empty list means that no cycle of at most `most` values was found (chaos).
    """
    for _ in range(transient):
        x = step(x, m)
    seen = [x]
    for _ in range(most):
        x = step(x, m)
        if abs(x - seen[0]) < tolerance:
            return seen
        seen.append(x)
    return []


def attractors(
    gains: ArrayLike, x: float = 0.5, transient: int = 2000, keep: int = 120
) -> NDArray[np.float64]:
    """Return the limit set of the map, its bifurcation diagram, for all gains at once.

    Parameters
    ----------
    gains : array_like, shape (M,)
        Static gains m.
    x : float
        Start of every orbit.
    transient, keep : int
        Number of discarded steps, and of returned values.

    Returns
    -------
    ndarray, shape (M, keep)
        The last values of each orbit.
    """
    m = np.asarray(gains, dtype=np.float64)
    orbit, last = np.full_like(m, x), np.empty((m.size, keep))
    for k in range(transient + keep):
        orbit = orbit * np.exp(0.5 * m * (1 - orbit))
        if k >= transient:
            last[:, k - transient] = orbit
    return last


def steps_to(
    x: float, gain: Callable[[float], float], within: float = 0.01, most: int = 10_000
) -> int | None:
    """Return the number of steps until ``|x - 1| < within``; None if more than `most`.

    Parameters
    ----------
    x : float
        Start.
    gain : callable
        ``m`` as a function of the present ``x``: a constant, or ``epsilon c(x)``.
    """
    for count in range(most + 1):
        if abs(x - 1) < within:
            return count
        x = step(x, gain(x))
    return None


def static(m: float) -> Callable[[float], float]:
    """Return the constant gain `m`."""
    return lambda _x: m


def adaptive(epsilon: float) -> Callable[[float], float]:
    """Return the gain ``epsilon c(x)`` of the adaptive configuration."""
    return lambda x: epsilon * c(x)
