"""Guided tours of the live page, read from `tours.toml`: steps with text, preset and question."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

from sojourn.errors import unknown


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a tour.

    Attributes
    ----------
    text : str
        What happens, and why.
    question : str
        What to think about before the next step.
    specs : list of str
        Algorithms side by side.
    set : dict
        Values of controls, by their ids; others are those of the scenario.
    """

    text: str
    question: str
    specs: list[str]
    set: dict[str, float | str]


@dataclass(frozen=True, slots=True)
class Tour:
    """A guided tour: three to six steps on the home link."""

    id: str
    title: str
    steps: list[Step]

    def as_json(self) -> dict[str, Any]:
        """Return the tour as the page reads it."""
        return asdict(self)


@cache
def _all() -> tuple[Tour, ...]:
    file = resources.files(__package__) / "tours.toml"
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Tour(name, one["title"], [Step(**{"set": {}, **step}) for step in one["step"]])
        for name, one in found.items()
    )


def tours(wanted: str | None = None) -> list[Tour]:
    """Return all tours.

    Raises
    ------
    InputError
        If `wanted` is not the id of one.
    """
    found = list(_all())
    if wanted is not None and wanted not in [one.id for one in found]:
        raise unknown(wanted, "a tour", [one.id for one in found])
    return found
