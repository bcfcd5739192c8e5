"""The laws of PIE and PI2: integral and proportional control of the queueing delay d = q/C.

Each update every t_update of alpha (d - target) + beta (d - d_old) becomes alpha/t_update (d - target) +
beta dd/dt. PIE's burst allowance, decay and small-queue exemption are omitted: they act near d = 0 only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.worlds.fluid.marking import Floats, Law, Now, Place, State

#: PIE divides its step by these below these probabilities (RFC 8033, 4.2).
SCALE = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))


class Pi2(Law):
    """PI2: dp'/dt = alpha/t_update (d - target) + beta dd/dt, kept in [0, 1]; p = p'^2."""

    states: tuple[str, ...] = ("p_root",)

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        super().__init__(values, place)
        self.hold = values["t_update"]

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return p'^2."""
        p: Floats = z[0] ** 2
        return p

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return the target, and the p' of `p`."""
        return self.values["target"] * self.place.rate + 0 * p, [np.sqrt(p)]

    def drift(self, z: State, now: Now) -> State:
        """Return integral and proportional part."""
        v, rate = self.values, self.place.rate
        integral = v["alpha"] / v["t_update"] * (now.q / rate - v["target"])
        return [self.scale(z[0]) * (integral + v["beta"] * now.dq / rate)]

    def scale(self, p: Floats) -> Floats:
        """Return the factor of the step."""
        return np.ones_like(p)

    def clip(self, z: State) -> State:
        """Keep the state in [0, 1]."""
        return [np.clip(z[0], 0.0, 1.0)]


class Pie(Pi2):
    """PIE: the same controller on p itself, its step divided by 2 to 2048 where p is small."""

    states: tuple[str, ...] = ("p",)

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the controller's state."""
        return z[0]

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return the target, and `p`."""
        return self.values["target"] * self.place.rate + 0 * p, [p]

    def scale(self, p: Floats) -> Floats:
        """Return the fraction of the full step."""
        below = [p < bound for bound, _ in SCALE]
        share: Floats = np.select(below, [1 / divisor for _, divisor in SCALE], 1.0)
        return share
