"""Checks the algorithms in Python of a study: their permission, and their version against the directory's.

Only permitted code is loaded (`sojourn.algorithms.permission`). Code that a run needs and that is not loaded
is refused before anything runs, with the place that names it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.algorithms import REMEDY, describe, look, names_in
from sojourn.errors import InputError, from_core
from sojourn.files.untrusted import MOST_SCENARIO, read_text
from sojourn.runner.point import Point

#: The manifest of each kind of directory.
MANIFESTS = ("tune.json", "manifest.json")


def require_permission(points: Iterable[Point], *sources: str) -> None:
    """Raise ``InputError`` if a point needs code that may not be executed.

    Parameters
    ----------
    points : iterable of Point
        The runs.
    *sources : str
        Files that may name the code, besides those of the scenarios.
    """
    error = missing_permission(points, *sources)
    if error is not None:
        raise error


def missing_permission(points: Iterable[Point], *sources: str) -> InputError | None:
    """Return the error for code that points need and that may not be executed; None if there is none."""
    where: dict[str, str] = {}
    for plan, point in {point.plan_json: point for point in points}.items():
        for name in names_in(plan):
            where.setdefault(name, point.scenario.where)
    for name, file in where.items():
        try:
            loaded = look(name) == "loaded"
        except _core.SpecError as error:
            raise from_core(error).at(file) from None
        if not loaded:
            return refusal(name, *sources, file)
    return None


def refusal(name: str, *sources: str) -> InputError:
    """Return the error for the code `name`, with its place in one of these TOML files."""
    for file in sources:
        for line, key, spec in _places(file):
            if _is_named(name, spec):
                return InputError(f"{file}: line {line}: {key}", f"= {spec!r} names Python code", REMEDY)
    return InputError(f"aqm {name!r}", "names Python code", REMEDY)


def _places(file: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and text of each text in a TOML file; of equal texts, the line of the first."""
    try:
        text = read_text(file, MOST_SCENARIO)
        data = tomllib.loads(text)
    except (InputError, OSError, ValueError, RecursionError):
        return
    lines = text.splitlines()
    for key, value in _texts(data):
        found = (i for i, line in enumerate(lines, 1) if value in line and not line.lstrip().startswith("#"))
        yield next(found, 1), key, value


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _texts(one, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for i, one in enumerate(value, 1):
            yield from _texts(one, f"{key}[{i}]")


def _is_named(name: str, spec: str) -> bool:
    """Return whether a text of a file names the class `name`, whose path may have been resolved since."""
    resolved, _, wanted = name.rpartition(":")
    named = (word.rpartition(":") for word in _core.classes_in(spec))
    return any(cls == wanted and Path(resolved).name == Path(path).name for path, _, cls in named)


def code_of(points: Iterable[Point]) -> dict[str, Any]:
    """Return hash and description of every class that points use, for the manifest."""
    return describe(sorted({name for plan in {one.plan_json for one in points} for name in names_in(plan)}))


def stored(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the descriptions of classes in the manifest of a directory; empty if it cannot be read."""
    for name in MANIFESTS:
        try:
            facts = json.loads(files.read_text(Path(directory) / name) or "null")
        except (ValueError, RecursionError):
            continue
        code = facts.get("code") if isinstance(facts, dict) else None
        if isinstance(code, dict):
            return code
    return {}


def require_same(directory: str | os.PathLike[str], code: Mapping[str, Any]) -> None:
    """Raise ``InputError`` if a directory has runs of other versions of these classes."""
    for name, before in stored(directory).items():
        old, new = (one.get("sha256") if isinstance(one, dict) else None for one in (before, code.get(name)))
        if old and new and old != new:
            raise InputError(
                os.fspath(directory),
                f"holds runs of {name} with SHA-256 {old}; the SHA-256 of the code is now {new}",
                "the earlier code, or a folder of its own, with --out DIR",
            )
