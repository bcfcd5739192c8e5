"""Changes of arms that the readings of several papers are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sojourn.papers.experiment import Arm
from sojourn.spec.scenario import Scenario

#: Takes an arm; returns what it becomes, None where the reading does not touch it.
Change: TypeAlias = Callable[[Arm], Arm | None]
#: A scenario as plain data, to be changed in place.
Data: TypeAlias = dict[str, Any]


def everywhere(change: Callable[[Scenario], Scenario]) -> Change:
    """Return a change of the scenario of every arm."""
    return lambda arm: arm.within(change(arm.scenario))


def rewritten(change: Callable[[Data], None]) -> Change:
    """Return a change of an arm's scenario, made on its plain data; None where nothing changes."""

    def apply(arm: Arm) -> Arm | None:
        before, data = (arm.scenario.model_dump(by_alias=True, exclude_none=True) for _ in range(2))
        change(data)
        changed = {key: value for key, value in data.items() if value != before[key]}
        return arm.within(arm.scenario.with_(**changed)) if changed else None

    return apply


def only(algorithm: str, **parameters: str) -> Change:
    """Return a change of one algorithm's parameters; None where it has them already."""

    def apply(arm: Arm) -> Arm | None:
        if arm.algorithm != algorithm:
            return None
        changed = arm.having(**parameters)
        return changed if changed.spec != arm.spec else None

    return apply
