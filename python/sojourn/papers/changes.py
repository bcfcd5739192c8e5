"""Changes of arms from which the readings of several papers are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sojourn.papers.experiment import Arm
from sojourn.spec.scenario import Scenario

#: Takes an arm; returns the changed arm, or None if the reading does not change it.
Change: TypeAlias = Callable[[Arm], Arm | None]
#: A scenario as plain data, to be changed in place.
Data: TypeAlias = dict[str, Any]


def everywhere(change: Callable[[Scenario], Scenario]) -> Change:
    """Return a change of the scenario of every arm."""
    return lambda arm: arm.within(change(arm.scenario))


def rewritten(change: Callable[[Data], None]) -> Change:
    """Return a change applied to the data of an arm's scenario; None if nothing changes."""

    def apply(arm: Arm) -> Arm | None:
        before, data = (arm.scenario.model_dump(by_alias=True, exclude_none=True) for _ in range(2))
        change(data)
        changed = {key: value for key, value in data.items() if value != before[key]}
        return arm.within(arm.scenario.with_(**changed)) if changed else None

    return apply


def only(algorithm: str, **parameters: str) -> Change:
    """Return a change of one algorithm's parameters; None if it has them already."""

    def apply(arm: Arm) -> Arm | None:
        if arm.algorithm != algorithm:
            return None
        changed = arm.having(**parameters)
        return changed if changed.spec != arm.spec else None

    return apply
