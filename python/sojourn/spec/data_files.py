"""Data files that a scenario names: traces of a link's rate or jitter.

Their paths are relative to the scenario. A results folder has a copy of each in ``data/``, with the name in
the scenario and the SHA-256 in ``data/files.json`` (`sojourn.runner.data`), so the scenarios of the folder
(``scenario.toml``, ``sweep.toml``, ``cells/*.toml``) read the copy wherever the folder is.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sojourn.errors import InputError
from sojourn.files.untrusted import MOST_SCENARIO, MOST_TRACE, read_bytes
from sojourn.spec.schema import Impairment, ScenarioFields, Varying

FOLDER, LIST = "data", "files.json"
#: The scenarios in a results folder, and its folder with further ones.
STORED, CELLS = ("scenario.toml", "sweep.toml"), "cells"


def named(scenario: ScenarioFields) -> list[str]:
    """Return the names of the data files of a scenario."""
    links: list[Any] = [scenario.dumbbell] if scenario.dumbbell is not None else [*scenario.link]
    varying: list[Varying] = [one.capacity for one in links if one.capacity is not None]
    impaired: list[Impairment | None] = [
        found for one in links for found in (one.impairment, one.reverse_impairment)
    ]
    files = [one.file for one in varying] + [one.jitter_file for one in impaired if one is not None]
    return [one for one in files if one is not None]


def content(where: str, name: str) -> bytes:
    """Return the content of the data file `name` of the scenario at `where`.

    Raises
    ------
    InputError
        If it is too large or not a regular file, or if a stored copy does not match its hash.
    OSError
        If it cannot be read.
    """
    found = _copy(where, name)
    if found is None:
        return read_bytes(Path(where).parent / name, MOST_TRACE)
    path, digest = found
    data = read_bytes(path, MOST_TRACE)
    if sha256(data) != digest:
        raise InputError(str(path), "is damaged: it does not match its SHA-256 in files.json")
    return data


def sha256(data: bytes) -> str:
    """Return the hash of a data file."""
    return hashlib.sha256(data).hexdigest()


def _copy(where: str, name: str) -> tuple[Path, str] | None:
    """Return path and hash of the stored copy for a scenario of a results folder; None if there is none."""
    path = Path(where)
    folder = path.parent.parent if path.parent.name == CELLS else path.parent
    if path.name not in STORED and path.parent.name != CELLS:
        return None
    try:
        listed = json.loads(read_bytes(folder / FOLDER / LIST, MOST_SCENARIO))
        one = listed[name]
        file, digest = str(one["file"]), str(one["sha256"])
    except FileNotFoundError:
        return None
    except KeyError:
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(str(folder / FOLDER / LIST), f"cannot be read: {error}") from None
    if file in ("", ".", "..") or "/" in file or "\0" in file:
        raise InputError(str(folder / FOLDER / LIST), f"has the file name {file!r}", "a name without a path")
    return folder / FOLDER / file, digest
