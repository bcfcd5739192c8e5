"""The quantities in the claims of the paper, and the forms of check that several claims share.

A load is identified by its number: numbers of flows and of sessions never coincide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from sojourn.papers.checks import Below, Check, Within
from sojourn.papers.judge import All
from sojourn.papers.taildrop2001.experiments import FLOWS, FTP, LIMITS, MECHANISMS, SESSIONS, TESTBED, WEB
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import Trend

GOODPUT, LOSS, DELAY, DEVIATION = "tcp_goodput", "udp.drop_ratio", "mean_delay_s", "std_delay_s"
QUEUE, RUN, IDLE = "mean_queue_packets", "mean_drop_run", "idle_share"

#: Titles and units of metrics.
TITLES = {
    GOODPUT: ("TCP goodput", "Mbit/s"),
    LOSS: ("UDP loss", ""),
    DELAY: ("mean queueing delay", "s"),
    DEVIATION: ("std. dev. of queueing delay", "s"),
    QUEUE: ("mean queue", "packets"),
    RUN: ("mean consecutive loss", "packets"),
    IDLE: ("idle share", ""),
    "utilization": ("utilization", ""),
    "drop_ratio": ("drop ratio", ""),
    "flow_lifetime": ("flow lifetime", "s"),
    "web.completion_time_mean_s": ("lifetime of completed flows", "s"),
    "avg_above_max_th": ("share of time with avg >= max_th", ""),
    "pipe_packets": ("rate x round trip", "packets"),
}


def of(metric: str, mechanism: str, load: int, experiment: str = "") -> Quantity:
    """Return a metric of a mechanism at a load."""
    title, unit = TITLES.get(metric, (metric.replace("P(N>", "P(N > "), ""))
    where = experiment or (TESTBED if load in FLOWS else WEB if load in SESSIONS else LIMITS)
    # Of the two experiments with FTP flows the testbed is the default.
    note = "ns-2" if where == FTP else ""
    return Quantity(metric, f"{mechanism} {load}", where, unit, title, note)


def less(metric: str, a: str, b: str, load: int, factor: float = 1.0, strict: bool = True) -> Below:
    """Return the check that a metric of `a` is below that of `b` at a load, by logarithms if possible."""
    log = metric in (LOSS, DELAY, DEVIATION, RUN)
    return Below(of(metric, a, load), of(metric, b, load), log=log, factor=factor, strict=strict)


def alike(metric: str, loads: Sequence[int], margin: float, among: Sequence[str] = MECHANISMS) -> list[Check]:
    """Return checks that (largest - smallest) / largest <= `margin` among mechanisms, pair by pair."""
    ends = 1 - margin, 1 / (1 - margin)
    return [
        Within(of(metric, a, load), *ends, b=of(metric, b, load), ratio=True)
        for load in loads
        for a, b in combinations(among, 2)
    ]


def close(metric: str, loads: Sequence[int], margin: float) -> list[Check]:
    """Return checks that largest - smallest <= `margin` among all mechanisms, pair by pair."""
    return [
        Within(of(metric, a, load), -margin, margin, b=of(metric, b, load))
        for load in loads
        for a, b in combinations(MECHANISMS, 2)
    ]


def trends(metric: str, loads: Sequence[int], among: Sequence[str] = MECHANISMS, rises: bool = True) -> All:
    """Return the check that a metric rises (or falls) with the load, for each mechanism."""
    title = TITLES[metric][0]
    return All(tuple(Trend(f"{title} of {a}", tuple(of(metric, a, n) for n in loads), rises) for a in among))


def across(
    what: str, metric: str, who: str, loads: Sequence[int], how: Callable[..., float], unit: str = ""
) -> Derived:
    """Return a function of a metric of one mechanism at several loads."""
    return Derived(what, tuple(of(metric, who, load) for load in loads), how, unit, who)


def span(metric: str, who: str, loads: Sequence[int] = FLOWS) -> Derived:
    """Return the range of a metric over loads."""
    title, unit = TITLES[metric]
    return across(f"range over loads of {title}", metric, who, loads, lambda *x: max(x) - min(x), unit)


def joined(*parts: Sequence[Check] | Check) -> All:
    """Return the check that all parts hold."""
    flat: list[Check] = []
    for part in parts:
        flat += part if isinstance(part, Sequence) else [part]
    return All(tuple(flat))
