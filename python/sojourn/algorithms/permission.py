"""Which files of Python code may be executed: those that the user named, or all after ``--allow-code``.

A scenario, a plan or a results directory may name code (``mine.py:Mine``); reading one never executes it. A
file is permitted by its name on the command line, by passing its class, or by ``allow_code=True``. The
permission belongs to the current context (`contextvars`): a command or a call and the functions that it
calls.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace

from sojourn import _core

#: How to permit code, for error messages.
REMEDY = "repeat with --allow-code (in Python: allow_code=True) to run it"


@dataclass(frozen=True)
class _Permission:
    """All files if `every`, else `files`, by their real paths."""

    every: bool = False
    files: frozenset[str] = frozenset()


_NOTHING = _Permission()
_permission: ContextVar[_Permission] = ContextVar("permission", default=_NOTHING)


def permit(specs: Iterable[str]) -> None:
    """Permit the files that these specs name, in the current context: the user has written them."""
    files = {os.path.realpath(path) for spec in specs for path in _paths(spec)}
    now = _permission.get()
    _permission.set(replace(now, files=now.files | files))


def permit_all() -> None:
    """Permit every file that an input names, in the current context."""
    _permission.set(_Permission(every=True))


@contextlib.contextmanager
def permitting(allow_code: bool) -> Iterator[None]:
    """Permit every file within the block if `allow_code`; otherwise the permission stays as it is."""
    outer = _permission.set(replace(_permission.get(), every=_permission.get().every or allow_code))
    try:
        yield
    finally:
        _permission.reset(outer)


def every_file_is_permitted() -> bool:
    """Return whether every file is permitted: by ``--allow-code``, or ``allow_code=True``."""
    return _permission.get().every


def is_permitted(path: str) -> bool:
    """Return whether a file may be executed."""
    now = _permission.get()
    return now.every or os.path.realpath(path) in now.files


def may_execute(spec: str) -> bool:
    """Return whether a spec names no code, or code that may be executed."""
    return all(map(is_permitted, _paths(spec)))


def _paths(spec: str) -> list[str]:
    """Return the files that a spec names: that of ``file.py:Class``, or those of a scheduler's classes."""
    paths = (name.rpartition(":")[0] for name in _core.classes_in(spec))
    return [path for path in paths if path.endswith(".py")]
