"""Quantities in scenarios: words with units, kept in one canonical spelling.

A field of a scenario holds text (``"10Mbit/s"``), so that what was read can be written back; the number
comes out with :func:`number`. The only parser is the core's.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from sojourn import _core

SPAN_HINT = "a time with its unit, like 15ms, 1.5s, 2min"
HINTS = {
    "span": SPAN_HINT,
    "rate": "a rate with its unit, like 64kbit/s, 10Mbit/s, 1Gbit/s",
    "bytes": "a size in bytes with its unit, like 500B, 64kB, 1MiB",
    "limit": "packets (100p) or bytes (120kB)",
    "start": "a time (0s), 'uniform 0s 1s' or 'exponential 1s'",
    "amount": "a size (20kB), 'uniform 1kB 20kB' or 'exponential 20kB'",
    "frequency": "events per time, like 10/s or 0.5/s",
}


class Wrong(ValueError):  # noqa: N818 - a reason, not a failure
    """A refused value: what is wrong, what is allowed, and the key if it is not the field itself."""

    def __init__(self, problem: str, allowed: str = "", key: str = "", nearest: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.allowed = allowed
        self.key = key
        self.nearest = nearest


def number(kind: str, word: str) -> Any:
    """Return what `word` means: ns (span), bit/s (rate), bytes, or (number, unit) of a limit."""
    try:
        return _core.parse_unit(kind, word)
    except ValueError as error:
        raise Wrong(f"= {word!r} {error}", HINTS[kind]) from None


def _text(kind: str) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise Wrong(f"= {value} has no unit", HINTS[kind])
        raise Wrong(f"= {value!r} is not text", HINTS[kind])

    return BeforeValidator(check)


def _quantity(kind: str, least: float | None = None) -> AfterValidator:
    def check(word: str) -> str:
        plain = number(kind, word)
        if least is not None and plain < least:
            raise Wrong(f"= {word!r} is too small", f"{HINTS[kind]}, at least {least:g} {_PLAIN[kind]}")
        if plain is not None and kind in _MOST and plain > _MOST[kind][0]:
            raise Wrong(f"= {word!r} is too large", f"{HINTS[kind]}, at most {_MOST[kind][1]}")
        return _core.canonical_unit(kind, word)

    return AfterValidator(check)


_PLAIN = {"span": "ns", "rate": "bit/s", "bytes": "B"}
_MOST = {"span": (3600 * 24 * 10**9, "24h"), "bytes": (1e12, "1000GB"), "rate": (1e13, "10Tbit/s")}


def draw(word: str, kind: str) -> dict[str, Any]:
    """Return ``"uniform 0s 1s"`` as the core wants it: ``{"uniform": [0, 1000000000]}``."""
    hint = HINTS["start" if kind == "span" else "amount"]
    parts = word.split()
    if not parts:
        raise Wrong("is empty", hint)
    shape, words = ("constant", parts) if parts[0][0] in "+-.0123456789" else (parts[0], parts[1:])
    wanted = {"constant": 1, "uniform": 2, "exponential": 1}
    if shape not in wanted:
        raise Wrong(f"= {word!r} has an unknown shape", hint, nearest=_core.nearest(shape, list(wanted)))
    if len(words) != wanted[shape]:
        raise Wrong(f"= {word!r} has {len(words)} values where {shape} takes {wanted[shape]}", hint)
    values = []
    for one in words:
        try:
            values.append(number(kind, one))
        except Wrong as error:
            raise Wrong(error.problem, hint) from None
    if shape == "uniform" and values[0] > values[1]:
        raise Wrong(f"= {word!r} has its ends the wrong way round", hint)
    return {shape: values[0] if len(values) == 1 else values}


def _draw(kind: str) -> AfterValidator:
    def check(word: str) -> str:
        draw(word, kind)
        parts = word.split()
        if parts[0] in ("constant", "uniform", "exponential"):
            return " ".join([parts[0], *(_core.canonical_unit(kind, one) for one in parts[1:])])
        return _core.canonical_unit(kind, parts[0])

    return AfterValidator(check)


def frequency(word: str) -> float:
    """Return ``"10/s"`` as events per second."""
    count, slash, unit = word.partition("/")
    try:
        value = float(count) if slash else -1.0
        seconds = number("span", "1" + unit.strip()) / 1e9 if slash else 1.0
    except (ValueError, Wrong):
        value, seconds = -1.0, 1.0
    if not 0 < value / seconds <= 1e6:
        raise Wrong(f"= {word!r} is no frequency", HINTS["frequency"])
    return value / seconds


def _frequency(word: str) -> str:
    frequency(word)
    return word.replace(" ", "")


def _schema(kind: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": HINTS[kind]})


Span = Annotated[str, _text("span"), _quantity("span"), _schema("span")]
Period = Annotated[str, _text("span"), _quantity("span", 1), _schema("span")]
Rate = Annotated[str, _text("rate"), _quantity("rate", 1), _schema("rate")]
Bytes = Annotated[str, _text("bytes"), _quantity("bytes", 0), _schema("bytes")]
Limit = Annotated[
    str,
    _text("limit"),
    AfterValidator(lambda word: number("limit", word) and _core.canonical_unit("limit", word)),
    _schema("limit"),
]
Start = Annotated[str, _text("start"), _draw("span"), _schema("start")]
Amount = Annotated[str, _text("amount"), _draw("bytes"), _schema("amount")]
Frequency = Annotated[str, _text("frequency"), AfterValidator(_frequency), _schema("frequency")]
