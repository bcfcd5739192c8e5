"""The check of every claim about FTP traffic: sections 4 and 6. The claims are in ``data/claims.csv``.

Margins are those of the column ``check``; none was chosen after seeing a result.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sojourn.papers.checks import Below, Check, Within
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.taildrop2001.experiments import (
    BUFFER,
    BUFFERS,
    FLOWS,
    FTP,
    MECHANISMS,
    RED,
    SESSIONS,
    printed,
)
from sojourn.papers.taildrop2001.measures import over
from sojourn.papers.taildrop2001.quantities import (
    DELAY,
    DEVIATION,
    GOODPUT,
    IDLE,
    LOSS,
    QUEUE,
    RUN,
    across,
    alike,
    close,
    joined,
    less,
    of,
    span,
    trends,
)
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import Trend

INFINITE = float("inf")
LIGHT, HEAVY = FLOWS[0], FLOWS[-1]


def checks() -> dict[str, Check]:
    """Return the checks by claim id."""
    return _goodput() | _loss() | _delay() | _variation() | _consecutive() | _both()


def _goodput() -> dict[str, Check]:
    std = ("REDstd", "GREDstd")
    return {
        "TD-01": joined(alike(GOODPUT, FLOWS, 0.03)),
        "TD-02": joined([Within(of(GOODPUT, a, n), 8.0, 8.8) for n in FLOWS for a in MECHANISMS]),
        "TD-03": joined(
            [less(GOODPUT, a, "TD", LIGHT) for a in std],
            [
                Within(of(GOODPUT, a, LIGHT), 0.95, INFINITE, b=of(GOODPUT, "TD", LIGHT), ratio=True)
                for a in std
            ],
        ),
        "TD-04": WithSecondary(_near_min_th("REDstd"), also=_near_min_th("GREDstd")),
        "TD-05": joined([less(IDLE, a, "REDstd", LIGHT) for a in ("TD", "REDopt")]),
        "TD-06": joined(
            [
                Within(of(GOODPUT, "TD", LIGHT), 0.98, INFINITE, b=of(GOODPUT, a, LIGHT), ratio=True)
                for a in RED
            ]
        ),
        "TD-18": joined([_resized(n) for n in FLOWS]),
        "TD-26": WithRemark(
            joined(_agrees(GOODPUT, 0.1), _agrees(DELAY, 0.1), _agrees(LOSS, 0.2)),
            "The testbed is its simulated twin here: both sides are simulated, with other packets and TCPs",
        ),
        "TD-27": Within(of("pipe_packets", "REDopt", 64), 240, 360),
    }


def _near_min_th(mechanism: str) -> Check:
    one = printed()[mechanism, LIGHT]
    return Within(of(QUEUE, mechanism, LIGHT), -INFINITE, one.min_th + 0.3 * one.width)


def _agrees(metric: str, margin: float) -> list[Check]:
    """Return the checks that two simulations agree: with ns-2's TCP, and with that of the testbed's hosts."""
    return [
        Within(of(metric, a, n, FTP), 1 - margin, 1 + margin, b=of(metric, a, n), ratio=True)
        for n in FLOWS
        for a in MECHANISMS
    ]


def _resized(load: int) -> Check:
    """Return the check of the goodput of tail drop where its mean delay is that of REDopt."""
    arms = [f"TD {load} B={size}" for size in BUFFERS]
    own = [Quantity(metric, arm, BUFFER) for metric in (DELAY, GOODPUT) for arm in arms]
    term = Derived(
        "TCP goodput at the delay of REDopt",
        (of(DELAY, "REDopt", load, FTP), *own),
        at_delay,
        "Mbit/s",
        f"TD {load}",
        "REDopt's delay lies outside that of all buffers",
    )
    return Within(term, 0.98, 1.02, b=of(GOODPUT, "REDopt", load, FTP), ratio=True)


def at_delay(wanted: float, *both: float) -> float | None:
    """Return the goodput interpolated at a delay, from delays and then goodputs of all buffers; None outside.

    Examples
    --------
    >>> at_delay(0.15, 0.1, 0.2, 8.0, 8.2)
    8.1
    >>> at_delay(0.3, 0.1, 0.2, 8.0, 8.2) is None
    True
    """
    half = len(both) // 2
    points = sorted(zip(both[:half], both[half:], strict=True))
    delays = [delay for delay, _ in points]
    if not delays[0] <= wanted <= delays[-1]:
        return None
    return float(np.interp(wanted, delays, [goodput for _, goodput in points]))


def _loss() -> dict[str, Check]:
    def steep(who: str, low: int, high: int) -> Derived:
        return across(
            f"UDP loss per flow, {low} to {high}", LOSS, who, (low, high), lambda a, b: (b - a) / (high - low)
        )

    return {
        "TD-07": joined(
            [
                Within(of(LOSS, a, LIGHT), 1.5, 3, b=of(LOSS, "REDopt", LIGHT), ratio=True)
                for a in ("REDstd", "GREDstd")
            ]
        ),
        "TD-08": joined(
            less(LOSS, "REDopt", "TD", LIGHT, strict=False), less(LOSS, "TD", "REDstd", LIGHT, strict=False)
        ),
        "TD-09": joined(alike(LOSS, (HEAVY,), 0.20)),
        "TD-10": trends(LOSS, FLOWS),
        "TD-32": joined([Below(steep(a, 128, 256), steep(a, 16, 32)) for a in MECHANISMS]),
    }


def _delay() -> dict[str, Check]:
    table = printed()

    def relative(mechanism: str, load: int) -> Derived:
        one = table[mechanism, load]
        return across(
            f"(mean queue - min_th) / (max_th - min_th) at {load} flows",
            QUEUE,
            mechanism,
            (load,),
            lambda queue: (queue - one.min_th) / one.width,
        )

    def filled(load: int) -> Derived:
        size = table["TD", load].buffer
        return across(f"mean queue / buffer at {load} flows", QUEUE, "TD", (load,), lambda q: q / size)

    def drifts(mechanism: str) -> Check:
        return joined(
            Trend(f"mean queue of {mechanism}", tuple(relative(mechanism, n) for n in FLOWS)),
            Within(relative(mechanism, LIGHT), -INFINITE, 0.3),
            Within(relative(mechanism, HEAVY), 0.7, INFINITE),
        )

    return {
        "TD-11": trends(DELAY, FLOWS),
        "TD-12": joined([less(DELAY, a, "TD", n) for n in FLOWS for a in RED]),
        "TD-13": joined(
            Within(filled(HEAVY), 0.85, INFINITE),
            Trend("mean queue / buffer of TD", tuple(filled(n) for n in FLOWS)),
        ),
        "TD-14": joined([Within(of(QUEUE, a, n), -INFINITE, table[a, n].max_th) for n in FLOWS for a in RED]),
        "TD-15": steadier(FLOWS),
        "TD-16": joined(
            [
                Within(of(QUEUE, "REDopt", n), one.middle - one.width / 4, one.middle + one.width / 4)
                for n in FLOWS
                for one in [table["REDopt", n]]
            ]
        ),
        "TD-17": WithSecondary(drifts("REDstd"), also=drifts("GREDstd")),
        "TD-51": Below(of(DELAY, "GREDstd", LIGHT), of(DELAY, "GREDstd", HEAVY), log=True, factor=1 / 1.3),
    }


def steadier(loads: tuple[int, ...]) -> All:
    """Return the check that REDopt's delay varies less than half as much with the load."""
    opt = span(DELAY, "REDopt", loads)
    return joined([Below(opt, span(DELAY, a, loads), factor=0.5) for a in ("REDstd", "GREDstd")])


def _variation() -> dict[str, Check]:
    return {
        "TD-19": joined([less(DEVIATION, a, "TD", LIGHT) for a in RED]),
        "TD-20": joined(
            trends(DEVIATION, FLOWS, ("TD",), rises=False),
            Below(of(DEVIATION, "TD", HEAVY), of(DEVIATION, "TD", LIGHT), log=True, factor=0.5),
        ),
        "TD-49": joined([Below(span(DEVIATION, a), span(DEVIATION, "TD")) for a in RED]),
    }


def _consecutive() -> dict[str, Check]:
    few = (16, 32)
    return {
        "TD-21": joined(
            [
                Within(of(RUN, a, n), 1 / 1.15, 1.15, b=of(RUN, b, n), ratio=True)
                for n in few
                for a, b in combinations(RED, 2)
            ]
        ),
        "TD-22": joined([less(RUN, a, "TD", n) for n in few for a in RED]),
        "TD-23": joined(
            [less(over(n), a, "REDstd", HEAVY) for n in range(2, 11) for a in MECHANISMS if a != "REDstd"]
        ),
        "TD-24": less(RUN, "GREDstd", "REDstd", HEAVY),
        "TD-25": joined(less(over(1), "REDopt", "REDstd", HEAVY), less(over(10), "GREDstd", "REDopt", HEAVY)),
        "TD-50": joined([less(RUN, a, "REDstd", n) for n in (64, 128, 256) for a in ("GREDstd", "REDopt")]),
    }


def _both() -> dict[str, Check]:
    """Claims about FTP and web traffic together."""
    loads = (*FLOWS, *SESSIONS)

    def twice(load: int) -> Derived:
        most = float(printed()["REDopt", load].max_p)
        return across(
            f"2 x drop ratio / max_p at {load}", "drop_ratio", "REDopt", (load,), lambda p: 2 * p / most
        )

    return {
        "TD-46": joined(
            [
                Within(of(RUN, "TD", a), 1 / 1.5, 1.5, b=of(RUN, "TD", b), ratio=True)
                for a, b in combinations(loads, 2)
            ],
            [less(RUN, "TD", a, n, factor=1.2, strict=False) for n in loads for a in RED],
        ),
        "TD-47": joined(alike(GOODPUT, loads, 0.03), close(LOSS, loads, 0.02)),
        "TD-48": joined(steadier(FLOWS), gentlest_rise()),
        "TD-54": joined([Within(twice(n), 0.6, 1.6) for n in loads]),
    }


def gentlest_rise() -> All:
    """Return the check that from the fewest to the most sessions REDopt's delay rises least."""

    def rise(who: str) -> Derived:
        return across(
            "rise of mean queueing delay from 800 to 1400 sessions",
            DELAY,
            who,
            (SESSIONS[0], SESSIONS[-1]),
            lambda low, high: high - low,
        )

    return joined([Below(rise("REDopt"), rise(a)) for a in MECHANISMS if a != "REDopt"])
