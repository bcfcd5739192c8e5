"""A parameter of an algorithm in Python, with the schema of built-in algorithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sojourn import _core

#: The unit of a kind, and its suffix in a spec.
_UNITS = {"s": ("span", "s"), "bit/s": ("rate", "bit/s"), "packets": ("size", "p"), "bytes": ("size", "B")}


class Param:
    """Declares a parameter as a class attribute; in a run it is the value as a number.

    A time is in integer nanoseconds (as is ``now``), a rate in bit/s, a queue length in its unit; a derived
    default that is not set is None.

    Parameters
    ----------
    default : str, float, int, bool or None
        The value if it is not set, in the grammar of a spec (``"15ms"``); None with `derived`.
    unit : str
        ``s`` (a time), ``bit/s`` (a rate), ``packets`` or ``bytes`` (a queue length), else any text for
        tables. A default with a unit also sets it.
    min, max : float or str, optional
        Smallest and largest allowed value, in `unit` or with a unit.
    above, below : float or str, optional
        Exclusive bounds.
    doc : str
        Description in one line.
    source : str
        Source of the default.
    choices : sequence of str
        The allowed words of a choice.
    derived : str
        Description of the default's computation, if it depends on the link or other parameters.

    Examples
    --------
    >>> Param("15ms", min="1us", doc="Delay that it should hold").kind
    'span'
    >>> Param(0.1, min=0, max=1, doc="Probability at the upper threshold").kind
    'number'
    """

    name = ""

    def __init__(
        self,
        default: str | float | bool | None = None,
        *,
        unit: str = "",
        min: float | str | None = None,
        max: float | str | None = None,
        above: float | str | None = None,
        below: float | str | None = None,
        doc: str = "",
        source: str = "",
        choices: Sequence[str] = (),
        derived: str = "",
    ) -> None:
        if default is None and not derived:
            raise TypeError('a parameter needs a default, or derived = "a description of its computation"')
        self.choices, self.doc, self.source, self.derived = list(choices), doc, source, derived
        self.kind, self.unit = _kind(default, unit, self.choices)
        self.default = derived if default is None else self._word(default)
        lower, upper = min if above is None else above, max if below is None else below
        self.min = -math.inf if lower is None else self._plain(lower)
        self.max = math.inf if upper is None else self._plain(upper)
        # As in the whole schema, infinity itself is not allowed.
        self.above, self.below = above is not None, below is not None or math.isinf(self.max)
        if self.kind in ("flag", "choice"):
            self.below = False

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError(f"{self.name} has no value: parameters are set when a run begins")

    def described(self) -> dict[str, Any]:
        """Return the parameter in the form of the core's schema."""
        keys = ("name", "kind", "unit", "default", "min", "max", "above", "below", "choices", "doc", "source")
        return {**{key: getattr(self, key) for key in keys}, "derived": bool(self.derived)}

    def _word(self, value: str | float | bool) -> str:
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, str):
            return value
        return f"{value!r}{_UNITS[self.unit][1] if self.unit in _UNITS else ''}"

    def _plain(self, value: float | str) -> float:
        """Return a bound as a plain number in the schema's unit."""
        if not isinstance(value, str):
            return float(value)
        if self.kind == "span":
            return float(_core.parse_unit("span", value)) * 1e-9
        if self.kind == "rate":
            return float(_core.parse_unit("rate", value))
        return _core.parse_unit("size", value)[0] if self.kind == "size" else float(value)


def _kind(default: str | float | bool | None, unit: str, choices: Sequence[str]) -> tuple[str, str]:
    """Return kind and unit of a parameter, from its unit, default or choices."""
    if choices:
        return "choice", unit
    if isinstance(default, bool):
        return "flag", unit
    if unit in _UNITS:
        return _UNITS[unit][0], unit
    if isinstance(default, str):
        for kind, of in (("span", "s"), ("rate", "bit/s"), ("size", "")):
            try:
                value = _core.parse_unit(kind, default)
            except ValueError:
                continue
            if kind == "size":
                of = {"p": "packets", "B": "bytes"}[value[1]]
            return kind, of
        raise TypeError(f"a parameter cannot be {default!r}: a number, a text with a unit, or choices")
    return ("integer" if isinstance(default, int) else "number"), unit
