"""Worlds: the backends that run a scenario. Other packages get a world by its name with `find`.

A world implements `base.World`; `REGISTRY` names the module that defines it as ``WORLD``. The module is
imported on first use because each world depends on libraries that the others do not need.
"""

from __future__ import annotations

import functools
from importlib import import_module

from sojourn.errors import unknown
from sojourn.worlds.base import (
    Case,
    Executor,
    Made,
    News,
    Reduce,
    Running,
    WorkerDied,
    World,
    measure,
    parsed,
)

__all__ = [
    "REGISTRY",
    "Case",
    "Executor",
    "Made",
    "News",
    "Reduce",
    "Running",
    "WorkerDied",
    "World",
    "find",
    "measure",
    "parsed",
]

REGISTRY = {
    "simulated": "sojourn.worlds.simulated.world",
    "real": "sojourn.worlds.real.world",
    "fluid": "sojourn.worlds.fluid.world",
}


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
