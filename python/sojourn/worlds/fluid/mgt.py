"""The delay-differential model of Misra, Gong and Towsley: windows of TCP classes, one queue, one algorithm.

    dW_i/dt = g_i/R_i - (W_i/2) x_i(t - R_i) s(t - R_i)         window of a flow of class i (packets)
    dq/dt   = A - C, and 0 <= q <= B                              queue (packets)
    x_i = W_i/R_i,  R_i = D_i + q/C,  lambda = sum_i N_i x_i + U,  s = 1 - (1 - p)(1 - o)

N_i flows have the base round-trip time D_i; U is the unresponsive arrival rate (not ECN-capable, so dropped);
p is the probability of a signal of the algorithm, o that of an overflow, s that of either; A is the accepted
rate: (1 - p)(1 - o) lambda if signals are drops, (1 - o) lambda if they are marks. Printed without o and with
lambda in place of A (SIGCOMM 2000); both matter once p is a tenth. A window is at least one packet and at
most the receiver's. The model has no time-outs and no slow start.

The integrator is Heun's method (order 2) on a uniform grid; the past is interpolated linearly between grid
points, which keeps order 2 (method of steps: no delay is shorter than a step). `solve` halves the step until
mean and deviation of the queue agree to a tolerance, and reports the remaining difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.worlds.fluid.marking import Floats, Law, Now, State

#: Steps per shortest base round-trip time in the first attempt, and maximum number of halvings.
STEPS, HALVINGS = 4, 4
#: Accepted change of mean and deviation of the queue on halving the step, as a share (of at least a packet).
TOLERANCE = 0.02


@dataclass(frozen=True)
class Flows:
    """Classes of long TCP flows; each field broadcasts to shape (n classes, P systems).

    Attributes
    ----------
    count, delay : array_like
        Flows N of a class, and their round-trip time D without queueing (s).
    start, stop : array_like
        Times at which they start and stop (s).
    growth : array_like
        Packets by which a window grows each round trip: 1, or 1/2 with delayed acknowledgements.
    largest : array_like
        The receiver's window (packets).
    size : array_like
        Their packet size on the wire, as a multiple of the mean packet.
    """

    count: ArrayLike
    delay: ArrayLike
    start: ArrayLike = 0.0
    stop: ArrayLike = math.inf
    growth: ArrayLike = 1.0
    largest: ArrayLike = math.inf
    size: ArrayLike = 1.0


@dataclass(frozen=True)
class Stream:
    """Unresponsive traffic: packets/s from `start` to `stop` (s)."""

    rate: float
    start: float = 0.0
    stop: float = math.inf


@dataclass(frozen=True)
class Link:
    """The bottleneck: C in packets/s, B in packets (each one number, or one a system)."""

    rate: ArrayLike
    limit: ArrayLike
    drops: bool = True
    background: Sequence[Stream] = ()


@dataclass(frozen=True)
class Solution:
    """The solution for P systems at K grid points.

    Attributes
    ----------
    time : ndarray, shape (K,)
        Seconds.
    queue, arrivals, signal, overflow : ndarray, shape (K, P)
        q (packets), lambda (packets/s), p and o.
    window : ndarray, shape (K, P)
        Mean window of all flows that send (packets).
    states : dict of ndarray, shape (K, P)
        The algorithm's state by name.
    sent, delivered : ndarray, shape (n, P)
        Packets of each class over [since, end]: sent and delivered.
    since, step : float
        Start of the statistics, and the step (s).
    error : float or None
        Largest change of mean or deviation of the queue when the step was halved last, as a share.
    """

    time: Floats
    queue: Floats
    arrivals: Floats
    signal: Floats
    overflow: Floats
    window: Floats
    states: dict[str, Floats]
    sent: Floats
    delivered: Floats
    since: float
    step: float
    error: float | None = None
    halvings: int = field(default=0)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Mask of the grid points in [since, end]."""
        return self.time >= self.since - 1e-9

    def system(self, k: int) -> Solution:
        """Return the solution of one system."""
        across = ("queue", "arrivals", "signal", "overflow", "window", "sent", "delivered")
        parts = {name: getattr(self, name)[:, k : k + 1] for name in across}
        states = {name: values[:, k : k + 1] for name, values in self.states.items()}
        return replace(self, states=states, **parts)

    @property
    def mean(self) -> Floats:
        """Mean queue over [since, end], shape (P,)."""
        mean: Floats = self.queue[self.measured].mean(axis=0)
        return mean

    @property
    def deviation(self) -> Floats:
        """Standard deviation of the queue over [since, end], shape (P,)."""
        std: Floats = self.queue[self.measured].std(axis=0)
        return std


def solve(
    flows: Flows,
    link: Link,
    law: Law,
    duration: float,
    since: float = 0.0,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    halvings: int = HALVINGS,
) -> Solution:
    """Integrate with successively smaller steps until the queue's statistics converge.

    Parameters
    ----------
    flows, link, law : Flows, Link, Law
        The population, the bottleneck and its algorithm.
    duration, since : float
        End, and start of the statistics (s).
    tolerance : float
        Accepted change of mean and deviation of the queue on halving the step.
    steps, halvings : int
        Steps per shortest round-trip time at first, and how often they may be halved.

    Returns
    -------
    Solution
        The finest one; its ``error`` is above `tolerance` if that was not reached.
    """
    first = float(np.min(flows.delay)) / steps
    coarse = integrate(flows, link, law, duration, first, since)
    for k in range(1, halvings + 1):
        fine = integrate(flows, link, law, duration, first / 2**k, since)
        scale = np.maximum(fine.mean, 1.0)
        change = np.maximum(abs(fine.mean - coarse.mean), abs(fine.deviation - coarse.deviation)) / scale
        coarse = replace(fine, error=float(change.max()), halvings=k)
        if coarse.error is not None and coarse.error <= tolerance:
            break
    return coarse


def integrate(
    flows: Flows, link: Link, law: Law, duration: float, step: float, since: float = 0.0
) -> Solution:
    """Integrate once; the step is at most `step`, divides the law's period, and every delay holds two."""
    system = _System(flows, link, law, _step(flows, law, step))
    return system.run(duration, since)


def _step(flows: Flows, law: Law, step: float) -> float:
    step = min(step, float(np.min(flows.delay)) / 2)
    if law.period is None:
        return step
    return law.period / math.ceil(law.period / step - 1e-9)


class _System:
    """The right-hand side, and the history that it needs."""

    def __init__(self, flows: Flows, link: Link, law: Law, step: float) -> None:
        fields = [np.asarray(getattr(flows, name), dtype=np.float64) for name in Flows.__dataclass_fields__]
        rate, limit = (np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (link.rate, link.limit))
        systems = np.broadcast_shapes(rate.shape, limit.shape)
        shape = np.broadcast_shapes(
            (1, *systems), *(one.shape if one.ndim > 1 else (*one.shape, 1) for one in fields)
        )
        full = [np.broadcast_to(one if one.ndim > 1 else one[..., None], shape) for one in fields]
        self.count, self.delay, self.start, self.stop, self.growth, self.largest, self.size = full
        self.shape, self.systems = shape, shape[1]
        self.rate, self.limit = (np.broadcast_to(one, shape[1:]).astype(float) for one in (rate, limit))
        self.link, self.law, self.step = link, law, step
        longest = float((self.delay + self.limit / self.rate).max())
        self.slots = math.ceil(longest / step) + 3
        self.past = np.zeros((self.slots, *shape))
        self.at: tuple[NDArray[np.int64], ...] = tuple(np.indices(shape, sparse=True))
        events = {float(x) for one in (self.start, self.stop) for x in np.unique(one)}
        events |= {x for one in link.background for x in (one.start, one.stop)}
        self.events = sorted(x for x in events if math.isfinite(x))
        self.populate(0.0)

    def populate(self, time: float) -> float:
        """Set the active classes at `time`; return the time of the next change."""
        on = (self.start <= time + 1e-12) & (time + 1e-12 < self.stop)
        self.active = np.where(on, self.count, 0.0)
        self.weighted = self.active * self.size
        self.total = np.maximum(self.active.sum(axis=0), 1e-12)
        self.on = on.astype(float)
        self.extra = sum(one.rate for one in self.link.background if one.start <= time + 1e-12 < one.stop)
        return next((x for x in self.events if x > time + 1e-12), math.inf)

    def slopes(self, k: float, w: Floats, q: Floats, z: State, node: bool) -> tuple[Floats, Floats, State]:
        """Return the derivatives of windows, queue and state at grid position `k`; store those of a node."""
        rtt = self.delay + q / self.rate
        sending = w / rtt
        arrivals = (self.weighted * sending).sum(axis=0) + self.extra
        p = self.law.probability(z, q, arrivals)
        admitted = arrivals - p * (arrivals if self.link.drops else self.extra)
        over = (q >= self.limit) & (admitted > self.rate)
        o = np.where(over, 1 - self.rate / np.maximum(admitted, 1e-12), 0.0)
        accepted = admitted * (1 - o)
        idle = (q <= 0) & (accepted < self.rate)
        dq = np.where(idle, 0.0, accepted - self.rate)
        if node:
            through = (1 - p) * (1 - o)
            self.past[round(k) % self.slots] = sending * (1 - through)
            got = through if self.link.drops else 1 - o
            self.seen = (arrivals, p, o, sending, got)
        before = k - rtt / self.step
        low = np.floor(before).astype(np.int64)
        part = before - low
        older = self.past[(low % self.slots, *self.at)]
        newer = self.past[((low + 1) % self.slots, *self.at)]
        # No packet was sent before time 0: a discontinuity. At the end of a step use its left limit, else its
        # right limit.
        cuts = np.where(before < (0 if node else 1e-9), 0.0, older + part * (newer - older))
        dw = self.on * (self.growth / rtt - 0.5 * w * cuts)
        now = Now(q, dq, arrivals, admitted, accepted, idle, over, self.step)
        return dw, dq, self.law.drift(z, now)

    def run(self, duration: float, since: float) -> Solution:
        """Integrate to `duration`."""
        h, law = self.step, self.law
        steps = round(duration / h)
        every = round(law.period / h) if law.period is not None else 0
        w, q = np.ones(self.shape), np.zeros(self.systems)
        z = [np.full(self.systems, value) for value in law.start()]
        kept = np.zeros((5, steps + 1, self.systems))
        states = np.zeros((len(z), steps + 1, self.systems))
        sent, delivered = np.zeros(self.shape), np.zeros(self.shape)
        change = self.populate(0.0)
        for k in range(steps + 1):
            if k * h >= change - 1e-12:
                change = self.populate(k * h)
            if every and k and k % every == 0:
                z = law.tick(z)
            dw, dq, dz = self.slopes(k, w, q, z, node=True)
            arrivals, p, o, sending, got = self.seen
            mean = (self.active * w).sum(axis=0) / self.total
            kept[:, k] = q, arrivals, p, o, mean
            for row, value in zip(states, z, strict=True):
                row[k] = value
            if k * h >= since - 1e-9:
                packets = self.active * sending * h
                sent += packets
                delivered += packets * got
            w1, q1, z1 = self.bound(w + h * dw, q + h * dq, [a + h * b for a, b in zip(z, dz, strict=True)])
            dw1, dq1, dz1 = self.slopes(k + 1, w1, q1, z1, node=False)
            half = h / 2
            w, q, z = self.bound(
                w + half * (dw + dw1),
                q + half * (dq + dq1),
                [a + half * (b + c) for a, b, c in zip(z, dz, dz1, strict=True)],
            )
        names = dict(zip(law.states, states, strict=True))
        queue, lam, signal, overflow, window = kept
        time = np.arange(steps + 1, dtype=np.float64) * h
        return Solution(time, queue, lam, signal, overflow, window, names, sent, delivered, since, h)

    def bound(self, w: Floats, q: Floats, z: State) -> tuple[Floats, Floats, State]:
        """Clip windows, queue and state to their ranges."""
        w = np.minimum(np.maximum(w, 1.0), self.largest)
        return w, np.minimum(np.maximum(q, 0.0), self.limit), self.law.clip(z)
