"""Traffic classes: assigned by markers, counted by queues, shown in metrics and tables.

A mutant seen to fail: no marker in the plan.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import sojourn
from sojourn.metrics import METRICS, per_class
from sojourn.results import Results

RIO = "rio min_out 2p max_out 5p max_p_out 0.5 min_in 10p max_in 18p w_q 0.1"

#: 1 Mbit/s of 1000-byte packets; exactly half of it is in profile.
TOML = """
name = "marked"
duration = "12s"
conventions = "rfc"
warmup = "2s"
queue = { limit = "20p", aqm = "rio" }
trace = { interval = "100ms" }
[dumbbell]
rate = "%s"
delay = "5ms"
access = { rate = "10Mbit/s", delay = "5ms" }
server = { rate = "10Mbit/s", delay = "5ms" }
[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "1Mbit/s"
size = "1kB"
class = %d
marker = "token_bucket cir 500kbit/s cbs 2kB"
"""


def results(rate: str = "2Mbit/s", number: int = 0, out: Path | None = None) -> Results:
    return sojourn.run(sojourn.Scenario.from_toml(TOML % (rate, number)), [RIO, "prio"], seeds=1, out=out)


def test_half_is_in_profile() -> None:
    values = results().outcomes[0].metrics
    assert values["classes.0.arrivals"] == values["classes.1.arrivals"] == 625
    assert values["classes.0.throughput_bps"] == values["classes.1.throughput_bps"] == 5e5
    assert values["classes.0.drop_ratio"] == 0


def test_af_classes_are_triples() -> None:
    names = results(number=3).metric_names
    assert {name.split(".")[1] for name in names if name.startswith("classes.")} == {"3", "4"}


def test_classes_add_up_to_the_queue_and_are_read_back(tmp_path: Path) -> None:
    fresh = results("800kbit/s", out=tmp_path / "out")
    for outcome, again in zip(fresh.outcomes, Results.open(tmp_path / "out").outcomes, strict=True):
        values = outcome.metrics
        assert values == again.metrics == sojourn.metrics.compute(again.record)
        for name in ("arrivals", "drops", "throughput_bps", "mean_queue_packets"):
            parts = [
                value for key, value in values.items() if key.startswith("classes.") and key.endswith(name)
            ]
            assert len(parts) == 2
            assert sum(x or 0 for x in parts) == pytest.approx(values[name])
        series = again.record.series()
        both = series["class_0_packets"] + series["class_1_packets"]
        assert both.to_list() == series["queue_packets"].to_list()
    rio, prio = (one.metrics for one in fresh.outcomes)
    assert (rio["classes.1.drop_ratio"] or 0) > 2 * (rio["classes.0.drop_ratio"] or 0)
    assert (prio["classes.0.mean_delay_s"] or 0) < 0.02 < (prio["classes.1.mean_delay_s"] or 0)


def test_one_class_alone_has_no_metrics_of_its_own(small: sojourn.Scenario) -> None:
    names = sojourn.run(small, ["fq_codel"], seeds=1).metric_names
    assert "drop_ratio" in names
    assert not [name for name in names if name.startswith("classes.")]


def test_the_table_has_classes() -> None:
    from sojourn.cli.summaries import of_results

    with redirect_stdout(io.StringIO()) as out:
        of_results(results()).print()
    assert "class 0: throughput (Mbit/s)" in out.getvalue()
    assert "class 1: drop ratio (%)" in out.getvalue()
    assert set(per_class()) <= set(METRICS)
