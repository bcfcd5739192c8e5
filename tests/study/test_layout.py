"""The description of results folders: every file and column of real folders is in it, with the right type.

Mutants seen to fail: a column or a file left out of the description; a wrong type; a folder without
``schema.json``; a table of the core with another column.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sojourn
from folders import check_columns, check_folder
from sojourn.runner.layout import KINDS, METRIC, SCHEMA
from sojourn.spec.scenario import Scenario
from sojourn.study.axes import listed
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import Cli


def test_folders_of_runs_are_described(small: Scenario, tmp_path: Path) -> None:
    trace = {"interval": "100ms", "drops": True, "cwnd": True, "packets": True, "flows": "100ms"}
    traced = small.with_(trace=trace, warmup="1s", phase=[{"name": "late", "from": "3s", "to": "5s"}])
    sojourn.compare(traced, ["red", "droptail"], seeds=2, out=tmp_path)
    seen = check_folder(tmp_path, "run")
    assert len([path for path in seen if path.startswith("traces/")]) == 5
    log = pl.read_parquet(next(tmp_path.glob("traces/*.packets.parquet")))
    words = next(
        one
        for file in json.loads((tmp_path / SCHEMA).read_text())["files"]
        if file["path"].endswith("packets.parquet")
        for one in file["columns"]
        if one["name"] == "event"
    )["codes"]
    assert set(map(str, log["event"])) <= set(words)
    assert words["2"] == "drop"


def test_folders_of_sweeps_are_described(small: Scenario, tmp_path: Path) -> None:
    short = small.with_(duration="2s", warmup="1s")
    axes = [listed("traffic.ftp.count", "2,3"), listed("queue.limit", "20p,40p")]
    sweep(Sweep(short, ["red"], axes, seeds=2), out=tmp_path)
    seen = check_folder(tmp_path, "sweep")
    assert {"runs.parquet", "summary.parquet"} <= seen
    keys = json.loads((tmp_path / SCHEMA).read_text())["keys"]
    assert keys["traffic.ftp.count"] == {"values": [2, 3], "numbers": [2.0, 3.0], "unit": ""}
    assert keys["queue.limit"] == {"values": ["20p", "40p"], "numbers": [20.0, 40.0], "unit": "p"}


def test_folders_of_tunings_are_described(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    words = ("tune", small_file, "--aqm", "red", "-P", "max_p", "--trials", 4, "--seeds", 2)
    done = cli(*words, "--out", "tuned")
    assert done.returncode == 0, done.stderr
    assert "trials.parquet" in check_folder(tmp_path / "tuned", "tune")
    check_folder(tmp_path / "tuned/confirm", "run")


def test_every_kind_has_a_description_of_itself() -> None:
    for kind, files in KINDS.items():
        assert SCHEMA in {file.path for file in files}, kind
        names = [file.path for file in files]
        assert len(names) == len(set(names)), kind
        if kind not in ("compare-worlds", "evaluate"):  # their runs are in folders of their own
            assert METRIC in next(file for file in files if file.path == "runs/*.parquet").columns, kind


def test_a_missing_column_is_found() -> None:
    """The check itself fails on a column that is not described, and on a wrong type."""
    (runs,) = (file for file in KINDS["run"] if file.path == "rows.parquet")
    described = [{"name": one.name, "type": one.type} for one in runs.columns]
    check_columns(described, {"run_id": pl.String(), "hash": pl.String()}, "rows")
    with pytest.raises(AssertionError, match="more is not described"):
        check_columns(described, {"run_id": pl.String(), "hash": pl.String(), "more": pl.String()}, "rows")
    with pytest.raises(AssertionError, match="lacks"):
        check_columns(described, {"run_id": pl.String()}, "rows")
    with pytest.raises(AssertionError):
        check_columns(described, {"run_id": pl.Int64(), "hash": pl.String()}, "rows")
