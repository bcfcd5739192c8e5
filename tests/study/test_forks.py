"""Worker processes are forks of one that has executed no code of a user.

Mutants seen to fail: the environment of the server for all workers; a closed connection to the server
used again.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn.worlds.simulated import forks
from support import is_alive, until

OWN = """
import os

import sojourn
import neighbour


class Own(sojourn.Aqm):
    '''Reports what its process knows.'''

    exports = {"known": "its process"}
    runs = 0

    def on_departure(self, now, packet, queue, rng):
        return sojourn.PASS

    def on_end(self, now):
        Own.runs += 1
        self.known = {
            "runs": Own.runs, "parent": os.getppid(), "table": os.environ.get("TABLE"), "folder": os.getcwd(),
            "neighbour": neighbour.VALUE, "version": 1,
        }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The class and a module that it imports; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TABLE", raising=False)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "neighbour.py").write_text("VALUE = 1")
    return tmp_path


def known(small: sojourn.Scenario) -> dict[str, Any]:
    """Return what the process of a run knows; each call is a study of its own."""
    results = sojourn.run(small, aqms=["own.py:Own"], seeds=1, allow_code=True)
    found: dict[str, Any] = results.exports()[1]["known"]
    return found


def test_calls_share_the_server_and_nothing_else(
    folder: Path, small: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = known(small)
    assert (first["runs"], first["table"], first["folder"]) == (1, None, str(folder))
    monkeypatch.setenv("TABLE", "learned")
    (folder / "neighbour.py").write_text("VALUE = 20")
    (folder / "deep").mkdir()
    second = known(small)
    assert second == first | {"table": "learned", "neighbour": 20}
    (folder / "own.py").write_text(OWN.replace('"version": 1', '"version": 2'))
    assert known(small)["version"] == 2


@pytest.mark.usefixtures("folder")
def test_a_server_that_has_ended_is_replaced(small: sojourn.Scenario) -> None:
    first = known(small)
    os.kill(first["parent"], signal.SIGKILL)
    second = known(small)
    assert second["parent"] != first["parent"]
    assert forks._server is not None
    forks._server.forget()  # as after Ctrl-C within a request
    assert known(small)["parent"] not in (first["parent"], second["parent"])


def test_a_worker_says_how_it_ended() -> None:
    worker, pipe = forks.start()
    pipe.close()
    assert worker.wait() == 0
    worker, pipe = forks.start()
    os.kill(worker.pid, signal.SIGKILL)
    assert worker.wait() == worker.wait() == -signal.SIGKILL
    worker.kill()
    assert worker.returncode == -signal.SIGKILL


def test_a_worker_without_its_server_can_be_killed() -> None:
    worker, pipe = forks.start()
    assert forks._server is not None
    forks._server.close()
    worker.kill()
    until(lambda: not is_alive(worker.pid))
    pipe.close()
