"""Quantities in scenarios: text with units, in canonical form.

A field of a scenario holds text (``"10Mbit/s"``), so that a scenario can be written back as it was read;
:func:`number` returns the value. All units are parsed by the core.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from sojourn import _core

SPAN_HINT = "a time with its unit, like 15ms, 1.5s, 2min"
HINTS = {
    "span": SPAN_HINT,
    "rate": "a rate with its unit, like 64kbit/s, 10Mbit/s, 1Gbit/s",
    "bytes": "a size in bytes with its unit, like 500B, 64kB, 1MiB",
    "limit": "packets (100p), bytes (120kB), or a time at the link's rate (50ms)",
    "start": "a time (0s), 'uniform 0s 1s', 'exponential 1s', 'pareto 1s 1.5' or 'lomax 1s 1.5'",
    "amount": "a size (20kB), 'uniform 1kB 20kB', 'exponential 20kB', 'pareto 12kB 1.2' or 'lomax 12kB 1.2'",
    "capacity": "a rate (10Mbit/s), 'uniform 1Mbit 10Mbit', 'exponential 5Mbit', 'pareto 5Mbit 1.5'",
    "jitter": "a time (5ms), 'uniform 0ms 10ms', 'exponential 5ms', 'normal 5ms 2ms' (at least 0), "
    "'pareto 5ms 1.5' or 'lomax 5ms 1.5'",
    "share": "a probability from 0 to 1, like 0.01 or '1%'",
    "howmany": "a number like 4, 'uniform 1 7', 'exponential 4', 'pareto 4 1.2' or 'lomax 4 1.2'",
    "frequency": "events per time, like 10/s or 0.5/s",
}


class Wrong(ValueError):  # noqa: N818 - a reason, not a failure
    """An invalid value: the problem, the allowed values, and the key if it is not the field itself."""

    def __init__(self, problem: str, allowed: str = "", key: str = "", nearest: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.allowed = allowed
        self.key = key
        self.nearest = nearest


class Wrongs(ValueError):  # noqa: N818 - reasons, not failures
    """Several invalid values."""

    def __init__(self, wrongs: Sequence[Wrong]) -> None:
        super().__init__("; ".join(one.problem for one in wrongs))
        self.wrongs = wrongs


def number(kind: str, word: str) -> Any:
    """Return the value of `word`: ns (span), bit/s (rate), bytes, (number, unit) of a limit, or a number."""
    if kind == "howmany":
        return _plain_number(word)
    try:
        return _core.parse_unit(kind, word)
    except ValueError as error:
        raise Wrong(f"= {word!r} {error}", HINTS[kind]) from None


def _text(kind: str) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            if kind == "howmany":
                return str(value)
            raise Wrong(f"= {value} has no unit", HINTS[kind])
        raise Wrong(f"= {value!r} is not text", HINTS[kind])

    return BeforeValidator(check)


_PLAIN = {"span": "ns", "rate": "bit/s", "bytes": "B"}
_MOST = {"span": (3600 * 24 * 10**9, "24h"), "bytes": (1e12, "1000GB"), "rate": (1e13, "10Tbit/s")}
#: The longest run, as the core has it.
_LONGEST = (200 * 24 * 3600 * 10**9, "4800h")


def _quantity(
    kind: str, least: float | None = None, greatest: tuple[float, str] | None = None
) -> AfterValidator:
    most = greatest or _MOST.get(kind)

    def check(word: str) -> str:
        plain = number(kind, word)
        if least is not None and plain < least:
            raise Wrong(f"= {word!r} is too small", f"{HINTS[kind]}, at least {least:g} {_PLAIN[kind]}")
        if plain is not None and most is not None and plain > most[0]:
            raise Wrong(f"= {word!r} is too large", f"{HINTS[kind]}, at most {most[1]}")
        return _core.canonical_unit(kind, word)

    return AfterValidator(check)


SHAPES = {"constant": 1, "uniform": 2, "exponential": 1, "pareto": 2, "lomax": 2}
#: The shapes of a kind of value that has more.
SHAPES_OF = {"jitter": {**SHAPES, "normal": 2}}
TAILED = ("pareto", "lomax")
_HINT_OF = {"span": "start", "jitter": "jitter", "bytes": "amount", "howmany": "howmany", "rate": "capacity"}


def _plain_number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e9:
        raise Wrong(f"= {word!r} is not a number from 0 to 1e9", HINTS["howmany"])
    return value


def draw(word: str, kind: str) -> dict[str, Any]:
    """Return a distribution as the core's JSON: ``"uniform 0s 1s"`` as ``{"uniform": [0, 1000000000]}``.

    Examples
    --------
    >>> draw("pareto 12kB 1.2", "bytes")
    {'pareto': [12000.0, 1.2]}
    """
    hint = HINTS[_HINT_OF[kind]]
    shapes, unit = SHAPES_OF.get(kind, SHAPES), "span" if kind == "jitter" else kind
    parts = word.split()
    if not parts:
        raise Wrong("is empty", hint)
    shape, words = ("constant", parts) if parts[0][0] in "+-.0123456789" else (parts[0], parts[1:])
    if shape not in shapes:
        raise Wrong(f"= {word!r} has an unknown shape", hint, nearest=_core.nearest(shape, list(shapes)))
    if len(words) != shapes[shape]:
        raise Wrong(f"= {word!r} has {len(words)} values where {shape} takes {shapes[shape]}", hint)
    values = []
    for one in words[:1] if shape in TAILED else words:
        try:
            values.append(number(unit, one))
        except Wrong as error:
            raise Wrong(error.problem, hint) from None
    if shape in TAILED:
        values.append(_tail(words[1], word, hint))
    if shape == "uniform" and values[0] > values[1]:
        raise Wrong(f"= {word!r} has its ends in the wrong order", hint)
    return {shape: values[0] if len(values) == 1 else values}


def _tail(word: str, whole: str, hint: str) -> float:
    """Return the shape of a heavy tail; it must be above 1 for a finite mean."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 1 < value <= 100:
        raise Wrong(f"= {whole!r}: the shape {word} is out of range (1 < shape <= 100)", hint)
    return value


def ends(shape: dict[str, Any]) -> list[float]:
    """Return the minimum of a distribution and its maximum, or its mean if it is unbounded."""
    ((name, values),) = shape.items()
    if name == "constant":
        return [values]
    if name == "exponential":
        return [0.0, values]
    if name == "pareto":
        return [values[0] * (values[1] - 1) / values[1], values[0]]
    return [0.0, values[0]] if name == "lomax" else list(values)


def mean(shape: dict[str, Any]) -> float:
    """Return the mean of a distribution."""
    ((name, values),) = shape.items()
    if name == "uniform":
        return float(sum(values)) / 2
    return float(values[0] if isinstance(values, list) else values)


def _draw(kind: str) -> AfterValidator:
    shapes, unit = SHAPES_OF.get(kind, SHAPES), "span" if kind == "jitter" else kind

    def canonical(one: str) -> str:
        return f"{number(kind, one):g}" if kind == "howmany" else _core.canonical_unit(unit, one)

    def check(word: str) -> str:
        draw(word, kind)
        parts = word.split()
        if parts[0] in TAILED:
            return f"{parts[0]} {canonical(parts[1])} {float(parts[2])!r}"
        if parts[0] in shapes:
            return " ".join([parts[0], *(canonical(one) for one in parts[1:])])
        return canonical(parts[0])

    return AfterValidator(check)


def _share(value: object) -> float:
    """Return a probability."""
    word = value.strip() if isinstance(value, str) else value
    try:
        if isinstance(word, str) and word.endswith("%"):
            found = float(word[:-1]) / 100
        else:
            found = math.nan if isinstance(word, bool) else float(word)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found <= 1:
        raise Wrong(f"= {value!r} is not a probability", HINTS["share"])
    return found


def frequency(word: str) -> float:
    """Return ``"10/s"`` as events per second."""
    count, slash, unit = word.partition("/")
    try:
        value = float(count) if slash else -1.0
        seconds = number("span", "1" + unit.strip()) / 1e9 if slash else 1.0
    except (ValueError, Wrong):
        value, seconds = -1.0, 1.0
    if not 0 < value / seconds <= 1e6:
        raise Wrong(f"= {word!r} is not a frequency", HINTS["frequency"])
    return value / seconds


def _frequency(word: str) -> str:
    frequency(word)
    return word.replace(" ", "")


def _schema(kind: str) -> WithJsonSchema:
    types = ["string", "number"] if kind == "howmany" else "string"
    return WithJsonSchema({"type": types, "description": HINTS[kind]})


Span = Annotated[str, _text("span"), _quantity("span"), _schema("span")]
Period = Annotated[str, _text("span"), _quantity("span", 1), _schema("span")]
#: Moments and parts of a run: longer than other times.
Moment = Annotated[str, _text("span"), _quantity("span", greatest=_LONGEST), _schema("span")]
Duration = Annotated[str, _text("span"), _quantity("span", 1, _LONGEST), _schema("span")]
Rate = Annotated[str, _text("rate"), _quantity("rate", 1), _schema("rate")]
Bytes = Annotated[str, _text("bytes"), _quantity("bytes", 0), _schema("bytes")]


def limit(word: str) -> str:
    """Return a limit in canonical form: ``100p``, ``120kB`` or ``50ms``."""
    if re.search(r"bdp\s*$", word, re.IGNORECASE):
        raise Wrong(f"= {word!r} depends on round trips, which differ between flows", HINTS["limit"])
    if _is_time(word):
        return _core.canonical_unit("span", word)
    number("limit", word)
    if not word.strip()[-1].isalpha():  # only specs allow packets without a unit
        raise Wrong(f"= {word!r} has no unit", HINTS["limit"])
    return _core.canonical_unit("limit", word)


def _is_time(word: str) -> bool:
    try:
        return bool(number("span", word) > 0)
    except Wrong:
        return False


def sized(word: str, rate: int) -> str:
    """Return a limit in packets or bytes; a time becomes the bytes that `rate` (bit/s) sends in it.

    Examples
    --------
    >>> sized("100p", 10_000_000), sized("50ms", 10_000_000)
    ('100p', '62500B')
    """
    if not _is_time(word):
        return word
    return f"{max(1, round(number('span', word) * rate / 8e9))}B"


Limit = Annotated[
    str,
    _text("limit"),
    AfterValidator(limit),
    _schema("limit"),
]
Start = Annotated[str, _text("start"), _draw("span"), _schema("start")]
Amount = Annotated[str, _text("amount"), _draw("bytes"), _schema("amount")]
HowMany = Annotated[str, _text("howmany"), _draw("howmany"), _schema("howmany")]
Jitter = Annotated[str, _text("jitter"), _draw("jitter"), _schema("jitter")]
Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"type": ["number", "string"], "description": HINTS["share"]}),
]
Capacity = Annotated[str, _text("capacity"), _draw("rate"), _schema("capacity")]
Frequency = Annotated[str, _text("frequency"), AfterValidator(_frequency), _schema("frequency")]
