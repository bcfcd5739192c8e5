"""A Python algorithm is the algorithm of a scheduler's class, wherever a scheduler is named.

Mutants seen to fail: only the first word of a spec permitted; nested specs read without the registered
classes; only the first word of a scenario's spec resolved relative to its file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn.algorithms import names_in, permitting
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from support import ROOT, SMALL, Cli

OWN = """
import sojourn

class Own(sojourn.Aqm):
    '''Drops what is late.'''

    target = sojourn.Param("9ms", doc="Delay above which packets are dropped", source="a test")

    def on_departure(self, now, packet, queue, rng):
        return sojourn.DROP if now - packet.arrived > self.target else sojourn.PASS
"""
SPEC = "drr classes 2 aqm_0 (own.py:Own target 5ms) aqm_1 (red min_th 5p max_th 15p)"
NESTED = SMALL.replace("red min_th 5 max_th 15", SPEC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The class and a scenario that names it within a scheduler; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "nested.toml").write_text(NESTED)
    return tmp_path


@pytest.mark.parametrize("scheduler", ["drr classes 2", "prio classes 2"])
def test_a_twin_in_a_class_gives_the_same_record(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    scenario = sojourn.load("examples/diffserv.toml").with_(
        duration="15s", warmup="5s", trace={"drops": True, "interval": "100ms"}
    )
    red = "min_th 5p max_th 15p w_q 0.01"
    specs = [
        f"{scheduler} aqm_0 codel aqm_1 (red {red})",
        f"{scheduler} aqm_0 examples/own/codel.py:CoDel aqm_1 (examples/own/red.py:RED {red})",
    ]
    with permitting(True):
        wanted = points(scenario, specs, [1])
    theirs, mine = (run.record.data for run in sorted(execute(wanted), key=lambda run: len(run.point.spec)))
    assert len(theirs["drops"]["time_ns"]) > 50 * 8
    for record in (mine, theirs):
        for queue in record["queues"]:
            queue.pop("spec")
        for queue in record["series"]["queues"]:
            queue.pop("probes")
    assert mine == theirs


@pytest.mark.parametrize(
    "words",
    [
        ("run", "small.toml", "--aqm", SPEC, "--seeds", 2),
        ("compare", "small.toml", "--aqm", SPEC, "--aqm", "droptail", "--seeds", 3),
        ("sweep", "small.toml", "--aqm", SPEC, "-L", "queue.limit", "20p,40p", "--seeds", 2),
        ("run", "nested.toml", "--allow-code", "--seeds", 2),
    ],
    ids=["run", "compare", "sweep", "a scenario"],
)
def test_every_command_runs_it(words: tuple[object, ...], cli: Cli, folder: Path) -> None:
    done = cli(*words, "--workers", 1, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert '"own.py:Own"' in (folder / "out/manifest.json").read_text()


def test_a_scenario_that_names_it_needs_permission(cli: Cli, folder: Path) -> None:
    (folder / "own.py").write_text(OWN + "# not the file of another test, which this process has loaded\n")
    done = cli("run", "nested.toml")
    assert done.returncode == 2
    line = NESTED.splitlines().index(f'aqm = "{SPEC}"') + 1
    assert f"nested.toml: line {line}: queue.aqm = '{SPEC}' names Python code" in done.stderr
    assert "repeat with --allow-code" in done.stderr


def test_its_path_in_a_scenario_file_is_relative_to_that_file(folder: Path) -> None:
    deep = folder / "deep"
    deep.mkdir()
    (folder / "own.py").rename(deep / "own.py")
    (folder / "nested.toml").rename(deep / "nested.toml")
    with permitting(True):
        scenario = sojourn.load("deep/nested.toml")
    assert scenario.queue is not None
    assert scenario.queue.aqm == SPEC.replace("own.py", "deep/own.py")


def test_a_mistake_in_it_is_named(cli: Cli, folder: Path) -> None:
    done = cli("run", "small.toml", "--aqm", SPEC.replace("target", "targt"))
    assert done.returncode == 2
    assert "drr.aqm_0: own.py:Own.targt is not a parameter (did you mean target?)" in done.stderr


def test_the_names_in_a_plan_are_those_of_every_class() -> None:
    assert names_in('{"queue":{"aqm":"prio classes 2 aqm_1 a.py:A"},"other":{"aqm":"b.py:B"}}') == [
        "a.py:A",
        "b.py:B",
    ]
    assert names_in('{"queue":{"aqm":"prio aqm (c.py:C ecn) aqm_1 a.py:A"}}') == ["a.py:A", "c.py:C"]


def test_python_nests_an_object(folder: Path) -> None:
    class Late(sojourn.Aqm):
        """Drops what is late."""

        target = sojourn.Param("9ms", doc="Delay above which packets are dropped", source="a test")

        def on_departure(self, now, packet, queue, rng):
            return sojourn.DROP if now - packet.arrived > self.target else sojourn.PASS

    spec = sojourn.aqm("prio", classes=2, aqm=Late(target="5ms").spec)
    assert spec == "prio classes 2 aqm (python:Late target 5ms)"
    results = sojourn.run("small.toml", aqms=[spec], seeds=1)
    assert results.summary().height
