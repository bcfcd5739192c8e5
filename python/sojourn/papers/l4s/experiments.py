"""The experiments: two flows over a grid of links, unequal numbers of flows, and web pages of both kinds.

The grid is that of the authors' evaluations: five link rates, five round-trip times, one flow of each kind.
Beside DualPI2 it has the queues that others propose for the same place. A scalable sender sends ECT(1); a
classic one has no ECN, so that a queue can only drop its packets.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from sojourn.papers.experiment import Arm, Experiment
from sojourn.spec.scenario import Scenario

PAIRS, MIXES, DYNAMIC = "l4s-pairs", "l4s-mixes", "l4s-dynamic"

#: Link rates in Mbit/s and round-trip times in ms: 25 links.
RATES = (4, 12, 40, 120, 200)
ROUND_TRIPS = (5, 10, 20, 50, 100)
LINKS = tuple((rate, rtt) for rate in RATES for rtt in ROUND_TRIPS)
#: The senders of each pair, its scalable (or other) flow first.
SENDERS = {
    "Prague+CUBIC": ("prague", "cubic"),
    "Prague+Reno": ("prague", "newreno"),
    "DCTCP+CUBIC": ("dctcp", "cubic"),
    "BBR+CUBIC": ("bbr", "cubic"),
    "CUBIC+CUBIC": ("cubic", "cubic"),
}
#: Algorithm and parameters of each queue; CAKE's shaper gets the link's rate.
QUEUES: dict[str, tuple[str, dict[str, str]]] = {
    "DualPI2": ("dualpi2", {}),
    "PIE": ("pie", {}),
    "FQ-CoDel": ("fq_codel", {}),
    "FQ-CoDel L4S": ("fq_codel", {"ce_threshold": "1ms", "ce_select": "ect1"}),
    "CAKE": ("cake", {}),
}
#: Scalable flows among ten.
SHARES = (1, 2, 4, 5, 6, 8, 9)
SEEDS = 5
#: Links of ``--quick``.
QUICK = ((4, 20), (40, 5), (40, 20), (120, 10))

_ALL = tuple(f"A-L4S-{i}" for i in range(1, 7))


@cache
def scenario(name: str) -> Scenario:
    """Return one of the scenarios, by the name of its file."""
    file = resources.files(__package__) / "scenarios" / f"{name}.toml"
    return Scenario.from_toml(file.read_text(encoding="utf-8"), f"{name}.toml")


def experiments() -> list[Experiment]:
    """Return every experiment."""
    return [
        _experiment(PAIRS, "One flow of each kind, 25 links", "Grid of rates and round trips", _pairs()),
        _experiment(MIXES, "Unequal numbers of flows, 40 Mbit/s, 10 ms", "Mixes of flows", _mixes()),
        _experiment(DYNAMIC, "Long flows and web pages of both kinds, 120 Mbit/s, 10 ms", "Dynamic workloads",
                    _dynamic()),
    ]  # fmt: skip


def _experiment(name: str, title: str, figure: str, arms: tuple[Arm, ...]) -> Experiment:
    return Experiment(name, title, figure, arms, _ALL, seeds=SEEDS, most_seeds=4 * SEEDS, short=_quick)


def _quick(arm: Arm) -> Arm | None:
    """Return an arm unless it is of another link, or of a queue or pair without a printed claim."""
    if link(arm) == (0, 0):
        return arm
    pair, queue = arm.name.split()[:2]
    judged = pair in ("Prague+CUBIC", "DCTCP+CUBIC", "CUBIC+CUBIC") and queue in ("DualPI2", "PIE")
    return arm if judged and link(arm) in QUICK else None


def name(pair: str, queue: str, rate: int, rtt: int) -> str:
    """Return the name of an arm of the grid."""
    return f"{pair} {queue} {rate}M {rtt}ms"


def link(arm: Arm) -> tuple[int, int]:
    """Return the rate (Mbit/s) and the round trip (ms) of an arm."""
    words = arm.name.split()
    return (int(words[-2][:-1]), int(words[-1][:-2])) if words[-1].endswith("ms") else (0, 0)


def _pairs() -> tuple[Arm, ...]:
    return tuple(
        _arm(name(pair, queue, rate, rtt), queue, rate, _linked(scenario("l4s-pair"), pair, rate, rtt))
        for pair in SENDERS
        for queue in QUEUES
        for rate, rtt in LINKS
    )


def _arm(title: str, queue: str, rate: int, where: Scenario) -> Arm:
    algorithm, parameters = QUEUES[queue]
    more = {"bandwidth": f"{rate}Mbit/s"} if algorithm == "cake" else {}
    return Arm(title, where, algorithm, {**parameters, **more})


def _linked(where: Scenario, pair: str, rate: int, rtt: int) -> Scenario:
    """Return the scenario with the senders, rate and round trip of an arm."""
    data = where.model_dump(by_alias=True, exclude_none=True)
    for one in data["link"]:
        if (one["from"], one["to"]) == ("R1", "R2"):
            one["rate"] = f"{rate}Mbit/s"
        elif (one["from"], one["to"]) == ("R2", "R1"):
            one["delay"] = f"{rtt}ms"
    for one, variant in zip(data["traffic"], SENDERS[pair], strict=True):
        one["variant"] = variant
        if variant != "prague" and variant != "dctcp":
            one["tcp"] = {"ecn": False}
    return where.with_(link=data["link"], traffic=data["traffic"])


def _counted(where: Scenario, scalable: int) -> Scenario:
    traffic: list[dict[str, Any]] = [
        one.model_dump(by_alias=True, exclude_none=True) for one in where.traffic
    ]
    for one, count in zip(traffic, (scalable, 10 - scalable), strict=True):
        one["count"] = count
    return where.with_(traffic=traffic)


def _mixes() -> tuple[Arm, ...]:
    where = _linked(scenario("l4s-pair"), "Prague+CUBIC", 40, 10)
    return tuple(
        _arm(f"{queue} {n}:{10 - n}", queue, 40, _counted(where, n))
        for queue in ("DualPI2", "PIE", "FQ-CoDel L4S")
        for n in SHARES
    )


def _dynamic() -> tuple[Arm, ...]:
    return tuple(_arm(queue, queue, 120, scenario("l4s-web")) for queue in QUEUES)
