"""Specs of algorithms: name and parameters as text, like ``red min_th 5p ecn``.

`Spec` is a parsed spec. Texts of the command line, scenarios, plan files and Python calls are parsed at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

from sojourn import _core
from sojourn.errors import InputError, from_core

#: Longest spec.
MOST_CHARACTERS = 10_000


class Spec(str):
    """A spec, parsed: its text is the canonical form.

    While a spec exists its text is not parsed again, unless it names an algorithm in Python, whose file may
    change.

    Attributes
    ----------
    name : str
        The algorithm.
    values : mapping
        The parameters that the text sets: numbers, booleans, or text with units.
    limit, overflow : str or None
        The queue's limit and the packet that it drops when it is full, if the text sets them.
    ecn : bool
        Whether the algorithm marks packets.
    known : bool
        False for an algorithm in Python whose parameters are unknown, as its code may not be executed; then
        the text is not in canonical form, and is parsed again when it is used.

    Raises
    ------
    SpecError
        If the text is not a valid spec.
    InputError
        If it is too long, contains a null character, or names a congestion control, or a file without a
        class.

    Examples
    --------
    >>> spec = Spec("red max_th 30 min_th 10 ecn")
    >>> spec, spec.name, spec.values["max_th"], spec.ecn
    ('red min_th 10p max_th 30p ecn', 'red', '30p', True)
    >>> Spec(spec) is spec
    True
    """

    name: str
    values: Mapping[str, Any]
    limit: str | None
    overflow: str | None
    ecn: bool
    known: bool

    def __new__(cls, text: str) -> Spec:  # noqa: D102 - described by its class
        if isinstance(text, Spec) and text.known:
            return text
        if (found := _parsed.get(text)) is not None:
            return found
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"{text[:40]!r}...", "is too long", f"at most {MOST_CHARACTERS} characters")
        if "\0" in text:
            raise InputError(f"{text[:40]!r}", "contains a null character")
        if (file := text.partition(" ")[0]).endswith(".py"):
            raise InputError(file, "names a file without a class", f"{file}:CLASS")
        try:
            spec = super().__new__(cls, _core.canonical(text))
        except _core.SpecError:
            if (name := text.strip().partition(" ")[0].lower()) in congestion_controls():
                problem = "is a congestion control of senders, not an algorithm of a queue"
                raise InputError(repr(name), problem, f'variant = "{name}" in [[traffic]]') from None
            raise
        info = _core.spec_info(spec)
        spec.name, spec.values = info["name"], MappingProxyType(info["values"])
        spec.limit, spec.ecn, spec.known = info["limit"], info["ecn"], info["known"]
        _, is_set, overflow = spec.rpartition(" overflow ")
        # Within parentheses it belongs to a queue of a scheduler.
        spec.overflow = overflow if is_set and ")" not in overflow else None
        return spec if ":" in spec else _parsed.setdefault(spec, spec)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


@cache
def congestion_controls() -> tuple[str, ...]:
    """Return the names of the congestion controls that traffic can have."""
    return next(tuple(one["choices"]) for one in _core.tcp_schema() if one["name"] == "variant")


_parsed: WeakValueDictionary[str, Spec] = WeakValueDictionary()


def aqm(name: str, **params: object) -> Spec:
    """Return the canonical spec of an algorithm.

    Parameters
    ----------
    name : str
        A name from ``sojourn list``, or ``file.py:Class``.
    **params
        Its parameters: numbers, booleans, text with units, or the `Spec` of a scheduler's class.

    Examples
    --------
    >>> aqm("droptail", limit="50p", overflow="head")
    'droptail limit 50p overflow head'
    >>> aqm("prio", classes=2, aqm_1=aqm("red", min_th="5p"))
    'prio classes 2 aqm_1 (red min_th 5p)'
    """
    words = [name]
    for key, value in params.items():
        words += [key, _word(value)]
    return canonical(" ".join(words))


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"({value})" if isinstance(value, Spec) else str(value)


def canonical(spec: str) -> Spec:
    """Return a spec, parsed; raise ``InputError`` if it is invalid."""
    try:
        return Spec(spec)
    except _core.SpecError as error:
        if "," in spec and all(_is_spec(one) for one in spec.split(",")):
            raise InputError(repr(spec), "names several algorithms", "one; --aqm is repeatable") from None
        raise from_core(error) from None


def _is_spec(text: str) -> bool:
    try:
        return bool(Spec(text.strip()))
    except (InputError, _core.SpecError):
        return False


def located(spec: str, folder: str) -> str:
    """Return a spec with its paths relative to the scenario's `folder` resolved; other specs are unchanged.

    Examples
    --------
    >>> located("red min_th 5", "somewhere")
    'red min_th 5'
    """
    for name in dict.fromkeys(_core.classes_in(spec) if folder else ()):
        path, _, cls = name.rpartition(":")
        if not Path(path).is_absolute() and _is_file(Path(folder) / path):
            resolved = f"{short_path(os.path.join(folder, path))}:{cls}"  # noqa: PTH118
            word = rf"(?<![^\s(]){re.escape(name)}(?![^\s)])"
            spec = resolved.join(re.split(word, spec.strip()))
    return spec


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no file has such a name
        return False


def short_path(path: str) -> str:
    """Return `path` relative to the working directory if it is below it, else the absolute path."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith("..") else relative  # noqa: PTH100
