"""A results directory belongs to one study: others are refused before a write, the same one continues.

Mutants seen to fail: each call of `require_owner` left out (run, sweep, tune, shell, compare-worlds,
reproduce); the world, or the paper, ignored; scenarios compared by name; a user's file overwritten; tables of
the previous plan not removed.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import InputError, Scenario
from sojourn.cli import call, shell
from sojourn.runner.ownership import require_owner
from sojourn.study.axes import Axis
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.sweep.model import Sweep
from sojourn.study.tune import directory as tune_directory
from sojourn.study.tune.model import Tune
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.search_space import dimensions
from support import SMALL

SHORT = SMALL.replace('warmup = "2s"', 'warmup = "1s"').replace('duration = "6s"', 'duration = "2s"')
MADE = {
    "run": "run small.toml --seeds 1",
    "sweep": "sweep small.toml -L queue.limit 20p,30p --seeds 1",
    "tune": "tune small.toml --aqm red -P max_p --trials 2 --seeds 2 --confirm 2",
    "compare-worlds": "compare-worlds small.toml --seeds 1 --no-grid",
}
OTHER = "another scenario (dumbbell.rate is '2Mbit/s' there, '3Mbit/s' here)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a scenario, and one of the same name at another rate."""
    (tmp_path / "small.toml").write_text(SHORT)
    (tmp_path / "faster.toml").write_text(SHORT.replace("2Mbit/s", "3Mbit/s"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def into(folder: str, words: str) -> int:
    """Call a command with its results in a directory; return its exit code."""
    command, *rest = words.split()
    return call([command, "--out", folder, *rest])


@pytest.mark.parametrize("made", MADE)
def test_a_directory_of_another_study_is_refused_and_unchanged(
    made: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert into("out", MADE[made]) == 0
    before = content(here)
    others = {words: " of small" for kind, words in MADE.items() if kind != made}
    others |= {words.replace("small", "faster"): " of small" for words in MADE.values()}
    others[MADE[made].replace("small", "faster")] = OTHER
    others["run small.toml --world fluid"] = " of small"
    others["reproduce raqm2005 --quick"] = " of small"
    others["shell --rate 1mbit -- true"] = " of small"
    if made == "run":
        others["run small.toml --world fluid"] = "runs of small in the simulated world"
    for words, expected in others.items():
        capsys.readouterr()
        assert into("out", words) == 2, words
        error = capsys.readouterr().err
        assert error.splitlines()[-1].startswith("sojourn: out holds "), words
        assert expected in error, words
        assert error.endswith("; allowed: a folder of its own, with --out DIR\n"), words
    assert content(here) == before


def test_the_same_study_continues(here: Path) -> None:
    for words in (
        MADE["run"],
        "run small.toml --seeds 2",
        "compare small.toml --aqm red --aqm pie --seeds 2",
    ):
        assert into("runs", words) == 0, words
    (here / "runs/scenario.toml").unlink()  # as if killed between the first two files
    assert into("runs", MADE["run"]) == 0
    for words in (MADE["sweep"], "sweep swept/sweep.toml", MADE["sweep"].replace("30p", "40p")):
        assert into("swept", words) == 0, words
    for words in (MADE["compare-worlds"], f"{MADE['compare-worlds']} --seeds 2"):
        assert into("compared", words) == 0, words
    for words in (MADE["tune"], MADE["tune"], MADE["tune"].replace("--confirm 2", "--confirm 3")):
        assert into("tuned", words) == 0, words


def test_a_directory_belongs_to_one_paper(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"paper": "raqm2005", "command": "sojourn reproduce raqm2005"}')
    require_owner(tmp_path, "reproduce", "raqm2005")
    for kind, name in (("reproduce", "bio2002"), ("run", "raqm2005")):
        with pytest.raises(InputError, match="holds the paper raqm2005, by: sojourn reproduce raqm2005"):
            require_owner(tmp_path, kind, name, "")


def test_a_directory_has_one_shell_session(tmp_path: Path) -> None:
    """Even behind the same link, because the manifest describes one session only."""
    link = '[link]\nrate = "1mbit"\n'
    (tmp_path / "manifest.json").write_text('{"world": "real", "command": "sojourn shell -- true"}')
    (tmp_path / "link.toml").write_text(f'name = "shell"\nduration = "3s"\n{link}')
    for kind, name, text in (("run", "small", SHORT), ("shell", "shell", link)):
        with pytest.raises(InputError, match=r"holds a session of a shell, by: sojourn shell -- true"):
            require_owner(tmp_path, kind, name, text, "real")


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_directory_belongs_to_a_shell_from_its_start(
    is_refused: bool, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: a second session, or a run, that enters during the first."""
    second = "shell --rate 1mbit -- true"

    def run(*_: object) -> tuple[int, object]:
        monkeypatch.setattr(shell, "run", lambda *_: pytest.fail("a second session has begun"))
        assert threading.active_count() == threads, "a process with two threads cannot enter namespaces"
        for words in (second, MADE["run"]):
            assert into("out", words) == 2
            assert "out holds a session of a shell, by: sojourn" in capsys.readouterr().err
        assert call(["report", "out"]) == 2
        assert "out has no record: the shell is running\n" in capsys.readouterr().err
        if is_refused:
            raise InputError("the kernel", "does not allow it")
        return 127, None

    threads = threading.active_count()
    monkeypatch.setattr(shell, "run", run)
    into("out", second)
    assert not (here / "out/leases").exists()
    assert into("out", MADE["run"]) == 0


def test_a_shell_enters_the_directory_of_one_that_was_killed(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After ``kill -9`` the manifest stays ``running``; another command is refused still."""
    words = "shell --rate 1mbit -- true"

    def killed(*_: object) -> None:
        content = {path: path.read_bytes() for path in (here / "out").iterdir() if path.is_file()}
        left.update(content)
        raise InputError("the process", "was killed")

    left: dict[Path, bytes] = {}
    monkeypatch.setattr(shell, "run", killed)
    assert into("out", words) == 2
    assert {path.name for path in left} == {"link.toml", "manifest.json", "progress.csv", "schema.json"}
    for path, content in left.items():
        path.write_bytes(content)
    assert into("out", words) == 2
    assert "holds a session of a shell" in capsys.readouterr().err, "this process is the one, and lives"
    for path, content in left.items():
        path.write_bytes(content.replace(str(os.getpid()).encode(), b"999999999"))
    assert into("out", MADE["run"]) == 2
    assert "holds a session of a shell" in capsys.readouterr().err
    assert into("out", words) == 2
    assert "the process was killed" in capsys.readouterr().err, "the session has begun"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", ["run small.toml --seeds 1", "shell --rate 1mbit -- true"])
def test_a_directory_that_cannot_be_made_is_named_as_typed(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert into("/proc/nothing", words) in (1, 2)
    assert "/proc/nothing cannot be written" in capsys.readouterr().err.replace(":", "")


@pytest.mark.parametrize(("made", "name"), [("run", "scenario.toml"), ("sweep", "sweep.toml")])
def test_a_file_of_the_users_is_not_overwritten(
    made: str, name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / name).write_text(f"# mine\n{SHORT}")
    assert into(".", MADE[made]) == 2
    assert f"{name} would be overwritten" in capsys.readouterr().err
    assert (here / name).read_text() == f"# mine\n{SHORT}"


def test_a_report_without_results_is_not_overwritten(tmp_path: Path) -> None:
    """Seen to fail if any study may overwrite it."""
    (tmp_path / "report.html").touch()
    for kind in MADE:
        with pytest.raises(InputError, match=r"report\.html would be overwritten"):
            require_owner(tmp_path, kind, "small", SHORT)


def test_tables_of_another_plan_are_removed(small: Scenario, tmp_path: Path) -> None:
    plan = Sweep(small, ["droptail"], [Axis("queue.limit", ("20p", "40p"))], seeds=2)
    tables = [tmp_path / name for name in ("runs.parquet", "summary.parquet", "report.html")]
    for other, left in ((plan, True), (replace(plan, seeds=3), False)):
        sweep_directory.prepare(plan, tmp_path, ())
        for table in tables:
            table.touch()
        sweep_directory.prepare(other, tmp_path, ())
        assert [table.exists() for table in tables] == [left] * 3

    question = Tune(small, ["red"], [Objective.parse("mean_delay_s")], {"red": dimensions("red")})
    tables = [tmp_path / "tune" / name for name in ("trials.parquet", "report.html")]
    for asked, left in ((question, True), (replace(question, trials=50), False)):
        tune_directory.prepare(question, tmp_path / "tune", ())
        for table in tables:
            table.touch()
        tune_directory.prepare(asked, tmp_path / "tune", ())
        assert [table.exists() for table in tables] == [left] * 2
