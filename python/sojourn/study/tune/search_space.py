"""The search space of an algorithm: its parameters and their ranges, from the schema.

A parameter is searched if it is a number, a time or a queue length with a fixed default other than 0.
Parameters that are derived from the link stay derived, and sizes of packets in bytes belong to the traffic.
Of an algorithm that Linux has, those that ``tc`` cannot set are not searched; parameters of marking are not
searched without ECN. An algorithm with nothing else to search has its buffer searched: the ``limit``.
The range is a tenth to ten times the default, within the bounds of the schema, on a logarithmic scale. ``-P``
and ``-L`` override it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.algorithms.builtin import parameters
from sojourn.algorithms.tc import settable
from sojourn.errors import InputError, unknown
from sojourn.spec.aqm_spec import Spec
from sojourn.study.axes import quantity_of, with_parameter

SPAN = 10.0
_KINDS = ("number", "span", "size")
#: Parameters without effect if no packet is marked.
_MARKING = ("mark_ecnth", "p_c_max", "ecn_forced")
#: The size of the buffer, a parameter of every queue.
LIMIT = "limit"
#: Values of a flag in a spec.
FLAGS = ("on", "off", "true", "false", "yes", "no")


@dataclass(frozen=True)
class Dimension:
    """One parameter of an algorithm with its range or choices.

    Parameters
    ----------
    name : str
        Name of the parameter.
    low, high : float
        The range, in `unit`; unused with `choices`.
    unit : str
        Suffix of the number in a spec.
    log : bool
        Whether the scale is logarithmic, not linear.
    whole : bool
        Whether the parameter is an integer.
    choices : tuple of str
        The values, if they are a list instead of a range.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    log: bool = True
    whole: bool = False
    choices: tuple[str, ...] = ()

    def text(self, value: float | str) -> str:
        """Return a value in the notation of a spec, with five digits.

        Examples
        --------
        >>> Dimension("target", 0.5, 50, "ms").text(12.34567)
        '12.346ms'
        """
        if isinstance(value, str):
            return value
        return f"{round(value) if self.whole else float(f'{value:.5g}'):.12g}{self.unit}"

    def __str__(self) -> str:
        if self.choices:
            return f"{self.name} {','.join(self.choices)}"
        ends = f"{self.text(self.low)}:{self.text(self.high)}"
        return f"{self.name} {ends}:{'log' if self.log else 'lin'}"


def dimensions(
    spec: str,
    ranges: Sequence[tuple[str, str]] = (),
    lists: Sequence[tuple[str, str]] = (),
    buffer: str | None = None,
    ecn: bool = True,
) -> list[Dimension]:
    """Return the search space of an algorithm.

    Parameters
    ----------
    spec : str
        The algorithm; parameters that it sets are fixed unless they are named below.
    ranges : sequence of (str, str)
        Parameters to search, each with ``LOW:HIGH``, ``LOW:HIGH:log`` or ``LOW:HIGH:lin``, or empty for
        the range of the schema.
    lists : sequence of (str, str)
        Parameters with lists of values, ``a,b,c``.
    buffer : str, optional
        Limit of the queue in the scenario, like ``100p``: the middle of the default range of ``limit``.
    ecn : bool
        Whether the queue of the scenario marks packets.
    """
    parsed = Spec(spec)
    params = {one["name"]: one for one in parameters(parsed.name)}
    if not ranges and not lists:
        can_set = settable(parsed.name)
        fixed = set(parsed.values) | (set() if parsed.values.get("ecn", ecn) else set(_MARKING))
        found = [
            _from_schema(one)
            for name, one in params.items()
            if name not in fixed and (can_set is None or name in can_set)
        ]
        known = [dimension for dimension in found if dimension is not None]
        if not known and parsed.limit is None and (limit := _buffer(buffer)) is not None:
            known = [limit]
        if not known:
            raise InputError(f"aqm {spec!r}:", "has nothing to search", "-P PARAMETER LOW:HIGH:log")
        return known
    named: list[Dimension] = []
    for key, text in [*ranges, *lists]:
        name = key.removeprefix("aqm.")
        if name not in params and name != LIMIT:
            raise unknown(name, f"a parameter of {parsed.name}", params, "-P")
        if any(dimension.name == name for dimension in named):
            raise InputError(name, "is given twice")
        if (key, text) in lists:
            values = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
            if not values:
                raise InputError(name, "has no values", "values separated by commas")
            for value in values:
                if name in params and params[name]["kind"] == "flag" and value not in FLAGS:
                    raise InputError(name, f"= {value!r} is not on or off", "on,off")
                with_parameter(spec, name, value)  # reject an invalid value before any trial
            named.append(Dimension(name, choices=values))
            continue
        if text:
            dimension: Dimension | None = _parsed(name, text)
        else:
            dimension = _buffer(buffer) if name == LIMIT else _from_schema(params[name])
        if dimension is None:
            raise InputError(name, "has no default range", f"-P {name} LOW:HIGH:log, or -L {name} a,b")
        if text and not dimension.unit:
            _require_unit(name, text, LIMIT if name == LIMIT else params[name]["kind"])
        named.append(dimension)
    return named


def _parsed(name: str, text: str) -> Dimension:
    hint = "LOW:HIGH:log, like 1ms:50ms:log"
    low, _, rest = text.partition(":")
    high, _, scale = rest.partition(":")
    if re.fullmatch(r"(log|lin)\d+|\d+", scale.strip()):
        raise InputError(name, f"= {text!r} is a grid", f"{low}:{high}:log for a search, or --by rank")
    if scale.strip() not in ("", "log", "lin"):
        raise InputError(name, f"= {text!r} is not a range", hint)
    first, second = quantity_of(low), quantity_of(high)
    if first is None or second is None:
        raise InputError(name, f"= {text!r} is not a range", hint)
    (a, unit), (b, other) = first, second
    if unit != other:
        raise InputError(name, f"= {text!r} has two different units", f"{low}:{b:g}{unit}")
    log = scale.strip() != "lin"
    if not (math.isfinite(a) and math.isfinite(b)) or not a < b:
        raise InputError(name, f"= {text!r} is empty: LOW must be below HIGH", hint)
    if log and a <= 0:
        raise InputError(name, f"= {text!r} has no logarithm", f"LOW above 0, or {low}:{high}:lin")
    return Dimension(name, a, b, unit, log, _whole(unit, a, b))


def _require_unit(name: str, text: str, kind: str) -> None:
    """Refuse a range without unit of a parameter that has one."""
    unit = {"span": "ms", "limit": "p"}.get(kind)
    if unit is not None:
        low, high, *scale = text.split(":")
        hint = ":".join([f"{low}{unit}", f"{high}{unit}", *scale])
        raise InputError(name, f"= {text!r} lacks a unit", f"like {hint}")


def _buffer(limit: str | None) -> Dimension | None:
    """Return the default range of the buffer, a tenth to ten times its size in the scenario."""
    found = None if limit is None else quantity_of(limit)
    if found is None or found[1] not in ("p", "B"):
        return None
    value, unit = found
    return Dimension(LIMIT, max(1.0, math.floor(value / SPAN)), math.ceil(value * SPAN), unit, True, True)


def _whole(unit: str, low: float, high: float) -> bool:
    """Return whether the range counts whole packets."""
    return unit == "p" and low == int(low) and high == int(high)


def _from_schema(param: Mapping[str, Any]) -> Dimension | None:
    found = None if param["derived"] else quantity_of(str(param["default"]))
    if found is None or param["kind"] not in _KINDS or param["unit"] == "B" or found[0] <= 0:
        return None
    value, unit = found
    # The schema's bounds are in seconds, packets or plain numbers; those of the search in the default's unit.
    factor = 1.0
    if param["kind"] == "span":
        factor = _core.parse_unit("span", str(param["default"])) / 1e9 / value
    bounds = param["range"]
    least = 0.0 if bounds["min"] is None else max(0.0, bounds["min"] / factor)
    most = math.inf if bounds["max"] is None else bounds["max"] / factor
    low, high = value / SPAN, value * SPAN
    if low < least or (bounds["above"] and low == least):
        low, high = least + (value - least) / SPAN, least + (value - least) * SPAN
    if high > most or (bounds["below"] and high == most):
        high = most - (most - value) / SPAN if bounds["below"] else most
    whole = unit == "p"
    low, high = (max(1.0, math.floor(low)), math.ceil(high)) if whole else (low, high)
    return Dimension(param["name"], low, high, unit, True, whole) if low < high else None
