"""Metrics of one's own: in every command, over stored runs, with clear errors, executed only if named.

Mutants seen to fail: values of another run; a metric that is executed although only a folder names it; a
sweep whose new runs have tables over time and stored ones have not; an infinite value; units that are lost.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.metrics import percentile
from sojourn.record import Record, numbers
from sojourn.spec.scenario import Scenario
from sojourn.study.axes import listed
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import Cli

FILE = '''
import sojourn


@sojourn.metric(unit="s", better="lower", label="largest delay here", display=(1e3, "ms"))
def largest(record):
    """Largest queueing delay."""
    return record.queues[0]["delay_max_ns"] / 1e9


def nothing(record):
    return None


def broken(record):
    return 1 / 0


def infinite(record):
    return float("inf")


def two(record, other):
    return 0


class Thing:
    pass


def mean_delay_s(record):
    return 0
'''


@pytest.fixture(autouse=True)
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def short(small: Scenario) -> Scenario:
    return small.with_(duration="2s", warmup="1s")


def largest(record: Record) -> float:
    return float(record.queues[0]["delay_max_ns"]) / 1e9


def above(record: Record) -> float:
    """Return the share of packets whose bucket of the histogram begins above 50 ms."""
    late = record.delays.filter(record.delays["delay_s"] > 50e-3)["count"].sum()
    return float(late / record.delays["count"].sum())


def test_a_histogram_is_a_table(short: Scenario) -> None:
    results = sojourn.run(short, ["droptail"], 1).with_metrics(above)
    assert results.records[0].delays["count"].sum() == results.records[0].queues[0]["departures"]
    assert 0 < (results.values("droptail", "above")[0] or 0) < 1


def test_each_run_gets_the_value_of_its_own_record(short: Scenario) -> None:
    results = sojourn.run(short, ["red", "droptail"], seeds=3)
    measured = results.with_metrics(largest)
    assert measured.runs["largest"].to_list() == results.runs["max_delay_s"].to_list()
    assert measured.runs["largest"].n_unique() > 1
    assert measured.runs.drop("largest").equals(results.runs), "the others are the same"
    assert "largest" not in results.metric_names
    summary = results.with_metrics(sojourn.metric(unit="s")(largest)).summary()
    assert summary.filter(metric="largest")["unit"].to_list() == ["s", "s"]


def test_a_percentile_follows_from_the_stored_histogram(short: Scenario) -> None:
    """The metric of the finding: the 99.9th percentile of a stored run, without a new run."""

    def p999(record: Record) -> float | None:
        edges, counts = (numbers(record.queues[0][name], "Q") for name in ("delay_edges_ns", "delay_counts"))
        value = percentile(edges, counts, 0.999, record.queues[0]["delay_max_ns"])
        return None if value is None else value / 1e9

    results = sojourn.run(short, ["red"], seeds=2, out="out")
    found = sojourn.open("out").with_metrics(p999)
    assert found["p999"].to_list() == results.runs["p999_delay_s"].to_list()
    assert sojourn.Results.open("out").with_metrics(p999).values("red", "p999") == found["p999"].to_list()


def test_run_shows_it_and_report_computes_it_for_stored_runs(cli: Cli, small_file: Path) -> None:
    words = ("run", small_file, "--aqm", "red", "--aqm", "pie", "--seeds", 2, "--out", "out")
    done = cli(*words, "--metric", "mine.py:largest", "--metric", "utilization")
    assert done.returncode == 0, done.stderr
    assert "largest delay here (ms)" in done.stdout
    assert "utilization" in done.stdout
    assert "mean delay" not in done.stdout, "only what was asked for"
    identity = json.loads(Path("out/manifest.json").read_text())["id"]
    assert cli(*words).returncode == 0
    assert json.loads(Path("out/manifest.json").read_text())["id"] == identity, "the id does not depend on it"
    stored = cli("report", "out", "--metric", "mine.py:largest", "--export", "table.csv")
    assert stored.returncode == 0, stored.stderr
    assert "largest delay here (ms)" in stored.stdout
    assert "largest delay here" in Path("out/report.html").read_text()
    frame = pl.read_csv("table.csv")
    results = sojourn.Results.open("out")
    assert frame["largest_mean"][0] == results.estimate(results.aqms[0], "max_delay_s").mean


def test_compare_judges_it_and_its_folder_opens_without_it(cli: Cli, small_file: Path) -> None:
    words = ("compare", small_file, "--aqm", "droptail limit 5p", "--aqm", "droptail", "--seeds", 4)
    words = (*words, "--out", "out")
    done = cli(*words, "--metric", "mine.py:largest", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["comparison"]["rows"]
    assert {row["metric"] for row in rows} == {"largest"}
    assert {row["verdict"] for row in rows if row["aqm"] == "droptail"} == {"worse"}, "lower is better"
    facts = json.loads(Path("out/manifest.json").read_text())["comparison"]
    assert (facts["chosen"], facts["sort"]) == ([], "mean_delay_s")
    (own,) = facts["own_metrics"]
    assert (own["source"], len(own["sha256"])) == ("mine.py:largest", 64)
    Path("mine.py").unlink()
    assert cli("report", "out").returncode == 0
    assert sojourn.open("out").runs.height == 8


def test_a_sweep_has_it_in_its_tables_whether_runs_are_new_or_stored(cli: Cli, small_file: Path) -> None:
    words = ("sweep", small_file, "-L", "queue.limit 10p,30p", "--aqm", "red", "--out", "out")
    assert cli(*words, "--seeds", 1).returncode == 0
    done = cli(*words, "--seeds", 2, "--metric", "mine.py:largest")
    assert done.returncode == 0, done.stderr
    assert "largest delay here" in done.stdout
    runs = pl.read_parquet("out/runs.parquet")
    assert runs["largest"].to_list() == runs["max_delay_s"].to_list()
    stored = cli("report", "out", "--metric", "mine.py:largest")
    assert stored.returncode == 0, stored.stderr
    assert "largest delay here" in stored.stdout


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_sweep_stores_no_tables_over_time(short: Scenario, seeds: int) -> None:
    plan = Sweep(short, ["red"], [listed("queue.limit", "10p")], seeds=1)
    sweep(plan, out="out")

    def rows(record: Record) -> float:
        return record.series().height

    again = Sweep(short, ["red"], [listed("queue.limit", "10p")], seeds=seeds)
    with pytest.raises(InputError, match="series is not stored by a sweep"):
        sweep(again, out="out", metrics=[rows])
    assert sojourn.run(short, ["red"], 1).with_metrics(rows).values("red", "rows") == [200.0]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (
            "mine.py:larges",
            "mine.py has no function 'larges' (did you mean largest?); allowed: largest, nothing",
        ),
        ("mine.py:Thing", "has no function 'Thing'"),
        ("absent.py:largest", "absent.py cannot be read"),
        ("mine.py:two", "has other arguments than a metric; allowed: def two(record)"),
        ("mine.py:mean_delay_s", "has the name of a metric of Sojourn"),
        ("mine.py:broken", "failed on red, seed 1: line 16: ZeroDivisionError: division by zero"),
        ("mine.py:infinite", "returned inf on red, seed 1; allowed: a finite number, or None"),
        ("mean_dely", "is not a metric"),
    ],
)
def test_a_wrong_metric_is_an_error(cli: Cli, small_file: Path, metric: str, expected: str) -> None:
    done = cli("run", small_file, "--aqm", "red", "--seeds", 1, "--metric", metric)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_value_is_empty(short: Scenario) -> None:
    def unknown(_record: Record) -> None:
        return None

    assert sojourn.run(short, ["red"], 2).with_metrics(unknown).values("red", "unknown") == [None, None]


def test_a_file_is_executed_only_if_the_user_names_it(short: Scenario, code: Path) -> None:
    results = sojourn.run(short, ["red"], 1)
    code.write_text("raise SystemExit('executed')")
    with pytest.raises(InputError, match=r"names Python code.*allow_code"):
        results.with_metrics("mine.py:largest")
    code.write_text(FILE)
    comparison = sojourn.compare(short, ["red", "pie"], seeds=2, metrics=["mine.py:largest"], allow_code=True)
    assert comparison.metrics == ["largest"]


def test_two_functions_of_one_name_are_refused(short: Scenario) -> None:
    def other() -> object:
        def largest(_record: Record) -> float:
            return 0.0

        return largest

    with pytest.raises(InputError, match="has the name of another"):
        sojourn.run(short, ["red"], 1).with_metrics(largest, other())  # type: ignore[arg-type]


def test_a_metric_may_read_tables_over_time(small: Scenario) -> None:
    """Which flows lose packets, from the log of drops."""
    traced = small.with_(duration="4s", warmup="0s", trace={"drops": True})

    def flows_with_drops(record: Record) -> float:
        return record.drops["flow"].n_unique()

    results = sojourn.run(traced, ["droptail"], 1)
    (value,) = results.with_metrics(flows_with_drops).values("droptail", "flows_with_drops")
    assert value == (results.flows()["queue_drops"] > 0).sum()
