"""The algorithms and schedulers of the core."""

from __future__ import annotations

from typing import Any

from sojourn import _core


def parameters(name: str) -> list[dict[str, Any]]:
    """Return the parameters of an algorithm or scheduler."""
    schedulers = {one["name"]: one for one in _core.schedulers()}
    return list((schedulers.get(name) or _core.algorithm(name))["params"])
