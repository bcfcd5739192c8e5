"""The linearised loop of TCP and queue: operating point, loop gain, margins, for many systems at once.

Around W^2 p = 2 and (1 - p) N W/R = C (marks: N W/R = C), with e = exp(-sR) and d = 1 where signals are
drops, else 0:

    A(s) dW = -(1 - e)/(R^2 C) dq - (W^2/2R) e dp,   A(s) = s + (1 + e)/(W R)
    (s + 1/R) dq = ((1 - d p) N/R) dW - d C/(1 - d p) dp
    G(s) = -dq/dp,   L(s) = K(s) G(s) exp(-s T/2)

K is the gain of the law (`sojourn.worlds.fluid.marking`, differentiated at the operating point), T its
sampling period. Hollot et al. 2001 set e = 1 in A and in the queue's feedback, and d = 0: G = (C^2/2N) e /
((s + 2N/(R^2 C)) (s + 1/R)); `hollot=True` does the same. A closed loop is stable if 1 + L(jw) does not
encircle 0 (Nyquist's criterion; L has no unstable poles).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.errors import InputError
from sojourn.worlds.fluid.laws import law
from sojourn.worlds.fluid.marking import Floats, Law, NoRest, Now, Place, State

Complex: TypeAlias = NDArray[np.complex128]

#: Frequencies at which loops are evaluated, in units of 1/R, and number of systems per batch.
FREQUENCIES = np.geomspace(1e-5, 100.0, 1600)
CHUNK = 256


@dataclass(frozen=True)
class Loop:
    """Systems of N equal flows over one queue at their operating points. Every array has shape (P,).

    Attributes
    ----------
    flows, rate, delay : ndarray
        N, C (packets/s), round-trip time without queueing (s).
    q, p, window, rtt : ndarray
        The operating point: queue (packets), probability, W (packets), R (s); NaN where there is none.
    law : Law
        The algorithm.
    state : list of ndarray
        Its state at the operating point.
    """

    flows: Floats
    rate: Floats
    delay: Floats
    law: Law
    q: Floats
    p: Floats
    window: Floats
    rtt: Floats
    state: State

    @property
    def drops(self) -> bool:
        """Whether signals are drops."""
        return self.law.place.drops

    def response(self, omega: Floats, hollot: bool = False) -> Complex:
        """Return L(jw) at `omega` (rad/s), shape (P, K)."""
        s: Complex = 1j * omega.astype(np.complex128)
        n, c, w, r, p = (x[:, None] for x in (self.flows, self.rate, self.window, self.rtt, self.p))
        e = np.exp(-s * r)
        if hollot:
            plant = c**2 / (2 * n) * e / ((s + 2 * n / (r**2 * c)) * (s + 1 / r))
        else:
            d = 1.0 if self.drops else 0.0
            share = (1 - d * p) * n / r
            a = s + (1 + e) / (w * r)
            top = share * w**2 / (2 * r) * e / a + d * c / (1 - d * p)
            plant = top / (s + 1 / r + share * (1 - e) / (r**2 * c * a))
        found: Complex = self.gain(s) * plant * np.exp(-s * self.law.hold / 2)
        return found

    def gain(self, s: Complex) -> Complex:
        """Return K(s) of the law at the operating point."""
        z = self.state
        arrivals = self.rate / (1 - self.p * self.drops)

        def probability(dz: float = 0.0, dq: float = 0.0) -> Floats:
            moved = [z[0] + dz, *z[1:]] if z else z
            return self.law.probability(moved, self.q + dq, arrivals)

        def drift(dz: float = 0.0, dq: float = 0.0, rate: float = 0.0) -> Floats:
            # Without drops the arrivals exceed C by dq/dt, which REM measures.
            seen = arrivals if self.drops else arrivals + rate
            never = np.zeros_like(self.q, dtype=bool)
            now = Now(self.q + dq, 0 * self.q + rate, seen, seen, seen, never, never, 1e-9)
            return self.law.drift([z[0] + dz, *z[1:]], now)[0]

        step = 1e-4
        direct = (probability(dq=step) - probability(dq=-step)) / (2 * step)
        if not z or self.law.period is not None:
            return direct[:, None] + 0 * s
        small = 1e-6 * np.maximum(float(np.nanmax(abs(z[0]))), 1e-6)
        out = (probability(small) - probability(-small)) / (2 * small)
        decay = (drift(small) - drift(-small)) / (2 * small)
        level = (drift(dq=step) - drift(dq=-step)) / (2 * step)
        slope = (drift(rate=step) - drift(rate=-step)) / (2 * step)
        columns = (x[:, None] for x in (out, decay, level, slope, direct))
        out, decay, level, slope, direct = columns
        found: Complex = direct + out * (level + s * slope) / (s - decay)
        return found


@dataclass(frozen=True)
class Margins:
    """Stability margins of loops; every array has shape (P,).

    Attributes
    ----------
    stable : ndarray of bool
        By Nyquist's criterion; False without an operating point.
    gain, phase, delay : ndarray
        Gain margin (factor), phase margin (degrees) and delay margin (s); below 1 or 0 for an unstable loop.
        Infinite where the loop gain never reaches 1.
    crossover : ndarray
        Frequency at which the loop gain falls below 1 (rad/s); NaN if it never reaches 1.
    """

    stable: NDArray[np.bool_]
    gain: Floats
    phase: Floats
    delay: Floats
    crossover: Floats


def loop(
    spec: str,
    flows: ArrayLike,
    rate: ArrayLike,
    delay: ArrayLike,
    limit: float = np.inf,
    packet: float = 500.0,
    drops: bool = True,
) -> Loop:
    """Return systems at their operating points.

    Parameters
    ----------
    spec : str
        The algorithm.
    flows, rate, delay : array_like
        N, C in packets/s, round-trip time without queueing in s; broadcast and flattened.
    limit : float
        Buffer (packets): an operating point must lie below it.
    packet : float
        Bytes of a packet.
    drops : bool
        Whether signals are drops or marks.

    Raises
    ------
    InputError
        If the algorithm has no law, or its law does not determine the operating point.
    """
    n, c, d = (np.array(x, dtype=np.float64).ravel() for x in np.broadcast_arrays(flows, rate, delay))
    rule = law(spec, Place(c, np.full_like(c, limit), drops), packet)
    try:
        rule.rest(np.full_like(c, 0.01))
    except NoRest:
        name = spec.split()[0]
        raise InputError(
            f"aqm {name!r}",
            "has no operating point that p alone determines, so no linear loop",
            "red, gred, pi, pie, pi2; rem that marks or has `form queue`; raqm that counts what it drops",
        ) from None
    low, high = np.zeros_like(c), np.ones_like(c)
    for _ in range(60):
        p = (low + high) / 2
        q, _ = rule.rest(p)
        window = c * (d + np.where(np.isnan(q), np.inf, np.maximum(q, 0)) / c) / n / (1 - p * drops)
        # The queue and with it the window grow with p: the flows' own p = 2/W^2 falls.
        more = p * window**2 < 2
        low, high = np.where(more, p, low), np.where(more, high, p)
    p = (low + high) / 2
    q, _ = rule.rest(p)
    rtt = d + np.maximum(q, 0) / c
    window = c * rtt / n / (1 - p * drops)
    fits = (q >= 0) & (q <= limit) & (abs(p * window**2 / 2 - 1) < 1e-6) & (window >= 1)
    _, z = rule.rest(p)
    q, p, window, rtt, *z = (np.where(fits, x, np.nan) for x in (q, p, window, rtt, *z))
    return Loop(n, c, d, rule, q, p, window, rtt, z)


def margins(found: Loop, hollot: bool = False) -> Margins:
    """Return the margins of every system of a loop."""
    p = len(found.flows)
    at = np.where(np.isnan(found.rtt), 1.0, found.rtt)
    parts = [_margins(found, slice(k, k + CHUNK), at, hollot) for k in range(0, p, CHUNK)]
    stable, gain, phase, delay, crossover = (np.concatenate(column) for column in zip(*parts, strict=True))
    none = np.isnan(found.q)
    gain, phase, delay, crossover = (np.where(none, np.nan, x) for x in (gain, phase, delay, crossover))
    return Margins(stable & ~none, gain, phase, delay, crossover)


def _part(found: Loop, where: slice) -> Loop:
    """Return some of the systems."""
    place = found.law.place
    inside = Place(place.rate[where], place.limit[where], place.drops)
    values = {
        name: value[where] if isinstance(value, np.ndarray) and value.shape == place.rate.shape else value
        for name, value in found.law.values.items()
    }
    n, c, d = (x[where] for x in (found.flows, found.rate, found.delay))
    # Without an operating point the value does not matter: the result is discarded.
    filled = ((found.q, 1.0), (found.p, 0.1), (found.window, 1.0), (found.rtt, 1.0))
    q, p, w, r = (np.where(np.isnan(x[where]), other, x[where]) for x, other in filled)
    z = [np.where(np.isnan(x[where]), 0.1, x[where]) for x in found.state]
    return Loop(n, c, d, type(found.law)(values, inside), q, p, w, r, z)


def _margins(found: Loop, where: slice, at: Floats, hollot: bool) -> tuple[NDArray[np.generic], ...]:
    part = _part(found, where)
    omega = FREQUENCIES / at[where][:, None]
    l = part.response(omega, hollot)  # noqa: E741 - the loop gain has been called L since Bode
    turn = np.unwrap(np.angle(1 + l), axis=1)
    stable = abs(turn[:, -1]) < np.pi / 2
    size: Floats = np.abs(l)
    row = np.arange(len(l))
    above = size >= 1
    last = np.where(above.any(axis=1), size.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1), 0)
    last = np.minimum(last, size.shape[1] - 2)
    # Where |L| = 1 between two frequencies, log-linear.
    a, b = np.log(np.maximum(size[row, last], 1e-300)), np.log(np.maximum(size[row, last + 1], 1e-300))
    share = np.clip(a / np.where(a == b, 1.0, a - b), 0, 1)
    crossover = omega[row, last] * (omega[row, last + 1] / omega[row, last]) ** share
    angles = np.unwrap(np.angle(l), axis=1)
    angles -= 2 * np.pi * np.round(angles[:, :1] / (2 * np.pi))
    angle = angles[row, last] + share * (angles[row, last + 1] - angles[row, last])
    phase = np.degrees(angle + np.pi)
    never = ~above.any(axis=1)
    crossover = np.where(never, np.nan, crossover)
    phase = np.where(never, np.inf, phase)
    delay = np.where(never, np.inf, np.radians(phase) / np.where(never, 1.0, crossover))
    through = (l.imag[:, 1:] * l.imag[:, :-1] <= 0) & (l.real[:, 1:] < 0)
    reach = np.where(through, np.maximum(-l.real[:, 1:], -l.real[:, :-1]), 0.0).max(axis=1)
    gain = np.where(reach > 0, 1 / np.maximum(reach, 1e-300), np.inf)
    return stable, gain, phase, delay, crossover
