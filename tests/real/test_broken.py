"""A run whose testbed lost a part has failed: it is listed, excluded from means and repeated."""

import errno
import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn
from real.test_hosts import HEAD, WEB, agents, children
from sojourn.errors import RunFailed
from sojourn.worlds.hosts.faults import Faults
from sojourn.worlds.hosts.loop import Loop
from sojourn.worlds.hosts.senders import Sender
from sojourn.worlds.hosts.web import Browsers
from sojourn.worlds.real.hosts import Network

SCENARIO = sojourn.Scenario.from_toml((HEAD + WEB).replace("2500ms", "800ms").replace('stop = "2s"', ""))


def server() -> int:
    """Return one nginx of this process's hosts."""
    return next(pid for agent in agents() for pid in children(agent))


def kill_at_start(patch: pytest.MonkeyPatch, victim: Callable[[], int]) -> None:
    """Kill a process after the traffic of the first run has started."""
    killed: list[int] = []
    start = Network.start

    def started(network: Network, when: int) -> None:
        found = None if killed else victim()  # a search of /proc may take longer than the traffic
        start(network, when)
        if found is not None:
            killed.append(found)
            os.kill(found, signal.SIGKILL)

    patch.setattr(Network, "start", started)


@pytest.mark.usefixtures("namespaces")
def test_a_run_whose_server_was_killed_is_listed_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_start(monkeypatch, server)
    first = r"1 of 2 runs failed; the first: wire, droptail, seed 1: host "
    with pytest.raises(RunFailed, match=first + r"left[01]: nginx ended early \(killed by signal 9\)"):
        sojourn.run(SCENARIO, seeds=2, world="real", out=tmp_path)
    (failure,) = [json.loads(line) for line in (tmp_path / "failures.jsonl").read_text().splitlines()]
    assert failure["seed"] == 1
    results = sojourn.run(SCENARIO, seeds=2, world="real", out=tmp_path)
    assert sorted((one.point.seed, one.fresh) for one in results.outcomes) == [(1, True), (2, False)]


@pytest.mark.usefixtures("namespaces")
def test_a_run_whose_host_was_killed_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    kill_at_start(monkeypatch, lambda: agents()[0])
    with pytest.raises(RunFailed, match=r"host (left|right)[01] ended early \(killed by signal 9\)"):
        sojourn.run(SCENARIO, seeds=1, world="real")


def _answered(text: bytes) -> dict[str, Any]:
    """Return the faults of a browser whose server answers each request with `text`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(text)

        thread = threading.Thread(target=serve)
        thread.start()
        faults = _fetched(listening.getsockname()[1])
        thread.join()
    return faults


def _fetched(port: int) -> dict[str, Any]:
    """Return the faults of a browser that fetches one object from a port of this machine."""
    loop, faults = Loop(), Faults()
    job = {
        "name": "web",
        "objects": {"constant": 1},
        "object_gap": {"constant": 0},
        "size": {"constant": 100},
        "page_gap": {"constant": 0},
        "pages": 1,
        "from_start": False,
        "patience": None,
        "read_rate": None,
        "mss": 1000,
        "port": port,
        "servers": ["127.0.0.1"],
    }
    browsers = Browsers(loop, job, 1, faults)
    failed = browsers._page

    def page(session: int, host: str, number: int) -> None:
        failed(session, host, number)
        if number:
            loop.stop()

    browsers._page = page  # type: ignore[method-assign]
    browsers.start([0, "127.0.0.1"])
    loop.run()
    assert [row[2] < 2**63 for row in browsers.pages] == [
        not any(one["count"] for one in faults.results().values())
    ]
    return faults.results()


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\n\r\n",
            "object of session 0: the server answered b'HTTP/1.1 404 Not Found",
        ),
        (b"HTTP/1.1 206 Partial Content\r\n\r\nhalf", "object of session 0: the server closed early"),
        (b"", "object of session 0: the server closed early"),
    ],
)
def test_a_wrong_answer_is_a_fault_of_the_testbed(answer: bytes, first: str) -> None:
    faults = _answered(answer)
    assert faults["testbed"]["count"] == 1
    assert faults["testbed"]["first"][0].startswith(first)
    assert faults["network"]["count"] == 0


def test_a_whole_object_is_no_fault() -> None:
    faults = _answered(b"HTTP/1.1 206 Partial Content\r\n\r\n" + bytes(100))
    assert [one["count"] for one in faults.values()] == [0, 0]


def test_a_refused_connection_is_a_fault_of_the_testbed() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: nothing else can listen there
        faults = _fetched(unused.getsockname()[1])
        assert faults["testbed"]["first"] == ["object of session 0: Connection refused"]
        loop, of_flow = Loop(), Faults()
        flow = {"from": ["127.0.0.1", 0], "to": ["127.0.0.1", unused.getsockname()[1]], "mss": 1000}
        sender = Sender(loop, flow, of_flow)
        sender.close = loop.stop  # type: ignore[method-assign]
        sender.start(loop.now())
        loop.run()
    Sender.close(sender)
    assert of_flow.results()["testbed"]["count"] == 1


def test_loss_makes_time_outs_and_resets_which_are_results() -> None:
    faults = Faults()
    for number in (errno.ETIMEDOUT, errno.ECONNRESET, errno.EPIPE, errno.EHOSTUNREACH):
        faults.add("flow", OSError(number, os.strerror(number)))
    counts = {kind: one["count"] for kind, one in faults.results().items()}
    assert counts == {"network": 3, "testbed": 1}
    faults.end = 0
    faults.add("flow", OSError(errno.ECONNREFUSED, "refused"))
    assert faults.results()["testbed"]["count"] == 1, "after the end the others have closed"
