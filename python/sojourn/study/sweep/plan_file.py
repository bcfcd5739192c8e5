"""Reads the plan of a sweep from TOML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import InputError
from sojourn.files.untrusted import MOST_SCENARIO, read_text
from sojourn.spec.scenario import Scenario, load, parsed, renamed, unreadable
from sojourn.study.axes import Axis, listed, spaced
from sojourn.study.sweep.model import Sweep


def read(path: str | os.PathLike[str], or_scenario: bool = False, is_stored: bool = False) -> Sweep:
    """Read a plan file: ``scenario`` (a table, or the path of a file), ``aqms``, ``seeds``, ``vary``.

    Parameters
    ----------
    path : path
        The file, or ``-`` for standard input.
    or_scenario : bool
        Whether a file with neither ``scenario`` nor ``vary`` is a scenario alone.
    is_stored : bool
        Whether it is part of a results folder, as in `Scenario.from_toml`.

    Raises
    ------
    InputError
        If it cannot be read or has an unknown key.
    """
    where = str(path)
    try:
        text = read_text(path, MOST_SCENARIO)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    data = parsed(text, where)
    if or_scenario and {"scenario", "vary"}.isdisjoint(data):
        return Sweep(Scenario.of(data, where, text), [], [])
    known = ("scenario", "aqms", "seeds", "seed_from", "vary")
    for key in data:
        if key not in known:
            raise InputError(
                f"{where}: {key}", "is unknown", ", ".join(known), _core.nearest(key, list(known))
            )
    scenario = data.get("scenario")
    if isinstance(scenario, dict):
        varied = Scenario.of(renamed(scenario) if is_stored else scenario, where, text, ("scenario",))
    elif isinstance(scenario, str):
        varied = load(Path(path).parent / scenario, is_stored=is_stored)
    else:
        raise InputError(f"{where}: scenario", "is missing", "the name of a scenario file, or a table")
    vary = data.get("vary", {})
    if not isinstance(vary, dict):
        raise InputError(f"{where}: vary", "is not a table", '[vary] "queue.limit" = ["50p", "100p"]')
    return Sweep(
        varied,
        _texts(data.get("aqms", []), f"{where}: aqms"),
        [axis_of(key, values, where) for key, values in _flat(vary)],
        _whole(data.get("seeds", 5), f"{where}: seeds"),
        _whole(data.get("seed_from", 1), f"{where}: seed_from"),
        where,
    )


def axis_of(key: str, values: object, where: str) -> Axis:
    """Return the axis for a list of values, or for a range as text."""
    place = f"{where}: vary.{key}"
    if isinstance(values, str):
        return spaced(key, values) if ":" in values else listed(key, values)
    if not isinstance(values, list) or not values:
        raise InputError(place, "has no values", 'a list, or "LOW:HIGH:N"')
    return Axis(key, tuple(dict.fromkeys(str(one) for one in values)))


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Flatten nested tables: ``queue.limit = ...`` is the same as ``"queue.limit" = ...``."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return found


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InputError(where, "is not a list of specs", '["red", "pie target 20ms"]')
    return value


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(where, f"= {value!r} is not a whole number")
    return value
