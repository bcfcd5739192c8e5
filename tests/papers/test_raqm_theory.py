"""The computed claims of the RAQM paper, against values tabulated by other code.

Mutants (each was put into ``worlds/fluid/raqm.py`` and made at least one test fail): atanh(x) for
atanh(1 - x) in c; a factor of 2 for 4 in c; exp(m (1 - x)) for exp(m (1 - x) / 2) in the map; the sign of
the exponent; V = |x - 1| for its square; steps counted from 1; g without its factor x.
"""

from __future__ import annotations

import math

import polars as pl
import pytest

from sojourn.papers.claims import Verdict, load_claims
from sojourn.papers.raqm2005 import checks, measures, theorems
from sojourn.papers.raqm2005.paper import CLAIMS
from sojourn.worlds.fluid import raqm as theory


@pytest.mark.parametrize("row", theorems.table("raqm-fig1")["points"], ids=lambda row: str(row["x"]))
def test_the_bound_has_the_tabulated_value(row: dict[str, float]):
    assert theory.c(row["x"]) == pytest.approx(row["c"], abs=theorems.TABLE)


@pytest.mark.parametrize("row", theorems.table("raqm-fig3")["points"], ids=lambda row: str(row["x"]))
def test_g_has_the_tabulated_value(row: dict[str, float]):
    assert theory.g(row["x"]) == pytest.approx(row["g"], abs=theorems.TABLE)


def test_the_bound_is_that_of_equation_12():
    for x in (0.1, 0.7, 1.3, 1.9):
        printed = 2 * math.log((2 - x) / x) / (1 - x)
        assert theory.c(x) == pytest.approx(printed, rel=1e-12)
    assert theory.c(1.0) == 4.0
    with pytest.raises(ValueError, match="defined for"):
        theory.c(2.0)


@pytest.mark.parametrize("row", theorems.table("raqm-theorems")["lyapunov"], ids=str)
def test_lyapunov_differences_are_as_tabulated(row: dict[str, float]):
    change = theory.lyapunov_difference(row["x"], row["f"] * theory.c(row["x"]))
    assert change == pytest.approx(row["dV"], abs=theorems.TABLE)


@pytest.mark.parametrize("row", theorems.table("raqm-theorems")["orbits"], ids=str)
def test_orbits_end_as_tabulated(row: dict[str, float | list[float]]):
    assert isinstance(row["m"], float)
    assert isinstance(row["limit"], list)
    assert sorted(theory.orbit(0.5, row["m"])) == pytest.approx(sorted(row["limit"]), abs=theorems.TABLE)


@pytest.mark.parametrize("row", theorems.table("raqm-theorems")["steps_to_1_percent"], ids=str)
def test_steps_are_as_tabulated(row: dict[str, float]):
    gain = theory.static(row["m"]) if "m" in row else theory.adaptive(row["epsilon"])
    assert theory.steps_to(row["x0"], gain) == row["steps"]


def test_attractors_are_the_ends_of_single_orbits():
    gains = [1.0, 3.9, 4.5, 5.3]
    ends = theory.attractors(gains, keep=8)
    for gain, values in zip(gains, ends, strict=True):
        cycle = sorted(theory.orbit(0.5, gain))
        assert sorted(values)[:: 8 // len(cycle)] == pytest.approx(cycle, abs=1e-6)


def test_at_the_bound_it_never_settles():
    assert theory.steps_to(0.5, theory.adaptive(1.0)) is None
    assert theory.orbit(0.5, 6.0) == []


@pytest.mark.parametrize("find", checks.COMPUTED, ids=lambda find: find.__name__)
def test_all_computed_claims_hold_except_theorem_2(find):  # type: ignore[no-untyped-def]
    finding = find()
    false = {theorems.faster_with_a_larger_gain}
    assert finding.verdict is (Verdict.NOT_REPRODUCED if find in false else Verdict.REPRODUCED)
    assert finding.n > 0
    assert finding.reason


def test_a_wrong_bound_is_detected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(theorems, "c", lambda x: 3.99 * theory.c(x) / 4)
    assert theorems.bound_above_four().verdict is Verdict.NOT_REPRODUCED
    assert theorems.bound_as_tabulated().verdict is Verdict.NOT_REPRODUCED
    assert theorems.bound_tends_to_four().verdict is Verdict.NOT_REPRODUCED
    assert theorems.increases_above_the_bound().verdict is Verdict.NOT_REPRODUCED


def test_a_wrong_map_is_detected(monkeypatch: pytest.MonkeyPatch):
    def steeper(x: float, m: float) -> float:
        return x * math.exp(m * (1 - x))

    monkeypatch.setattr(theory, "step", steeper)
    monkeypatch.setattr(theorems, "step", steeper)
    assert theorems.static_gain_bound().verdict is Verdict.NOT_REPRODUCED
    assert theorems.decreases_below_the_bound().verdict is Verdict.NOT_REPRODUCED
    assert theorems.static_with_unresponsive_traffic().verdict is Verdict.NOT_REPRODUCED


def test_every_claim_of_the_catalogue_has_a_check():
    claims = load_claims(CLAIMS)
    assert len(claims) == 55
    assert {claim.id for claim in claims} == set(checks.checks())


def test_the_input_rate_is_counted_in_seconds_after_the_start():
    """Ten arrivals in each tenth of a second up to 100 s, then by turns eight and twelve."""
    seconds = [i / 10 for i in range(1, 2001)]
    late = {0: 8, 1: 12}
    arrivals = [10 if t <= 100 else late[math.ceil(t - 1e-6) % 2] for t in seconds]
    found = measures._input_rate(pl.DataFrame({"time_s": seconds, "arrivals": arrivals}))
    assert found["arrivals_per_s[50,200]"] == pytest.approx(100)
    assert found["arrivals_cv[100,200]"] == pytest.approx(20 / 100 * math.sqrt(100 / 99))
    short = measures._input_rate(pl.DataFrame({"time_s": [1.0], "arrivals": [1]}))
    assert set(short.values()) == {None}
