"""Logs of packets and samples of flows: their values, and that results do not depend on them.

Mutants seen to fail: samples scaled by the interval of the queues; delays of other packets; codes of ECN in
another order; a table that is not stored.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario
from sojourn.worlds.simulated.memory_bound import on_disk
from support import ROOT, Cli


@pytest.fixture
def traced(small: Scenario) -> Scenario:
    return small.with_(duration="6s", warmup="0s", trace={"packets": True, "flows": "50ms"})


def test_results_do_not_depend_on_what_is_recorded(small: Scenario, traced: Scenario) -> None:
    alone = sojourn.run(small.with_(duration="6s", warmup="0s"), ["red", "fq_codel"], 2)
    results = sojourn.run(traced, ["red", "fq_codel"], 2)
    assert results.runs.drop("run_id").equals(alone.runs.drop("run_id"))
    assert results.fast_path == "no, traced packets or flows"


def test_the_log_of_packets_agrees_with_the_metrics(traced: Scenario) -> None:
    results = sojourn.run(traced, ["red min_th 2p max_th 8p max_p 0.2 ecn", "codel target 1ms"], 1)
    for (aqm,), log in results.trace("packets").partition_by("aqm", as_dict=True).items():
        metrics = results.runs.filter(aqm=aqm).row(0, named=True)
        events = dict(log["event"].value_counts().iter_rows())
        assert log["arrival"].n_unique() == metrics["arrivals"]
        assert events.get("drop", 0) == metrics["drops"]
        assert events.get("mark", 0) == metrics["marks"]
        left = log.filter(event="dequeue")
        assert left["delay_s"].mean() == pytest.approx(metrics["mean_delay_s"], rel=1e-9)
        assert left["delay_s"].max() == pytest.approx(metrics["max_delay_s"], rel=1e-9)
        assert set(log.filter(event="drop")["reason"]) <= {"overflow", "early", "forced"}
        assert log.filter(pl.col("event").is_in(["enqueue", "dequeue"]))["reason"].null_count() > 0
        marked = log.filter(event="mark")
        assert set(marked["ecn"]) <= {"ce"}
        assert set(log["kind"]) == {"data", "datagram"}


def test_samples_of_flows_add_up_to_their_goodput(traced: Scenario) -> None:
    results = sojourn.run(traced, ["red"], 1)
    series = results.trace("flows")
    assert series.columns[2:6] == ["time_s", "traffic", "index", "flow"]
    per_flow = series.group_by("traffic", "index").agg(
        (pl.col("goodput_bps") * 0.05 / 8).sum().alias("bytes")
    )
    for row in results.flows().join(per_flow, on=["traffic", "index"]).iter_rows(named=True):
        assert row["bytes"] <= row["goodput_bytes"] + 1e-6, row
    delivered, arrived = per_flow["bytes"].sum(), results.flows()["goodput_bytes"].sum()
    assert 0.8 * arrived < delivered, "only what arrived behind a gap was not delivered yet"
    tcp = series.filter(pl.col("cwnd").is_not_null())
    assert tcp["rtt_s"].drop_nulls().min() > 0.01
    assert set(series.filter(pl.col("cwnd").is_null())["rtt_s"]) == {None}
    rates = series.group_by("time_s").agg(pl.col("throughput_bps").sum())
    assert rates["throughput_bps"].max() <= 1.1 * 2e6, "no more than the link carries"


def test_stored_tables_are_those_of_the_run(traced: Scenario, tmp_path: Path) -> None:
    results = sojourn.run(traced, ["red"], 1, out=tmp_path)
    stored = sojourn.Results.open(tmp_path)
    for what in ("packets", "flows"):
        assert stored.trace(what).equals(results.trace(what)), what
        assert results.trace(what).height
    with pytest.raises(InputError, match="was not recorded"):
        stored.trace("window")


def test_the_size_of_the_files_is_known_in_advance(cli: Cli, tmp_path: Path) -> None:
    """Of a link that is full, within a factor of two; the command prints it before it runs."""
    scenario = sojourn.load(ROOT / "examples/red40.toml")
    traced = scenario.with_(duration="10s", warmup="3s", trace={"packets": True, "flows": "100ms"})
    results = sojourn.run(traced, ["red"], 1, out=tmp_path / "out")
    expected = on_disk(results.outcomes[0].point.plan_json)
    files = [*tmp_path.glob("out/traces/*packets*"), *tmp_path.glob("out/traces/*flow_series*")]
    taken = sum(path.stat().st_size for path in files)
    assert len(files) == 2
    assert taken <= expected <= 2 * taken
    assert on_disk(scenario.plan_json("red")) == 0
    (tmp_path / "traced.toml").write_text(traced.to_toml())
    done = cli("run", "traced.toml", "--aqm", "red", "--seeds", 1)
    assert f"at most about {expected / 1e6:.3g} MB on disk for each of 1 runs" in done.stderr


@pytest.mark.parametrize("what", ["drops", "cwnd", "packets", "flows"])
def test_what_was_not_recorded_is_refused(what: str, small: Scenario) -> None:
    """The message says what to write. Seen to fail: an empty table, as of a run without drops."""
    results = sojourn.run(small.with_(duration="2s", warmup="1s"), ["red"], 1)
    with pytest.raises(InputError, match=rf"was not recorded; allowed: \[trace\] {what} = "):
        results.trace(what)


@pytest.mark.parametrize(("trace", "expected"), [({"flows": "0s"}, "flows"), ({"flows": "1ns"}, "too many")])
def test_an_invalid_interval_is_refused(small: Scenario, trace: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        sojourn.run(small.with_(duration="2s", warmup="1s", trace=trace), ["red"], 1)


@pytest.mark.parametrize("trace", [{"flows": "10ms"}, {"packets": True}])
def test_the_real_world_refuses_what_it_cannot_record(small: Scenario, trace: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"trace\.\w+ is not possible"):
        sojourn.run(small.with_(trace=trace), ["red"], 1, world="real")
