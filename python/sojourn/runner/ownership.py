"""Checks that a results directory belongs to the same study before it is written.

A directory has one manifest, one resolved scenario and one report. Another study would overwrite them and
leave the runs of the first without a description. The same scenario with more seeds, more algorithms, other
values of a sweep or other settings to tune is the same study and reuses the finished runs. Every session of a
shell is a new study, even with the same link.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sojourn import files
from sojourn.errors import InputError
from sojourn.runner.leases import describing
from sojourn.runner.owner import Owner as Process
from sojourn.worlds import DEFAULT

MANIFEST, TUNE, REPORT = "manifest.json", "tune.json", "report.html"
#: The file that describes a study, by kind.
FILES = {
    "tune": "scenario.toml",
    "sweep": "sweep.toml",
    "shell": "link.toml",
    "evaluate": "evaluation.toml",
    "run": "scenario.toml",
    "compare-worlds": "scenario.toml",
}
#: The kinds of folders that consist of folders of runs; the manifest has their names under `PARTS`.
KIND_COMPARED, KIND_EVALUATION = "compare-worlds", "evaluate"
PARTS = "parts"
#: Description of a directory's content, by kind of study; a shell has no name.
HELD = {
    "run": "runs of {}",
    "sweep": "a sweep of {}",
    "tune": "a tuning of {}",
    "shell": "a session of a shell",
    "reproduce": "the paper {}",
    "search": "a search of readings of {}",
    "compare-worlds": "a comparison of worlds of {}",
    "evaluate": "an evaluation of {}",
}


class Owner(NamedTuple):
    """The study in a directory: kind, name, scenario or link as data, world, command."""

    kind: str
    name: str
    about: dict[str, Any] | None
    world: str = DEFAULT
    command: str = ""


def owner_of(directory: Path) -> Owner | None:
    """Return the study in a directory; None if there is none."""
    facts = _json(directory / MANIFEST) or {}
    if "paper" in facts:
        kind = "search" if "readings" in facts else "reproduce"
        return Owner(kind, str(facts["paper"]), None, command=str(facts.get("command", "")))
    for kind, file in FILES.items():
        if kind != "tune" and (kind in (KIND_COMPARED, KIND_EVALUATION)) != (PARTS in facts):
            continue
        own = _json(directory / TUNE) if kind == "tune" else facts
        about = _about(kind, directory / file)
        if own and about is not None:
            name, world, command = (str(own.get(key, "")) for key in ("name", "world", "command"))
            return Owner(kind, str(about.get("name", name)), about, world or DEFAULT, command)
    return None


def require_owner(
    out: str | os.PathLike[str], kind: str, name: str, text: str | None = None, world: str = DEFAULT
) -> None:
    """Raise ``InputError`` if a directory has results of another study; nothing is written.

    Parameters
    ----------
    out : path
        The directory; it need not exist.
    kind : str
        Kind of study: a key of `HELD`.
    name : str
        Name of the scenario, or id of a paper.
    text : str, optional
        The resolved scenario as TOML; for a shell, its link.
    world : str
        World of the runs.

    Raises
    ------
    InputError
        If there are results of another kind, scenario, paper or world, or a file of the user's that the
        scenario would overwrite.
    """
    directory = Path(out)
    found = owner_of(directory)
    if found is None:
        _spare(directory, kind, text)
        return
    what = HELD[found.kind].format(found.name)
    if found.kind == kind == "shell" and _is_abandoned(directory):
        return
    if found.kind == kind != "shell":
        if found.world != world:
            what += f" in the {found.world} world"
        elif kind in ("reproduce", "search") and found.name == name:
            return
        elif text is not None and found.about is not None:
            key = difference(found.about, tomllib.loads(text))
            if not key:
                return
            what = f"{HELD[kind].format('another scenario')} ({key})"
    by = f", by: {found.command}" if found.command else ""
    raise InputError(os.fspath(directory), f"holds {what}{by}", "a folder of its own, with --out DIR")


@contextlib.contextmanager
def entering(
    out: str | os.PathLike[str], kind: str, name: str, text: str | None = None, world: str = DEFAULT
) -> Iterator[None]:
    """Call `require_owner`, and exclude other processes while the block writes the directory's description.

    If two different studies enter a new directory at the same time, one of them is refused.
    """
    require_owner(out, kind, name, text, world)
    with describing(Path(out)):
        require_owner(out, kind, name, text, world)
        yield


def difference(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """Return the first key in which two scenarios differ, with both values; empty if there is none.

    Examples
    --------
    >>> difference({"queue": {"limit": "50p"}}, {"queue": {"limit": "60p"}})
    "queue.limit is '50p' there, '60p' here"
    >>> difference({"trace": {}}, {"trace": {}})
    ''
    """
    for key in dict.fromkeys([*old, *new]):
        ours, theirs = old.get(key), new.get(key)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            found = difference(ours, theirs, f"{prefix}{key}.")
            if found:
                return found
        elif ours != theirs:
            if isinstance(ours, str | int | float) and isinstance(theirs, str | int | float):
                return f"{prefix}{key} is {ours!r} there, {theirs!r} here"
            return f"{prefix}{key} differs"
    return ""


def _is_abandoned(directory: Path) -> bool:
    """Return whether a directory has a session of a shell without a record, whose process has ended."""
    facts = _json(directory / MANIFEST) or {}
    if facts.get("status") != "running":
        return False
    try:
        return Process(**facts["process"]).is_dead() is True
    except (KeyError, TypeError):
        return False


def _spare(directory: Path, kind: str, text: str | None) -> None:
    """Raise ``InputError`` if the study would overwrite a file of the user."""
    report = directory / REPORT
    alone = files.is_file(report) and not any(files.exists(directory / name) for name in (MANIFEST, TUNE))
    if alone:
        raise InputError(os.fspath(report), "would be overwritten", "a folder of its own, with --out DIR")
    file = directory / FILES.get(kind, "")
    if text is None or not files.is_file(file):
        return
    about = _about(kind, file)
    # A process killed between its first two files leaves only this one, which has no comments.
    if (
        about is not None
        and "#" not in (files.read_text(file) or "")
        and not difference(about, tomllib.loads(text))
    ):
        return
    raise InputError(os.fspath(file), "would be overwritten", "a folder of its own, with --out DIR")


def _about(kind: str, file: Path) -> dict[str, Any] | None:
    """Return the scenario, or the link, in a file of a directory; None if it cannot be read."""
    try:
        text = files.read_text(file)
        found: Any = None if text is None else tomllib.loads(text)
    except ValueError:
        return None
    if found is None:
        return None
    if kind == "shell":
        found = {"link": found.get("link")}
    elif kind == "sweep":
        found = found.get("scenario")
    return found if isinstance(found, dict) else None


def _json(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(files.read_text(file) or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
