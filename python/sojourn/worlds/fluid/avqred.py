"""The fluid model of the AVQRED paper (Byun and Baras 2007, sections 6 and 7), as printed and corrected.

Printed (packets, seconds; m flows, round-trip time R, service rate u, weight a, target utilisation tau):

    dx/dt      = ln(1-a)/delta x - ln(1-a)/delta q           average queue, delta = 1/lambda
    dq/dt      = lambda (1-p) - u q/(1+q)                     queue, M/M/1
    dlambda/dt = (1-p) m/R^2 - p lambda^2/(2m)                arrivals of all flows
    ds/dt      = -tau u + lambda (1-p)                        AVQRED's virtual queue
    dl/dt      = u q/(1+q) - l(t-1)                           utilisation
    p(v)       = 0 | (v-min_th)/(max_th-min_th) max_p | 1     v = x (RED, ARED) or s (AVQRED)

Four of them need an interpretation. a = 1, the paper's own setting, makes ln(1-a) infinite: then x = q. The
print does not bound s below, although a queue cannot be negative. tau is listed "in %" but acts as a
fraction. dl/dt mixes units; read as the step l(t) - l(t-1) = u q/(1+q) - l(t-1) it gives l = u q/(1+q).
`System` has each as an option. The replacement of flows adds churn (m/R - lambda): new flows send one packet
per round trip.

Heun's method (order 2) with a step of 1 ms; u is constant between two draws, which coincide with ends of
steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.worlds.fluid.marking import Floats

#: Round-trip time (s), bits of a packet; population: initial, added per interval (s), maximum.
R, BITS = 0.2, 8 * 1400
FIRST, ADDED, EVERY, MOST = 200, 200, 5.0, 4000
#: ARED's rule: interval (s), target and its tolerance as fractions of [min_th, max_th], steps, and number of
#: intervals before a decrease.
INTERVAL, ALPHA, BETA, PATIENCE = 0.5, 0.01, 0.9, 10
TARGET, BAND = 22.0, 0.1
STEP = 1e-3


@dataclass(frozen=True)
class System:
    """One algorithm under one reading of the equations.

    Attributes
    ----------
    algorithm : str
        ``RED``, ``ARED`` or ``AVQRED``.
    min_th, max_th : float
        Thresholds of queue or virtual queue (packets).
    max_p : float
        RED's max_p; the initial value of ARED's.
    top : float
        Upper bound of ARED's max_p.
    w_q : float
        Weight a of the average; 1 means that x is q.
    tau : float
        Target utilisation.
    reflect : bool
        Whether s is kept from falling below 0.
    rate : float
        Largest service rate (bit/s).
    least : float
        u is uniform in [least, 1] times the rate; 1 keeps it constant.
    redraw : float
        Time between two draws of u (s).
    churn : float
        Share of the population that is replaced each second.
    """

    algorithm: str
    min_th: float
    max_th: float
    max_p: float = 1.0
    top: float = 1.0
    w_q: float = 1.0
    tau: float = 0.95
    reflect: bool = True
    rate: float = 25e6
    least: float = 0.8
    redraw: float = 0.1
    churn: float = 0.05


#: The three that section 7 compares: RED 2, ARED 1 and AVQRED 3 of Table 1.
RED2 = System("RED", 15, 30, 1.0)
ARED1 = System("ARED", 15, 30, 0.7)
AVQRED3 = System("AVQRED", 10, 21, 1.0)


@dataclass(frozen=True)
class Trajectories:
    """The solution for M systems and S seeds.

    Attributes
    ----------
    time : ndarray, shape (K,)
        Samples (s).
    queue, virtual, arrivals, utilisation, printed : ndarray, shape (K, M, S)
        q and s (packets), lambda (packets/s), l and the printed l (packets/s).
    mean, deviation : dict of ndarray, shape (M, S)
        Over [since, end], of the same.
    signal : ndarray, shape (M, S)
        p at the end.
    """

    time: Floats
    queue: Floats
    virtual: Floats
    arrivals: Floats
    utilisation: Floats
    printed: Floats
    mean: dict[str, Floats]
    deviation: dict[str, Floats]
    signal: Floats


NAMES = ("queue", "virtual", "arrivals", "utilisation", "printed")


def population(time: float) -> float:
    """Return the connections at a time: 200 at first, 200 more every 5 s, up to 4000."""
    return float(min(MOST, FIRST + ADDED * math.floor(time / EVERY + 1e-9)))


def integrate(
    systems: Sequence[System],
    seeds: Sequence[int],
    duration: float = 300.0,
    since: float = 150.0,
    step: float = STEP,
    ramp: bool = True,
    sample: float = 0.1,
) -> Trajectories:
    """Integrate all systems under all seeds at once; all systems of a seed have the same u.

    Parameters
    ----------
    systems : sequence of System, length M
        The systems to compare.
    seeds : sequence of int, length S
        Seeds of u.
    duration, since : float
        End, and start of the statistics (s).
    step : float
        Of the integration (s).
    ramp : bool
        Whether the population grows; else it is 4000 throughout.
    sample : float
        Interval of the samples (s).
    """
    run = _Run(systems, seeds, step)
    steps, every = round(duration / step), round(sample / step)
    kept: list[tuple[Floats, ...]] = []
    sums, squares, count = np.zeros((2, len(NAMES), *run.shape)), None, 0
    sums, squares = sums[0], sums[1]
    for k in range(steps):
        run.advance(k, population(k * step) if ramp else float(MOST))
        if (k + 1) % every == 0:
            kept.append(run.seen())
        if (k + 1) * step > since:
            for i, value in enumerate(run.seen()):
                sums[i] += value
                squares[i] += value * value
            count += 1
    time: Floats = np.arange(1, len(kept) + 1, dtype=np.float64) * sample
    series = {name: np.array([one[i] for one in kept]) for i, name in enumerate(NAMES)}
    mean = sums / max(count, 1)
    spread = np.sqrt(np.maximum(squares / max(count, 1) - mean**2, 0))
    return Trajectories(
        time=time,
        mean=dict(zip(NAMES, mean, strict=True)),
        deviation=dict(zip(NAMES, spread, strict=True)),
        signal=run.probability(run.q, run.s, run.x),
        **series,
    )


class _Run:
    """The state of all systems (shape (M, S)) and its derivatives."""

    def __init__(self, systems: Sequence[System], seeds: Sequence[int], step: float) -> None:
        self.shape, self.step, self.seeds = (len(systems), len(seeds)), step, list(seeds)
        self.systems = systems

        def column(values: Sequence[float]) -> Floats:
            return np.repeat(np.array(values, dtype=np.float64)[:, None], len(seeds), axis=1)

        self.low, self.high = (column([getattr(one, n) for one in systems]) for n in ("min_th", "max_th"))
        self.max_p, self.top = (column([getattr(one, n) for one in systems]) for n in ("max_p", "top"))
        self.tau, self.churn = (column([getattr(one, n) for one in systems]) for n in ("tau", "churn"))
        self.adapts = column([one.algorithm == "ARED" for one in systems]) > 0
        self.is_virtual = column([one.algorithm == "AVQRED" for one in systems]) > 0
        self.floor = column([0.0 if one.reflect else -math.inf for one in systems])
        self.memory = column([math.inf if one.w_q >= 1 else -math.log1p(-one.w_q) for one in systems])
        self.averages = np.isfinite(self.memory) & ~self.is_virtual
        self.decay = np.where(self.averages, self.memory, 0.0)
        self.slope = self.max_p / (self.high - self.low)
        self.q, self.s, self.x, self.u, self.l, self.printed = (np.zeros(self.shape) for _ in range(6))
        self.arrivals = np.full(self.shape, population(0.0) / R)
        self.past = np.zeros((round(1 / step) + 1, *self.shape))
        self.below = np.zeros(self.shape)
        self.draws = {one.redraw: [np.random.default_rng([seed, round(1e9 * one.redraw)]) for seed in seeds]
                      for one in systems}  # fmt: skip

    def seen(self) -> tuple[Floats, ...]:
        """Return the recorded quantities, in the order of `NAMES`."""
        return self.q, self.s, self.arrivals, self.l, self.printed

    def probability(self, q: Floats, s: Floats, x: Floats) -> Floats:
        """Return p(v)."""
        v = np.where(self.is_virtual, s, np.where(self.averages, x, q))
        p: Floats = np.where(v > self.high, 1.0, np.maximum((v - self.low) * self.slope, 0.0))
        return p

    def slopes(self, q: Floats, lam: Floats, s: Floats, x: Floats, m: float) -> tuple[Floats, ...]:
        """Return the derivatives of q, lambda, s and x, and the utilisation."""
        p = self.probability(q, s, x)
        passed = lam * (1 - p)
        out = self.u * q / (1 + q)
        arrivals = (1 - p) * (m / R**2) - p * lam * lam / (2 * m) + self.churn * (m / R - lam)
        return passed - out, arrivals, passed - self.tau * self.u, self.decay * lam * (q - x), out

    def advance(self, k: int, m: float) -> None:
        """Advance by one step from time k * step."""
        h = self.step
        self._draw(k)
        if k and k % round(INTERVAL / h) == 0:
            self._adapt()
        q, lam, s, x = self.q, self.arrivals, self.s, self.x
        dq, dl, ds, dx, out = self.slopes(q, lam, s, x, m)
        q1 = np.maximum(q + h * dq, 0.0)
        l1, s1, x1 = lam + h * dl, np.maximum(s + h * ds, self.floor), x + h * dx
        dq1, dl1, ds1, dx1, out1 = self.slopes(q1, l1, s1, x1, m)
        half = h / 2
        self.q = np.maximum(q + half * (dq + dq1), 0.0)
        self.arrivals = lam + half * (dl + dl1)
        self.s = np.maximum(s + half * (ds + ds1), self.floor)
        self.x = x + half * (dx + dx1)
        self.l = self.u * self.q / (1 + self.q)
        # The printed l, with its delay of one second; nothing before time 0.
        slots = len(self.past)
        old, newer = self.past[(k + 1) % slots], self.past[(k + 2) % slots]
        self.printed = self.printed + half * (out + out1 - old - newer)
        self.past[(k + 1) % slots] = self.printed

    def _draw(self, k: int) -> None:
        """Draw u at the end of its interval."""
        for i, one in enumerate(self.systems):
            every = max(1, round(one.redraw / self.step))
            if k % every == 0 and all(other.redraw != one.redraw for other in self.systems[:i]):
                drawn = np.array([rng.uniform() for rng in self.draws[one.redraw]])
                for j, other in enumerate(self.systems):
                    if other.redraw == one.redraw:
                        self.u[j] = other.rate / BITS * (other.least + (1 - other.least) * drawn)

    def _adapt(self) -> None:
        """Adapt ARED's max_p: increase it immediately, decrease it after `PATIENCE` short queues in a row."""
        band = BAND * (self.high - self.low)
        v = np.where(self.averages, self.x, self.q)
        high, low = self.adapts & (v > TARGET + band), self.adapts & (v < TARGET - band)
        self.below = np.where(low, self.below + 1, 0.0)
        fall = self.below >= PATIENCE
        raised = np.minimum(np.maximum(self.top, self.max_p), self.max_p + np.minimum(ALPHA, self.max_p / 4))
        self.max_p = np.where(high, raised, np.where(fall, BETA * self.max_p, self.max_p))
        self.below[fall] = 0.0
        self.slope = self.max_p / (self.high - self.low)
