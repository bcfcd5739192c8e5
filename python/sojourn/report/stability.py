"""The linear loop of TCP and each algorithm under the load of section 8.2, and over a range of loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn.errors import SojournError
from sojourn.worlds.fluid.linear import Loop, loop, margins

#: The link of the scenarios: packets/s, bytes of a packet, buffer in packets, round-trip time in s.
RATE, PACKET, BUFFER, RTT = 10e6 / 8 / 1500, 1500.0, 83.0, 0.1
#: Flows of mild, medium and heavy congestion (sections 8.2.2 to 8.2.4).
LOADS = {"mild": 6, "medium": 13, "heavy": 19}
#: Points of a map along each axis, and its ends: flows, and round-trip time in s.
POINTS, FLOWS, RTTS = 50, (2.0, 200.0), (0.02, 0.6)


@dataclass(frozen=True)
class Point:
    """The loop of an algorithm at one load.

    Attributes
    ----------
    spec, load : str
        The algorithm and the name of the load.
    stable : bool or None
        By Nyquist's criterion; None without an operating point.
    phase, gain, queue : float or None
        Phase margin in degrees, gain margin, packets in the queue at rest.
    reason : str
        Why there is nothing of this; empty if there is.
    """

    spec: str
    load: str
    stable: bool | None = None
    phase: float | None = None
    gain: float | None = None
    queue: float | None = None
    reason: str = ""


def points(specs: Sequence[str]) -> list[Point]:
    """Return the loops of the algorithms at each load; without a linear model the reason.

    Examples
    --------
    >>> [one.stable for one in points(["pi q_ref 20p"])]
    [True, True, True]
    >>> bool(points(["sfb"])[0].reason)
    True
    """
    found = []
    for spec in specs:
        try:
            at = _loop(spec, list(LOADS.values()), [RTT] * len(LOADS))
        except SojournError as error:
            found += [Point(spec, load, reason=str(error)) for load in LOADS]
            continue
        near = margins(at)
        for i, load in enumerate(LOADS):
            if not np.isfinite(at.q[i]):
                found.append(Point(spec, load, reason="no operating point below the buffer"))
                continue
            phase, gain, queue = (_finite(one[i]) for one in (near.phase, near.gain, at.q))
            found.append(Point(spec, load, bool(near.stable[i]), phase, gain, queue))
    return found


@dataclass(frozen=True)
class Map:
    """Phase margins over flows (axis 0) and round-trip times in ms (axis 1); arrays have shape (R, F)."""

    flows: NDArray[np.float64]
    rtts_ms: NDArray[np.float64]
    phase: NDArray[np.float64]
    stable: NDArray[np.bool_]


def stability_map(spec: str) -> Map | None:
    """Return the map of an algorithm; None if it has no linear model."""
    across, up = np.geomspace(*FLOWS, POINTS), np.geomspace(*RTTS, POINTS)
    flows, rtts = np.meshgrid(across, up)
    try:
        near = margins(_loop(spec, flows, rtts))
    except SojournError:
        return None
    shape = (POINTS, POINTS)
    return Map(across, 1e3 * up, near.phase.reshape(shape), near.stable.reshape(shape))


def _loop(spec: str, flows: object, rtts: object) -> Loop:
    return loop(spec, np.asarray(flows, dtype=float), RATE, np.asarray(rtts, dtype=float), BUFFER, PACKET)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
