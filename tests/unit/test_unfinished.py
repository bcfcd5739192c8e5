"""Transfers that did not finish: the warning, Kaplan-Meier percentiles, and ``drain``.

Mutants seen to fail: only the finished at risk; the censored not at risk when others end; the warning at
10 %; a patience ignored.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

import sojourn
from sojourn.errors import InputError
from sojourn.record import UNFINISHED
from sojourn.spec.scenario import Scenario
from sojourn.stats import kaplan_meier

SHORT = {
    "name": "short", "kind": "tcp-short", "arrivals": "12/s", "size": "pareto 20kB 1.3", "payload": "960B",
    "header": "40B",
}  # fmt: skip


@pytest.fixture
def files(small: Scenario) -> Scenario:
    """Files over 2 Mbit/s, of which some per cent are unfinished at the end."""
    return small.with_(
        duration="12s", warmup="2s", traffic=[SHORT], queue={"limit": "30p", "aqm": "droptail"}
    )


def test_the_example_of_a_textbook() -> None:
    """Remission times of 21 patients under 6-MP (Freireich 1963; Kaplan-Meier in every textbook)."""
    done = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0]
    censored = [6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0]
    # S = .857 .807 .753 .690 .627 .538 .448 at 6 7 10 13 16 22 23
    assert kaplan_meier(done, censored, 0.25) == 13.0
    assert kaplan_meier(done, censored, 0.30) == 13.0
    assert kaplan_meier(done, censored, 0.35) == 16.0
    assert kaplan_meier(done, censored, 0.5) == 23.0
    assert kaplan_meier(done, censored, 0.6) is None
    assert kaplan_meier([], censored, 0.5) is None
    assert kaplan_meier([], [], 0.5) is None


@pytest.mark.parametrize("seed", range(8))
def test_quantiles_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times, limits = rng.integers(1, 30, 40).astype(float), rng.integers(5, 40, 40).astype(float)
    done, censored = times[times <= limits].tolist(), limits[times > limits].tolist()
    survival = ecdf(CensoredData(uncensored=done, right=censored)).sf
    for share in (0.1, 0.5, 0.9, 0.99):
        reached = survival.quantiles[survival.probabilities <= 1 - share + 1e-9]
        assert kaplan_meier(done, censored, share) == (reached[0] if len(reached) else None)


def test_survivors_give_a_warning_and_estimates_of_all(files: Scenario) -> None:
    results = sojourn.run(files, seeds=3)
    said = [one for one in results.warnings if "of the transfers of short did not finish" in one]
    assert len(said) == 1
    assert "completion_time_km_p99_s" in said[0]
    for one in results.outcomes:
        assert one.metrics["short.completion_time_km_p95_s"] > one.metrics["short.completion_time_p95_s"]  # type: ignore[operator]
        assert one.metrics["short.unfinished"] / one.metrics["short.completed"] > 0.01  # type: ignore[operator]


def test_drain_finishes_what_began_and_changes_nothing_else(files: Scenario) -> None:
    before = sojourn.run(files, ["droptail", "red"], seeds=3)
    after = sojourn.run(files.with_(drain=True), ["droptail", "red"], seeds=3)
    assert not [one for one in after.warnings if "did not finish" in one]
    for a, b in zip(before.outcomes, after.outcomes, strict=True):
        began = a.record.objects.filter(a.record.objects["end_s"].is_null())["start_s"].to_list()
        assert began
        ends = b.record.objects
        assert ends.height == a.record.objects.height
        assert ends["end_s"].null_count() == 0
        assert ends["end_s"].max() > 12  # type: ignore[operator]
        same = [name for name in a.metrics if "completion" not in name and "finished" not in name
                and not name.endswith(("completed", "active_transfers"))]  # fmt: skip
        assert {name: a.metrics[name] for name in same} == {name: b.metrics[name] for name in same}
        assert a.record.series().equals(b.record.series())
    for aqm in ("droptail", "red"):
        truth = after.estimate(aqm, "short.completion_time_p95_s").mean
        survivors, estimate = (
            before.estimate(aqm, f"short.completion_time_{one}_s").mean for one in ("p95", "km_p95")
        )
        assert survivors < estimate < 1.1 * truth  # type: ignore[operator]
        assert abs(estimate - truth) < abs(survivors - truth)  # type: ignore[operator]


def test_a_patience_has_no_estimate(small: Scenario) -> None:
    """An aborted object has no end either, but was not under way until the end of the run."""
    web = {
        "name": "web", "kind": "web", "count": 5, "payload": "960B", "header": "40B",
        "page_gap": "exponential 1s", "size": "20kB", "patience": "400ms",
    }  # fmt: skip
    record = sojourn.run(small.with_(traffic=[web]), seeds=1).outcomes[0]
    assert UNFINISHED in record.record.column("objects", "end_ns")
    assert record.metrics["web.completion_time_km_p50_s"] is None
    assert record.metrics["web.completion_time_p50_s"] is not None


def test_drain_is_for_transfers(small: Scenario) -> None:
    with pytest.raises(InputError, match="drain has no effect: no traffic has transfers that end"):
        small.with_(drain=True)
    with pytest.raises(InputError, match="drain = '3q'"):
        small.with_(traffic=[SHORT], drain="3q")


def test_percentiles_do_not_exceed_the_maximum_nor_the_utilization_1(small: Scenario) -> None:
    """A constant stream fills the queue: every delay is the largest, and a bucket is wider than that."""
    full = small.with_(
        traffic=[{"name": "cbr", "kind": "udp-cbr", "rate": "3Mbit/s", "size": "1000B"}],
        queue={"limit": "20p", "aqm": "droptail"},
    )
    for one in sojourn.run(full, ["droptail", "red"], seeds=5).outcomes:
        found = one.metrics
        largest = found["max_delay_s"]
        percentiles = [found[f"p{n}_delay_s"] for n in ("50", "95", "99", "999")]
        assert percentiles == sorted(percentiles)  # type: ignore[type-var]
        assert percentiles[-1] <= largest  # type: ignore[operator]
        assert found["utilization"] <= 1  # type: ignore[operator]
    # The 21st packet of 4 ms leaves when 20 others have left.
    assert largest == pytest.approx(0.08, abs=0.004)
