"""Hosts as network namespaces, each with an agent process that generates the traffic of its hosts.

A namespace has a device whose other end is the gateway's, without a kernel queue between. The kernel removes
all of it when this process ends, however it ends (`namespace`).
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import subprocess
import sys
import time
from typing import Any

from sojourn.errors import InputError, RunFailed
from sojourn.worlds.hosts import namespace
from sojourn.worlds.hosts.faults import how_ended
from sojourn.worlds.hosts.namespace import Namespace
from sojourn.worlds.hosts.testbed import Layout
from sojourn.worlds.real.gateway import Host
from sojourn.worlds.real.tun import Tun, open_tun

#: Name of the device in every namespace.
DEVICE = "eth0"
#: Directories that may be missing in a user's PATH.
NGINX_PATHS = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
#: An agent that does not answer within this time is considered broken, s.
PATIENCE = 60.0
#: Beginning of the last line of a failed agent.
FAILED = '{"failed"'


def missing(*, web: bool = False) -> str:
    """Return the requirement of a testbed that this machine lacks, or an empty text."""
    problem = namespace.missing()
    if not problem and web and nginx() is None:
        problem = "the program nginx is not installed (Debian: nginx-light)"
    if not problem and not namespace.is_privileged():
        problem = "they need root; put 'unshare --map-root-user --net' before the command"
    return problem


def nginx() -> str | None:
    """Return the path of nginx, or None."""
    return shutil.which("nginx", path=NGINX_PATHS)


def require(*, web: bool = False) -> None:
    """Check that this machine can be a testbed.

    Raises
    ------
    InputError
        With the missing requirement.
    """
    problem = missing(web=web)
    if problem:
        raise InputError("world 'real':", f"real packets are not possible: {problem}")


class Network:
    """The namespaces of one layout, each with its device and its agent, ready to start.

    Parameters
    ----------
    layout : Layout
        The hosts and their jobs.

    Attributes
    ----------
    hosts : list of Host
        Every host, as the gateway's parameter.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.hosts: list[Host] = []
        self._stack = contextlib.ExitStack()
        self._agents: dict[tuple[str, int], subprocess.Popen[str]] = {}
        self._end = 0.0

    def __enter__(self) -> Network:
        try:
            for name in self.layout.jobs:
                self._add(name)
            for name, agent in self._agents.items():
                _send(agent, {**self.layout.jobs[name], "program": nginx()})
            for name, agent in self._agents.items():
                _receive(name, agent, PATIENCE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _add(self, name: tuple[str, int]) -> None:
        """Create one namespace; segments leave it one by one (no GSO), so that each is counted."""
        place = Namespace(_label(name))
        self._stack.callback(place.close)
        mine = [one for one in self.layout.hosts if one.namespace == name]
        addresses = (f"{one.address}/32" for one in mine)
        device = open_tun(place, DEVICE, addresses, [self.layout.route], self.layout.mtu)
        self._stack.callback(device.close)
        place.ip(f"link set {device.name} gso_max_segs 1")
        self.hosts += [_host(one, device) for one in mine]
        command = [sys.executable, "-m", "sojourn.worlds.hosts.agent"]
        agent = place.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(_end, agent)
        self._agents[name] = agent

    def start(self, when: int) -> None:
        """Start all traffic at `when` (ns of the monotonic clock)."""
        for agent in self._agents.values():
            _send(agent, when)
        longest = max(job["window"][1] for job in self.layout.jobs.values())
        self._end = (when + longest) / 1e9

    def check(self) -> None:
        """Raise ``RunFailed`` if an agent has failed."""
        for name, agent in self._agents.items():
            if agent.poll():
                raise _failure(name, agent)

    def results(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Wait for the end; return the results of each namespace.

        Raises
        ------
        RunFailed
            If an agent or its server has failed.
        """
        return {
            name: json.loads(_receive(name, agent, self._end + PATIENCE - time.monotonic()))
            for name, agent in self._agents.items()
        }


def _host(one: Any, device: Tun) -> Host:
    return Host(one.address, one.side, device, [one.address], f"{one.delay}ns", f"{one.rate}bit/s")


def _end(process: subprocess.Popen[str]) -> None:
    """Close its stdin, at which it exits; kill it if it does not do so in time."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _send(agent: subprocess.Popen[str], what: Any) -> None:
    assert agent.stdin is not None
    try:
        agent.stdin.write(json.dumps(what) + "\n")
        agent.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended after printing the reason


def _receive(name: tuple[str, int], agent: subprocess.Popen[str], timeout: float) -> str:
    """Return the next line of an agent."""
    assert agent.stdout is not None
    if not select.select([agent.stdout], [], [], max(0.0, timeout))[0]:
        raise RunFailed(f"host {_label(name)} does not answer")
    line = agent.stdout.readline()
    if not line or line.startswith(FAILED):
        raise _failure(name, agent, line)
    return line


def _failure(name: tuple[str, int], agent: subprocess.Popen[str], line: str | None = None) -> RunFailed:
    """Return the reason why an agent has ended; `line` is the last line that it printed."""
    assert agent.stdout is not None
    last = agent.stdout.readline() if line is None else line
    if last.startswith(FAILED):
        return RunFailed(f"host {_label(name)}: {json.loads(last)['failed']}")
    return RunFailed(f"host {_label(name)} ended early ({how_ended(agent.wait())})")


def _label(name: tuple[str, int]) -> str:
    return "".join(map(str, name))
