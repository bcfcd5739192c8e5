"""What the wire of a link does to packets, converted to the core's plan."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from sojourn.errors import InputError
from sojourn.spec.link_trace import SECOND, rows, trace
from sojourn.spec.schema import Impairment
from sojourn.spec.units import draw
from sojourn.spec.validation_errors import refusal

#: The longest delay of a file, s.
MOST_DELAY = 3600.0


def impairment(found: Impairment, where: str, key: str) -> dict[str, Any]:
    """Return the plan of the impairments of a link.

    Parameters
    ----------
    found : Impairment
        The scenario's table.
    where : str
        The scenario's file; the path of a file is relative to it.
    key : str
        The table's name, for errors.
    """
    plan: dict[str, Any] = {"in_order": found.in_order}
    if (loss := _loss(found)) is not None:
        plan["loss"] = loss
    if found.jitter is not None:
        plan["delay"] = {"drawn": draw(found.jitter, "jitter")}
    if found.jitter_file is not None:
        place = f"{key}.jitter_file"
        plan["delay"] = {"steps": delay_steps(trace(found.jitter_file, where, place), f"{where}: {place}")}
    if found.reorder:
        plan |= {"reorder": found.reorder, "one_of": found.reorder_gap}
    if found.duplicate:
        plan["duplicate"] = found.duplicate
    return plan


def of_words(words: Sequence[str], option: str) -> dict[str, Any] | None:
    """Return the plan of impairments ``KEY=VALUE``, with the keys of a scenario's table; None without any.

    Raises
    ------
    InputError
        With the option, all mistakes of its words, and what is allowed.

    Examples
    --------
    >>> of_words(["loss=1%", "duplicate=0.1"], "--impair")
    {'in_order': True, 'loss': {'random': 0.01}, 'duplicate': 0.1}
    """
    table: dict[str, Any] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not key or not equals or not value:
            raise InputError(option, f"= {word!r} is not KEY=VALUE", "loss=1%, jitter=normal 5ms 1ms, ...")
        if key in table:
            raise InputError(option, f"has {key} twice", "each key once")
        table[key] = _value(value)
    if not table:
        return None
    try:
        found = Impairment.model_validate(table)
    except ValidationError as error:
        raise refusal(error, Impairment, table, option, {}) from None
    return impairment(found, option, "impairment")


def _value(text: str) -> Any:
    """Return a TOML value; a text needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _loss(found: Impairment) -> dict[str, Any] | None:
    """Return which packets are lost; bursts are a Gilbert-Elliott model that loses all of the bad state."""
    if (model := found.gilbert_elliott) is not None:
        states = {"p": model.p, "r": model.r, "good": model.loss_good, "bad": model.loss_bad}
        return {"gilbert_elliott": states}
    if not found.loss:
        return None
    if found.loss_burst is None:
        return {"random": found.loss}
    r = 1 / found.loss_burst
    return {"gilbert_elliott": {"p": r * found.loss / (1 - found.loss), "r": r, "good": 0.0, "bad": 1.0}}


def delay_steps(text: str, place: str = "trace") -> list[list[int]]:
    r"""Return [begin, delay] in ns of every line ``seconds,seconds``; the last delay lasts to the end.

    Examples
    --------
    >>> delay_steps("time_s,delay_s\n0,0.01\n0.5,0.002\n")
    [[0, 10000000], [500000000, 2000000]]
    """
    steps = rows(text, place, "delay", MOST_DELAY, "seconds and seconds")
    return [[round(time * SECOND), round(delay * SECOND)] for time, delay in steps]
