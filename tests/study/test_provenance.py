"""Results of algorithms in Python: their code is stored, identifies the runs, and repeats them.

Mutants seen to fail: modules left out of the identity; run ids of opened results computed again; the current
file used for a rerun; stored code executed without permission; a damaged stored file accepted; shared state
not reset after a run.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

import sojourn
from sojourn.algorithms import loader, permitting
from support import SMALL, Cli

OWN = """
import json
import sojourn
import gain


class Own(sojourn.Aqm):
    '''Drops with a probability of a table.'''

    files = ["data/table.json"]

    def start(self):
        self.table = json.loads(self.file("data/table.json").read_text())

    def on_arrival(self, now, packet, queue, rng):
        return sojourn.DROP if rng.uniform() < gain.GAIN * self.table["p"] else sojourn.PASS
"""
LEAK = """
import sojourn


class Leak(sojourn.Aqm):
    '''Drops every tenth packet, and counts in the class.'''

    count = 0

    def on_arrival(self, now, packet, queue, rng):
        Leak.count += 1
        return sojourn.DROP if Leak.count % 97 < 3 else sojourn.PASS
"""
PARTS = {"own.py": OWN, "gain.py": "GAIN = 1.0\n", "data/table.json": '{"p": 0.02}'}
WORDS = ("run", "small.toml", "--aqm", "own/own.py:Own", "--seeds", 2, "--workers", 1, "--out", "out")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    forget(monkeypatch)
    (tmp_path / "own/data").mkdir(parents=True)
    for name, text in PARTS.items():
        (tmp_path / "own" / name).write_text(text)
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has loaded nothing."""
    monkeypatch.setattr(loader, "_known", {})
    monkeypatch.setattr(loader, "_remembered", {})


def ids(out: Path) -> list[str]:
    return [one["run_id"] for one in json.loads((out / "manifest.json").read_text())["runs"]]


def test_the_code_is_stored_with_its_modules_data_and_environment(cli: Cli, folder: Path) -> None:
    assert cli(*WORDS).returncode == 0
    (kept,) = (folder / "out/code").iterdir()
    for name, text in PARTS.items():
        assert (kept / name).read_text() == text
    facts = json.loads((kept / "code.json").read_text())
    assert facts["name"] == "own/own.py:Own"
    assert [one["kind"] for one in facts["files"].values()] == ["source", "module", "data"]
    assert set(facts["environment"]) == {"python"}
    (stated,) = json.loads((folder / "out/manifest.json").read_text())["code"].values()
    assert (stated["sha256"], stated["environment"]) == (facts["sha256"], facts["environment"])


@pytest.mark.parametrize("name", ["own/own.py", "own/gain.py", "own/data/table.json"])
def test_a_change_makes_other_runs_and_is_refused_in_the_same_folder(
    name: str, cli: Cli, folder: Path
) -> None:
    assert cli(*WORDS).returncode == 0
    text = (folder / name).read_text()
    (folder / name).write_text(
        text.replace("0.02", "0.20").replace("1.0", "9.0").replace("uniform() <", "uniform() <=")
    )
    refused = cli(*WORDS)
    assert refused.returncode == 2
    assert "out holds runs of own/own.py:Own with SHA-256" in refused.stderr
    assert cli(*WORDS[:-1], "other").returncode == 0
    assert not set(ids(folder / "out")) & set(ids(folder / "other"))


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_results_open_with_their_stored_ids_and_a_warning(
    change: str, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert cli(*WORDS).returncode == 0
    if change == "gone":
        shutil.rmtree(folder / "own")
    else:
        (folder / "own/gain.py").write_text("GAIN = 2.0\n")
    words = {"gone": "own/own.py is gone", "changed": "the code has changed since"}[change]
    for fresh in (False, True):  # also in the process that has loaded the class
        if fresh:
            forget(monkeypatch)
        caplog.clear()
        # A permission to execute the files must not give the results the ids of the code that is there now.
        with caplog.at_level(logging.WARNING, "sojourn"), permitting(change == "changed"):
            results = sojourn.Results.open("out")
        assert results.runs["run_id"].to_list() == ids(folder / "out")
        assert sum(words in one for one in results.warnings) == 1
        assert words in caplog.text
    reported = cli("report", "out")
    assert reported.returncode == 0
    assert words in reported.stderr


def test_rerun_repeats_the_stored_code_bit_by_bit(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*WORDS, "--aqm", "red").returncode == 0
    (folder / "own/gain.py").write_text("GAIN = 2.0\n")
    (folder / "own/data/table.json").write_text("damaged")
    forget(monkeypatch)
    refused = cli("rerun", "out")
    assert refused.returncode == 1
    (stated,) = json.loads((folder / "out/manifest.json").read_text())["code"].values()
    assert (
        f"not repeated: 2 runs of Python code, own/own.py:Own (SHA-256 {stated['sha256']})" in refused.stdout
    )
    assert not loader._known
    done = cli("rerun", "out", "--allow-code")
    assert done.returncode == 0, done.stderr
    assert "repeated: 4 of 4 runs" in done.stdout
    assert f"executed: own/own.py:Own, SHA-256 {stated['sha256']}" in done.stdout
    assert not loader._known  # the stored version is not that of later calls
    verified = cli("verify", "out", "--sample", "100%", "--allow-code")
    assert "repeated: 4 of 4 runs" in verified.stdout


def test_a_changed_bit_of_stored_code_is_found(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*WORDS).returncode == 0
    (kept,) = (folder / "out/code").iterdir()
    (kept / "gain.py").write_text("GAIN = 2.0\n")
    forget(monkeypatch)
    done = cli("rerun", "out", "--allow-code")
    assert done.returncode == 1
    assert "gain.py does not match its hash" in done.stderr
    assert sojourn.open("out").runs.height == 2


def test_a_list_of_stored_files_cannot_name_a_path_outside(cli: Cli, folder: Path) -> None:
    assert cli(*WORDS).returncode == 0
    (kept,) = (folder / "out/code").iterdir()
    facts = json.loads((kept / "code.json").read_text())
    facts["files"]["../../../own/gain.py"] = facts["files"].pop("gain.py")
    (kept / "code.json").write_text(json.dumps(facts))
    done = cli("verify", "out", "--allow-code")
    assert done.returncode == 1
    assert "is damaged: ../../../own/gain.py is missing" in done.stderr


@pytest.mark.usefixtures("folder")
def test_rerun_names_the_core_that_it_needs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("run", "small.toml", "--seeds", 1, "--out", "out").returncode == 0
    made = sojourn._core.CORE_VERSION
    monkeypatch.setattr("sojourn._core.CORE_VERSION", "9.9.9+0")
    done = cli("rerun", "out")
    assert done.returncode == 2
    assert (
        f"out has runs of core {made} (Sojourn {sojourn._core.VERSION}); this is core 9.9.9+0" in done.stderr
    )


def test_state_of_a_class_does_not_reach_the_next_run_and_is_reported(
    folder: Path, small: sojourn.Scenario
) -> None:
    (folder / "leak.py").write_text(LEAK)
    runs = [sojourn.run(small, ["leak.py:Leak"], 4, workers=workers, allow_code=True) for workers in (1, 2)]
    assert runs[0].values("leak.py:Leak", "drop_ratio") == runs[1].values("leak.py:Leak", "drop_ratio")
    alone = sojourn.run(small, ["leak.py:Leak"], seeds=[4], allow_code=True)
    assert alone.values("leak.py:Leak", "drop_ratio")[0] == runs[0].values("leak.py:Leak", "drop_ratio")[3]
    (warning,) = [one for one in runs[0].warnings if "Leak" in one]
    assert "a run changed Leak.count, which all runs of a process share" in warning
    (folder / "clean.py").write_text(LEAK.replace("Leak.count", "self.count"))
    clean = sojourn.run(small, ["clean.py:Leak"], 2, allow_code=True)
    assert not [one for one in clean.warnings if "share" in one]
