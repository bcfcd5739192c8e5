"""The data files of a study: keeps a copy of each in the results folder, and refuses changed ones.

``data/files.json`` lists them: the name in the scenario, the copy, its SHA-256.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from sojourn import files
from sojourn.errors import InputError
from sojourn.runner.point import Point
from sojourn.spec.data_files import FOLDER, LIST, content, named, sha256

#: Digits of the hash in the name of a copy.
DIGITS = 12


def data_of(points: Iterable[Point]) -> dict[str, str]:
    """Return the SHA-256 of every data file that points use, by its name in the scenario; for manifests."""
    return {name: sha256(found) for name, found in _contents(points).items()}


def _contents(points: Iterable[Point]) -> dict[str, bytes]:
    scenarios = {id(point.scenario): point.scenario for point in points}.values()
    places = {name: scenario.where for scenario in scenarios for name in named(scenario)}
    return {name: content(where, name) for name, where in places.items()}


def listed(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the list of data files of a folder; empty if there is none.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path = Path(directory) / FOLDER / LIST
    try:
        found = json.loads(files.read_text(path) or "{}")
        return {name: {"file": str(one["file"]), "sha256": str(one["sha256"])} for name, one in found.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(str(path), f"cannot be read: {error}") from None


def keep_data(directory: Path, points: Iterable[Point]) -> None:
    """Write the data files that points use into a folder, unless they are there.

    Raises
    ------
    InputError
        If the folder has runs with another version of one.
    """
    contents = _contents(points)
    if not contents:
        return
    before = listed(directory)
    now = dict(before)
    for name, found in contents.items():
        path, digest = PurePath(name), sha256(found)
        if name in before and before[name]["sha256"] != digest:
            then = before[name]["sha256"]
            raise InputError(
                str(directory),
                f"holds runs with {name} of SHA-256 {then}; that of the file is now {digest}",
                "the earlier file, or a folder of its own, with --out DIR",
            )
        plain = re.sub(r"[^\w.-]", "_", path.stem, flags=re.ASCII)[:100]
        now[name] = {"file": f"{plain}-{digest[:DIGITS]}{path.suffix[:20]}", "sha256": digest}
        copy = directory / FOLDER / now[name]["file"]
        files.make_folder(copy.parent)
        if not files.exists(copy):
            files.write(copy, found)
    if now != before:
        files.write(directory / FOLDER / LIST, json.dumps(now, indent=1) + "\n")


def damaged(directory: Path) -> Mapping[str, tuple[str, str]]:
    """Return the copies that do not match: path, stated SHA-256 and that of the content, or ``missing``."""
    found = {}
    for one in listed(directory).values():
        path = directory / FOLDER / PurePath(one["file"]).name
        data = files.read(path)
        digest = "missing" if data is None else sha256(data)
        if digest != one["sha256"]:
            found[str(path)] = (one["sha256"], digest)
    return found
