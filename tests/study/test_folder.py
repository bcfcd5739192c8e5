"""``sojourn.open`` reads every kind of folder, finished or not, writes nothing and executes no code.

Mutants seen to fail: runs of other seeds in the folder count as runs of the result; labels count as metrics;
a sweep without its tables has no keys; code that a scenario names is executed.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn.errors import InputError, RunFailed
from sojourn.results import Results
from sojourn.spec.scenario import Scenario
from sojourn.study.axes import listed
from sojourn.study.compare import Comparison
from sojourn.study.sweep.model import Sweep, Swept
from sojourn.study.sweep.run import sweep
from sojourn.study.tune.model import Tuned
from support import Cli


@pytest.fixture
def short(small: Scenario) -> Scenario:
    return small.with_(duration="2s", warmup="1s")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(one): (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.rglob("*") if one.is_file()
    }


def test_a_folder_of_runs(short: Scenario, tmp_path: Path) -> None:
    sojourn.run(short, ["red"], seeds=4, out=tmp_path)
    results = sojourn.run(short, ["red"], seeds=2, out=tmp_path)
    before = contents(tmp_path)
    found = sojourn.open(tmp_path)
    assert (found.kind, found.is_complete, found.id) == ("run", True, results.id)
    assert found.runs.equals(results.runs), "the folder also holds runs of seeds 3 and 4"
    assert found.labels == ["aqm", "seed", "run_id"]
    assert found.metrics == results.metric_names
    assert found.summary().drop("unit").equals(results.summary().drop("unit"))
    assert isinstance(found.study, Results)
    for (_, record), known in zip(found.records(), results.records, strict=True):
        assert record.flows.equals(known.flows)
    queue = found.trace("queue").filter(seed=1)
    assert queue["queue_packets"].equals(results.trace("queue", seed=1)["queue_packets"])
    assert found.tables == ["rows"]
    assert found.schema["kind"] == "run"
    assert contents(tmp_path) == before
    assert repr(found) == f"<Folder {tmp_path}: run, 2 runs>"


def test_a_folder_of_a_comparison(short: Scenario, tmp_path: Path) -> None:
    sojourn.compare(short, ["red", "pie"], seeds=2, out=tmp_path)
    found = sojourn.open(str(tmp_path))
    assert isinstance(found.study, Comparison)
    assert found.runs["aqm"].unique(maintain_order=True).to_list() == ["red", "pie"]


def test_a_folder_of_a_sweep_is_read_before_and_after_its_end(short: Scenario, tmp_path: Path) -> None:
    """`Results.open` refused a sweep; its keys were text."""
    plan = Sweep(short, ["red"], [listed("traffic.ftp.count", "2,10,3")], seeds=2)
    swept = sweep(plan, out=tmp_path)
    found = sojourn.open(tmp_path)
    assert (found.kind, found.is_complete) == ("sweep", True)
    assert found.labels == ["traffic.ftp.count", "aqm", "seed", "run_id"]
    assert found.runs.equals(swept.runs())
    assert found.runs["traffic.ftp.count"].to_list() == [2, 2, 10, 10, 3, 3]
    assert isinstance(found.study, Swept)
    with pytest.raises(InputError, match=r"is not a folder of runs; allowed: sojourn\.open"):
        Results.open(tmp_path)
    assert found.table("summary").equals(swept.summary())
    assert found.summary().drop("unit").equals(swept.summary())
    labels, record = next(found.records())
    assert labels["traffic.ftp.count"] == 2
    assert record.queues[0]["delay_counts"], "the histogram of delays"
    for name in ("runs.parquet", "summary.parquet"):
        (tmp_path / name).unlink()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "status": "running", "id": None}))
    begun = sojourn.open(tmp_path)
    assert (begun.is_complete, begun.id) == (False, None)
    assert begun.runs.equals(swept.runs())
    assert repr(begun).endswith("6 runs, incomplete>")
    with pytest.raises(InputError, match="has no packets over time"):
        begun.trace("packets")


def test_a_folder_of_a_tuning(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    small_file.write_text(small_file.read_text().replace('"6s"', '"2s"').replace('p = "2s"', 'p = "1s"'))
    done = cli("tune", small_file, "--aqm", "red", "-P", "max_p", "--trials", 4, "--seeds", 2, "--out", "out")
    assert done.returncode == 0, done.stderr
    found = sojourn.open(tmp_path / "out")
    assert found.kind == "tune"
    assert isinstance(found.study, Tuned)
    assert found.table("trials").height >= 4
    assert found.runs["aqm"].n_unique() >= 4
    assert sojourn.open(tmp_path / "out/confirm").kind == "run"


def test_an_interrupted_folder_opens(short: Scenario, tmp_path: Path) -> None:
    sojourn.run(short, ["red"], seeds=3, out=tmp_path)
    last = sojourn.open(tmp_path).runs["run_id"][-1]
    (tmp_path / f"runs/{last}.parquet").unlink()
    found = sojourn.open(tmp_path)
    assert found.runs["seed"].to_list() == [1, 2]
    with pytest.raises(InputError, match=f"run {last} is not in"):
        found.record(last)


CODE = """
import pathlib

pathlib.Path("executed").write_text("")

import sojourn


class Mine(sojourn.Aqm):
    def on_arrival(self, now, packet, queue, rng):
        return sojourn.PASS
"""


def test_no_code_is_executed_and_none_is_needed(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE)
    results = sojourn.run(short, ["mine.py:Mine"], seeds=1, out="out", allow_code=True)
    (tmp_path / "mine.py").write_text(CODE.replace("PASS", "DROP"))
    (tmp_path / "executed").unlink()
    assert sojourn.open("out").runs["run_id"].to_list() == results.runs["run_id"].to_list()
    (tmp_path / "mine.py").unlink()
    found = sojourn.open("out")
    assert found.runs["mean_delay_s"].to_list() == results.runs["mean_delay_s"].to_list()
    assert next(found.records())[1].flows.height == 7
    assert not (tmp_path / "executed").exists()


def test_what_is_no_folder_of_results_is_refused(short: Scenario, tmp_path: Path) -> None:
    sojourn.run(short, ["red"], seeds=1, out=tmp_path / "a/b")
    (tmp_path / "empty").mkdir()
    cases = {
        "missing": "does not exist",
        "empty": "is not a results folder: it has no manifest; allowed: a folder of run",
        "a": f"is not a results folder: it has no manifest; allowed: {tmp_path}/a/b",
        "a/b/runs": f"is not a results folder: it has no manifest; allowed: {tmp_path}/a/b",
        "a/b/scenario.toml": f"is a file; allowed: the results folder that holds it, such as {tmp_path}/a/b",
    }
    for name, expected in cases.items():
        with pytest.raises(InputError) as error:
            sojourn.open(tmp_path / name)
        assert expected in str(error.value), name
    with pytest.raises(InputError, match="out"):
        sojourn.open(7)  # type: ignore[arg-type]
    found = sojourn.open(tmp_path / "a/b")
    with pytest.raises(InputError, match="is not in"):
        found.table("claims")
    with pytest.raises(InputError, match="what"):
        found.trace("packet")


def test_a_damaged_table_is_reported(short: Scenario, tmp_path: Path) -> None:
    sweep(Sweep(short, ["red"], [listed("queue.limit", "20p")], seeds=1), out=tmp_path)
    content = bytearray((tmp_path / "runs.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "runs.parquet").write_bytes(bytes(content))
    with pytest.raises(RunFailed, match=r"runs\.parquet: cannot be read"):
        _ = sojourn.open(tmp_path).runs
    assert pl.read_parquet(tmp_path / "summary.parquet").height
