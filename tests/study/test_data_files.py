"""Data files of a scenario are copied into the results folder, so that the folder works anywhere.

Mutants seen to fail: no copy; a copy that is read without its hash; a changed file accepted; a file name with
a path accepted; the original read before the copy.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sojourn
from folders import check_folder
from sojourn.study.sweep.directory import status
from support import Cli

SCENARIO = """
name = "varying"
duration = "2s"
warmup = "1s"

[dumbbell]
rate = "2Mbit/s"
delay = "10ms"
capacity = { file = "traces/lte.csv" }

[queue]
limit = "20p"

[[traffic]]
name = "ftp"
kind = "tcp"
count = 2
"""
COMMANDS = {
    "run": ["run", "s.toml", "--aqm", "red"],
    "sweep": ["sweep", "s.toml", "-L", "dumbbell.capacity.file", "traces/lte.csv,traces/slow.csv"],
    "tune": ["tune", "s.toml", "--aqm", "red", "-P", "max_p", "--trials", "2", "--confirm", "2"],
}


@pytest.fixture(params=COMMANDS)
def moved(request: pytest.FixtureRequest, cli: Cli, tmp_path: Path) -> Path:
    """Return a results folder that was moved away from its traces, which are gone."""
    write(tmp_path)
    done = cli(*COMMANDS[request.param], "--seeds", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    check_folder(tmp_path / "out", request.param)
    target = tmp_path / "elsewhere" / request.param
    target.parent.mkdir()
    (tmp_path / "out").rename(target)
    (tmp_path / "s.toml").unlink()
    shutil.rmtree(tmp_path / "traces")
    return target


def write(folder: Path, rate: str = "1e6") -> None:
    (folder / "traces").mkdir(exist_ok=True)
    (folder / "traces/lte.csv").write_text(f"0,{rate}\n1,2e6\n")
    (folder / "traces/slow.csv").write_text("0,5e5\n")
    (folder / "s.toml").write_text(SCENARIO)


def test_a_moved_folder_is_read_verified_and_repeated(moved: Path, cli: Cli, tmp_path: Path) -> None:
    opened = sojourn.open(moved)
    assert opened.is_complete
    assert opened.study is not None
    assert opened.manifest["data"].keys() >= {"traces/lte.csv"}
    for words in (["verify", moved, "--sample", "100%"], ["rerun", moved], ["report", moved]):
        done = cli(*words)
        assert done.returncode == 0, (words, done.stderr)
    if opened.kind == "sweep":
        assert status(moved)["done"] == 4
        assert set(opened.runs["dumbbell.capacity.file"]) == {"traces/lte.csv", "traces/slow.csv"}
    scenario = next(iter([*moved.glob("cells/*.toml"), moved / "scenario.toml"]))
    again = cli("run", scenario, "--aqm", "red", "--seeds", "2", "--out", "again")
    assert again.returncode == 0, again.stderr
    if opened.kind == "run":
        assert sojourn.open(tmp_path / "again").id == opened.id


def test_damage_in_a_copy_is_found(moved: Path, cli: Cli) -> None:
    copy = next(moved.glob("data/*.csv"))
    copy.write_bytes(copy.read_bytes().replace(b"5", b"6").replace(b"1", b"3"))
    done = cli("verify", moved, "--sample", "0")
    assert done.returncode == 1
    assert copy.name in done.stdout + done.stderr
    scenario = next(iter([*moved.glob("cells/*.toml"), moved / "scenario.toml"]))
    for path in moved.glob("data/*.csv"):
        path.write_bytes(b"0,3e6\n")
    done = cli("run", scenario, "--aqm", "red", "--seeds", "1", "--out", "again")
    assert done.returncode == 2
    assert "does not match its SHA-256" in done.stderr


def test_the_copy_takes_precedence_over_a_file_of_the_same_name(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*COMMANDS["run"], "--seeds", "1", "--out", "out").returncode == 0
    before = sojourn.load(tmp_path / "out/scenario.toml").plan()
    (tmp_path / "out/traces/lte.csv").write_text("0,7e6\n")
    assert sojourn.load(tmp_path / "out/scenario.toml").plan() == before


def test_a_changed_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    words = [*COMMANDS["run"], "--seeds", "1", "--out", "out"]
    assert cli(*words).returncode == 0
    write(tmp_path, "1.5e6")
    done = cli(*words)
    assert done.returncode == 2
    assert "holds runs with traces/lte.csv of SHA-256" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["[]", "{", '{"traces/lte.csv": 1}', '{"traces/lte.csv": {"file": "x"}}'])
def test_a_damaged_list_is_refused_in_one_line(text: str, cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*COMMANDS["run"], "--seeds", "1", "--out", "out").returncode == 0
    (tmp_path / "out/data/files.json").write_text(text)
    for words in (["verify", "out", "--sample", "0"], ["run", "out/scenario.toml", "--seeds", "1"]):
        done = cli(*words)
        assert done.returncode == 2, done.stdout
        assert len(done.stderr.splitlines()) == 1


def test_a_list_reads_no_file_outside_its_folder(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*COMMANDS["run"], "--seeds", "1", "--out", "out").returncode == 0
    path = tmp_path / "out/data/files.json"
    facts = json.loads(path.read_text())
    facts["traces/lte.csv"]["file"] = "../../traces/lte.csv"
    path.write_text(json.dumps(facts))
    done = cli("run", "out/scenario.toml", "--seeds", "1", "--out", "again")
    assert done.returncode == 2
    assert "has the file name" in done.stderr
