"""Compares the fluid model with packet simulations and finds where the model is not valid.

`grid` multiplies flows, delays and buffer by factors and runs each combination in both worlds; the fluid
model is integrated for all points together. A point is trusted if the errors in queue, loss and utilization
are all below the limits in `NEAR`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.record import Record
from sojourn.runner.execute import Progress, execute
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.spec.units import number
from sojourn.worlds.fluid.columns import columns
from sojourn.worlds.fluid.mgt import Solution
from sojourn.worlds.fluid.system import Setting, setting, solve_together
from sojourn.worlds.fluid.world import FEW_PACKETS, metrics

#: Factors of flows, delays and buffer.
FACTORS = (0.5, 1.0, 2.0)
#: Largest error of a trusted point: queue (share of the buffer), lost or marked share and utilization
#: (points).
NEAR = {"queue": 0.1, "signals": 0.02, "utilization": 0.05}
#: Effects that the model does not include, even at points where the errors are small.
BLIND = {
    "time-outs": "with windows of a few packets, many losses lead to time-outs, and the flow stops sending",
    "slow start": "at the start of flows and after each time-out",
    "phase effects": "flows with equal round-trip times synchronize, and some of them get all drops",
    "noise": "with few flows, the random order of packets changes the queue as much as the feedback does",
}


@dataclass(frozen=True)
class Cell:
    """One point of the grid in both worlds.

    Attributes
    ----------
    flows : int
        Long TCP flows.
    rtt : float
        Their mean round-trip time without queueing (s).
    limit : float
        Buffer (packets).
    fluid, packets : dict
        Metrics of the fluid model, and means over seeds of the packet simulations.
    window : float
        Mean window of the fluid flows (packets).
    """

    flows: int
    rtt: float
    limit: float
    fluid: dict[str, float | None]
    packets: dict[str, float | None]
    window: float

    def error(self, name: str) -> float:
        """Return fluid minus packets: queue as a share of the buffer; signalled share and utilization."""
        if name == "queue":
            return (
                _of(self.fluid, "mean_queue_packets") - _of(self.packets, "mean_queue_packets")
            ) / self.limit
        names = ("drop_ratio", "mark_ratio") if name == "signals" else ("utilization",)
        return sum(_of(self.fluid, one) - _of(self.packets, one) for one in names)

    @property
    def trusted(self) -> bool:
        """Whether every error is within its limit."""
        return all(abs(self.error(name)) <= most for name, most in NEAR.items())

    @property
    def reason(self) -> str:
        """The probable cause of the errors; empty for a trusted point."""
        if self.trusted:
            return ""
        if self.window < FEW_PACKETS:
            return "windows of few packets: time-outs"
        silent = _of(self.packets, "timeouts") > 0.5 * self.flows
        return "time-outs" if silent else "bursts, noise and synchronised losses"


def _of(values: dict[str, float | None], name: str) -> float:
    return values.get(name) or 0.0


def scaled(scenario: Scenario, flows: float = 1.0, rtt: float = 1.0, buffer: float = 1.0) -> Scenario:
    """Return a scenario with TCP flows, all delays and the buffer multiplied.

    Examples
    --------
    >>> import sojourn
    >>> twice = scaled(sojourn.load("examples/red40.toml"), flows=2, rtt=2, buffer=0.5)
    >>> twice.traffic[0].count, twice.dumbbell.delay, twice.queue.limit
    (80, '20ms', '50p')
    """
    data = scenario.model_dump(by_alias=True, exclude_none=True)

    def longer(table: dict[str, Any]) -> dict[str, Any]:
        def one(word: str) -> str:
            return f"{round(rtt * number('span', word))}ns"

        found = dict(table)
        if "delay" in found:
            found["delay"] = one(found["delay"])
        if "delays" in found:
            found["delays"] = [one(word) for word in found["delays"]]
        for name in ("access", "server"):
            if name in found:
                found[name] = longer(found[name])
        return found

    traffic = []
    for old in data["traffic"]:
        new = longer(old)
        if old["kind"] == "tcp":
            new["count"] = max(1, round(flows * old["count"]))
        traffic.append(new)
    value, unit = _core.parse_unit("limit", data["queue"]["limit"])
    queue = {**data["queue"], "limit": f"{max(1, round(buffer * value))}{unit}"}
    return scenario.with_(dumbbell=longer(data["dumbbell"]), traffic=traffic, queue=queue)


def grid(
    scenario: Scenario,
    spec: str,
    seeds: Sequence[int] = (1, 2),
    factors: Sequence[float] = FACTORS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Cell]:
    """Return every combination of factors of flows, delays and buffer in both worlds.

    Raises
    ------
    InputError
        If the fluid world cannot run the scenario.
    """
    setting(scenario, spec)
    steps = list(itertools.product(factors, repeat=3))
    scenarios = [scaled(scenario, *step) for step in steps]
    settings = [setting(one, spec) for one in scenarios]
    groups: dict[int, list[int]] = {}
    for k, one in enumerate(settings):
        groups.setdefault(len(one.classes.members), []).append(k)
    solutions: dict[int, Solution] = {}
    for members in groups.values():
        found = solve_together([settings[k] for k in members])
        solutions.update(zip(members, found, strict=True))
    points = [[Point(one, spec, seed) for seed in seeds] for one in scenarios]
    outcomes = {
        one.point: one.metrics
        for one in execute(itertools.chain.from_iterable(points), None, workers, progress)
    }
    return [
        _cell(settings[k], solutions[k], [outcomes[point] for point in points[k]])
        for k in range(len(scenarios))
    ]


def _cell(found: Setting, solution: Solution, runs: list[dict[str, float | None]]) -> Cell:
    flows = found.classes.flows
    count = np.asarray(flows.count)
    means = {name: _mean([one[name] for one in runs]) for name in runs[0]}
    return Cell(
        flows=int(count.sum()),
        rtt=float((count * np.asarray(flows.delay)).sum() / count.sum()),
        limit=float(np.asarray(found.link.limit)),
        fluid=metrics(Record(columns(found, solution), found.plan)),
        packets=means,
        window=float(solution.window[solution.measured].mean()),
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
