"""Comparisons: order, significance, and the error rate of repeated interim analyses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.results import Results
from sojourn.runner.execute import Outcome
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.stats import Estimate, mean_ci
from sojourn.stats.sequential import level, looks, narrow
from sojourn.study.compare import NO_DIFFERENCE, ONE_SEED, Comparison


def made(small: Scenario, values: dict[str, list[tuple[float, float]]]) -> Results:
    """Return results with these delays and utilisations, seed by seed."""
    outcomes = [
        Outcome(
            Point(small, spec, seed),
            {"mean_delay_s": delay, "utilization": used, "mark_ratio": 0.0},
            None,  # type: ignore[arg-type]
            True,
        )
        for spec, rows in values.items()
        for seed, (delay, used) in enumerate(rows, 1)
    ]
    return Results(small, list(values), outcomes)


@pytest.fixture
def three(small: Scenario) -> Results:
    return made(
        small,
        {
            "droptail": [(5.0, 0.90), (6.0, 0.91), (7.0, 0.92), (5.5, 0.90), (6.5, 0.91)],
            "pie": [(2.0, 0.91), (3.1, 0.90), (3.9, 0.93), (2.6, 0.90), (3.4, 0.91)],
            "codel": [(3.0, 0.80), (4.0, 0.81), (5.1, 0.82), (3.4, 0.80), (4.6, 0.81)],
        },
    )


def test_the_best_is_first_and_zero_metrics_are_omitted(three: Results) -> None:
    assert Comparison(three, "droptail").aqms == ["pie", "codel", "droptail"]
    by_use = Comparison(three, "droptail", sort="utilization")
    assert by_use.aqms == ["pie", "droptail", "codel"]
    assert by_use.metrics == ["utilization", "mean_delay_s"]


def test_selected_metrics_are_compared_and_corrected_for(three: Results) -> None:
    """Mutants seen to fail: default metrics added; metrics that are always 0, or the sort metric, omitted."""
    one = Comparison(three, "droptail", sort="utilization", chosen=("utilization",))
    assert one.metrics == ["utilization"]
    assert [d.metric for d in one.differences] == ["utilization"] * 2
    both = Comparison(three, "droptail", sort="utilization")
    found = {d.aqm: d.p_holm for d in both.differences if d.metric == "utilization"}
    assert one.differences[1].aqm == "codel"
    assert 0 < one.differences[1].p_holm < found["codel"]
    marks = Comparison(three, "droptail", sort="utilization", chosen=("mark_ratio",))
    assert marks.metrics == ["utilization", "mark_ratio"]


def test_verdicts_follow_the_better_direction(three: Results) -> None:
    found = {(d.aqm, d.metric): d.verdict for d in Comparison(three, "droptail").differences}
    assert found == {
        ("pie", "mean_delay_s"): "better",
        ("pie", "utilization"): NO_DIFFERENCE,
        ("codel", "mean_delay_s"): "better",
        ("codel", "utilization"): "worse",
    }


def test_differences_are_paired_and_corrected(three: Results) -> None:
    table = Comparison(three, "droptail").table()
    row = table.filter(aqm="pie", metric="mean_delay_s").row(0, named=True)
    assert row["difference"] == pytest.approx(-3.0)
    # Unpaired, the variation over seeds of 5 to 7 would hide it; paired, the half-width is a tenth.
    assert row["high"] - row["difference"] < 0.15 < mean_ci(three.values("pie", "mean_delay_s")).ci95
    assert row["p_holm"] >= row["p"]
    assert table.filter(aqm="droptail")["verdict"].unique().to_list() == ["baseline"]


def test_one_seed_gives_no_verdict(small: Scenario) -> None:
    results = made(small, {"droptail": [(5.0, 0.9)], "pie": [(1.0, 0.9)]})
    assert {d.verdict for d in Comparison(results, "droptail").differences} == {ONE_SEED}


def test_interim_analyses_share_one_error_rate() -> None:
    assert sum(1 - level(k) for k in range(1, 10_000)) == pytest.approx(0.05, rel=1e-4)
    assert list(looks(2, 2)) == [2]
    assert list(looks(3, 12)) == [3, 5, 8, 12]


def test_sequential_stopping_keeps_the_coverage() -> None:
    """The mean lies outside in fewer than 5 % of studies, which plain 95 % intervals do not achieve."""
    rng = np.random.Generator(np.random.PCG64(7))
    missed = {"shared": 0, "plain": 0}
    for _ in range(1500):
        sample = rng.exponential(1.0, 60) + rng.normal(4.0, 1.0, 60)
        for rule in missed:
            for look, n in enumerate(looks(4, 60), 1):
                estimate = mean_ci(sample[:n].tolist(), level(look) if rule == "shared" else 0.95)
                if narrow([estimate], 0.1):
                    break
            assert estimate.mean is not None
            assert estimate.ci95 is not None
            missed[rule] += abs(estimate.mean - 5.0) > estimate.ci95
    assert missed["shared"] < 0.05 * 1500 < missed["plain"]


def test_narrow_needs_an_interval() -> None:
    assert narrow([Estimate(10.0, 0.5, 5)], 0.05)
    assert not narrow([Estimate(10.0, 0.51, 5)], 0.05)
    assert not narrow([Estimate(10.0, None, 1)], 0.05)
    assert narrow([Estimate(0.0, 0.0, 5)], 0.05)


def test_seeds_are_added_until_the_interval_is_narrow_and_none_twice(
    small: Scenario, tmp_path: object
) -> None:
    wide = sojourn.compare(small, ["droptail", "red"], seeds=2, until_ci=0.2, most_seeds=12)
    assert wide.looks[-1] == len(wide.results.seeds) < 12
    kept = sojourn.compare(
        small, ["droptail", "red"], seeds=2, until_ci=0.2, most_seeds=12, out=str(tmp_path)
    )
    assert kept.table().equals(wide.table())
    again = Comparison.of(Results.open(str(tmp_path)))
    assert again is not None
    assert again.table().equals(wide.table())
    never = sojourn.compare(small, ["droptail", "red"], seeds=2, until_ci=1e-6, most_seeds=4)
    assert never.looks == (2, 3, 4)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"aqms": ["red"]}, "compare needs at least two algorithms"),
        ({"baseline": "pie"}, "baseline = 'pie' is not one of the algorithms"),
        ({"sort": "mean_dely_s"}, "did you mean mean_delay_s"),
        (
            {"metrics": ["drops", "mean_dely_s"]},
            "metric = 'mean_dely_s' is not a metric (did you mean mean_delay_s",
        ),
        ({"sort": "ftpp.goodput_bps"}, "did you mean ftp"),
        ({"until_ci": 1.5}, "until-ci = 1.5 is out of range"),
        ({"until_ci": 0.1, "seeds": 1}, "seeds = 1 to 200"),
        ({"until_ci": 0.1, "on": ["nothing"]}, "on = 'nothing' is not a metric"),
    ],
)
def test_invalid_comparisons_are_refused(small: Scenario, changes: dict[str, object], expected: str) -> None:
    words: dict[str, object] = {"aqms": ["red", "droptail"], **changes}
    with pytest.raises(InputError, match=expected.replace("(", r"\(")):
        sojourn.compare(small, **words)  # type: ignore[arg-type]


def test_a_name_is_enough_for_the_baseline(small: Scenario) -> None:
    both = ["red min_th 5 max_th 15", "red min_th 5 max_th 20", "droptail"]
    assert sojourn.compare(small, both, "droptail", seeds=1).baseline == "droptail"
    with pytest.raises(InputError, match="is ambiguous"):
        sojourn.compare(small, both, "red", seeds=1)
    assert sojourn.compare(small, both, "red max_th 20 min_th 5", seeds=1).baseline.endswith("20p")
    assert list(itertools.islice(looks(1, 9), 3)) == [1, 2, 3]
