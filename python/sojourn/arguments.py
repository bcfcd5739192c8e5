"""Checks of the arguments of Python functions: a value of a wrong type is an ``InputError`` that names it.

Each function takes a value and the name of its argument, and returns the value.
"""

from __future__ import annotations

import errno
import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sojourn.errors import InputError, place, unknown

#: Characters of a value that an error shows.
SHOWN = 40


def wrong(value: object, where: str, problem: str, allowed: str) -> InputError:
    """Return the error for a value."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - repr of a user's object
        text = f"a {type(value).__name__}"
    short = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return InputError(where, f"= {short} {problem}", allowed)


def whole(value: Any, where: str, least: int = 0, most: int = 2**53 - 1) -> int:
    """Check a whole number.

    Examples
    --------
    >>> whole("3", "seeds", 1, 100)
    Traceback (most recent call last):
    sojourn.errors.InputError: seeds = '3' is not a whole number; allowed: 1 to 100
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise wrong(value, where, "is not a whole number", f"{least} to {most}")
    if not least <= found <= most:
        raise wrong(value, where, "is out of range", f"{least} to {most}")
    return found


def number(value: Any, where: str, allowed: str) -> float:
    """Check a finite number."""
    try:
        found = math.nan if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise wrong(value, where, "is not a number", allowed)
    return found


def listed(value: Any, where: str, allowed: str) -> list[Any]:
    """Check a list, or something else that can be iterated over; a text is one value, not a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong(value, where, "is not a list", allowed)
    return list(value)


def texts(value: Any, where: str, allowed: str) -> list[str]:
    """Check a list of texts."""
    found = listed(value, where, allowed)
    for one in found:
        text(one, where, allowed)
    return found


def text(value: Any, where: str, allowed: str) -> str:
    """Check a text."""
    if not isinstance(value, str):
        raise wrong(value, where, "is not a text", allowed)
    return value


def word(value: Any, where: str, words: Iterable[str]) -> str:
    """Check that a text is one of `words`."""
    allowed = list(words)
    if text(value, where, ", ".join(allowed)) not in allowed:
        raise unknown(value, "one of the allowed words", allowed, where)
    return str(value)


def folder(value: Any, where: str = "out") -> Path:
    """Check the path of a folder, which need not exist."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise wrong(value, where, "is not a path", "a folder")
    found = place(value, where)
    try:
        found.lstat()
    except ValueError as error:
        raise wrong(value, where, f"cannot be a folder: {error}", "another path") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise wrong(value, where, "is too long for a path", "a shorter one") from None
    return found


def callback(value: Any, where: str, allowed: str) -> None:
    """Check a function, or None."""
    if value is not None and not callable(value):
        raise wrong(value, where, "cannot be called", allowed)
