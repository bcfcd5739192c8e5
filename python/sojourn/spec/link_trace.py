"""Rates that vary with time: the capacity of a link in a scenario, converted to the core's plan.

A trace is read when the plan is made. Its content is part of the plan, so a changed file gives another run.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from sojourn.errors import InputError
from sojourn.files.untrusted import reason, text_of
from sojourn.spec.data_files import content
from sojourn.spec.schema import Varying
from sojourn.spec.units import draw, number

MTU_BITS = 1504 * 8
MS, SECOND = 1_000_000, 1_000_000_000
#: Digits of a time in ms, and characters of a line that an error shows.
MOST_DIGITS, SHOWN = 12, 8


def capacity(varying: Varying | None, where: str, key: str) -> dict[str, Any] | None:
    """Return the plan of a varying rate; None for a constant one.

    Parameters
    ----------
    varying : Varying, optional
        The scenario's table.
    where : str
        The scenario's file; paths of traces are relative to it.
    key : str
        The table's name, for errors.
    """
    if varying is None:
        return None
    if varying.file is None:
        every, rate = varying.every or "", varying.rate or ""
        return {"redraw": {"every": number("span", every), "rate": draw(rate, "rate")}}
    text, place = trace(varying.file, where, f"{key}.file"), f"{where}: {key}.file"
    is_csv = Path(varying.file).suffix.lower() == ".csv"
    steps = csv_steps(text, place) if is_csv else mahimahi_steps(text, place)
    return {"steps": {"steps": steps, "repeats": not is_csv}}


def trace(name: str, where: str, key: str) -> str:
    """Return the content of the file `name` of the scenario at `where`; `key` names it, for errors."""
    path, place = Path(where).parent / name, f"{where}: {key}"
    try:
        return text_of(content(where, name), path)
    except InputError as error:
        raise InputError(place, f"= {name!r} {error.problem}", error.allowed) from None
    except (OSError, ValueError) as error:
        raise InputError(place, f"= {str(path)!r} cannot be read: {reason(error)}") from None


def csv_steps(text: str, place: str = "trace") -> list[list[int]]:
    r"""Return [ns, bit/s] of every line ``seconds,bit/s``; the last rate lasts to the end.

    Examples
    --------
    >>> csv_steps("time_s,rate_bps\n0,1e6\n0.5,2e6\n")
    [[500000000, 1000000], [1000000000, 2000000]]
    """
    found = rows(text, place, "rate", 1e13, "seconds and bit/s")
    if found[-1][1] < 1:
        raise InputError(place, "cannot end: its last rate is 0", "lines 'time,rate'")
    ends = [round(time * SECOND) for time, _ in found[1:]] + [round(found[-1][0] * SECOND) + SECOND]
    starts = [0, *ends[:-1]]
    steps = [[b - a, round(rate)] for a, b, (_, rate) in zip(starts, ends, found, strict=True)]
    return [step for step in steps if step[0] > 0]


def rows(text: str, place: str, what: str, most: float, units: str) -> list[tuple[float, float]]:
    """Return the lines ``time,VALUE`` of a file, with values from 0 to `most`; the first may be a header."""
    found: list[tuple[float, float]] = []
    for i, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            time, value = (float(word.strip(' "')) for word in line.split(","))
        except ValueError:
            if i == 0:
                continue  # a header
            raise InputError(place, f"line {i + 1} is not 'time,{what}'", units) from None
        if not (0 <= time <= 1e7 and 0 <= value <= most) or (time <= found[-1][0] if found else time != 0):
            problem = f"line {i + 1}: times must start at 0 and increase, {what}s must be 0 to {most:g}"
            raise InputError(place, problem, units)
        found.append((time, value))
    if not found:
        raise InputError(place, "has no line", f"lines 'time,{what}'")
    return found


def mahimahi_steps(text: str, place: str = "trace") -> list[list[int]]:
    r"""Return [ns, bit/s] for each sequence of milliseconds with the same number of transmissions.

    Examples
    --------
    >>> mahimahi_steps("1\n1\n2\n2\n4\n")
    [[2000000, 24064000], [1000000, 0], [1000000, 12032000]]
    """
    chances: dict[int, int] = {}
    last = 0
    for i, line in enumerate(text.split()):
        number_of = int(line) if line.isascii() and line.isdigit() and len(line) <= MOST_DIGITS else -1
        if not last <= number_of <= 10_000_000:
            problem = f"line {i + 1}: {line[:SHOWN]!r} is not a time in ms, at or after the line before"
            raise InputError(place, problem, "whole numbers, one per line")
        last = number_of
        chances[max(1, last)] = chances.get(max(1, last), 0) + 1
    if not chances:
        raise InputError(place, "is empty", "one millisecond per line")
    per_ms = (chances.get(ms, 0) for ms in range(1, max(1, last) + 1))
    return [[MS * len(list(run)), count * MTU_BITS * 1000] for count, run in groupby(per_ms)]
