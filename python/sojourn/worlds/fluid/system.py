"""A scenario in the fluid model's units: its long TCP flows in classes, its constant streams, its one queue.

Flows of a traffic that have the same delays are one class; all start at the mean of their start times, in
congestion avoidance; an on/off stream sends its mean rate. Features that the model lacks are rejected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.plan import FORWARD
from sojourn.spec.scenario import Scenario
from sojourn.worlds.fluid.laws import law
from sojourn.worlds.fluid.marking import Law, Place
from sojourn.worlds.fluid.mgt import Flows, Link, Solution, Stream, solve


@dataclass(frozen=True)
class Classes:
    """The flows of all traffics, those with the same delays together.

    Attributes
    ----------
    flows : Flows
        Shape (n,).
    traffic : ndarray, shape (n,)
        Number of the traffic of each class.
    members : list of ndarray
        Index of each class's flows within its traffic.
    """

    flows: Flows
    traffic: NDArray[np.int64]
    members: list[NDArray[np.int64]]


@dataclass(frozen=True)
class Setting:
    """A scenario in the model's units: packets and seconds."""

    plan: dict[str, Any]
    spec: str
    packet: float
    classes: Classes
    link: Link
    law: Law

    @property
    def seconds(self) -> tuple[float, float]:
        """Warm-up and end."""
        return self.plan["warmup"] / 1e9, self.plan["duration"] / 1e9

    def solve(self) -> Solution:
        """Integrate it."""
        warmup, end = self.seconds
        return solve(self.classes.flows, self.link, self.law, end, warmup)


def solve_together(settings: Sequence[Setting], halvings: int = 1) -> list[Solution]:
    """Integrate settings of one algorithm at once; they may differ in counts, delays and buffers.

    Parameters
    ----------
    settings : sequence of Setting
        Settings with equal numbers of classes, algorithm and duration.
    halvings : int
        Maximum number of halvings of the step; the remaining difference is in ``error``.
    """
    first = settings[0]
    rates, limits = (
        np.array([float(np.asarray(getattr(one.link, n))) for one in settings]) for n in ("rate", "limit")
    )
    names = Flows.__dataclass_fields__
    columns = {
        name: np.stack(
            [
                np.broadcast_to(getattr(one.classes.flows, name), one.classes.traffic.shape)
                for one in settings
            ],
            axis=1,
        )
        for name in names
    }
    place = Place(rates, limits, first.link.drops)
    link = Link(rates, limits, first.link.drops, first.link.background)
    warmup, end = first.seconds
    found = solve(
        Flows(**columns), link, type(first.law)(first.law.values, place), end, warmup, halvings=halvings
    )
    return [found.system(k) for k in range(len(settings))]


def setting(scenario: Scenario, spec: str) -> Setting:
    """Return the model's equations for a scenario with an algorithm.

    Raises
    ------
    InputError
        If the model does not cover the scenario, or the algorithm has no law.
    """
    plan = scenario.plan(spec)
    _refuse(scenario, plan)
    dumbbell = plan["topology"]["dumbbell"]
    packet = _packet(plan)
    queue = dumbbell["queue"]
    rate = dumbbell["rate"] / (8 * packet)
    parsed = Spec(spec)
    value, unit = _core.parse_unit("limit", parsed.limit or queue["limit"])
    limit = value if unit == "p" else value / packet
    ecn = parsed.values.get("ecn", queue["ecn"])
    place = Place(np.array([rate]), np.array([limit]), drops=ecn not in (True, "on"))
    background = [stream(one, packet) for one in plan["traffic"] if "tcp" not in one["kind"]]
    return Setting(
        plan,
        spec,
        packet,
        _classes(plan, packet),
        Link(rate, limit, place.drops, background),
        law(spec, place, packet, scenario.conventions),
    )


def _refuse(scenario: Scenario, plan: dict[str, Any]) -> None:
    where = scenario.where
    if "dumbbell" not in plan["topology"]:
        raise InputError(f"{where}: link", "is a graph: the fluid world has one queue", "[dumbbell]")
    if plan["measure"] != FORWARD:
        raise InputError(f"{where}: measure.queue", "is not the one that the fluid world has", FORWARD)
    if plan["topology"]["dumbbell"]["reverse_queue"] is not None:
        problem = "is finite: the fluid world has no queue for acknowledgements"
        raise InputError(f"{where}: dumbbell.reverse_queue", problem, "leave it out")
    if "reverse_rate" in plan["topology"]["dumbbell"]:
        problem = "is given: the fluid world has no link for acknowledgements"
        raise InputError(f"{where}: dumbbell.reverse_rate", problem, "leave it out")
    if plan["topology"]["dumbbell"]["capacity"] is not None:
        problem = "changes with time: the fluid world has a link of one rate"
        raise InputError(f"{where}: dumbbell.capacity", problem, "leave it out")
    for key in ("impairment", "reverse_impairment", "medium", "reverse_medium"):
        if getattr(scenario.dumbbell, key) is not None:
            problem = "is for single packets: the fluid world has none"
            raise InputError(f"{where}: dumbbell.{key}", problem, "leave it out")
    if scenario.phase:
        raise InputError(f"{where}: phase", "is not known to the fluid world", "leave it out")
    if scenario.drain is not False:
        raise InputError(
            f"{where}: drain", "is for single transfers: the fluid world has none", "leave it out"
        )
    for traffic in plan["traffic"]:
        place = f"{where}: traffic.{traffic['name']}"
        kind = next(iter(traffic["kind"]))
        if kind not in ("tcp", "udp_cbr", "udp_poisson", "udp_onoff"):
            word = kind.replace("_", "-")
            problem = f"= {word!r} has pauses or ends: the fluid world has no slow start, only endless TCP"
            raise InputError(f"{place}.kind", problem, "tcp, udp-cbr, udp-poisson, udp-onoff")
        if traffic["stagger"] is not None:
            raise InputError(
                f"{place}.stagger", "is a ramp: here all flows of a traffic start at once", "start"
            )
        if traffic["kind"].get("tcp", {}).get("max_rate") is not None:
            raise InputError(f"{place}.max_rate", "caps a rate that here follows from the window", "no cap")
        if traffic["marker"] is not None:
            raise InputError(f"{place}.marker", "is for classes: the fluid world has none", "leave it out")
        if traffic["reverse"]:
            raise InputError(
                f"{place}.direction", "= 'reverse' does not pass the fluid world's queue", "forward"
            )
    if all("tcp" not in one["kind"] for one in plan["traffic"]):
        raise InputError(f"{where}: traffic", "has no TCP: a fluid model without feedback is trivial", "tcp")


def _wire(traffic: dict[str, Any]) -> int:
    tcp = traffic["kind"]["tcp"]
    return int(tcp["payload"] + tcp["header"])


def stream(traffic: dict[str, Any], packet: float) -> Stream:
    """Return unresponsive traffic in mean packets per second."""
    kind, one = next(iter(traffic["kind"].items()))
    share = one["on"] / (one["on"] + one["off"]) if kind == "udp_onoff" else 1.0
    rate = traffic["count"] * share * one["rate"] / (8 * packet)
    return Stream(rate, mean_start(traffic["start"]), _end(traffic))


def mean_start(start: dict[str, Any]) -> float:
    """Return the mean of a draw of start times (s)."""
    shape, value = next(iter(start.items()))
    mean: float = (sum(value) / 2 if shape == "uniform" else value) / 1e9
    return mean


def _end(traffic: dict[str, Any]) -> float:
    return math.inf if traffic["stop"] is None else traffic["stop"] / 1e9


def _packet(plan: dict[str, Any]) -> float:
    """Return the mean packet size at a busy link: streams have their rate, TCP the rest of the capacity."""
    link, tcp = plan["topology"]["dumbbell"]["rate"] / 8, [0.0, 0.0]
    taken = packets = 0.0
    for one in plan["traffic"]:
        if "tcp" in one["kind"]:
            tcp = [tcp[0] + one["count"], tcp[1] + one["count"] * _wire(one)]
        else:
            rate = stream(one, 1.0).rate
            taken += rate
            packets += rate / next(iter(one["kind"].values()))["size"]
    size = tcp[1] / tcp[0]
    left = max(link - taken, 0.1 * link)
    mean: float = (left + taken) / (left / size + packets)
    return mean


def _classes(plan: dict[str, Any], packet: float) -> Classes:
    """Group flows by the delays of their hosts."""
    dumbbell = plan["topology"]["dumbbell"]
    rows: list[tuple[int, dict[str, float]]] = []
    members = []
    for number, traffic in enumerate(plan["traffic"]):
        if "tcp" not in traffic["kind"]:
            continue
        tcp, index = traffic["kind"]["tcp"], np.arange(traffic["count"])
        sides = [traffic["access"] or dumbbell["access"], dumbbell["server"]]
        chosen = [_entry(side, index) for side in sides]
        pairs, group = np.unique(np.stack(chosen), axis=1, return_inverse=True)
        order = np.argsort(group, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        bits = 8 * (_wire(traffic) + tcp["ack"])
        wires = sum(bits / rate for rate in (sides[0]["rate"], dumbbell["rate"], sides[1]["rate"]))
        for pair, flows in zip(pairs.T, parts, strict=True):
            ways = dumbbell["delay"] + sum(side["delays"][k] for side, k in zip(sides, pair, strict=True))
            rows.append(
                (
                    number,
                    {
                        "count": float(len(flows)),
                        "delay": 2 * ways / 1e9 + wires,
                        "start": mean_start(traffic["start"]),
                        "stop": _end(traffic),
                        "growth": 0.5 if tcp["options"]["delayed_ack"] else 1.0,
                        "largest": float(tcp["options"]["receiver_window"]),
                        "size": _wire(traffic) / packet,
                    },
                )
            )
            members.append(flows)
    columns = {name: np.array([row[name] for _, row in rows]) for name in rows[0][1]}
    return Classes(Flows(**columns), np.array([number for number, _ in rows]), members)


def _entry(side: dict[str, Any], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each flow's entry in the delays of a side."""
    host = index if side["nodes"] is None else index % side["nodes"]
    found: NDArray[np.int64] = host % len(side["delays"])
    return found
