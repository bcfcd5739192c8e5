"""Numbers as text: significant digits, intervals, units.

Every number in a table, a figure or a sentence of a report is formatted here, so that equal values have equal
texts everywhere. Unknown values (``None``, NaN) are shown as a dash, never as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "–"
MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
SPACE = "\N{NO-BREAK SPACE}"
PLUS_MINUS = f"{SPACE}±{SPACE}"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

SMALL = 1e-4
"""Below this magnitude a number is written with a power of ten."""
MOST_DIGITS = 5
"""Most significant digits of a mean with an interval; a narrower interval is ``< 0.0001``."""
MOST_DECIMALS = 9
"""Most decimals of an interval; a narrower one is written with a power of ten."""
LARGE = 1e9
"""From this magnitude on a number is written with a power of ten."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "case"), counted(2, "case")
    ('1 case', '2 cases')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, but at least those of its integer part.

    Parameters
    ----------
    value
        The number; ``None`` and NaN become a dash. An ``int`` is written in full.
    digits
        Significant digits of a float.

    Returns
    -------
    str
        For instance ``0.0471``, ``47.8``, ``12 345``, ``2.00 × 10⁻⁵``.
    """
    if value is None or math.isnan(value):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _fixed(value, 0)
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    if not SMALL <= abs(value) < LARGE:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{_signed(mantissa)}{_power(int(exponent))}"
    return _fixed(value, max(0, digits - 1 - _exponent(value, digits)))


def estimate(mean: float | None, half_width: float | None, digits: int = 3) -> str:
    """Return a mean with the half-width of its interval, both to the digits that the interval supports.

    The half-width has one significant digit, two if it begins with 1; without it the mean is formatted by
    `number`.

    Parameters
    ----------
    mean, half_width
        The estimate and the half-width of its interval.
    digits
        Significant digits of the mean if there is no interval.

    Returns
    -------
    str
        For instance ``47.8 ± 0.3``.
    """
    if mean is None or not math.isfinite(mean) or half_width is None or math.isnan(half_width):
        return number(mean, digits)
    if half_width == 0:
        return f"{number(mean, digits)}{PLUS_MINUS}0"
    if math.isinf(half_width):
        return f"{number(mean, digits)}{PLUS_MINUS}∞"
    decimals = _interval_decimals(half_width)
    largest = max(abs(mean), half_width)
    exponent = _exponent(largest, digits)
    if SMALL <= largest < LARGE:
        decimals = max(0, min(decimals, MOST_DIGITS - 1 - exponent))
        return f"{_fixed(mean, decimals)}{PLUS_MINUS}{_margin(half_width, decimals)}"
    if abs(exponent) > 300:
        return f"{number(mean, digits)}{PLUS_MINUS}{number(half_width, 1)}"
    decimals = min(decimals + exponent, MOST_DIGITS - 1)
    unit = 10.0**exponent
    shown = f"{_fixed(mean / unit, decimals)}{PLUS_MINUS}{_margin(half_width / unit, decimals)}"
    return f"({shown}){_power(exponent)}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return an interval as text, both ends to the digits that its width supports.

    Parameters
    ----------
    low, high
        The ends; an unknown or infinite end is shown as such.
    digits
        Significant digits if the width is zero or unknown.

    Returns
    -------
    str
        For instance ``[0.121, 0.154]``.
    """
    return with_interval(None, low, high, digits)[1]


def with_interval(
    value: float | None, low: float | None, high: float | None, digits: int = 3
) -> tuple[str, str]:
    """Return a value and its interval as text, all with the same number of decimals.

    Parameters
    ----------
    value, low, high
        The value and the ends, which need not be symmetric.
    digits
        Significant digits if the width is zero or unknown.

    Returns
    -------
    value, interval : str
        For instance ``−0.31`` and ``[−0.74, 0.12]``: two significant digits of half the width.
    """
    if low is None and high is None:
        return number(value, digits), MISSING
    known = [end for end in (low, high) if end is not None and math.isfinite(end)]
    width = abs(known[1] - known[0]) if len(known) == 2 else 0.0
    largest = max((abs(end) for end in known), default=0.0)
    if width > 0 and SMALL <= largest < LARGE:
        decimals = max(0, 1 - _exponent(width / 2, 2))
        if decimals <= MOST_DECIMALS:
            ends = ", ".join(_fixed(end, decimals) for end in known)
            unknown = value is None or not math.isfinite(value)
            return number(value) if unknown else _fixed(float(value or 0), decimals), f"[{ends}]"
    return number(value, digits), f"[{number(low, digits)}, {number(high, digits)}]"


def probability(value: float | None) -> str:
    """Return a p-value as text.

    Parameters
    ----------
    value
        A probability.

    Returns
    -------
    str
        ``0.034``, ``< 0.001``.
    """
    if value is None or math.isnan(value):
        return MISSING
    if value < 0.001:
        return f"<{SPACE}0.001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Scale:
    """A displayed unit, and the factor from the stored unit to it."""

    factor: float
    unit: str


UNSCALED = Scale(1.0, "")
"""The scale of pure numbers."""

_STEPS: dict[str, tuple[tuple[float, Scale], ...]] = {
    "s": ((1.0, Scale(1.0, "s")), (1e-3, Scale(1e3, "ms")), (0.0, Scale(1e6, "µs"))),
    "bit/s": (
        (1e9, Scale(1e-9, "Gbit/s")),
        (1e6, Scale(1e-6, "Mbit/s")),
        (1e3, Scale(1e-3, "kbit/s")),
        (0.0, Scale(1.0, "bit/s")),
    ),
    "B": ((1e6, Scale(1e-6, "MB")), (1e3, Scale(1e-3, "kB")), (0.0, Scale(1.0, "B"))),
}
_SAME_UNIT = {"bps": "bit/s", "bits/s": "bit/s", "bytes": "B", "byte": "B", "seconds": "s", "second": "s"}
_NO_UNIT = {"", "1", "ratio", "-", "–", "none", "dimensionless"}
_PLURAL = {"packet": "packets", "p": "packets"}


def scale(values: Iterable[float | None], unit: str) -> Scale:
    """Choose one unit for a whole column: s, ms or µs; Gbit/s, Mbit/s or kbit/s; MB or kB.

    Parameters
    ----------
    values
        The column; the largest magnitude decides.
    unit
        The unit of the values.

    Returns
    -------
    Scale
        The displayed unit and the factor; units without multiples are unchanged.
    """
    unit = _SAME_UNIT.get(unit, unit)
    if unit in _NO_UNIT:
        return UNSCALED
    if unit not in _STEPS:
        return Scale(1.0, _PLURAL.get(unit, unit))
    finite = [abs(v) for v in values if v is not None and math.isfinite(v)]
    largest = max(finite, default=0.0)
    if largest == 0:
        return Scale(1.0, unit)
    return next(found for threshold, found in _STEPS[unit] if largest >= threshold)


def quantity(value: float | None, unit: str, half_width: float | None = None, digits: int = 3) -> str:
    """Return one value with its unit.

    Parameters
    ----------
    value, half_width
        The value and, if known, the half-width of its interval.
    unit
        The unit of both.
    digits
        Significant digits without an interval.

    Returns
    -------
    str
        For instance ``9.58 Mbit/s`` or ``38.2 ± 0.4 ms``.
    """
    known = value is not None and not math.isnan(value)
    return scaled(value, scale([value], unit) if known else UNSCALED, half_width, digits)


def scaled(value: float | None, unit: Scale, half_width: float | None = None, digits: int = 3) -> str:
    """Return one value in a given unit; the parameters are those of `quantity`."""
    if value is None or math.isnan(value):
        return MISSING
    half = None if half_width is None else half_width * unit.factor
    shown = value if unit.factor == 1 else value * unit.factor
    return f"{estimate(shown, half, digits)}{SPACE}{unit.unit}".removesuffix(SPACE)


def capitalized(text: str) -> str:
    """Return a text with a capital first letter and the rest unchanged."""
    return text[:1].upper() + text[1:]


def _exponent(value: float, digits: int) -> int:
    """Return the power of ten of `value` after rounding to `digits` significant digits."""
    return int(f"{abs(value):.{max(0, digits - 1)}e}".split("e")[1])


def _interval_decimals(half_width: float) -> int:
    mantissa, exponent = f"{half_width:.1e}".split("e")
    return -int(exponent) + (1 if mantissa[0] == "1" else 0)


def _margin(half_width: float, decimals: int) -> str:
    text = _fixed(half_width, decimals)
    return text if any(c in "123456789" for c in text) else f"<{_fixed(10.0**-decimals, decimals)}"


def _fixed(value: float, decimals: int) -> str:
    whole, _, fraction = f"{abs(value):.{decimals}f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", THIN) if len(whole) > 4 else whole
    text = f"{grouped}.{fraction}" if fraction else grouped
    return f"{MINUS}{text}" if value < 0 and any(c in "123456789" for c in text) else text


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


def _power(exponent: int) -> str:
    return f"{THIN}×{THIN}10{str(exponent).translate(SUPERSCRIPT)}"
