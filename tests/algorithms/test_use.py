"""A Python algorithm can be used wherever an algorithm is named: command line, scenario, Python, papers.

Mutants seen to fail: the run id without the file's hash; a file read only once; paths in a scenario file
relative to the working directory; `print` of a handler on standard output; a class without a file run in a
thread.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from sojourn import algorithms as own
from sojourn.algorithms import permitting
from sojourn.papers.experiment import Arm
from sojourn.runner.point import Point
from support import SMALL, Cli

MINE = """
import sojourn


class Mine(sojourn.Aqm):
    '''Drops what is late.

    A head that has waited longer than target goes, with probability p.
    '''

    target = sojourn.Param("20ms", min="1us", doc="Delay above which packets may go", source="a guess")
    p = sojourn.Param(0.1, min=0, max=1, doc="Probability that a late one goes", source="a guess")
    mode = sojourn.Param("plain", choices=["plain", "loud"], doc="Whether it says so", source="a guess")
    probes = {"late": ("packets", "late packets so far")}

    def start(self):
        self.late = 0

    def on_departure(self, now, packet, queue, rng):
        if now - packet.arrived <= self.target:
            return sojourn.PASS
        self.late += 1
        if self.mode == "loud":
            print("late", now)
        return self.signal(packet) if rng.uniform() < self.p else sojourn.PASS
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def run_id(scenario: sojourn.Scenario, spec: str) -> str:
    return Point(scenario, spec, 1).run_id


def test_the_command_line_runs_it_and_reopens_its_results(process: Cli, mine: Path, small_file: Path) -> None:
    words = ("run", small_file, "--aqm", "mine.py:Mine mode loud target 10ms", "--aqm", "codel")
    done = process(*words, "--seeds", 2, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "mine.py:Mine target 10ms mode loud" in json.dumps(found)
    assert "late" in done.stderr
    assert "mine.py:Mine" in (mine.parent / "out/report.html").read_text()
    assert json.loads((mine.parent / "out/manifest.json").read_text())["code"]["mine.py:Mine"]["sha256"]
    stamps = {path: path.stat().st_mtime_ns for path in (mine.parent / "out/runs").iterdir()}
    assert process(*words, "--seeds", 2, "--out", "out").returncode == 0
    assert stamps == {path: path.stat().st_mtime_ns for path in (mine.parent / "out/runs").iterdir()}
    assert sojourn.Results.open("out").trace("late", aqm="mine.py:Mine target 10ms mode loud").height


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mine.py:Mine targt 5ms", "mine.py:Mine.targt is not a parameter (did you mean target?)"),
        ("mine.py:Mine target 5", "mine.py:Mine.target = 5 has no unit"),
        ("mine.py:Mine p 2", "mine.py:Mine.p = 2 is out of range; allowed: a number in [0, 1]"),
        ("mine.py:Mine mode laud", "allowed: plain | loud"),
        ("mine.py:Mined", "mine.py has no class 'Mined' (did you mean Mine?); allowed: Mine"),
        ("mne.py:Mine", "mne.py cannot be read: no such file or directory"),
        ("mine:Mine", "mine:Mine is not an algorithm"),
    ],
)
def test_a_wrong_spec_is_one_line_and_exit_code_2(
    spec: str, said: str, cli: Cli, mine: Path, small_file: Path
) -> None:
    done = cli("run", small_file, "--aqm", spec)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_explain_shows_its_page(cli: Cli, mine: Path) -> None:
    done = cli("explain", "mine.py:Mine")
    assert done.returncode == 0
    for word in (
        "Drops what is late",
        "longer than target",
        "20ms",
        "a guess",
        "plain | loud",
        "late packets",
    ):
        assert word in done.stdout
    told = json.loads(cli("explain", "mine.py:Mine", "--json").stdout)
    assert [p["name"] for p in told["params"]] == ["target", "p", "mode", "ecn"]
    assert told["params"][0]["range"] == {
        "min": pytest.approx(1e-6),
        "max": None,
        "above": False,
        "below": True,
    }
    assert cli("explain", "mine.py:Mina").returncode == 2


def test_a_path_in_a_scenario_file_is_relative_to_that_file(mine: Path) -> None:
    folder = mine.parent / "deep"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE.replace('"20ms"', '"30ms"'))
    (folder / "s.toml").write_text(SMALL.replace("red min_th 5 max_th 15", "mine.py:Mine p 0.2"))
    with permitting(True):
        scenario = sojourn.load("deep/s.toml")
    assert scenario.queue is not None
    assert scenario.queue.aqm == "deep/mine.py:Mine p 0.2"
    assert sojourn.Scenario.from_toml(scenario.to_toml()) == scenario
    assert _core.algorithm("deep/mine.py:Mine")["params"][0]["default"] == "30ms"
    assert sojourn.run(scenario, seeds=1).aqms == ["deep/mine.py:Mine p 0.2"]
    (folder / "s.toml").write_text(SMALL.replace("red min_th 5 max_th 15", "mine.py:Mine q 0.2"))
    error = r"s.toml:15:1: queue.aqm = .*Mine.q is not a parameter"
    with permitting(True), pytest.raises(sojourn.InputError, match=error):
        sojourn.load("deep/s.toml")


def test_a_changed_file_is_another_algorithm(mine: Path, small: sojourn.Scenario) -> None:
    with permitting(True):
        before = run_id(small, "mine.py:Mine")
        assert before == run_id(small, "mine.py:Mine")
        mine.write_text(MINE.replace("<= self.target", "< self.target"))
        os.utime(mine, ns=(1, 1))
        assert run_id(small, "mine.py:Mine") != before
        mine.write_text(MINE)
        os.utime(mine, ns=(2, 2))
        assert run_id(small, "mine.py:Mine") == before
        assert run_id(small, "mine.py:Mine p 0.3") != before


def test_the_results_do_not_depend_on_the_workers(mine: Path, small: sojourn.Scenario) -> None:
    runs = [
        sojourn.run(small, aqms=["mine.py:Mine", "red"], seeds=2, workers=workers, allow_code=True).runs.drop(
            "run_id", strict=False
        )
        for workers in (1, 3)
    ]
    assert runs[0].equals(runs[1])


class Here(sojourn.Aqm):
    """Keeps the queue short."""

    most = sojourn.Param("10p", min=1, doc="Longest queue", source="a guess")

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> _core.Verdict:
        return sojourn.DROP("forced") if queue.packets >= self.most else sojourn.PASS


def test_a_class_of_a_file_is_identified_by_its_file(small: sojourn.Scenario) -> None:
    spec = Here(most="7p").spec
    assert spec.endswith("test_use.py:Here most 7p")
    results = sojourn.run(small, aqms=[Here(most="7p"), Here], seeds=1)
    assert results.aqms == [spec, spec.removesuffix(" most 7p")]
    with pytest.raises(sojourn.InputError, match=r"Here.mst is not a parameter \(did you mean most\?\)"):
        Here(mst="7p")
    with pytest.raises(AttributeError, match="most has no value: parameters are set when a run begins"):
        Here(most="7p").most


def test_a_class_without_a_file_runs_in_this_process(small: sojourn.Scenario) -> None:
    class Local(Here):
        """The same with a shorter queue."""

        most = sojourn.Param("5p", min=1, doc="Longest queue", source="a guess")

    assert Local(most="8p").spec == "python:Local most 8p"
    assert own.shipped(own.names_in(Point(small, "python:Local", 1).plan_json)) is None
    results = sojourn.run(small, aqms=[Local, "droptail"], seeds=2)
    assert results.aqms[0] == "python:Local"
    peak = results.runs.filter(results.runs["aqm"] == "python:Local")
    assert peak.height == 2


def test_a_paper_may_name_it(mine: Path, small: sojourn.Scenario) -> None:
    arm = Arm("own", small, "mine.py:Mine", {"target": "15ms"})
    assert arm.spec == "mine.py:Mine target 15ms"
    assert Point(small, arm.spec, 1).run_id != Point(small, "red", 1).run_id


def test_a_script_may_contain_class_and_runs(mine: Path) -> None:
    script = mine.parent / "script.py"
    guarded = """
        if __name__ == "__main__":
            results = sojourn.run(sojourn.load("small.toml"), aqms=[Mine(p=0.5)], seeds=1)
            print(results.aqms)
    """
    (mine.parent / "small.toml").write_text(SMALL)
    script.write_text(MINE + textwrap.dedent(guarded))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['script.py:Mine p 0.5']\n"), done.stderr


def test_ctrl_c_keeps_finished_runs_and_the_same_command_continues(mine: Path) -> None:
    long = SMALL.replace('"6s"', '"2000s"').replace('"2s"', '"1s"', 1)
    (mine.parent / "long.toml").write_text(long)
    mine.write_text("import os\n" + MINE.replace('print("late", now)', 'print("late", os.getpid())'))
    words = [
        sys.executable,
        "-m",
        "sojourn",
        "run",
        "long.toml",
        "--seeds",
        "2",
        "--workers",
        "1",
        "--out",
        "out",
    ]
    with subprocess.Popen(
        [*words, "--aqm", "mine.py:Mine mode loud target 1ms"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        word, worker = process.stderr.readline().split()
        assert word == "late"
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == 130
    assert "interrupted; finished runs are kept" in said
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(worker), 0)


ENDLESS = """
import sojourn
class Endless(sojourn.Aqm):
    def on_departure(self, now, packet, queue, rng):
        print("here", flush=True)
        while True:
            pass
"""


@pytest.mark.parametrize("known", ["by its file", "here only"])
def test_ctrl_c_ends_a_handler_in_an_endless_loop(known: str, mine: Path, small_file: Path) -> None:
    (mine.parent / "endless.py").write_text(ENDLESS)
    run = "sojourn.run(sojourn.load('small.toml'), aqms=[Endless], seeds=1)"
    script = f"import sojourn\nfrom endless import Endless\n{run}"
    if known == "here only":
        script = f"{ENDLESS}\n{run}"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().endswith("KeyboardInterrupt\n")
        assert process.wait(60) == -signal.SIGINT
