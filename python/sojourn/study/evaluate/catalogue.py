"""The scenarios of RFC 7928: cases, metrics, assumptions; read from ``rfc7928.toml`` and ``scenarios/``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sojourn import _core, worlds
from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario, load
from sojourn.study.axes import Axis, cells

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Assumption:
    """A value that the RFC leaves open: its name, the value, and why it was chosen."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Published:
    """What others state about a scenario: the source, the statement, and the metrics that show the same here.

    Attributes
    ----------
    source, statement : str
        Where it is published, with what was run there, and what it says.
    metrics, aqms, cases : tuple of str
        The metrics, the algorithms and the cases that it is about.
    """

    source: str
    statement: str
    metrics: tuple[str, ...]
    aqms: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A scenario file, and what the case changes in it.

    Attributes
    ----------
    name : str
        Name of the case, and of its folder.
    file : str
        The file in ``scenarios/``.
    changes : mapping of str to str
        Values by key, as in a sweep.
    """

    name: str
    file: str
    changes: Mapping[str, str]

    def scenario(self, shorter: Mapping[str, str] | None = None, world: str = worlds.DEFAULT) -> Scenario:
        """Return the scenario; `shorter` replaces its duration and warm-up.

        Outside the simulator it has no phases and no samples of flows and delays: only the simulator
        records them.

        Raises
        ------
        InputError
            If this version lacks something that the case needs.
        """
        axes = [Axis(key, (value,)) for key, value in self.changes.items()]
        varied = cells(load(FOLDER / "scenarios" / self.file), ["droptail"], axes)[0].scenario
        changes: dict[str, Any] = {"name": self.name, **(shorter or {})}
        if world != worlds.DEFAULT:
            changes["trace"] = varied.trace.model_copy(update={"delays": False, "flows": None})
            changes["phase"] = ()
        return varied.with_(**changes)


@dataclass(frozen=True)
class Entry:
    """A scenario of the RFC.

    Attributes
    ----------
    id, section, title : str
        Number in the table of scenarios (S1 to S21), section of the RFC, title.
    weight : str
        Whether the RFC demands it: ``must be considered``, ``may be considered``, and so on.
    metrics : tuple of str
        The metrics that decide about it, in all cases.
    cases : tuple of Case
        What is run; empty for a discussion.
    assumptions : tuple of Assumption
        The values that the RFC leaves open.
    published : tuple of Published
        What others state about the scenario.
    shorter : mapping of str to str
        Duration and warm-up with ``--quick``.
    topic : str
        Of a discussion: stability, scheduling, cost or control.
    """

    id: str
    section: str
    title: str
    weight: str
    metrics: tuple[str, ...]
    cases: tuple[Case, ...]
    assumptions: tuple[Assumption, ...]
    published: tuple[Published, ...]
    shorter: Mapping[str, str]
    topic: str

    def measured(self, scenario: Scenario) -> tuple[str, ...]:
        """Return the metrics that runs of a case can have: without those of phases if it has none."""
        return tuple(one for one in self.metrics if scenario.phase or not one.startswith("phases."))

    @property
    def name(self) -> str:
        """Number, section and title."""
        return f"{self.id} ({self.section}): {self.title}"


@dataclass(frozen=True)
class Catalogue:
    """All scenarios in the order of the RFC, and the assumptions that hold for all of them."""

    entries: tuple[Entry, ...]
    assumptions: tuple[Assumption, ...]

    def choose(self, wanted: Iterable[str]) -> tuple[Entry, ...]:
        """Return the entries of some numbers and sections; all if none is given.

        A section contains those below it: ``8.2`` are S8 to S12b; ``S12`` are S12a and S12b.

        Raises
        ------
        InputError
            If there is no such scenario.

        Examples
        --------
        >>> [one.id for one in catalogue().choose(["8.2.6", "S1"])]
        ['S1', 'S12a', 'S12b']
        >>> [one.id for one in catalogue().choose(["s4"])]
        ['S4a', 'S4b']
        """
        chosen = list(wanted)
        for word in chosen:
            if not any(_names(word, one) for one in self.entries):
                known = [name for one in self.entries for name in (one.id, one.section)]
                near = _core.nearest(word, known)
                raise InputError("scenario", f"= {word!r} is not of RFC 7928", ", ".join(known), near)
        return tuple(one for one in self.entries if not chosen or any(_names(w, one) for w in chosen))


@cache
def catalogue() -> Catalogue:
    """Return the scenarios of RFC 7928.

    Examples
    --------
    >>> [one.id for one in catalogue().entries][:5]
    ['S1', 'S2', 'S3', 'S4a', 'S4b']
    """
    data = tomllib.loads((resources.files(__package__) / "rfc7928.toml").read_text(encoding="utf-8"))
    entries = tuple(_entry(one, data["quick"]) for one in data["scenario"])
    return Catalogue(entries, _assumptions(data))


def _entry(data: Mapping[str, Any], quick: Mapping[str, str]) -> Entry:
    cases = [Case(one["name"], one["file"], one.get("set", {})) for one in data.get("case", ())]
    return Entry(
        data["id"],
        data["section"],
        data["title"],
        data["weight"],
        tuple(data["metrics"]),
        tuple(cases),
        _assumptions(data),
        tuple(
            Published(
                one["source"],
                one["statement"],
                tuple(one["metrics"]),
                tuple(one["aqms"]),
                tuple(one.get("cases", [case.name for case in cases])),
            )
            for one in data.get("published", ())
        ),
        data.get("quick", quick),
        data.get("topic", ""),
    )


def _assumptions(data: Mapping[str, Any]) -> tuple[Assumption, ...]:
    return tuple(Assumption(one["name"], one["value"], one["reason"]) for one in data.get("assumption", ()))


def _names(word: str, entry: Entry) -> bool:
    number = entry.id.partition("-")[0].rstrip("ab")
    return word.upper() in (entry.id.upper(), number) or f"{entry.section}.".startswith(f"{word}.")
