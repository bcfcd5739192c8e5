"""No command executes code because an untrusted file names it: a scenario, a plan, a results directory.

Code runs if the command line names its file, with ``--allow-code``, or from Python with a class or
``allow_code=True``. Its hash is in the manifest.

Mutants seen to fail: every file permitted; the permission of a command outliving it; the placeholder of a
manifest used as the class; the hash not compared.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn.algorithms import loader, permitting
from sojourn.study.axes import Axis
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import SMALL, Cli

EVIL = """
from pathlib import Path

import sojourn

(Path(__file__).parent / "executed").write_text("by " + __name__)


class Evil(sojourn.Aqm):
    '''Drops what is late.'''

    target = sojourn.Param("20ms", min="1us", doc="Delay above which packets are dropped", source="a test")
    share = sojourn.Param(0.5, min=0, max=1, doc="Share of these packets", source="a test")
    probes = {"late": ("packets", "late packets so far")}

    def start(self):
        self.late = 0

    def on_departure(self, now, packet, queue, rng):
        self.late += now - packet.arrived > self.target
        return sojourn.DROP if now - packet.arrived > self.target else sojourn.PASS
"""
SPEC = "red min_th 5 max_th 15"
STRANGE = SMALL.replace(SPEC, "evil.py:Evil share 0.5 target 10ms")
PLAN = """
aqms = ["evil.py:Evil", "droptail"]
seeds = 2
scenario = "small.toml"

[vary]
"aqm" = ["evil.py:Evil", "red"]
"""
BLOCK = ("--seeds", 2, "--workers", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An untrusted folder: code, a scenario and a plan that name it; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "strange.toml").write_text(STRANGE)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def executed(folder: Path) -> bool:
    found = list(folder.rglob("executed"))
    for one in found:
        one.unlink()
    return bool(found)


LINE = STRANGE.splitlines().index('aqm = "evil.py:Evil share 0.5 target 10ms"') + 1
PLACE = f"strange.toml: line {LINE}: queue.aqm = 'evil.py:Evil share 0.5 target 10ms' names Python code"
REFUSED = {
    "run": (("run", "strange.toml"), PLACE),
    "run --world fluid": (("run", "strange.toml", "--world", "fluid"), PLACE),
    "tune": (("tune", "strange.toml"), PLACE),
    "tune --by rank": (("tune", "strange.toml", "--by", "rank", "-L", "target", "5ms,9ms"), PLACE),
    "sweep": (("sweep", "strange.toml", "-L", "queue.limit", "20p,30p"), PLACE),
    "compare-worlds": (("compare-worlds", "strange.toml"), PLACE),
    "bench": (("bench", "strange.toml"), PLACE),
    "a plan": (("sweep", "plan.toml"), "plan.toml: line 2: aqms[1] = 'evil.py:Evil' names Python code"),
    "a plan's job script": (("sweep", "plan.toml", "--sbatch", 2), "plan.toml: line 2: aqms[1]"),
    "another queue": (
        ("run", "deep/two.toml", "--aqm", "red"),
        "deep/two.toml: line 10: dumbbell.reverse_queue.aqm",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_names_code_is_refused_with_its_place(case: str, cli: Cli, folder: Path) -> None:
    (folder / "deep").mkdir()
    shutil.copy("evil.py", "deep")
    two = SMALL.replace(
        'delay = "5ms"\n', 'delay = "5ms"\nreverse_queue = { limit = "9p", aqm = "evil.py:Evil" }\n', 1
    )
    (folder / "deep/two.toml").write_text(two)
    words, place = REFUSED[case]
    done = cli(*words)
    assert done.returncode == 2
    assert place in done.stderr
    assert "repeat with --allow-code" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not executed(folder)
    assert not (folder / "results").exists()


def test_reading_a_scenario_executes_nothing(folder: Path) -> None:
    scenario = sojourn.load("strange.toml")
    assert scenario.queue is not None
    assert scenario.queue.aqm == "evil.py:Evil share 0.5 target 10ms"
    assert sojourn.Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.with_(duration="9s").plan()["topology"]
    assert not executed(folder)


@pytest.mark.parametrize(
    "words", [("run",), ("compare", "--aqm", "red"), ("tune", "--trials", 2, "--confirm", 2)]
)
def test_an_algorithm_that_is_overridden_is_not_executed(
    words: tuple[str, ...], cli: Cli, folder: Path
) -> None:
    command, *rest = words
    done = cli(command, "strange.toml", "--aqm", "pie", *rest, *BLOCK, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert not executed(folder)


def test_a_dry_run_executes_nothing(cli: Cli, folder: Path) -> None:
    done = cli("sweep", "plan.toml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "runs          4, of which 0 are done" in done.stdout
    assert "plan.toml: line 2: aqms[1] = 'evil.py:Evil' names Python code" in done.stdout
    assert json.loads(cli("sweep", "plan.toml", "--dry-run", "--json").stdout)["seconds"] is None
    assert not executed(folder)
    assert cli("sweep", "plan.toml", "--dry-run", "--allow-code").returncode == 0
    assert executed(folder)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "strange.toml", "--allow-code"),
        ("run", "small.toml", "--aqm", "evil.py:Evil"),
        ("run", "strange.toml", "--aqm", "./evil.py:Evil"),
        ("compare", "small.toml", "--aqm", "red", "--aqm", "evil.py:Evil"),
        ("sweep", "plan.toml", "--allow-code"),
        ("sweep", "small.toml", "-L", "aqm", "red,evil.py:Evil"),
        ("sweep", "small.toml", "-L", "dumbbell.reverse_queue.aqm", "evil.py:Evil"),
    ],
)
def test_code_that_the_command_line_names_or_permits_runs(
    words: tuple[str, ...], cli: Cli, folder: Path
) -> None:
    if "dumbbell.reverse_queue.aqm" in words:
        text = SMALL.replace('delay = "5ms"\n', 'delay = "5ms"\nreverse_queue = { limit = "9p" }\n', 1)
        (folder / "small.toml").write_text(text)
    done = cli(*words, *(BLOCK if "plan.toml" not in words else ("--workers", 1)), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert executed(folder)
    (facts,) = json.loads((folder / "out/manifest.json").read_text())["code"].values()
    assert facts["sha256"] == hashlib.sha256(EVIL.encode()).hexdigest()
    assert [one["name"] for one in facts["params"]] == ["target", "share"]
    # The permission ends with the command: another version of the file is not executed.
    (folder / "evil.py").write_text(EVIL + "# another version\n")
    assert cli("run", "strange.toml").returncode == 2
    assert not executed(folder)


def _made(kind: str, cli: Cli) -> None:
    words = {
        "run": ("run", "strange.toml", *BLOCK),
        "compare": ("compare", "strange.toml", "--aqm", "evil.py:Evil", "--aqm", "red", *BLOCK),
        "sweep": ("sweep", "strange.toml", "-L", "aqm.target", "5ms,9ms", *BLOCK),
        "tune": (
            "tune",
            "strange.toml",
            *BLOCK,
            "--trials",
            2,
            "--confirm",
            2,
            "-P",
            "target",
            "1ms:9ms:log",
        ),
    }
    done = cli(*words[kind], "--allow-code", "--out", "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["run", "compare", "sweep", "tune"])
def test_results_of_own_algorithms_are_read_without_their_code(
    kind: str, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _made(kind, cli)
    assert executed(folder)
    for changed in (EVIL.replace("target", "goal"), None):
        # As in a process that has loaded nothing.
        monkeypatch.setattr(loader, "_known", {})
        monkeypatch.setattr(loader, "_remembered", {})
        if changed is None:
            (folder / "evil.py").unlink()
        else:
            (folder / "evil.py").write_text(changed)
        done = cli("report", "out", "--export", "table.csv")
        assert done.returncode == 0, done.stderr
        assert "evil.py:Evil" in (folder / "table.csv").read_text()
        if kind == "sweep":
            assert "4 of 4 runs are done" in cli("sweep", "status", "out").stdout
    assert not executed(folder)


def test_a_description_of_a_class_is_not_the_class(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a process has read results, their code is still refused, and is loaded if it is permitted."""
    _made("run", cli)
    assert executed(folder)
    monkeypatch.setattr(loader, "_known", {})
    monkeypatch.setattr(loader, "_remembered", {})
    assert cli("report", "out").returncode == 0
    assert list(loader._remembered) == ["evil.py:Evil"]
    refused = cli("run", "strange.toml", *BLOCK, "--out", "again")
    assert (refused.returncode, PLACE in refused.stderr, executed(folder)) == (2, True, False)
    done = cli("run", "strange.toml", "--allow-code", *BLOCK, "--out", "again")
    assert (done.returncode, executed(folder)) == (0, True), done.stderr


PLANTED = {
    "run": ("scenario.toml", (("report", "out"),)),
    "sweep": ("sweep.toml", (("report", "out"), ("sweep", "status", "out"))),
    "tune": ("scenario.toml", (("report", "out"),)),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_code_planted_in_a_results_directory_is_not_executed(kind: str, cli: Cli, folder: Path) -> None:
    words = {
        "run": ("run", "small.toml", *BLOCK),
        "sweep": ("sweep", "small.toml", "-L", "queue.limit", "20p,30p", *BLOCK),
        "tune": ("tune", "small.toml", *BLOCK, "--trials", 2, "--confirm", 2, "-P", "max_p", "0.1:0.5"),
    }
    assert cli(*words[kind], "--out", "out").returncode == 0
    out = folder / "out"
    name, commands = PLANTED[kind]
    (out / name).write_text((out / name).read_text().replace("red min_th 5p max_th 15p", "plant.py:Evil"))
    assert "plant.py:Evil" in (out / name).read_text()
    for place in (out, folder):
        (place / "plant.py").write_text(EVIL)
    for command in commands:
        done = cli(*command)
        assert done.returncode in (0, 2), done.stderr
        assert "internal error" not in done.stderr
    if kind != "sweep":
        sojourn.load(out / "scenario.toml")
    assert not executed(folder)


def test_an_untrusted_manifest_may_contain_any_text_about_classes(cli: Cli, folder: Path) -> None:
    _made("run", cli)
    path = folder / "out/manifest.json"
    facts = json.loads(path.read_text())
    (name,) = facts["code"]
    whole = facts["code"][name]
    wrong = {"params": 3}, {"params": [{"name": 1}]}, {"probes": "x"}, {"doc": None}, {"sha256": 5}
    for one in (None, [], {}, *({**whole, **more} for more in wrong)):
        path.write_text(json.dumps({**facts, "code": {name: one, "a b": whole, "x:y": whole}}))
        done = cli("report", "out")
        assert done.returncode == 0, done.stderr
    path.write_text(json.dumps({**facts, "code": 7}))
    assert cli("report", "out").returncode == 0


@pytest.mark.parametrize("kind", ["run", "sweep", "tune"])
def test_changed_code_is_refused_on_resume_with_both_hashes(kind: str, cli: Cli, folder: Path) -> None:
    _made(kind, cli)
    changed = EVIL + "# changed\n"
    (folder / "evil.py").write_text(changed)
    words = {
        "run": ("run", "strange.toml", *BLOCK),
        "sweep": ("sweep", "strange.toml", "-L", "aqm.target", "5ms,9ms", *BLOCK),
        "tune": (
            "tune",
            "strange.toml",
            *BLOCK,
            "--trials",
            2,
            "--confirm",
            2,
            "-P",
            "target",
            "1ms:9ms:log",
        ),
    }
    done = cli(*words[kind], "--allow-code", "--out", "out")
    assert done.returncode == 2
    for text in (EVIL, changed):
        assert hashlib.sha256(text.encode()).hexdigest() in done.stderr
    assert "out holds runs of evil.py:Evil with SHA-256" in done.stderr


def test_the_default_directory_depends_on_the_code(cli: Cli, folder: Path) -> None:
    for text in (EVIL, EVIL + "# changed\n"):
        (folder / "evil.py").write_text(text)
        assert cli("run", "strange.toml", "--allow-code", *BLOCK).returncode == 0
    assert len(list((folder / "results").iterdir())) == 2


def test_from_python_a_class_needs_no_permission_and_text_does(folder: Path, small: sojourn.Scenario) -> None:
    scenario = sojourn.load("strange.toml")
    calls = [
        lambda **more: sojourn.run(scenario, seeds=1, **more),
        lambda **more: sojourn.run(small, aqms=["evil.py:Evil"], seeds=1, **more),
        lambda **more: sojourn.compare(small, ["evil.py:Evil", "red"], seeds=2, **more),
        lambda **more: sweep(Sweep(scenario, ["evil.py:Evil"], [Axis("queue.limit", ("9p",))], 1), **more),
    ]
    for number, call in enumerate(calls):
        (folder / "evil.py").write_text(f"{EVIL}# version {number}\n")
        with pytest.raises(sojourn.InputError, match=r"names Python code.*allow_code=True"):
            call()
        assert not executed(folder)
        assert call(allow_code=True)
        assert executed(folder)
    sys.path.insert(0, str(folder))
    try:
        from evil import Evil  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    assert sojourn.run(small, aqms=[Evil(target="5ms")], seeds=1).aqms == ["evil.py:Evil target 5ms"]


def test_a_parameter_of_a_permitted_file_is_checked_when_it_is_read(folder: Path) -> None:
    # A name of its own: a class that another test has used in this process is known, and checked at once.
    (folder / "evil.py").rename(folder / "unread.py")
    (folder / "strange.toml").write_text(SMALL.replace(SPEC, "unread.py:Evil targt 5ms"))
    sojourn.load("strange.toml")
    with permitting(True), pytest.raises(sojourn.InputError, match=r"targt is not a parameter.*target"):
        sojourn.load("strange.toml")


def test_the_job_script_and_the_command_of_a_failed_run_keep_the_permission(cli: Cli, folder: Path) -> None:
    done = cli("sweep", "plan.toml", "--allow-code", "--sbatch", 2, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert " --allow-code \\\n" in (folder / "out/job.sh").read_text()
    (folder / "evil.py").write_text(EVIL.replace("return sojourn.DROP if", "return 1 / 0 if"))
    done = cli("run", "strange.toml", "--allow-code", *BLOCK, "--out", "failed")
    assert done.returncode == 1
    repeat = json.loads((folder / "failed/failures.jsonl").read_text().splitlines()[0])["repeat"]
    assert repeat.endswith("--seeds 1 --seed-from 1 --allow-code")
