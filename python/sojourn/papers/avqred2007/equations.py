"""The solved systems: RED 2, ARED 1 and AVQRED 3 in the paper's equations, and other readings of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sojourn.papers.experiment import Experiment, ModelArm, Reading
from sojourn.worlds.fluid.avqred import ARED1, AVQRED3, BITS, NAMES, RED2, System, integrate
from sojourn.worlds.fluid.marking import Floats

#: Length of a run and start of its statistics (s): see A-AVQ-23.
DURATION, SINCE = 300.0, 150.0
UNITS = {"queue": "packets", "arrivals": "packets/s", "utilisation": "Mbit/s"}
ASSUMED = ("A-AVQ-9", *(f"A-AVQ-{i}" for i in range(17, 26)))

#: Samples over time of the solved systems under the first seed, for the figures.
_TRACES: dict[System, dict[str, Floats]] = {}


def words(system: System) -> dict[str, str]:
    """Return a system as the parameters of an arm."""
    return {name: str(value) for name, value in asdict(system).items()}


def system(parameters: Mapping[str, str]) -> System:
    """Return the system that parameters of an arm describe."""
    kinds = {name: type(value) for name, value in asdict(RED2).items()}
    values: dict[str, Any] = {
        name: word == "True" if kinds[name] is bool else kinds[name](word)
        for name, word in parameters.items()
    }
    return System(**values)


def solve(
    arms: Sequence[Mapping[str, str]], seeds: Sequence[int]
) -> list[dict[int, dict[str, float | None]]]:
    """Return mean and deviation of queue, arrivals and both utilisations of every arm, by seed."""
    systems = [system(one) for one in arms]
    found = integrate(systems, seeds, DURATION, SINCE)
    for i, one in enumerate(systems):
        traces = {name: getattr(found, name)[:, i, 0] for name in NAMES}
        _TRACES.setdefault(one, {"time": found.time, **traces})
    scale = {name: BITS / 1e6 if name in ("utilisation", "printed") else 1.0 for name in NAMES}
    return [
        {
            seed: {
                f"{name}_{what}": float(values[name][i, j]) * scale[name]
                for name in NAMES
                for what, values in (("mean", found.mean), ("std", found.deviation))
            }
            for j, seed in enumerate(seeds)
        }
        for i in range(len(systems))
    ]


def traces(one: System) -> dict[str, Floats] | None:
    """Return the samples over time of a system under the first seed for which it was solved."""
    found = _TRACES.get(one)
    if found is None:
        return None
    return {**found, "utilisation": np.asarray(found["utilisation"]) * BITS / 1e6}


def experiment() -> Experiment:
    """Return the fluid experiment: Figs. 6 to 8."""
    arms = {"RED": RED2, "ARED": ARED1, "AVQRED": AVQRED3}
    return Experiment(
        "avq-fluid",
        "RED 2, ARED 1 and AVQRED 3 in the model of section 6",
        "Figs. 6 to 8",
        assumptions=ASSUMED,
        world="fluid",
        models=tuple(ModelArm(name, name.lower(), words(one), solve) for name, one in arms.items()),
    )


def readings() -> list[Reading]:
    """Return the other readings: the printed form where solvable, and other values where none is given."""

    def change(*algorithms: str, **parameters: str):  # type: ignore[no-untyped-def]
        return lambda arm: arm.having(**parameters) if arm.name in algorithms else None

    every = ("RED", "ARED", "AVQRED")
    quick = frozenset({"avq-fluid"})
    ours, red = ("AVQRED",), ("RED", "ARED")
    found: dict[str, tuple[str, int, tuple[str, ...], dict[str, str]]] = {
        "s unbounded": ("as printed: nothing keeps s at 0 or above", 25, ours, {"reflect": "False"}),
        "tau percent": ("as printed: tau in per cent, 95", 21, ours, {"tau": "95.0"}),
        "w_q=0.1": ("the printed average, with the weight of RED 3 and ARED 2", 17, red, {"w_q": "0.1"}),
        "tau=0.90": ("a target utilisation of 90 %", 21, ours, {"tau": "0.9"}),
        "tau=0.98": ("a target utilisation of 98 %", 21, ours, {"tau": "0.98"}),
        "ARED max_p 0.7": ("ARED's max_p stays below its first value", 9, ("ARED",), {"top": "0.7"}),
        "u_max=21Mbit/s": ("a maximum rate of 21 Mbit/s", 19, every, {"rate": "21000000.0"}),
        "u every 33ms": ("the service rate is drawn every 33 ms", 20, every, {"redraw": "0.033"}),
    }
    delayed = Reading(
        "l delayed",
        "as printed: dl/dt = u q/(1+q) - l(t-1), a delay equation",
        metrics={f"utilisation_{what}": f"printed_{what}" for what in ("mean", "std")},
        quick=quick,
        assumption="A-AVQ-18",
    )
    return [
        delayed,
        *(
            Reading(name, title, model=change(*arms, **values), quick=quick, assumption=f"A-AVQ-{number}")
            for name, (title, number, arms, values) in found.items()
        ),
    ]
