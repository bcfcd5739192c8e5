"""Worlds: the backends that run a scenario. Other packages get a world by its name with `find`.

A world implements `base.World`; `REGISTRY` names the module that defines it as ``WORLD``. The module is
imported on first use because each world depends on libraries that the others do not need. Only this package
knows the names of worlds: code that depends on the kind of a world reads its properties.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Final

from sojourn.errors import unknown
from sojourn.metrics import Metric
from sojourn.worlds.base import (
    Case,
    Completed,
    Executor,
    Made,
    Reduce,
    Running,
    WorkerDied,
    World,
    measure,
    parsed,
)

__all__ = [
    "COMPARED",
    "DEFAULT",
    "REGISTRY",
    "Case",
    "Completed",
    "Executor",
    "Made",
    "Reduce",
    "Running",
    "WorkerDied",
    "World",
    "find",
    "having",
    "measure",
    "parsed",
]

REGISTRY = {
    "simulated": "sojourn.worlds.simulated.world",
    "real": "sojourn.worlds.real.world",
    "kernel": "sojourn.worlds.kernel.world",
    "fluid": "sojourn.worlds.fluid.world",
}
#: The default world of a run; `compare-worlds` compares it with another world, by default `COMPARED`.
DEFAULT: Final = "simulated"
COMPARED: Final = "fluid"


@functools.cache
def find(name: str) -> World:
    """Return the world called `name`.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in REGISTRY:
        raise unknown(name, "a world", REGISTRY, "world")
    world: World = import_module(REGISTRY[name]).WORLD
    return world


def having(metric: Metric) -> list[str]:
    """Return the names of the worlds in which a metric exists; it is null in the others."""
    return [name for name in REGISTRY if find(name).has_packets or not metric.needs_packets]
