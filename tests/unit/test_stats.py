"""Estimates: against tables and hand calculations, and properties that hold for any values.

Mutants seen to fail: n instead of n - 1 degrees of freedom, z instead of t, the one-sided p of the sign
test, Holm without the running maximum, every heavy tail that of a power.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.stats import Effect, equivalent, holm, mean_ci, paired, sign_test, t_quantile
from sojourn.stats.batch_means import heavy_tail

# Two-sided 95 % quantiles from a printed table of Student's t.
T_TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 19: 2.093, 39: 2.023}
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@pytest.mark.parametrize(("degrees", "quantile"), T_TABLE.items())
def test_quantiles_are_those_of_the_table(degrees: int, quantile: float) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(quantile, abs=5e-4)


def test_the_interval_of_five_values_by_hand() -> None:
    # 4, 5, 6, 7, 8: s = sqrt(10 / 4), half-width = 2.776 * s / sqrt 5.
    estimate = mean_ci([4, 5, 6, 7, 8])
    assert estimate.mean == 6
    assert estimate.ci95 == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert mean_ci([3.0]) == (3.0, None, 1)
    assert mean_ci([]) == (None, None, 0)
    assert mean_ci([None, math.nan, math.inf]) == (None, None, 0)


@given(VALUES)
def test_the_order_of_values_does_not_matter(values: list[float]) -> None:
    assert mean_ci(values) == mean_ci(values[::-1])


@given(VALUES, st.floats(-100, 100))
def test_a_constant_shift_is_found_exactly_by_pairing(values: list[float], shift: float) -> None:
    effect = paired(values, [x + shift for x in values])
    assert effect.mean == pytest.approx(shift, abs=1e-8)
    assert effect.low is not None
    assert effect.high is not None
    assert effect.low - 1e-8 <= shift <= effect.high + 1e-8


def test_a_ratio_is_compared_on_its_logarithm() -> None:
    effect = paired([1.0, 2.0, 4.0], [2.0, 4.0, 8.0], log=True)
    assert effect.mean == pytest.approx(2.0)
    assert effect.low == pytest.approx(2.0)


def test_pairs_with_an_unknown_are_left_out() -> None:
    assert paired([1.0, None, 3.0], [2.0, 5.0, None]).n == 1
    with pytest.raises(ValueError, match="cannot be paired"):
        paired([1.0], [1.0, 2.0])


def test_p_agrees_with_the_interval() -> None:
    # t = 2.776 at 4 degrees of freedom is p = 0.05 exactly where the interval touches zero.
    differences = [-1.0, 0.0, 1.0, 2.0, 3.0]
    effect = paired([0.0] * 5, [d + 0.96324 for d in differences])
    assert effect.low == pytest.approx(0, abs=2e-4)
    assert effect.p == pytest.approx(0.05, abs=1e-4)


def test_equivalence_is_decided_by_both_ends_of_the_interval() -> None:
    assert equivalent(Effect(1.0, 0.95, 1.05, 10, None), 0.9, 1.1) is True
    assert equivalent(Effect(1.3, 1.2, 1.4, 10, None), 0.9, 1.1) is False
    assert equivalent(Effect(1.1, 1.0, 1.2, 10, None), 0.9, 1.1) is None
    assert equivalent(Effect(None, None, None, 1, None), 0.9, 1.1) is None


def test_holm_by_hand() -> None:
    # 3 * 0.01, 2 * 0.03, then 1 * 0.04 raised to the value before it.
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_p_and_keeps_the_order(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(a is not None and a >= p for a, p in zip(adjusted, ps, strict=True))
    ranked = [adjusted[i] for i in sorted(range(len(ps)), key=ps.__getitem__)]
    assert ranked == sorted(ranked)  # type: ignore[type-var]


@pytest.mark.parametrize(("positive", "n", "p"), [(8, 10, 0.109375), (9, 10, 0.021484375), (5, 10, 1.0)])
def test_the_sign_test_is_the_binomial_one(positive: int, n: int, p: float) -> None:
    assert sign_test([1.0] * positive + [-1.0] * (n - positive) + [0.0] * 3) == p


@pytest.mark.parametrize(
    ("values", "count", "least", "most"),
    [("lognormal", 1000, 0.0, 0.25), ("lognormal", 5000, 0.0, 0.02), ("pareto", 1000, 0.85, 1.0),
     ("pareto", 5000, 0.9, 1.0)],
)  # fmt: skip
def test_lognormal_sizes_are_no_heavy_tail(values: str, count: int, least: float, most: float) -> None:
    """Share of 300 samples with a power tail; without the test of shape 43 % and 96 % of the lognormal."""
    rng = np.random.Generator(np.random.PCG64(7))
    draw = {"lognormal": lambda: rng.lognormal(0, 1.5, count), "pareto": lambda: rng.pareto(1.3, count) + 1}
    found = [heavy_tail(draw[values]()) for _ in range(300)]
    assert least <= sum(one is not None and one.is_power for one in found) / 300 <= most
    assert sum(one is not None for one in found) / 300 > 0.4
