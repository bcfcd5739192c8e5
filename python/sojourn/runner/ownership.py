"""Whose a folder of results is: one kind of study of one scenario; what is of another is refused.

A folder has one manifest, one resolved scenario and one report. Another study would overwrite them, and leave
the first one's runs with nothing that says what they are. More seeds, more algorithms, other values of a
sweep or other settings to tune are the same study: what is done is found again. A session of a shell is never
made again, so a second one is another study, behind the same link, too.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.errors import InputError

MANIFEST, TUNE, REPORT = "manifest.json", "tune.json", "report.html"
#: Which file says what a study is about.
FILES = {"tune": "scenario.toml", "sweep": "sweep.toml", "shell": "link.toml", "run": "scenario.toml"}
#: What a folder holds, in words, by the kind of study; a shell has no name.
HELD = {
    "run": "runs of {}",
    "sweep": "a sweep of {}",
    "tune": "a tuning of {}",
    "shell": "a session of a shell",
    "reproduce": "the paper {}",
}


class Owner(NamedTuple):
    """Who has a folder: kind of study, its name, what it is about as data, the world, the command."""

    kind: str
    name: str
    about: dict[str, Any] | None
    world: str = "simulated"
    command: str = ""


def owner_of(directory: Path) -> Owner | None:
    """Return whose results are in a folder, None if nobody's."""
    facts = _json(directory / MANIFEST) or {}
    if "paper" in facts:
        return Owner("reproduce", str(facts["paper"]), None, command=str(facts.get("command", "")))
    for kind, file in FILES.items():
        own = _json(directory / TUNE) if kind == "tune" else facts
        about = _about(kind, directory / file)
        if own and about is not None:
            name, world, command = (str(own.get(key, "")) for key in ("name", "world", "command"))
            return Owner(kind, str(about.get("name", name)), about, world or "simulated", command)
    return None


def require_owner(
    out: str | os.PathLike[str], kind: str, name: str, text: str | None = None, world: str = "simulated"
) -> None:
    """Refuse a folder that holds other results; nothing is written.

    Parameters
    ----------
    out : path
        The folder; it need not exist.
    kind : str
        Of study: a key of `HELD`, or another word that never goes with what is there.
    name : str
        Of the scenario, or a paper's id.
    text : str, optional
        The resolved scenario, as TOML; of a shell its link.
    world : str
        Of the runs.

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
    if found.kind == kind != "shell":
        if found.world != world:
            what += f" in the {found.world} world"
        elif kind == "reproduce" and found.name == name:
            return
        elif text is not None and found.about is not None:
            key = difference(found.about, tomllib.loads(text))
            if not key:
                return
            what = f"{HELD[kind].format('another scenario')} ({key})"
    by = f", by: {found.command}" if found.command else ""
    raise InputError(os.fspath(directory), f"holds {what}{by}", "a folder of its own, with --out DIR")


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


def _spare(directory: Path, kind: str, text: str | None) -> None:
    """Refuse a folder where a file would be overwritten that is not of such a study."""
    report = directory / REPORT
    alone = report.is_file() and not any((directory / name).exists() for name in (MANIFEST, TUNE))
    if alone and kind != "compare-worlds":  # which leaves nothing else
        raise InputError(os.fspath(report), "would be overwritten", "a folder of its own, with --out DIR")
    file = directory / FILES.get(kind, "")
    if text is None or not file.is_file():
        return
    about = _about(kind, file)
    # A plan that was killed between its first two files has left just this one, which has no comments.
    if about is not None and "#" not in file.read_text() and not difference(about, tomllib.loads(text)):
        return
    raise InputError(os.fspath(file), "would be overwritten", "a folder of its own, with --out DIR")


def _about(kind: str, file: Path) -> dict[str, Any] | None:
    """Return what a file of a folder says of the scenario, or of the link; None if it cannot be read."""
    try:
        found: Any = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if kind == "shell":
        found = {"link": found.get("link")}
    elif kind == "sweep":
        found = found.get("scenario")
    return found if isinstance(found, dict) else None


def _json(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
