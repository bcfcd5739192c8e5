"""``python -m sojourn.worlds.hosts.agent``: generates the traffic of one network namespace.

The agent reads its job from stdin, one line of JSON (see ``jobs.py``), configures the namespace's TCP, opens
sinks and servers and answers with a line. The next line on stdin is the start time; at the end the agent
prints its results. If it cannot continue, it prints ``{"failed": REASON}`` instead of either and exits with
code 1. It exits when stdin is closed, so it never outlives its parent.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from sojourn.record import UNFINISHED
from sojourn.worlds.hosts import counters
from sojourn.worlds.hosts.faults import BrokenTestbed, Faults
from sojourn.worlds.hosts.loop import READ, Loop
from sojourn.worlds.hosts.namespace import die_with_parent
from sojourn.worlds.hosts.senders import Datagrams, Sender, Sink, raise_limits
from sojourn.worlds.hosts.web import Browsers, Server

PR_SET_TIMERSLACK = 29
#: Interval at which an agent checks for stalls, and the lateness that counts as one, ns.
BEAT, STALL = 20_000_000, 10_000_000
#: Number of attempts to connect to a starting server.
SERVER_ATTEMPTS = 100


class Agent:
    """The traffic sources and sinks of one namespace."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.faults = job, Faults()
        loop = self.loop = Loop()
        for name, value in job["sysctl"].items():
            Path("/proc/sys", *name.split(".")).write_text(str(value), encoding="ascii")
        seed = job["seed"]
        self.sinks = [Sink(loop, *one) for one in job["sinks"]]
        self.senders = [Sender(loop, one, self.faults) for one in job["tcp"]]
        self.datagrams = [Datagrams(loop, one, seed, self.faults) for one in job["udp"]]
        self.browsers = [Browsers(loop, one, seed, self.faults) for one in job["web"]]
        self.server = Server(job["program"], job["nginx"], job["files"]) if job["nginx"] else None
        if self.server is not None:
            self.server.watch(loop)
        self.standstill = 0
        self.before: dict[str, int] = {}
        self.after: dict[str, int] = {}

    def run(self, start: int) -> dict[str, Any]:
        """Run the job, which begins at `start`; return the results."""
        loop = self.loop
        first, last = self.job["window"]
        self.faults.end = start + last
        loop.at(start + first, partial(self._snapshot, "before"))
        loop.at(start + first + BEAT, partial(self._beat, start + first + BEAT))
        loop.at(start + last, partial(self._snapshot, "after"))
        loop.at(start + last, loop.stop)
        for sender in self.senders:
            loop.at(start + sender.flow["start"], partial(self._start, sender))
            if sender.flow["stop"] is not None:
                loop.at(start + sender.flow["stop"], sender.stop)
        for source in self.datagrams:
            loop.at(start + source.flow["start"], partial(source.start, start + source.flow["start"]))
            if source.flow["stop"] is not None:
                loop.at(start + source.flow["stop"], partial(setattr, source, "stopped", True))
        for browsers in self.browsers:
            for session, host, when in browsers.job["sessions"]:
                loop.at(start + when, partial(browsers.start, [session, host]))
            if browsers.job["stop"] is not None:
                loop.at(start + browsers.job["stop"], partial(setattr, browsers, "stopped", True))
        loop.run()
        return self._results(start)

    def _beat(self, due: int) -> None:
        now = self.loop.now()
        if now - due > STALL:
            self.standstill += now - due
        self.loop.at(now + BEAT, partial(self._beat, now + BEAT))

    def _start(self, sender: Sender) -> None:
        try:
            sender.start(self.loop.now())
        except OSError as error:
            self.faults.add(f"flow from {sender.flow['from'][0]}", error)

    def _snapshot(self, when: str) -> None:
        setattr(self, when, counters.namespace())
        for one in (*self.sinks, *self.senders):
            one.snapshot(when)  # type: ignore[attr-defined]
        for other in (*self.datagrams, *self.browsers):
            other.counting = when == "before"  # type: ignore[attr-defined]

    def _results(self, start: int) -> dict[str, Any]:
        def relative(rows: list[list[int]]) -> list[list[int]]:
            ends = ((row, UNFINISHED if row[2] == UNFINISHED else row[2] - start) for row in rows)
            return [[row[0], row[1] - start, end, *row[3:]] for row, end in ends]

        return {
            "faults": self.faults.results(),
            "standstill_ns": self.standstill,
            "counters": counters.difference(self.after, self.before),
            "received": [row for sink in self.sinks for row in sink.counts()],
            "tcp": [self._sender(one, start) for one in self.senders],
            "udp": [
                {"flow": one.flow["flow"], "sent": one.sent, "echoes": one.echoes.packed(start)}
                for one in self.datagrams
            ],
            "delivered": [row for sink in self.sinks for row in sink.delivered(start)],
            "web": [
                {
                    "traffic": one.job["traffic"],
                    "objects": relative(one.objects),
                    "pages": relative(one.pages),
                    "connections": one.connections,
                    "got": list(one.got.items()),
                }
                for one in self.browsers
            ],
        }

    @staticmethod
    def _sender(one: Sender, start: int) -> dict[str, Any]:
        return {
            "flow": one.flow["flow"],
            "began": None if one.began is None else one.began - start,
            "ended": None if one.ended is None else one.ended - start,
            "before": one.before,
            "after": one.after,
        }

    def close(self) -> None:
        """Stop the server, which could outlive this process."""
        if self.server is not None:
            self.server.close()


def main() -> None:
    """Execute one job."""
    die_with_parent()
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    raise_limits()
    try:
        work(json.loads(sys.stdin.readline()))
    except (BrokenTestbed, OSError) as error:
        print(json.dumps({"failed": str(error)}), flush=True)
        sys.exit(1)


def work(job: dict[str, Any]) -> None:
    """Execute one job and print its results."""
    agent = Agent(job)
    try:
        if agent.server is not None:
            await_server(agent.server, agent.job["nginx"][0])
        print("ready", flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        agent.loop.watch(sys.stdin.fileno(), READ, lambda _events: sys.exit(1))
        print(json.dumps(agent.run(json.loads(line))), flush=True)
    finally:
        agent.close()


def await_server(server: Server, port: int) -> None:
    """Wait until a server accepts connections.

    Raises
    ------
    BrokenTestbed
        If it ends, or does not answer.
    """
    for _ in range(SERVER_ATTEMPTS):
        if server.ready(port):
            return
        if server.process.poll() is not None:
            break
        time.sleep(0.05)
    raise BrokenTestbed("nginx does not answer")


if __name__ == "__main__":
    main()
