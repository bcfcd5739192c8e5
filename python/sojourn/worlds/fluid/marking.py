"""The mean behaviour of each algorithm: the signalling probability of an arrival, and the drift of its state.

A law is the mean field of one algorithm: single packets and random draws are averaged, and timers much faster
than a round trip become continuous. Slow timers (ARED's, RAQM's) remain discrete steps. All functions work on
arrays of any shape: one element for each system that is integrated at once. `sojourn.worlds.fluid.laws` lists
them; an algorithm without a law is refused with the reason.

Symbols: q queue (packets), lambda arrivals (packets/s), C link rate (packets/s), B buffer (packets), p
probability of a signal (drop or mark) before the buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
State: TypeAlias = list[Floats]


class Now(NamedTuple):
    """The input of an algorithm at one time.

    Attributes
    ----------
    q, dq : ndarray
        Queue (packets) and its derivative (packets/s).
    arrivals, admitted, accepted : ndarray
        All arrivals, those accepted by the algorithm, and those also accepted by the buffer (packets/s).
    idle, overflow : ndarray of bool
        Whether the link is idle, and whether the buffer overflows.
    step : float
        Resolution of the integration (s): a faster average is treated as immediate.
    """

    q: Floats
    dq: Floats
    arrivals: Floats
    admitted: Floats
    accepted: Floats
    idle: NDArray[np.bool_]
    overflow: NDArray[np.bool_]
    step: float


@dataclass(frozen=True)
class Place:
    """The queue of an algorithm: C in packets/s, B in packets, the preset's probabilities."""

    rate: Floats
    limit: Floats
    drops: bool = True


class NoRest(Exception):  # noqa: N818 - a property of a law, not an error
    """A law has no equilibrium, or none that the flows' `p` determines."""


class Law:
    """DropTail: no state, no signal before the buffer. The base class of the laws.

    Attributes
    ----------
    states : tuple of str
        Names of the state variables, for traces.
    period : float or None
        Time between two calls of `tick` in seconds; None if there is no slow timer.
    hold : float
        Sampling period of the algorithm's probability (s): half of it is a delay in the loop.
    """

    states: tuple[str, ...] = ()
    period: float | None = None
    hold: float = 0.0

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        self.values, self.place = values, place

    def start(self) -> list[float]:
        """Return the state at time 0."""
        return [0.0] * len(self.states)

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return p for a packet that arrives now."""
        return np.zeros_like(q)

    def drift(self, z: State, now: Now) -> State:
        """Return dz/dt."""
        return []

    def tick(self, z: State) -> State:
        """Return the state after the slow timer has fired."""
        return z

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return queue and state at the equilibrium in which the flows need `p`.

        Raises
        ------
        NoRest
            If the law has no equilibrium, or none that depends on `p` alone.
        """
        raise NoRest

    def clip(self, z: State) -> State:
        """Return the state within its bounds."""
        return z


def relaxation(weight: float, samples: Floats | float, step: float) -> Floats | float:
    """Return the rate (1/s) of an average of `weight` over `samples` per second, at most 1 / `step`.

    From avg <- (1 - w) avg + w q: in one sample the distance shrinks by 1 - w, so d avg/dt =
    -ln(1 - w) samples (q - avg) (Misra, Gong and Towsley 2000). w = 1 is singular there; it means avg = q.
    """
    if weight >= 1:
        return 1 / step
    return np.minimum(-math.log1p(-weight) * samples, 1 / step)


def spread(p_b: Floats, rule: str) -> Floats:
    """Return the share of packets that RED signals while its base probability is `p_b`.

    The counter makes the gaps between signals uniform. FJ93's listing (``before``): 1 to 1/p_b - 1
    packets, on average 1/(2 p_b), so the share is 2 p_b, not p_b; its text (``after``): 1 to 1/p_b; with
    ``wait``: 1/p_b to 2/p_b. ``none``: no counter, the p of Misra, Gong and Towsley.
    """
    if rule == "none":
        return p_b
    shares = {"before": 2 * p_b, "after": 2 * p_b / (1 + p_b), "wait": 2 * p_b / (3 - p_b)}
    return np.minimum(shares[rule], 1.0)


class Red(Law):
    """RED and gentle RED: linear in the average queue from min_th to max_th, then 1 (or a second slope)."""

    states: tuple[str, ...] = ("avg",)

    @property
    def rule(self) -> str:
        """The rule of the gaps between signals (see `spread`)."""
        return "wait" if self.values["wait"] else str(self.values["count"])

    def base(self, x: Floats, max_p: Floats | float) -> Floats:
        """Return p_b of the average `x`."""
        low, high = self.values["min_th"], self.values["max_th"]
        line = max_p * (x - low) / (high - low)
        if self.values["gentle"]:
            end = self.place.limit if self.values["gentle_end"] == "limit" else 2 * high
            above = max_p + (1 - max_p) * np.clip((x - high) / np.maximum(end - high, 1e-9), 0, 1)
        else:
            above = np.ones_like(x)
        return np.where(x < low, 0.0, np.where(x < high, line, above))

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the fraction signalled at this average."""
        x = q if self.values["w_q"] >= 1 else z[0]
        return spread(self.base(x, self.values["max_p"]), self.rule)

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return the average at which the curve gives `p`, as queue and as state; NaN if there is none."""
        low, high, max_p = self.values["min_th"], self.values["max_th"], self.values["max_p"]
        base = {"before": p / 2, "after": p / (2 - p), "wait": 3 * p / (2 + p), "none": p}[self.rule]
        x = low + (high - low) * base / max_p
        end = self.place.limit if self.values["gentle_end"] == "limit" else 2 * high
        above = high + (end - high) * (base - max_p) / max(1 - max_p, 1e-12)
        x = np.where(base <= max_p, x, above if self.values["gentle"] else np.nan)
        return x, [x]

    def drift(self, z: State, now: Now) -> State:
        """Move the average: one sample per arrival; on an idle link, one of 0 per possible transmission."""
        samples = np.where(now.idle, self.place.rate, now.arrivals)
        return [relaxation(self.values["w_q"], samples, now.step) * (now.q - z[0])]


class Ared(Red):
    """Adaptive RED: gentle RED whose max_p steps every `interval` towards the middle of the thresholds."""

    states: tuple[str, ...] = ("avg", "max_p")

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        super().__init__(values, place)
        self.period = values["interval"]

    def start(self) -> list[float]:
        """Return an average of 0 and the initial max_p."""
        return [0.0, self.values["max_p"]]

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the fraction signalled at this average and max_p."""
        x = q if self.values["w_q"] >= 1 else z[0]
        return spread(self.base(x, z[1]), self.rule)

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Refuse: max_p may settle at any value for which the average is in the band."""
        raise NoRest

    def drift(self, z: State, now: Now) -> State:
        """Move the average; max_p is constant between ticks."""
        return [*super().drift(z, now), np.zeros_like(z[1])]

    def tick(self, z: State) -> State:
        """Move max_p: up by min(alpha, max_p/4), down by the factor beta."""
        v, (x, max_p) = self.values, z
        band = 0.4 * (v["max_th"] - v["min_th"])
        up = (x > v["max_th"] - band) & (max_p < v["top"])
        down = (x < v["min_th"] + band) & (max_p > v["bottom"])
        raised = np.minimum(max_p + np.minimum(max_p / 4, v["alpha"]), 1.0)
        return [x, np.where(up, raised, np.where(down, v["beta"] * max_p, max_p))]


class Pi(Law):
    """PI: dp/dt = f_s (a - b) (q - q_ref) + b dq/dt, kept in [0, 1]: its difference equation at rate f_s."""

    states: tuple[str, ...] = ("p",)

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        super().__init__(values, place)
        self.hold = 1 / values["f_s"]

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the controller's state."""
        return z[0]

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return q_ref and `p`."""
        return self.values["q_ref"] + 0 * p, [p]

    def drift(self, z: State, now: Now) -> State:
        """Return integral and proportional part."""
        v = self.values
        return [v["f_s"] * (v["a"] - v["b"]) * (now.q - v["q_ref"]) + v["b"] * now.dq]

    def clip(self, z: State) -> State:
        """Keep p in [0, 1], which is its anti-windup."""
        return [np.clip(z[0], 0.0, 1.0)]


class Rem(Law):
    """REM: d price/dt = gamma (lambda - C + alpha (q - b*) / T), price >= 0; p = 1 - phi^(-price).

    `form queue` has dq/dt in place of lambda - C (Athuraliya et al. 2001).
    """

    states: tuple[str, ...] = ("price",)

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return 1 - phi^(-price)."""
        p: Floats = -np.expm1(-math.log(self.values["phi"]) * z[0])
        return p

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return b* and the price of `p`, if its own drops are not part of its input."""
        v = self.values
        if self.place.drops and v["form"] == "rate":
            raise NoRest
        return v["b_star"] + 0 * p, [-np.log1p(-p) / math.log(v["phi"])]

    def drift(self, z: State, now: Now) -> State:
        """Return the drift of the price."""
        v = self.values
        excess = now.dq if v["form"] == "queue" else now.arrivals - v["rate"]
        return [v["gamma"] * (excess + v["alpha"] * (now.q - v["b_star"]) / v["period"])]

    def clip(self, z: State) -> State:
        """Keep the price in its range."""
        return [np.clip(z[0], 0.0, self.values["price_max"])]


class Avq(Law):
    """AVQ: dC~/dt = alpha (gamma C - lambda), 0 <= C~ <= C; p = 1 - C~/lambda while lambda > C~.

    The virtual queue is assumed full whenever its link is too slow: the limit of Kunniyur and Srikant's model
    for an immediate fill. If signals are drops, lambda in the drift is the accepted rate.
    """

    states: tuple[str, ...] = ("capacity",)

    def start(self) -> list[float]:
        """Return the initial virtual capacity as a fraction of C."""
        return [self.values["start"]]

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the fraction of the arrivals above the virtual capacity."""
        p: Floats = np.maximum(0.0, 1 - z[0] * self.values["rate"] / np.maximum(arrivals, 1e-12))
        return p

    def drift(self, z: State, now: Now) -> State:
        """Return the drift of C~ / C."""
        counted = now.admitted if self.place.drops else now.arrivals
        return [self.values["alpha"] * (self.values["gamma"] - counted / self.values["rate"])]

    def clip(self, z: State) -> State:
        """Keep C~ in [0, C]."""
        return [np.clip(z[0], 0.0, 1.0)]


class Blue(Law):
    """BLUE's mean drift: d1 / freeze_time up while the buffer overflows (or q > l), d2 / freeze_time down
    while the link is idle.
    """

    states: tuple[str, ...] = ("p",)

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return p_m."""
        return z[0]

    def drift(self, z: State, now: Now) -> State:
        """Return the drift of p_m."""
        v = self.values
        up = now.overflow if v["l"] is None else now.overflow | (now.q > v["l"])
        return [(v["d1"] * up - v["d2"] * now.idle) / v["freeze_time"]]

    def clip(self, z: State) -> State:
        """Keep p_m in [0, 1]."""
        return [np.clip(z[0], 0.0, 1.0)]


class Ldc(Law):
    """LDC: p = w_d min(1, (x/Q)^n) + w_l min(1, (lambda/(C r))^n), Q = d_target C; averages as RED's."""

    states: tuple[str, ...] = ("q_avg", "r_avg")

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return the weighted parts of delay and load."""
        v = self.values
        delay = np.minimum(1.0, np.maximum(z[0], 0) / (v["d_target"] * v["rate"])) ** v["n"]
        load = np.minimum(1.0, np.maximum(z[1], 0) / v["r_target"]) ** v["n"]
        p: Floats = v["w_d"] * delay + v["w_l"] * load
        return p

    def drift(self, z: State, now: Now) -> State:
        """Move both averages, 1/tau samples per second."""
        v = self.values
        queue, load = (relaxation(v[w], 1 / v["tau"], now.step) for w in ("w_q", "w_r"))
        return [queue * (now.q - z[0]), load * (now.arrivals / v["rate"] - z[1])]


class Raqm(Law):
    """RAQM: p = p_k q/q_0; every T, p_k is multiplied by the factor of Eq. 3."""

    states: tuple[str, ...] = ("p_k", "r", "counted", "arrived", "passed", "periods")

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        super().__init__(values, place)
        self.period = values["period"]

    def start(self) -> list[float]:
        """Return p_0 and empty counters."""
        return [self.values["p_0"], 0.0, 0.0, 0.0, 0.0, 0.0]

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        """Return Eq. 14, or p_k alone."""
        if self.values["mode"] == "independent":
            return z[0]
        p: Floats = np.minimum(1.0, z[0] * q / self.values["q_0"])
        return p

    def rest(self, p: Floats) -> tuple[Floats, State]:
        """Return q_0 p and p_k = 1: the equilibrium if dropped bytes count as arrivals."""
        if self.values["count"] != "arrived" or self.values["loss_corrected"] or not self.place.drops:
            raise NoRest
        if self.values["mode"] == "independent" or self.values["gamma"] < 1:
            raise NoRest
        zero = 0 * p
        return self.values["q_0"] * p, [zero + 1, zero, zero, zero, zero, zero]

    def drift(self, z: State, now: Now) -> State:
        """Count packets."""
        kinds = {"arrived": now.arrivals, "admitted": now.admitted, "accepted": now.accepted}
        still = np.zeros_like(z[0])
        return [still, still, kinds[self.values["count"]], now.arrivals, now.accepted, still]

    def tick(self, z: State) -> State:
        """Measure the rate (Eq. 2) and update p_k (Eq. 3)."""
        v, (p_k, r, counted, arrived, passed, periods) = self.values, z
        r = (1 - v["f_prime"]) * counted / v["period"] + v["f_prime"] * r
        kept = np.where(arrived > 0, passed / np.maximum(arrived, 1e-12), 1.0) if v["loss_corrected"] else 1.0
        x = r * kept / (v["gamma"] * v["rate"])
        fixed = np.where(periods == 0, v["m_0"], v["m"]) * (x - 1)
        factor = np.exp(np.minimum(fixed, 700.0))
        if v["alpha"] == "adaptive":
            inside = np.clip(x, v["x_min"], v["x_max"])
            factor = np.where(periods == 0, factor, (inside / (2 - inside)) ** (2 * v["eps"]))
        zero = np.zeros_like(p_k)
        return [np.clip(p_k * factor, v["p_min"], 1.0), r, zero, zero, zero, periods + 1]
