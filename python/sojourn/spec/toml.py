"""Writes TOML for the structures of scenarios; the standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any


def dumps(data: Mapping[str, Any]) -> str:
    """Return `data` as TOML: plain keys first, then tables, then arrays of tables.

    Examples
    --------
    >>> print(dumps({"a": 1, "t": {"b": "x", "in": {"c": [1.5, True]}}, "l": [{"d": 2}]}), end="")
    a = 1
    <BLANKLINE>
    [t]
    b = "x"
    in = { c = [1.5, true] }
    <BLANKLINE>
    [[l]]
    d = 2
    """
    plain = {k: v for k, v in data.items() if not _is_table(v) and not _is_tables(v)}
    tables = {k: v for k, v in data.items() if _is_table(v)}
    arrays = {k: v for k, v in data.items() if _is_tables(v)}
    lines = list(_pairs(plain))
    for key, table in tables.items():
        lines += ["", f"[{_key(key)}]", *_pairs(table)]
    for key, array in arrays.items():
        for table in array:
            lines += ["", f"[[{_key(key)}]]", *_pairs(table)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(key)} = {value(one)}" for key, one in table.items())


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(one: Any) -> str:
    """Return a value as TOML; tables are inline."""
    if isinstance(one, bool):
        return "true" if one else "false"
    if isinstance(one, int | float):
        return repr(one)
    if isinstance(one, str):
        return _text(one)
    if isinstance(one, Mapping):
        return "{ " + ", ".join(_pairs(one)) + " }" if one else "{}"
    if isinstance(one, list | tuple):
        return "[" + ", ".join(value(each) for each in one) + "]"
    raise TypeError(f"{type(one).__name__} has no form in TOML")
