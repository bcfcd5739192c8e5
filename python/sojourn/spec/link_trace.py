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
    path = Path(where).parent / varying.file
    place = f"{where}: {key}.file"
    try:
        text = text_of(content(where, varying.file), path)
    except InputError as error:
        raise InputError(place, f"= {varying.file!r} {error.problem}", error.allowed) from None
    except (OSError, ValueError) as error:
        raise InputError(place, f"= {str(path)!r} cannot be read: {reason(error)}") from None
    is_csv = path.suffix.lower() == ".csv"
    steps = csv_steps(text, place) if is_csv else mahimahi_steps(text, place)
    return {"steps": {"steps": steps, "repeats": not is_csv}}


def csv_steps(text: str, place: str = "trace") -> list[list[int]]:
    r"""Return [ns, bit/s] of every line ``seconds,bit/s``; the last rate lasts to the end.

    Examples
    --------
    >>> csv_steps("time_s,rate_bps\n0,1e6\n0.5,2e6\n")
    [[500000000, 1000000], [1000000000, 2000000]]
    """
    rows: list[tuple[float, float]] = []
    for i, line in enumerate(text.splitlines()):
        row = line.split(",")
        if not line.strip():
            continue
        try:
            time, rate = (float(word.strip(' "')) for word in row)
        except ValueError:
            if i == 0:
                continue  # a header
            raise InputError(place, f"line {i + 1} is not 'time,rate'", "seconds and bit/s") from None
        if not (0 <= time <= 1e7 and 0 <= rate <= 1e13) or (time <= rows[-1][0] if rows else time != 0):
            problem = f"line {i + 1}: times must start at 0 and increase, rates must be 0 to 1e13"
            raise InputError(place, problem, "seconds and bit/s")
        rows.append((time, rate))
    if not rows or rows[-1][1] < 1:
        raise InputError(place, "has no line, or its last rate is 0", "lines 'time,rate'")
    ends = [round(time * SECOND) for time, _ in rows[1:]] + [round(rows[-1][0] * SECOND) + SECOND]
    starts = [0, *ends[:-1]]
    steps = [[b - a, round(rate)] for a, b, (_, rate) in zip(starts, ends, rows, strict=True)]
    return [step for step in steps if step[0] > 0]


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
