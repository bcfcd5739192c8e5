"""Formatted numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.format import estimate, interval, number, probability, quantity, scale, with_interval


def plain(text: str) -> str:
    """Replace typographic blanks and signs, to keep the tables readable."""
    return text.replace("\u202f", " ").replace("\u00a0", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (math.nan, "–"), (math.inf, "∞"), (-math.inf, "-∞"), (0.0, "0"), (-0.0, "0"), (0, "0"),
        (7, "7"), (-7, "-7"), (1234, "1234"), (12345, "12 345"), (12345678, "12 345 678"), (True, "yes"),
        (47.8312, "47.8"), (4.78312, "4.78"), (478.312, "478"), (4783.12, "4783"), (47831.2, "47 831"),
        (0.0471, "0.0471"), (0.04714, "0.0471"), (0.00021, "0.000210"), (0.0000211, "2.11 × 10⁻⁵"),
        (1.5e12, "1.50 × 10¹²"), (-1.5e-7, "-1.50 × 10⁻⁷"), (9.999, "10.0"), (99.96, "100"), (0.9996, "1.00"),
        (-3.2, "-3.20"), (999_999_999.0, "999 999 999"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert plain(number(value)) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (47.8312, 0.3211, "47.8 ± 0.3"), (47.8312, 0.1411, "47.83 ± 0.14"), (47.8312, 0.96, "47.8 ± 1.0"),
        (47.8312, 3.4, "48 ± 3"), (47.8312, 34.0, "48 ± 34"),
        (9.4102e6, 11000.0, "9 410 200 ± 11 000"),
        (0.04123, 0.00062, "0.0412 ± 0.0006"), (0.0, 0.002, "0.000 ± 0.002"),
        (-0.001, 0.02, "0.00 ± 0.02"),
        (47.8312, None, "47.8"), (47.8312, math.nan, "47.8"), (47.8312, 0.0, "47.8 ± 0"), (None, 0.3, "–"),
        (math.nan, None, "–"), (47.8312, math.inf, "47.8 ± ∞"), (-3.21, 0.4, "-3.2 ± 0.4"),
        (2.04e-6, 3.1e-8, "(2.04 ± 0.03) × 10⁻⁶"), (1.234e12, 5e9, "(1.234 ± 0.005) × 10¹²"),
        (0.0, 0.0, "0 ± 0"), (1.0, 1e-12, "1.0000 ± <0.0001"), (80.548, 0.0071, "80.548 ± 0.007"),
        (1.0000006, 0.0000015, "1.0000 ± <0.0001"), (268596.2, 0.4, "268 596 ± <1"),
        (3e-5, 1e-12, "(3.0000 ± <0.0001) × 10⁻⁵"),
    ],
)  # fmt: skip
def test_estimate(mean: float | None, half: float | None, text: str) -> None:
    assert plain(estimate(mean, half)) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (15.81, 17.03, "[15.81, 17.03]"), (-0.74, 0.12, "[-0.74, 0.12]"),
        (0.9571, 0.9593, "[0.9571, 0.9593]"),
        (None, None, "–"), (1.0, None, "[1.00, –]"), (-math.inf, 3.0, "[-∞, 3.00]"),
        (2.0, 2.0, "[2.00, 2.00]"),
        (120.0, 480.0, "[120, 480]"),
    ],
)  # fmt: skip
def test_interval(low: float | None, high: float | None, text: str) -> None:
    assert plain(interval(low, high)) == text


def test_value_and_interval_have_the_same_decimals() -> None:
    assert [plain(t) for t in with_interval(-0.312, -0.744, 0.121)] == ["-0.31", "[-0.74, 0.12]"]
    assert [plain(t) for t in with_interval(None, 1.0, 2.0)] == ["–", "[1.00, 2.00]"]
    assert [plain(t) for t in with_interval(3.14159, None, None)] == ["3.14", "–"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.5, "0.50"), (0.0421, "0.042"), (0.001, "0.001"), (0.00099, "< 0.001"), (1.0, "1.00")],
)
def test_probability(value: float | None, text: str) -> None:
    assert plain(probability(value)) == text


@pytest.mark.parametrize(
    ("value", "unit", "half", "text"),
    [
        (9.58e6, "bit/s", None, "9.58 Mbit/s"), (9.58e6, "bps", 2e4, "9.58 ± 0.02 Mbit/s"),
        (0.0382, "s", 0.0004, "38.2 ± 0.4 ms"), (3.1e-5, "s", None, "31.0 µs"), (12.0, "s", None, "12.0 s"),
        (120000, "B", None, "120 kB"), (47.8, "packets", 0.3, "47.8 ± 0.3 packets"),
        (0.96, "ratio", None, "0.960"),
        (None, "s", None, "–"), (0.0, "s", None, "0 s"), (3, "packets", None, "3 packets"),
        (1e10, "bit/s", None, "10.0 Gbit/s"),
    ],
)  # fmt: skip
def test_quantity(value: float | None, unit: str, half: float | None, text: str) -> None:
    assert plain(quantity(value, unit, half)) == text


def test_a_column_has_one_unit_and_its_largest_value_decides() -> None:
    assert scale([0.0004, None, 0.02, math.nan], "s").unit == "ms"
    assert scale([None], "s").unit == "s"
    assert scale([1.0], "furlongs").unit == "furlongs"


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(1, 6))
def test_number_never_fails_and_keeps_its_digits(value: float, digits: int) -> None:
    text = plain(number(value, digits))
    assert text
    if math.isfinite(value) and "×" not in text:
        assert float(text.replace(" ", "")) == pytest.approx(value, rel=0.5 * 10 ** (1 - digits), abs=1e-300)


@given(st.floats(-1e15, 1e15), st.floats(0, 1e15, exclude_min=True))
def test_estimate_never_fails(mean: float, half: float) -> None:
    assert "±" in estimate(mean, half)


@given(st.floats(-1e8, 1e8), st.floats(1e-6, 1e8))
def test_interval_ends_are_rounded_by_less_than_a_twentieth_of_the_width(low: float, width: float) -> None:
    ends = plain(interval(low, low + width)).strip("[]").split(", ")
    if "×" not in "".join(ends):
        for shown, end in zip(ends, (low, low + width), strict=True):
            assert abs(float(shown.replace(" ", "")) - end) <= max(0.051 * width, 1e-9)
