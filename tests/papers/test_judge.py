"""The rules of judging, on synthetic samples.

Mutants (each was put into ``papers/checks.py`` or ``papers/judge.py`` and made at least one test fail):
the sign of the difference flipped; the interval tested at its other end; seeds not paired; the factor or
offset of the bound omitted; logarithms omitted; the margin widened by half; 80 % of seeds counted as
more than half; censored times compared by the t-interval; equal values on the claim's side of "<"; a
conjunction that follows its last part; a margin with one end treated as an equality; a trend decided by its
ends alone, or by its steps alone; a verdict despite too few seeds; of many margins the widest shown; the
parts that hold listed instead of those that do not; a tie shown instead of the failing part; the p of one
failure among many parts, or of one step among many, not corrected; a computed claim calculated as printed
under another reading, or under all of them; a refuted part among parts that were not run left undecided
(seeds counted over all parts); an effect below the smallest one of interest decided, or given more seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from sojourn.papers.checks import Below, Computed, ShareOfSeeds, Within
from sojourn.papers.claims import Claim, ClaimResult, Finding, Verdict, claims_frame
from sojourn.papers.experiment import Observations, Reading
from sojourn.papers.judge import All, AtLeast, WithSecondary, judge_all, judge_claim, touches
from sojourn.papers.smallest import having, inequalities
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import Trend

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
E = "experiment"
TEN = range(1, 11)
#: A disturbance per seed, common to all arms and far larger than the effects below.
COMMON = {seed: 40.0 * math.sin(seed) for seed in range(1, 41)}
#: A small disturbance that differs by arm.
OWN = {seed: 0.5 * math.cos(2.3 * seed) for seed in range(1, 41)}


class Made:
    """Samples from columns."""

    def __init__(self, columns: Mapping[tuple[str, str], Mapping[int, float | None]]) -> None:
        self.columns = columns

    def values(self, experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        return self.columns.get((arm, metric), {}) if experiment == E else {}


def column(
    level: float, wave: float = 1.0, seeds: range = TEN, common: bool = True
) -> dict[int, float | None]:
    return {s: level + (COMMON[s] if common else 0.0) + wave * OWN[s] for s in seeds}


def q(arm: str, metric: str = "std") -> Quantity:
    return Quantity(metric, arm, E, "p")


def made(**arms: Mapping[int, float | None]) -> Made:
    return Made({(arm, "std"): values for arm, values in arms.items()})


def test_a_small_paired_difference_is_found_under_a_large_common_disturbance():
    samples = made(a=column(100), b=column(103, wave=-1))
    finding = Below(q("a"), q("b")).judge(samples)
    assert finding.verdict is R
    assert finding.n == 10
    assert finding.effect is not None
    assert finding.high is not None
    assert -3.5 < finding.effect < -2.5
    assert finding.high < 0


def test_the_other_side_is_not_reproduced_and_across_is_undecided():
    samples = made(a=column(100), b=column(97, wave=-1), c=column(100, wave=-1))
    assert Below(q("a"), q("b")).judge(samples).verdict is N
    assert Below(q("a"), q("c")).judge(samples).verdict is U


def test_seeds_are_paired_by_number_not_by_position():
    shifted = dict(reversed(column(103, wave=-1).items()))
    assert Below(q("a"), q("b")).judge(made(a=column(100), b=shifted)).verdict is R


def test_only_seeds_of_both_arms_count_and_unknown_values_drop_their_pair():
    samples = made(a={**column(100, seeds=range(1, 41)), 3: None}, b=column(103, wave=-1))
    assert Below(q("a"), q("b")).judge(samples).n == 9


def test_the_bound_shifts_with_factor_and_offset():
    samples = made(a=column(100, common=False), b=column(90, wave=-1, common=False))
    assert Below(q("a"), q("b"), factor=1.2).judge(samples).verdict is R
    assert Below(q("a"), q("b"), factor=1.05).judge(samples).verdict is N
    assert Below(q("a"), q("b"), offset=15).judge(samples).verdict is R
    assert Below(q("a"), q("b"), offset=5).judge(samples).verdict is N


def test_an_effect_below_the_smallest_one_of_interest_decides_nothing():
    samples = made(a=column(100, 0.1, common=False), b=column(101, -0.1, common=False))
    for log in (False, True):
        check = All((Below(q("a"), q("b"), log=log), Below(q("b"), q("a"), log=log)))
        assert having(check, 0.005).judge(samples).verdict is N
        small = having(check, 0.02)
        assert [part.judge(samples).verdict for part in inequalities(small)] == [U, U]
        finding = small.judge(samples)
        assert (finding.verdict, finding.p) == (U, None)
        assert "less than the smallest effect of interest (2.0%); interval below" in finding.reason
        assert small.undecided_sources(samples) == frozenset()
    stated = WithSecondary(Below(q("a"), q("b"), factor=0.5), also=Below(q("a"), q("b")))
    assert inequalities(stated) == []
    assert having(stated, 0.02) == stated


def test_times_are_compared_as_ratios():
    slow = {s: 10.0 ** (s % 4) for s in TEN}
    fast = {s: 0.5 * value * (1 + 0.02 * OWN[s]) for s, value in slow.items()}
    finding = Below(q("a"), q("b"), log=True).judge(made(a=fast, b=slow))
    assert finding.verdict is R
    assert finding.effect == pytest.approx(0.5, rel=0.02)
    assert Below(q("a"), q("b")).judge(made(a=fast, b=slow)).verdict is U


def test_equal_in_every_seed_is_on_the_claims_side_only_if_equality_is_claimed():
    samples = made(a=column(50), b=column(50))
    assert Below(q("a"), q("b")).judge(samples).verdict is N
    assert Below(q("a"), q("b"), strict=False).judge(samples).verdict is R


def censored(a_never: int, b_never: int, a: float = 5.0, b: float = 9.0) -> Made:
    """Ten seeds; the first `a_never` of a and the first `b_never` of b end at 200 without being reached."""
    columns: dict[tuple[str, str], Mapping[int, float | None]] = {}
    for arm, never, value in (("a", a_never, a), ("b", b_never, b)):
        columns[arm, "time"] = {s: 200.0 if s <= never else value + OWN[s] for s in TEN}
        columns[arm, "time_censored"] = {s: float(s <= never) for s in TEN}
    return Made(columns)


def test_times_never_reached_are_compared_by_a_sign_test():
    check = Below(q("a", "time"), q("b", "time"), log=True)
    won = check.judge(censored(0, 10))
    assert won.verdict is R
    assert won.effect == 1.0
    assert "so in 10 of the 10" in won.reason
    assert check.judge(censored(10, 0)).verdict is N
    both = check.judge(censored(10, 10))
    assert both.verdict is U
    assert "never reached" in both.reason
    assert both.effect is None
    # one censored value is enough: its size has no meaning (2 of 10 is not significant by the sign test)
    assert check.judge(censored(2, 0)).verdict is U
    assert check.judge(censored(0, 0)).verdict is R


def test_equivalence_needs_both_ends_inside():
    samples = made(a=column(50, wave=1), b=column(51, wave=-1))
    assert Within(q("a"), -3, 3, q("b")).judge(samples).verdict is R
    assert Within(q("a"), -1.2, 1.2, q("b")).judge(samples).verdict is U
    assert Within(q("a"), 0.5, 3, q("b")).judge(samples).verdict is N


def test_equivalence_of_one_number_and_of_a_ratio():
    samples = made(a=column(0.96, wave=0.01, common=False), b=column(0.8, wave=0.01, common=False))
    assert Within(q("a"), 0.94, 0.98).judge(samples).verdict is R
    assert Within(q("a"), 0.97, 0.98).judge(samples).verdict is N
    assert Within(q("a"), 1.1, 1.3, q("b"), ratio=True).judge(samples).verdict is R
    assert Within(q("a"), 0.75, 1.25, q("b"), ratio=True).judge(samples).verdict is R
    assert Within(q("a"), 0.9, 1.1, q("b"), ratio=True).judge(samples).verdict is N


@pytest.mark.parametrize(("true", "verdict"), [(10, R), (8, R), (7, N), (0, N)])
def test_eight_of_ten_seeds_are_enough(true: int, verdict: Verdict):
    samples = made(a={s: 50.0 if s <= true else 80.0 for s in TEN})
    check = ShareOfSeeds("within 15 p of 50 p", lambda value: abs(value - 50) <= 15, (q("a"),))
    assert check.judge(samples).verdict is verdict
    assert f"true in {true} of 10" in check.judge(samples).reason


def test_a_conjunction_is_as_strong_as_its_weakest_part():
    samples = made(a=column(100), b=column(103, wave=-1), c=column(97, wave=-1), d=column(100, wave=-1))
    better, worse, same = (Below(q("a"), q(arm)) for arm in "bcd")
    assert All((better, better)).judge(samples).verdict is R
    assert All((worse, better)).judge(samples).verdict is N
    assert All((worse, same)).judge(samples).verdict is N
    assert All((same, better)).judge(samples).verdict is U
    both = All((better, Below(q("a"), q("b"), offset=-2.4))).judge(samples)
    assert both.p is not None
    assert both.p == Below(q("a"), q("b"), offset=-2.4).judge(samples).p


def test_one_refuted_part_decides_although_others_were_not_run():
    samples = made(a=column(100), b=column(97, wave=-1), c=column(103, wave=-1))
    worse, better, absent = (Below(q("a"), q(arm)) for arm in "bcz")
    for joined in (All((worse, absent)), AtLeast(2, (worse, absent, absent, worse))):
        assert (finding := judge_claim(joined, samples)).verdict is (N if isinstance(joined, All) else U)
        assert finding.n == 10
    assert judge_claim(AtLeast(2, (worse, worse, absent)), samples).verdict is N
    assert judge_claim(AtLeast(1, (better, absent)), samples).verdict is R
    for unknown in (All((better, absent)), AtLeast(1, (absent, absent))):
        assert (finding := judge_claim(unknown, samples)).verdict is U
        assert (finding.n, finding.reason.startswith("quick")) == (0, False)


def test_of_many_margins_the_tightest_is_shown_and_the_others_are_counted():
    names = [chr(97 + i) for i in range(12)]
    samples = made(**{name: column(100 + i, 0.01, common=False) for i, name in enumerate(names)})
    near = All(tuple(Within(q(name), 90, 112) for name in names)).judge(samples)
    assert (near.verdict, near.effect) == (R, pytest.approx(111, abs=0.1))
    assert near.reason == "12 parts: 12 reproduced"
    far = All(tuple(Within(q(name), 90, 109.5) for name in names)).judge(samples)
    assert (far.verdict, far.effect) == (N, pytest.approx(111, abs=0.1))
    assert far.reason.startswith("12 parts: 10 reproduced, 2 not reproduced: std of k, p: 110")


def test_a_secondary_check_does_not_decide():
    samples = made(a=column(100), b=column(103, wave=-1))
    finding = WithSecondary(Below(q("a"), q("b")), also=Below(q("b"), q("a"))).judge(samples)
    assert finding.verdict is R
    assert "not reproduced" in finding.reason


def test_seeds_are_added_for_undecided_inequalities_only():
    samples = made(a=column(100), b=column(103, wave=-1), c=column(97, wave=-1), d=column(100, wave=-1))
    better, worse, same = (Below(q("a"), q(arm)) for arm in "bcd")
    assert same.undecided_sources(samples) == {(E, "a"), (E, "d")}
    assert not better.undecided_sources(samples)
    assert not worse.undecided_sources(samples)
    assert All((same, better)).undecided_sources(samples) == {(E, "a"), (E, "d")}
    assert not All((same, worse)).undecided_sources(samples)
    assert not Within(q("a"), -0.1, 0.1, q("d")).undecided_sources(samples)


def test_too_few_seeds_leave_a_claim_undecided_with_the_reason():
    samples = made(a=column(100, seeds=range(1, 4)), b=column(130, seeds=range(1, 4)))
    quick = judge_claim(Below(q("a"), q("b")), samples, quick=True)
    assert quick.verdict is U
    assert quick.reason.startswith("quick")
    assert "reproduced" in quick.reason
    assert quick.p is None
    assert quick.n == 3
    missing = judge_claim(Below(q("a"), q("z")), samples, quick=True)
    assert missing.verdict is U
    assert missing.reason == "not run"


def test_a_derived_number_is_computed_seed_by_seed():
    spread = Derived("spread", (q("a"), q("b")), lambda a, b: b - a, "p")
    samples = made(a=column(100), b={**column(103), 4: None})
    values = spread.values(samples)
    assert values[4] is None
    assert values[5] == pytest.approx(3)
    assert spread.sources == {(E, "a"), (E, "b")}


def test_a_margin_with_one_end_is_an_inequality_and_gets_more_seeds():
    samples = made(a=column(1.0, wave=0.4, common=False))
    least = Within(q("a"), 0.99, math.inf)
    assert least.judge(samples).claimed == ">= 0.99"
    assert least.judge(samples).verdict is U
    assert least.undecided_sources(samples) == {(E, "a")}
    assert not Within(q("a"), 0.99, 2).undecided_sources(samples)
    assert Within(q("a"), 0.5, math.inf).judge(samples).verdict is R
    assert Within(q("a"), -math.inf, 0.5).judge(samples).verdict is N
    assert not Within(q("a"), 0.5, math.inf).undecided_sources(samples)


def test_a_trend_tolerates_reversals_within_the_interval():
    up = made(a=column(1), b=column(2, -1), c=column(1.95), d=column(9))
    terms = tuple(q(arm) for arm in "abcd")
    rising, falling = Trend("std along x", terms), Trend("std along x", terms, rises=False)
    assert rising.judge(up).verdict is R
    assert rising.judge(up).effect == pytest.approx(8)
    assert falling.judge(up).verdict is N
    back = made(a=column(1), b=column(5), c=column(3, -1), d=column(9))
    assert rising.judge(back).verdict is N
    assert rising.judge(back).reason.startswith("1 of 3 steps")


def test_the_p_value_of_one_failure_among_many_parts_is_corrected():
    none = column(0, 0, common=False)
    samples = made(a=column(100), b=column(97, wave=-1), low=none, least=none)
    fails, tie = Below(q("a"), q("b")), Below(q("low"), q("least"))
    p = fails.judge(samples).p
    assert p is not None
    assert tie.judge(samples).verdict is N
    found = All((tie, fails, tie)).judge(samples)
    assert found.verdict is N
    assert found.measure == "std: a - b, p"
    assert found.p == pytest.approx(3 * p)
    back = Trend("std along x", (q("b"), q("a"), q("b"))).judge(samples)
    assert back.verdict is N
    assert back.p == pytest.approx(2 * p)
    assert back.measure == "std along x: b - b, p"


def test_a_check_of_an_undefined_value_shows_the_secondary_one():
    never = Derived("x", (q("a"),), lambda _x: None, unknown="x never was")
    samples = made(a=column(5, 0.1, common=False))
    found = WithSecondary(Within(never, 0, 1), also=Within(q("a"), 0, 1)).judge(samples)
    assert (found.verdict, found.effect, found.p) == (U, pytest.approx(5, abs=0.1), None)
    assert found.reason.startswith("unknown in 10 of 10 seeds; x never was; std of a, p: 4.995 [")
    assert All((Within(never, 0, 1), Within(q("a"), 5, 6))).judge(samples).effect is not None
    stands_in = All((Within(never, 0, 1), Within(q("a"), 0, 9))).judge(samples)
    assert (stands_in.verdict, stands_in.p) == (U, None)
    assert stands_in.effect == found.effect
    assert WithSecondary(Within(never, 0, 1), also=Within(q("b"), 0, 1)).judge(samples).n == 0


def test_a_trend_with_equal_ends_is_undecided_and_gets_more_seeds_at_its_ends():
    flat = made(a=column(1), b=column(1, -1), c=column(1, 0.5), d=column(1, -1))
    trend = Trend("std along x", tuple(q(arm) for arm in "abcd"))
    assert trend.judge(flat).verdict is U
    assert trend.undecided_sources(flat) == {(E, "a"), (E, "d")}
    assert trend.judge(made()).reason == "not run"


def test_a_reading_affects_the_claims_that_use_what_it_changes():
    seen = Observations()
    for arm in "ab":
        seen.add("", (E, arm), 1, {"std": 1.0, "other std": 2.0, "mean": 3.0})
    seen.add("again", (E, "a"), 1, {"std": 1.5})
    renamed = seen.under(Reading("renamed", "", metrics={"std": "other std"}))
    elsewhere = seen.under(
        Reading("elsewhere", "", metrics={"std": "other std"}, experiments=frozenset({"x"}))
    )
    again = seen.under(Reading("again", ""))
    on_std, on_mean, on_b = Below(q("a"), q("b")), Below(q("a", "mean"), q("b", "mean")), Within(q("b"), 0, 1)
    assert [touches(renamed, check) for check in (on_std, on_mean, on_b)] == [True, False, True]
    assert not touches(elsewhere, on_std)
    assert [touches(again, check) for check in (on_std, on_mean, on_b)] == [True, True, False]
    assert not touches(renamed, Computed(lambda: Finding(R)))


def test_a_computed_claim_is_judged_under_its_own_readings():
    seen, names = Observations(), ("again", "other")
    views = {name: seen.under(Reading(name, "")) for name in names}
    computed = Computed(lambda: Finding(R), under={"other": lambda: Finding(N)})
    (row,) = judge_all(
        [claim("X-1")], {"X-1": computed}, seen.under(), views, lambda c, f: ClaimResult(c, f, "analytic")
    )
    assert row.finding.verdict is R
    assert row.sensitivity == {"other": N}
    assert row.flips == ("other",)


def claim(name: str) -> Claim:
    return Claim(name, "1", E, "s", "c", "strict", "h", True, "")


def test_every_claim_gets_a_row_with_holm_and_sensitivity():
    samples = made(a=column(100), b=column(103, wave=-1), d=column(100.9, wave=-1))
    other = made(a=column(100), b=column(97, wave=-1), d=column(100.9, wave=-1))
    checks = {
        "X-1": Below(q("a"), q("b")),
        "X-2": Below(q("a"), q("d")),
        "X-3": Computed(lambda: Finding(R, effect=1.0, n=1)),
        "X-4": Below(q("y"), q("z")),
    }
    rows = judge_all(
        [claim(name) for name in checks],
        checks,
        samples,
        {"other": other},
        lambda c, f: ClaimResult(c, f, "simulated"),
    )
    assert [row.finding.verdict for row in rows] == [R, R, R, U]
    assert rows[0].flips == ("other",)
    assert not rows[1].flips
    assert rows[0].p_holm is not None
    assert rows[0].finding.p is not None
    assert rows[0].p_holm > rows[0].finding.p
    frame = claims_frame(rows)
    assert frame.height == 4
    fixed = "claim_id world experiment_id verdict effect ci_low ci_high published n assumptions reason"
    assert " ".join(frame.columns[:11]) == fixed
    assert set(frame["verdict"]) <= {"reproduced", "not reproduced", "undecided"}


def test_a_verdict_that_fails_holms_correction_is_marked():
    weak = ClaimResult(claim("X-1"), Finding(R, p=0.03, n=10), "simulated", p_holm=0.3)
    strong = ClaimResult(claim("X-1"), Finding(R, p=0.0003, n=10), "simulated", p_holm=0.003)
    assert weak.holm_changes
    assert not strong.holm_changes
