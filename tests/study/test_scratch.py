"""Temporary folders: removed at the end, or by the next command if the process was killed.

Mutants seen to fail: abandoned folders are kept; a folder is not locked; locked folders are removed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sojourn.files import scratch

#: Ends itself while it has a folder that is not empty.
ENDED = """
import os, signal, sys
from sojourn.files import scratch
with scratch.folder() as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").touch()
    os.kill(os.getpid(), int(sys.argv[1]))
"""
#: As the trial runs of ``sweep --dry-run`` and the machines of the world ``kernel``.
TRIAL = """
import os, sys
from sojourn.cli import call
from sojourn.study.sweep import forecast
forecast._trial = lambda plan, folder: os.kill(os.getpid(), 9)
call(sys.argv[1:])
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this process and its children."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def ended(code: str, *words: object) -> int:
    """Run a program that ends itself; return how it ended. It takes SIGHUP under nohup, too."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        check=False,
    ).returncode


def test_a_folder_ends_with_its_block(temporary: Path) -> None:
    with scratch.folder() as folder:
        assert folder.parent == temporary
        (folder / "file").touch()
    assert not folder.exists()
    with pytest.raises(KeyError), scratch.folder():
        raise KeyError
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(
    temporary: Path, number: signal.Signals
) -> None:
    assert ended(ENDED, int(number)) == -number
    assert len(list(temporary.iterdir())) == 1
    with scratch.folder() as folder:
        assert list(temporary.iterdir()) == [folder]
    assert not list(temporary.iterdir())


def test_folders_in_use_and_of_others_stay(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (temporary / f"{scratch.PREFIX}link").symlink_to(tmp_path / "elsewhere")
    (temporary / f"{scratch.PREFIX}file").touch()
    (temporary / "sojourn-kernel").mkdir()
    if os.geteuid() == 0:
        (temporary / f"{scratch.PREFIX}theirs").mkdir()
        os.chown(temporary / f"{scratch.PREFIX}theirs", 65534, 65534)
    others = set(temporary.iterdir())
    with scratch.folder() as first, scratch.folder() as second:
        assert set(temporary.iterdir()) == {*others, first, second}
        code = "from sojourn.files import scratch\nwith scratch.folder(): pass"
        assert ended(code) == 0
        assert set(temporary.iterdir()) == {*others, first, second}
    assert set(temporary.iterdir()) == others
    assert (tmp_path / "elsewhere").exists()


def test_a_killed_dry_run_leaves_nothing_for_long(temporary: Path, small_file: Path) -> None:
    words = ["sweep", small_file, "-L", "queue.limit", "20p,30p", "--dry-run"]
    assert ended(TRIAL, *words) == -signal.SIGKILL
    assert len(list(temporary.iterdir())) == 1
    assert ended("import sys\nfrom sojourn.cli import main\nmain()", *words) == 0
    assert not list(temporary.iterdir())
