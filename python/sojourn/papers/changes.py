"""Changes of arms from which the readings of several papers are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sojourn.papers.experiment import Arm, Reading
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


def each(chosen: Callable[[Data], bool], **changes: Any) -> Callable[[Data], None]:
    """Return a change of the sources that `chosen` accepts; a value of None removes a key."""

    def change(data: Data) -> None:
        data["traffic"] = [
            {key: value for key, value in {**one, **changes}.items() if value is not None}
            if chosen(one)
            else one
            for one in data["traffic"]
        ]

    return change


def within(key: str, **changes: Any) -> Callable[[Data], None]:
    """Return a change of one table of a scenario."""

    def change(data: Data) -> None:
        data[key] = {**data[key], **changes}

    return change


def of_kind(kind: str) -> Callable[[Data], bool]:
    """Return whether a source is of a kind."""
    return lambda one: bool(one["kind"] == kind)


def reading(title: str, change: Callable[[Data], None], *experiments: str) -> Reading:
    """Return a reading that changes the scenarios of some experiments; of all if none are named."""
    where = frozenset(experiments) if experiments else None
    return Reading(title, title, rewritten(change), experiments=where)


def only(algorithm: str, **parameters: str) -> Change:
    """Return a change of one algorithm's parameters; it returns None for an arm that already has them."""

    def apply(arm: Arm) -> Arm | None:
        if arm.algorithm != algorithm:
            return None
        changed = arm.having(**parameters)
        return changed if changed.spec != arm.spec else None

    return apply
