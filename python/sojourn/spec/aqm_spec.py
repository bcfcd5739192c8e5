"""Specs of algorithms: name and parameters as text, like ``red min_th 5p ecn``."""

from __future__ import annotations

import os
from pathlib import Path

from sojourn import _core
from sojourn.errors import InputError, from_core

#: Longest spec.
MOST_CHARACTERS = 10_000


def aqm(name: str, **params: object) -> str:
    """Return the canonical spec of an algorithm.

    Parameters
    ----------
    name : str
        A name from ``sojourn list``, or ``file.py:Class``.
    **params
        Its parameters: numbers, booleans, or text with units.

    Examples
    --------
    >>> aqm("droptail", limit="50p", overflow="head")
    'droptail limit 50p overflow head'
    """
    words = [name]
    for key, value in params.items():
        words += [key, ("on" if value else "off") if isinstance(value, bool) else str(value)]
    return canonical(" ".join(words))


def canonical(spec: str) -> str:
    """Return the canonical form of a spec; raise ``InputError`` if it is invalid."""
    try:
        return parsed(spec)
    except _core.SpecError as error:
        raise from_core(error) from None


def parsed(spec: str) -> str:
    """Return the canonical form of a spec; raise the core's ``SpecError`` if it is invalid."""
    if len(spec) > MOST_CHARACTERS:
        raise InputError(f"{spec[:40]!r}...", "is too long", f"at most {MOST_CHARACTERS} characters")
    if (name := spec.partition(" ")[0]).endswith(".py"):
        raise InputError(name, "names a file without a class", f"{name}:CLASS")
    return _core.canonical(spec)


def located(spec: str, folder: str) -> str:
    """Return a spec with its path relative to the scenario's `folder` resolved; other specs are unchanged.

    Examples
    --------
    >>> located("red min_th 5", "somewhere")
    'red min_th 5'
    """
    name, space, rest = spec.strip().partition(" ")
    path, colon, cls = name.rpartition(":")
    if not colon or not folder or Path(path).is_absolute() or not _is_file(Path(folder) / path):
        return spec
    return f"{short_path(os.path.join(folder, path))}:{cls}{space}{rest}"  # noqa: PTH118


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no file has such a name
        return False


def short_path(path: str) -> str:
    """Return `path` relative to the working directory if it is below it, else the absolute path."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith("..") else relative  # noqa: PTH100
