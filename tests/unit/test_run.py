"""Runs: identical bits on every path, the same demand for every algorithm, no repeated run.

Mutants seen to fail: the seed left out of the run id; the stored result ignored; records stored in the order
in which they finish; metrics of another version accepted; a reduction's version ignored; the thresholds of
the warnings changed; runs not cancelled by an interruption, or not when their batch is dropped.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn import _core
from sojourn.metrics.diagnostics import diagnose
from sojourn.results import Results
from sojourn.runner.execute import execute
from sojourn.runner.point import Point, points
from sojourn.runner.store import Store
from sojourn.study.axes import Axis
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import SMALL, threads

SPECS = ["droptail", "red min_th 5p max_th 15p", "pi q_ref 10p"]


def fingerprint(results: Results) -> str:
    """A hash of column values: metrics, flows, traces, of every run."""
    digest = hashlib.sha256()
    for frame in (results.runs, results.flows(), results.trace()):
        for series in frame:
            digest.update(series.name.encode())
            if series.dtype == pl.String:
                digest.update("\0".join(series.to_list()).encode())
            else:
                digest.update(series.fill_null(-1).to_numpy().tobytes())
    return digest.hexdigest()


def test_results_do_not_depend_on_the_number_of_workers(small: sojourn.Scenario) -> None:
    one = sojourn.run(small, SPECS, seeds=3, workers=1)
    two = sojourn.run(small, SPECS, seeds=3, workers=2)
    assert fingerprint(one) == fingerprint(two)


def test_two_processes_give_the_same_bits(small: sojourn.Scenario, tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "import sojourn; from unit.test_run import SPECS, fingerprint; from support import SMALL\n"
        "print(fingerprint(sojourn.run(sojourn.Scenario.from_toml(SMALL), SPECS, seeds=2)))"
    )
    tests = str(Path(__file__).parent.parent)
    words = [sys.executable, "-c", code, "", tests]
    found = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    assert found == fingerprint(sojourn.run(small, SPECS, seeds=2))


def test_each_seed_is_a_distinct_run(small: sojourn.Scenario) -> None:
    results = sojourn.run(small, ["red"], seeds=[1, 2])
    first, second = results.values("red", "arrivals")
    assert first != second
    again = sojourn.run(small, ["red"], seeds=1, seed_from=2)
    assert again.values("red", "arrivals") == [second]


def test_every_algorithm_has_the_same_demand() -> None:
    text = SMALL + (
        '[[traffic]]\nname = "short"\nkind = "tcp-short"\narrivals = "3/s"\nsize = "exponential 20kB"\n'
        'payload = "500B"\nheader = "40B"\n'
    )
    results = sojourn.run(sojourn.Scenario.from_toml(text), ["droptail", "red"], seeds=1)
    starts = [results.flows(aqm=spec)["start_ns"].sort() for spec in results.aqms]
    assert starts[0].equals(starts[1])
    sizes = [results.objects(aqm=spec).select("start_s", "bytes") for spec in results.aqms]
    assert sizes[0].equals(sizes[1])
    assert sizes[0].height > 5


def test_a_finished_run_is_not_repeated(small: sojourn.Scenario, tmp_path: Path) -> None:
    store = Store(tmp_path)
    wanted = points(small, ["red", "droptail"], [1, 2])
    assert all(outcome.fresh for outcome in execute(wanted, store))
    again = list(execute([*wanted, Point(small, "red", 3)], store))
    assert [outcome.fresh for outcome in again] == [False] * 4 + [True]


def test_equal_runs_of_two_scenarios_are_executed_once(small: sojourn.Scenario, tmp_path: Path) -> None:
    """Each of them has its outcome, whether the run is executed or stored."""
    twin = sojourn.Scenario.from_toml(small.to_toml().replace(f'"{small.name}"', '"twin"'))
    wanted = [*points(small, ["droptail"], [1, 2]), *points(twin, ["droptail"], [2, 1])]
    names = sorted((point.scenario.name, point.seed) for point in wanted)
    assert names == [(small.name, 1), (small.name, 2), ("twin", 1), ("twin", 2)]
    assert len({point.run_id for point in wanted}) == 2
    for store in (None, Store(tmp_path, traces=False), Store(tmp_path, traces=False)):
        found = [one.point for one in execute(wanted, store)]
        assert sorted((point.scenario.name, point.seed) for point in found) == names
    assert pl.read_parquet(tmp_path / "runs/*.parquet").height == 2


def test_results_read_back_equal_those_of_the_run(small: sojourn.Scenario, tmp_path: Path) -> None:
    fresh = sojourn.run(small, SPECS, seeds=2)
    stored = sojourn.run(small, SPECS, seeds=2, out=tmp_path)
    opened = Results.open(tmp_path)
    assert fingerprint(fresh) == fingerprint(stored) == fingerprint(opened)
    assert opened.summary().equals(fresh.summary())
    assert opened.to_json() == fresh.to_json()
    assert opened.distribution("delay").equals(fresh.distribution("delay"))
    assert opened.scenario == small


def test_drops_and_windows_are_stored(small: sojourn.Scenario, tmp_path: Path) -> None:
    scenario = small.with_(trace={"interval": "off", "drops": True, "cwnd": True})
    fresh = sojourn.run(scenario, ["red"], seeds=1)
    sojourn.run(scenario, ["red"], seeds=1, out=tmp_path)
    opened = Results.open(tmp_path)
    assert opened.trace("drops").equals(fresh.trace("drops"))
    assert opened.trace("cwnd").equals(fresh.trace("cwnd"))
    assert opened.trace("drops").height >= fresh.values("red", "drops")[0]
    assert set(opened.trace("drops")["cause"].unique()) <= {"overflow", "early", "forced"}
    assert fresh.trace("queue").is_empty()


def test_a_damaged_file_is_run_again(small: sojourn.Scenario, tmp_path: Path) -> None:
    store = Store(tmp_path)
    point = Point(small, "red", 1)
    (first,) = execute([point], store)
    path = store.path(point.run_id)
    path.write_bytes(path.read_bytes()[:-100])
    (second,) = execute([point], Store(tmp_path))
    assert second.fresh
    assert second.metrics == first.metrics


def test_metrics_of_another_version_are_recomputed(
    small: sojourn.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    point = Point(small, "red", 1)
    (first,) = execute([point], store)
    monkeypatch.setattr("sojourn.runner.execute.metrics_version", lambda: "another")
    monkeypatch.setattr("sojourn.worlds.base.compute", lambda record: {"arrivals": record.seconds})
    (second,) = execute([point], store)
    assert not second.fresh
    assert second.metrics == {"arrivals": 4.0}
    assert first.metrics["arrivals"] != 4.0


def test_a_reduction_is_stored_with_the_metrics(small: sojourn.Scenario, tmp_path: Path) -> None:
    calls = []

    def longest(record: sojourn.Record) -> dict[str, float | None]:
        calls.append(1)
        return {"longest": float(record.series()["queue_packets"].max())}  # type: ignore[arg-type]

    longest.version = "1"  # type: ignore[attr-defined]
    store = Store(tmp_path, traces=False)
    (first,) = execute([Point(small, "red", 1)], store, reduce=longest)
    (second,) = execute([Point(small, "red", 1)], store, reduce=longest)
    assert first.metrics["longest"] == second.metrics["longest"]
    assert (len(calls), second.fresh) == (1, False)
    longest.version = "2"  # type: ignore[attr-defined]
    (third,) = execute([Point(small, "red", 1)], store, reduce=longest)
    assert third.fresh, "no samples were stored: it has to run again"


def test_run_ids_depend_on_everything_that_matters(
    small: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {
        Point(small, "red", 1).run_id,
        Point(small, "red", 2).run_id,
        Point(small, "droptail", 1).run_id,
        Point(small.with_(duration="7s"), "red", 1).run_id,
        Point(small.with_(conventions="ns2"), "red", 1).run_id,
    }
    monkeypatch.setattr(_core, "CORE_VERSION", "another")
    ids.add(Point(small, "red", 1).run_id)
    assert len(ids) == 6
    assert Point(small.with_(note="a remark"), "red", 1).run_id in ids


def test_an_incomplete_directory_names_the_command_to_continue(
    small: sojourn.Scenario, tmp_path: Path
) -> None:
    sojourn.run(small, ["red"], seeds=2, out=tmp_path, command=["sojourn", "run", "small.toml"])
    next((tmp_path / "runs").glob("*.parquet")).unlink()
    with pytest.raises(sojourn.InputError, match=r"1 of 2 runs are done.*sojourn run small\.toml"):
        Results.open(tmp_path)


def test_failures_are_raised_at_the_end_and_recorded(
    small: sojourn.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _core.Batch

    class Fake:
        def __init__(self, jobs: list[tuple[str, int]], workers: int, trace_limit: int | None) -> None:
            self.inner = real(jobs, workers, trace_limit)

        def add(self, plan: str, seed: int) -> int:
            return self.inner.add(plan, seed)

        def poll(self, timeout: float) -> list[tuple[int, object]]:
            lost = _core.ConservationError("queue R1-R2: 3 arrived, 2 left")
            return [(i, lost if i == 1 else result) for i, result in self.inner.poll(timeout)]

        def progress(self) -> float:
            return self.inner.progress()

        def cancel(self) -> None:
            self.inner.cancel()

    monkeypatch.setattr(_core, "Batch", Fake)
    found = []
    with pytest.raises(sojourn.RunFailed, match=r"1 of 3 runs failed.*seed 2.*3 arrived, 2 left"):
        found.extend(execute(points(small, ["red"], [1, 2, 3]), Store(tmp_path)))
    assert len(found) == 2
    assert "3 arrived" in (tmp_path / "failures.jsonl").read_text()


@pytest.mark.parametrize(
    ("change", "spec", "words"),
    [
        ({"count": 1, "tcp": {"receiver_window": 1}}, "droptail", "the utilization of its link is only"),
        ({"count": 1, "tcp": {"receiver_window": 1}}, "droptail", "never held more than"),
        ({}, "red min_th 500p max_th 1000p", "red never acted"),
    ],
)
def test_a_run_gives_warnings(
    small: sojourn.Scenario, change: dict[str, object], spec: str, words: str
) -> None:
    ftp = small.traffic[0].model_dump(by_alias=True, exclude_none=True)
    scenario = small.with_(traffic=[{**ftp, **change}])
    results = sojourn.run(scenario, [spec], seeds=2)
    assert any(words in warning for warning in results.warnings), results.warnings
    assert all("2 of 2 runs" in one or "all 2 seeds" in one for one in results.warnings)


@pytest.mark.parametrize(
    ("spec", "acts"),
    [
        ("fq", False),
        ("sfq", False),
        ("drr", False),
        ("prio", False),
        ("drr aqm (red min_th 500p max_th 1000p)", True),
        ("prio aqm_0 (codel target 1s)", True),
    ],
)
def test_a_queue_that_cannot_act_has_no_warning(small: sojourn.Scenario, spec: str, acts: bool) -> None:
    """Mutant seen to fail: every algorithm but drop tail."""
    warnings = sojourn.run(small.with_(duration="3s", warmup="1s"), [spec], seeds=1).warnings
    assert any("never acted" in one for one in warnings) == acts, warnings


@pytest.mark.parametrize(
    ("spec", "set_", "words"),
    [
        ("red", "red min_th 100p max_th 300p", "min_th and max_th from the link: the default of max_th, 15 "),
        ("rem", "rem b_star 300p", "b_star from the link: the default of b_star, 20 "),
        ("raqm", "raqm q_0 300p", "q_0 from the link: the default of q_0, 50 "),
    ],
)
def test_default_thresholds_that_are_too_low_for_the_link_are_found(
    small: sojourn.Scenario, spec: str, set_: str, words: str
) -> None:
    fast = small.model_dump(by_alias=True, exclude_none=True)["dumbbell"]
    fast |= {"rate": "50Mbit", "delay": "40ms"}
    for side in ("access", "server"):
        fast[side] = (fast.get(side) or {}) | {"rate": "1Gbit"}
    results = sojourn.run(small.with_(dumbbell=fast), [spec, set_, "ared"], seeds=1)
    found = [one for one in results.warnings if "from the link" in one]
    assert len(found) == 1, results.warnings
    assert words in found[0]
    assert "% of the bandwidth-delay product" in found[0]


def test_full_links_of_hosts_without_a_limit_are_found(small: sojourn.Scenario) -> None:
    """Together they are as fast as the bottleneck. Seen to fail: without the check nothing names them."""
    ftp = small.traffic[0].model_dump(by_alias=True, exclude_none=True)
    web = {"name": "web", "kind": "web", "count": 60, "page_gap": "10ms", "size": "50kB"}
    bell = small.model_dump(by_alias=True, exclude_none=True)["dumbbell"] | {"server": {"rate": "100Mbit"}}
    for rate, access, traffic, words in (
        ("50Mbit", {"rate": "6Mbit", "nodes": 9}, {**ftp, "count": 4}, "the access links of 4 of 4 hosts"),
        ("5Mbit", {"rate": "5Mbit", "nodes": 1}, web, "the access links of 1 of 1 hosts are full"),
        ("5Mbit", {"rate": "50Mbit", "nodes": 1}, web, ""),
    ):
        scenario = small.with_(dumbbell={**bell, "rate": rate, "access": access}, traffic=[traffic])
        warnings = sojourn.run(scenario, ["droptail"], seeds=1).warnings
        found = [one for one in warnings if "the access links of" in one]
        assert len(found) == (1 if words else 0), warnings
        assert all(words in one for one in found)


def test_a_narrow_server_link_is_found(small: sojourn.Scenario) -> None:
    narrow = {**small.model_dump(by_alias=True, exclude_none=True)["dumbbell"]}
    narrow["server"] = {"rate": "1Mbit", "delay": "5ms"}
    results = sojourn.run(small.with_(dumbbell=narrow, warmup="0s"), ["droptail"], seeds=1)
    # The server's link is slower but comes after the bottleneck, as the utilization shows.
    assert any("server links carry 1 Mbit/s" in warning for warning in results.warnings)


def test_a_good_run_has_no_warnings(small: sojourn.Scenario) -> None:
    results = sojourn.run(small, ["droptail", "red min_th 5p max_th 15p"], seeds=2)
    assert results.warnings == []
    assert diagnose(results.records[0]) == []


def test_identical_results_of_all_seeds_are_reported() -> None:
    """Mutants seen to fail: a warning for one seed, or for random seeds; none in a run, or in a sweep."""
    fixed = sojourn.Scenario.from_toml(SMALL.replace('"uniform 0s 1s"', '"0s"'), "small.toml")
    expected = "all 3 seeds gave identical results, so ± 0 is not an uncertainty"
    results = sojourn.run(fixed, ["droptail", "red"], seeds=3)
    assert [one.partition(";")[0] for one in results.warnings if "identical" in one] == [
        f"droptail: {expected}"
    ]
    assert results.estimate("droptail", "mean_delay_s").ci95 == pytest.approx(0, abs=1e-12)
    assert not any("identical" in one for one in sojourn.run(fixed, ["droptail"], seeds=1).warnings)
    plan = Sweep(fixed, ["droptail", "red"], [Axis("queue.limit", ("20p", "40p"))], seeds=2)
    (warning,) = sweep(plan).warnings
    assert warning.startswith("in 2 of 4 combinations all seeds gave identical results, ")
    assert not sweep(replace(plan, seeds=1)).warnings
    assert not sweep(replace(plan, aqms=["red"])).warnings


def test_results_are_selected_by_name(small: sojourn.Scenario) -> None:
    results = sojourn.run(small, ["red min_th 5p max_th 15p", "droptail"], seeds=2)
    assert results.trace("queue_mean", aqm="red", seed=2).columns == ["aqm", "seed", "time_s", "queue_mean"]
    assert results.trace("avg", aqm="red").height == 2 * results.trace("avg", aqm="red", seed=1).height
    with pytest.raises(sojourn.InputError, match="was not recorded"):
        results.trace("nonsense")
    with pytest.raises(sojourn.InputError, match="was not run"):
        results.trace("queue", aqm="pi")
    with pytest.raises(sojourn.InputError, match=r"seed 9 was not run; allowed: 1, 2"):
        results.trace("queue", seed=9)
    summary = results.summary()
    assert summary.columns == ["aqm", "metric", "unit", "mean", "ci95", "n"]
    assert summary.filter(metric="mean_delay_s")["unit"].to_list() == ["s", "s"]


def threads_of_runs() -> int:
    return sum(name.startswith("sojourn-run") for name in threads().values())


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_an_interruption_stops_the_threads(small: sojourn.Scenario) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    long = small.with_(duration="20h", trace={"interval": "off"})
    with pytest.raises(KeyboardInterrupt) as caught:
        list(execute(points(long, ["red"], range(1, 9)), workers=2, on_progress=interrupt))
    # The exception still holds the frames: only a cancellation can have stopped the threads.
    assert soon(lambda: threads_of_runs() == 0)
    assert caught.value.__traceback__ is not None


def test_unreferenced_results_stop_the_threads(small: sojourn.Scenario) -> None:
    long = small.with_(duration="20h", trace={"interval": "off"})
    quick = points(small, ["red"], [1])
    stream = execute([*quick, *points(long, ["red"], range(1, 9))], workers=2)
    assert next(stream).point == quick[0]
    assert threads_of_runs() > 0
    stream.close()  # type: ignore[attr-defined]
    del stream
    assert soon(lambda: threads_of_runs() == 0)
