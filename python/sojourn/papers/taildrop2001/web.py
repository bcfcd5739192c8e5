"""The check of every claim about web traffic: section 5. The claims are in ``data/claims.csv``.

Margins are those of the column ``check``; none was chosen after seeing a result.
"""

from __future__ import annotations

from sojourn.papers.checks import Below, Check, Within
from sojourn.papers.judge import AtLeast, WithSecondary
from sojourn.papers.taildrop2001.experiments import (
    LIMITS,
    MECHANISMS,
    RED,
    SESSIONS,
    WEIGHED,
    WEIGHT,
    WEIGHTS,
    printed,
)
from sojourn.papers.taildrop2001.ftp import gentlest_rise
from sojourn.papers.taildrop2001.measures import over
from sojourn.papers.taildrop2001.quantities import (
    DELAY,
    DEVIATION,
    GOODPUT,
    LOSS,
    QUEUE,
    TITLES,
    across,
    alike,
    close,
    joined,
    less,
    of,
    trends,
)
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import Trend

INFINITE = float("inf")
MOST = SESSIONS[-1]


def checks() -> dict[str, Check]:
    """Return the checks by claim id."""
    return _goodput() | _loss() | _delay() | _variation() | _consecutive() | _limits()


def _goodput() -> dict[str, Check]:
    return {
        "TD-28": trends(GOODPUT, SESSIONS),
        "TD-29": joined([Within(of(GOODPUT, a, MOST), 8.5, 8.9) for a in MECHANISMS]),
        "TD-30": joined(alike(GOODPUT, SESSIONS, 0.03)),
    }


def _loss() -> dict[str, Check]:
    def grows(who: str, low: int, high: int) -> Derived:
        return across(
            f"rise of UDP loss from {low} to {high} sessions", LOSS, who, (low, high), lambda a, b: b - a
        )

    return {
        "TD-31": joined([Below(grows(a, 800, 1000), grows(a, 1200, 1400), factor=1 / 3) for a in MECHANISMS]),
        "TD-33": joined([less(LOSS, "TD", a, 1200) for a in RED]),
        "TD-34": joined(close(LOSS, [s for s in SESSIONS if s != 1200], 0.01)),
    }


def _delay() -> dict[str, Check]:
    def from_the_middle(who: str) -> Derived:
        settings = [printed()[who, load] for load in SESSIONS]

        def distance(*queues: float) -> float:
            away = [abs(q - one.middle) / one.width for q, one in zip(queues, settings, strict=True)]
            return sum(away) / len(away)

        what = "mean distance of the mean queue from the middle of the thresholds, in widths"
        return across(what, QUEUE, who, SESSIONS, distance)

    return {
        "TD-35": trends(DELAY, SESSIONS),
        "TD-36": gentlest_rise(),
        "TD-37": joined(
            [Below(from_the_middle("REDopt"), from_the_middle(a)) for a in ("REDstd", "GREDstd")]
        ),
        "TD-38": AtLeast(
            4, tuple(joined([less(DELAY, a, "TD", s, strict=False) for a in RED]) for s in SESSIONS)
        ),
    }


def _variation() -> dict[str, Check]:
    def per_buffer(load: int) -> Derived:
        size = printed()["TD", load].buffer
        return across(
            f"std. dev. of queueing delay / buffer at {load} sessions",
            DEVIATION,
            "TD",
            (load,),
            lambda deviation: deviation / size,
        )

    return {
        "TD-39": AtLeast(4, tuple(less(DEVIATION, "REDstd", "TD", s) for s in SESSIONS)),
        "TD-40": WithSecondary(
            Below(per_buffer(1400), per_buffer(1200), log=True),
            also=Below(of(DEVIATION, "TD", 1400), of(DEVIATION, "TD", 1200), log=True),
        ),
        "TD-41": joined([less(DEVIATION, a, "REDopt", s) for s in SESSIONS for a in ("REDstd", "GREDstd")]),
    }


def _consecutive() -> dict[str, Check]:
    def weighed(metric: str, load: int) -> Trend:
        title, unit = TITLES.get(metric, (metric.replace("P(N>", "P(N > "), ""))
        terms = tuple(Quantity(metric, f"{load} w_q={w}", WEIGHT, unit, title) for w in WEIGHTS)
        return Trend(f"{title} at {load} sessions", terms, rises=False)

    return {
        "TD-42": joined([less(over(n), "TD", a, MOST) for n in range(2, 21) for a in RED]),
        "TD-43": joined([Within(of("avg_above_max_th", a, MOST), 0.01, INFINITE) for a in RED]),
        "TD-44": joined([weighed(over(10), s) for s in WEIGHED]),
        "TD-45": joined([weighed(DEVIATION, s) for s in WEIGHED]),
    }


def _limits() -> dict[str, Check]:
    """Below and above the paper's loads; lifetimes include transfers that do not end within the run."""

    def longer(metric: str, mechanism: str) -> Below:
        few, many = (of(metric, mechanism, load, LIMITS) for load in (1200, 1600))
        return Below(few, many, log=True, factor=1 / 3)

    return {
        "TD-55": WithSecondary(
            joined(
                [Within(of("utilization", a, 700), -INFINITE, 0.85) for a in MECHANISMS],
                [longer("flow_lifetime", a) for a in MECHANISMS],
            ),
            also=joined([longer("web.completion_time_mean_s", a) for a in MECHANISMS]),
        )
    }
