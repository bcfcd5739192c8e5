"""Axes of a study: the varied keys of a scenario, their values, and the resulting scenarios.

A key is a path into the scenario file (``dumbbell.rate``, ``queue.limit``, ``tcp.min_rto``); a traffic or a
link is given by its name (``traffic.ftp.count``, ``link.R1-R2.rate``; ``link.rate`` is a dumbbell's). ``aqm``
is the algorithm, ``aqm.target`` one of its parameters. Values are a list, or a range ``LOW:HIGH:logN`` with a
unit on both numbers.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sojourn import _core
from sojourn.algorithms import spec_of as canonical
from sojourn.errors import InputError
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.scenario import Scenario

MOST_VALUES = 10_000
_QUANTITY = re.compile(r"^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%/]*)$")
#: A word of a spec; a nested spec in parentheses is one word.
_WORD = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\S+")


@dataclass(frozen=True)
class Axis:
    """One key and its values, as text."""

    key: str
    values: tuple[str, ...]

    @property
    def is_aqm(self) -> bool:
        """Whether the key belongs to the algorithm, not the scenario."""
        return self.key.split(".")[0] == "aqm"

    @cached_property
    def data(self) -> tuple[int, ...] | tuple[float, ...] | tuple[str, ...]:
        """The values in tables: numbers if all are numbers without a unit, else the text as given.

        Examples
        --------
        >>> Axis("traffic.ftp.count", ("2", "10")).data, Axis("aqm.max_p", ("0.1", "1")).data
        ((2, 10), (0.1, 1.0))
        >>> Axis("queue.limit", ("50p", "100p")).data
        ('50p', '100p')
        """
        found = magnitudes(self)
        if found is None or found[1] or len(set(found[0])) < len(self.values):
            return self.values  # two texts of one number are two combinations
        if all(re.fullmatch(r"[-+]?\d{1,18}", value) for value in self.values):
            return tuple(int(value) for value in self.values)
        return tuple(found[0])


def listed(key: str, text: str) -> Axis:
    """Return the axis of ``a,b,c``.

    Examples
    --------
    >>> listed("queue.limit", "50p, 100p").values
    ('50p', '100p')
    """
    values = tuple(word.strip() for word in text.split(","))
    return _axis(key, values)


def spaced(key: str, text: str) -> Axis:
    """Return the axis of ``LOW:HIGH:N``, ``LOW:HIGH:linN`` or ``LOW:HIGH:logN``.

    Examples
    --------
    >>> spaced("dumbbell.rate", "1Mbit/s:100Mbit/s:log3").values
    ('1Mbit/s', '10Mbit/s', '100Mbit/s')
    >>> spaced("traffic.ftp.count", "1:10:4").values
    ('1', '4', '7', '10')
    """
    hint = "LOW:HIGH:N, like 1Mbit/s:100Mbit/s:log5 or 10:50:lin3"
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError(key, f"= {text!r} is not a range", hint)
    ends = [_QUANTITY.match(part.strip()) for part in parts[:2]]
    count = re.fullmatch(r"(lin|log|)(\d+)", parts[2].strip())
    low, high = ends
    if low is None or high is None or count is None:
        raise InputError(key, f"= {text!r} is not a range", hint)
    unit = low[2] or high[2]
    if high[2] != low[2]:
        raise InputError(
            key, f"= {text!r} has two different units", f"{low[1]}{unit}:{high[1]}{unit}:{parts[2]}"
        )
    a, b, n = float(low[1]), float(high[1]), int(count[2])
    if not 2 <= n <= MOST_VALUES:
        raise InputError(key, f"= {text!r} has {n} values", f"2 to {MOST_VALUES}")
    if not (math.isfinite(a) and math.isfinite(b)) or a == b:
        raise InputError(key, f"= {text!r} is empty: its ends are equal", hint)
    if count[1] == "log" and min(a, b) <= 0:
        raise InputError(key, f"= {text!r} has no logarithm", "ends above 0, or lin")
    # Flows, packets and bytes are integers.
    whole = unit in ("", "p", "B") and all(re.fullmatch(r"[-+]?\d+", end[1]) for end in (low, high))
    return _axis(key, tuple(f"{_number(x, whole)}{unit}" for x in _spread(a, b, n, count[1] == "log")))


def quantity_of(word: str) -> tuple[float, str] | None:
    """Return number and unit of a word, or None if it is neither.

    Examples
    --------
    >>> quantity_of("1.5ms"), quantity_of("on")
    ((1.5, 'ms'), None)
    """
    match = _QUANTITY.match(word.strip())
    return None if match is None else (float(match[1]), match[2])


def _spread(a: float, b: float, n: int, log: bool) -> Iterator[float]:
    for i in range(n):
        share = i / (n - 1)
        yield a * math.exp(share * math.log(b / a)) if log else a + share * (b - a)


def _number(x: float, whole: bool) -> str:
    return str(round(x)) if whole else f"{x:.6g}"


def _axis(key: str, values: tuple[str, ...]) -> Axis:
    unique = tuple(dict.fromkeys(values))
    if any(not value for value in unique):
        raise InputError(key, "has an empty value", "values with commas between")
    if not 1 <= len(unique) <= MOST_VALUES:
        raise InputError(key, f"has {len(unique)} values", f"1 to {MOST_VALUES}")
    return Axis(key, unique)


@dataclass(frozen=True)
class Cell:
    """One combination of values, with its scenario and algorithms."""

    values: tuple[tuple[str, str], ...]
    scenario: Scenario
    specs: tuple[str, ...]

    @property
    def name(self) -> str:
        """The combination as text."""
        return ", ".join(f"{key} {value}" for key, value in self.values) or "the scenario"


def cells(scenario: Scenario, aqms: Sequence[str], axes: Sequence[Axis]) -> list[Cell]:
    """Return every combination of the axes, the last axis fastest; each scenario is validated.

    Raises
    ------
    InputError
        If a key does not exist, or a scenario or spec is invalid.
    """
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(key, "is given twice")
    found = []
    for combination in itertools.product(*(axis.values for axis in axes)):
        pairs = tuple(zip(keys, combination, strict=True))
        data = scenario.model_dump(by_alias=True, exclude_none=True)
        specs: Sequence[str] = aqms
        for key, value in pairs:
            head, _, rest = key.partition(".")
            if head != "aqm":
                _put(data, key, value)
            elif rest:
                specs = [with_parameter(spec, rest, value) for spec in specs]
            else:
                specs = [value]
        varied = Scenario.of(data, scenario.where)
        found.append(Cell(pairs, varied, tuple(dict.fromkeys(_canonical(spec) for spec in specs))))
    return found


def with_parameter(spec: str, name: str, value: str) -> str:
    """Return the spec with one parameter set.

    Examples
    --------
    >>> with_parameter("pie target 15ms", "target", "20ms")
    'pie target 20ms'
    >>> with_parameter("red ecn max_p 0.2", "max_p", "0.1")
    'red max_p 0.1 ecn'
    """
    words = _WORD.findall(_canonical(spec))
    kept, rest = words[:1], iter(words[1:])
    for word in rest:
        # In canonical form, a flag that is on has no value.
        flag = Spec(spec).values.get(word) is True
        pair = [word] if flag else [word, next(rest, "")]
        kept += pair if word != name else []
    return _canonical(" ".join([*kept, name, value]))


def _canonical(spec: str) -> str:

    return canonical(spec)


def _put(data: dict[str, Any], key: str, value: str) -> None:
    """Set the key at a path; the last word may be new (the scenario's validation checks it)."""
    words = _words(data, key)
    place: Any = data
    for i, word in enumerate(words[:-1]):
        place = _step(place, word, ".".join(words[: i + 1]))
    place[words[-1]] = _read(place.get(words[-1]), value)


def _words(data: dict[str, Any], key: str) -> list[str]:
    """Split a key into words; the name of a link or traffic may contain dots."""
    head, _, rest = key.partition(".")
    if head == "link" and "dumbbell" in data:
        return ["dumbbell", *rest.split(".")]
    if not rest or not isinstance(data.get(head), list):
        return key.split(".")
    names = [_name(one) for one in data[head]]
    match = next((name for name in sorted(names, key=len, reverse=True) if rest.startswith(f"{name}.")), None)
    if match is None:
        near = _core.nearest(rest.split(".")[0], names)
        raise InputError(key, f"does not name a {head} of the scenario", ", ".join(names), near)
    return [head, match, *rest[len(match) + 1 :].split(".")]


def _name(one: dict[str, Any]) -> str:
    return str(one["name"]) if "name" in one else f"{one['from']}-{one['to']}"


def _step(place: Any, word: str, key: str) -> Any:
    if isinstance(place, list):
        return next(one for one in place if _name(one) == word)
    if not isinstance(place.get(word), dict | list):
        tables = [name for name, value in place.items() if isinstance(value, dict | list)]
        raise InputError(
            key, "is not a table of the scenario", ", ".join(tables), _core.nearest(word, tables)
        )
    return place[word]


def _read(old: object, text: str) -> object:
    """Return the value with the type of the old one: text stays text, otherwise TOML if it parses."""
    if isinstance(old, str):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def magnitudes(axis: Axis) -> tuple[list[float], str] | None:
    """Return the values as numbers and their common unit, or None if there is no such unit.

    Examples
    --------
    >>> magnitudes(Axis("queue.limit", ("50p", "100p")))
    ([50.0, 100.0], 'p')
    """
    matches = [_QUANTITY.match(value) for value in axis.values]
    known = [match for match in matches if match is not None]
    if len(known) < len(matches) or len({match[2] for match in known}) > 1:
        return None
    return [float(match[1]) for match in known], known[0][2]
