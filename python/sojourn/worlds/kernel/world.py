"""The world ``kernel``: runs each case in a User Mode Linux of its own, several at a time.

The folder of a run holds its job, the kernel's trace and the results; it is removed when the record is made.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sojourn import _core
from sojourn.algorithms.tc import accepted, supported
from sojourn.errors import InputError, RunFailed
from sojourn.files import scratch
from sojourn.metrics import Metrics
from sojourn.metrics.diagnostics import diagnose
from sojourn.record import Record
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.plan import BACKWARD, FORWARD
from sojourn.warning_codes import coded
from sojourn.worlds.base import Case, Completed, Executor, Made, Reduce, measure, sources
from sojourn.worlds.hosts.columns import columns
from sojourn.worlds.hosts.jobs import layout
from sojourn.worlds.hosts.testbed import PORT, Layout
from sojourn.worlds.kernel.build import guest
from sojourn.worlds.kernel.machine import Kernel, Machine, installed, require
from sojourn.worlds.kernel.network import QUEUES, job, lines, place, reverse_rate

#: Memory of a machine: a part for the system and one for each host, MiB.
MEMORY, MEMORY_PER_HOST = 512, 4
#: Interval between two looks at the machines, s.
STEP = 0.05
#: Directories that may be missing in a user's PATH.
PROGRAMS = "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin:/usr/local/bin:/bin"


class InKernel:
    """The world of the unmodified Linux kernel in virtual time."""

    seeded = True
    seeded_queue = False
    real_time = False
    has_packets = True

    def version(self) -> str:
        """Return a hash of the kernel and of this world's sources."""
        kernel = installed()
        return _version(None if kernel is None else kernel.folder.name)

    def supports(self, cases: Sequence[Case]) -> None:
        """Reject scenarios that the hosts cannot run, queues that the kernel lacks, and a missing kernel."""
        kernel = require()
        for case in cases:
            found = _layout(case)
            _check_programs(found)
            for key in ("capacity", "impairment", "reverse_impairment"):
                if found.dumbbell.get(key) is not None:
                    problem = "is not possible in the world 'kernel'"
                    raise InputError(f"{case.scenario.where}: dumbbell.{key}", problem, "leave it out")
            for line in lines(found):
                _check_queue(kernel, found, line.words[0])

    def run(
        self,
        cases: Iterator[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
        isolated: bool = False,
    ) -> Virtual:
        """Start the runs."""
        return Virtual((_layout(case) for case in cases), reduce, workers or os.cpu_count() or 1)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record."""
        return measure(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return reasons to doubt the results of a record."""
        return diagnose(record)


class Virtual:
    """Runs in progress, each in a machine of its own."""

    def __init__(self, layouts: Iterator[Layout], reduce: Reduce | None, workers: int) -> None:
        self._layouts, self._reduce, self._workers = enumerate(layouts), reduce, workers
        self._active: dict[int, Run] = {}
        self._completed = 0

    def poll(self, timeout: float) -> Completed:
        """Return the runs that finished since the last call; wait about `timeout` seconds at most for one."""
        deadline = time.monotonic() + timeout
        while True:
            self._start()
            done = [(index, result) for index, run in self._active.items() if (result := self._result(run))]
            for index, _ in done:
                del self._active[index]
            self._completed += len(done)
            if done or time.monotonic() >= deadline:
                return done
            time.sleep(STEP)

    def _start(self) -> None:
        while len(self._active) < self._workers:
            following = next(self._layouts, None)
            if following is None:
                return
            index, found = following
            self._active[index] = Run(found)

    def _result(self, run: Run) -> Made | Exception | None:
        """Return the result of a run, or None if it is in progress."""
        try:
            return run.made(self._reduce) if run.finished() else None
        except RunFailed as error:
            run.close()
            return error

    def progress(self) -> float:
        """Return the number of finished runs, plus the completed shares of those in progress."""
        return self._completed + sum(run.progress() for run in self._active.values())

    def cancel(self) -> None:
        """Stop the runs in progress."""
        for run in self._active.values():
            run.close()
        self._active.clear()


class Run:
    """One run in progress.

    Parameters
    ----------
    found : Layout
        The scenario, the algorithm and the seed.

    Attributes
    ----------
    cpu_seconds : float
        Processor time of the machine, when it has finished.
    """

    def __init__(self, found: Layout) -> None:
        self.found, self.cpu_seconds = found, 0.0
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(scratch.folder())
            self._put("job.json", job(found))
            program = shutil.which("nginx", path=PROGRAMS)
            for (side, number), one in found.jobs.items():
                self._put(f"{side}{number}.job", {**one, "program": program})
            memory = MEMORY + MEMORY_PER_HOST * len(found.hosts)
            self._machine = Machine(self.folder, found.seed, memory)
            stack.callback(self._machine.close)
            self._stack = stack.pop_all()

    def _put(self, name: str, content: dict[str, Any]) -> None:
        (self.folder / name).write_text(json.dumps(content), encoding="utf-8")

    def _get(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def finished(self) -> bool:
        """Return whether the machine has ended; raise ``RunFailed`` if it has no results."""
        return self._machine.finished()

    def progress(self) -> float:
        """Return the completed share."""
        return min(1.0, self._machine.elapsed() / float(self.found.plan["duration"]))

    def made(self, reduce: Reduce | None) -> Made:
        """Return the result, and remove the folder."""
        self.cpu_seconds = self._machine.cpu_seconds
        data, warnings = self.data()
        self.close()
        return Made(data, measure(Record(data, self.found.plan), reduce), warnings)

    def data(self) -> tuple[dict[str, Any], list[str]]:
        """Return the columns of the record, and the run's warnings.

        Raises
        ------
        RunFailed
            If events were lost, or hosts met errors of the testbed.
        """
        found, results = self.found, self._get("results.json")
        if results["trace_lost"] or any(results["lost"].values()):
            raise RunFailed(f"the trace of the kernel has gaps: {results['trace_lost']}, {results['lost']}")
        trace, first, second = (
            (self.folder / name).read_bytes()
            for name in ("trace", *(f"{router}.packets" for router in QUEUES))
        )
        try:
            seen = _core.traced_record(json.dumps(_traced(found, results)), trace, first, second)
        except ValueError as error:
            raise RunFailed(f"the trace of the kernel cannot be read: {error}") from None
        hosts = {(side, number): self._get(f"{side}{number}.results") for side, number in found.jobs}
        faults = {kind: [one["faults"][kind] for one in hosts.values()] for kind in ("testbed", "network")}
        broken = {kind: sum(one["count"] for one in every) for kind, every in faults.items()}
        first_words = {
            kind: next((one["first"][0] for one in every if one["count"]), "")
            for kind, every in faults.items()
        }
        if broken["testbed"]:
            raise RunFailed(f"{broken['testbed']} errors of the hosts; the first: {first_words['testbed']}")
        warnings = [coded("W28", note) for line in lines(found) for note in line.notes]
        if broken["network"]:
            text = f"{broken['network']} connections broke; the first: {first_words['network']}"
            warnings.append(coded("W24", text))
        return columns(found, {**seen, "counters": {}}, hosts), warnings

    def close(self) -> None:
        """End the machine, remove the folder."""
        self._stack.close()


def _layout(case: Case) -> Layout:
    kernel = require()
    return layout(case.scenario, case.spec, case.seed, controls(kernel), "the world 'kernel'")


def controls(kernel: Kernel) -> list[str]:
    """Return the congestion controls of a kernel."""
    return ["reno", *(name.lower() for name in _symbols(kernel, "TCP_CONG_"))]


def disciplines(kernel: Kernel) -> list[str]:
    """Return the queue disciplines of a kernel, as ``tc`` calls them."""
    return sorted({"pfifo", "bfifo", *(name.lower() for name in _symbols(kernel, "NET_SCH_"))})


def _symbols(kernel: Kernel, prefix: str) -> list[str]:
    start = f"CONFIG_{prefix}"
    text = (kernel.folder / "config").read_text(encoding="utf-8").splitlines()
    return [one[len(start) : -2] for one in text if one.startswith(start) and one.endswith("=y")]


def _check_queue(kernel: Kernel, found: Layout, kind: str) -> None:
    """Raise ``InputError`` unless the kernel has a discipline; with those of our algorithms that it has."""
    have = disciplines(kernel)
    if kind not in have:
        names = [name for name in supported() if name == "droptail" or name in have]
        problem = f"{kind!r} is not in Linux {kernel.description['version']}"
        raise InputError(f"{found.scenario.where}: queue.aqm", problem, ", ".join(names))


def _check_programs(found: Layout) -> None:
    web = any(one.kind == "web" for one in found.scenario.senders)
    needed = {"ip": "iproute2", "tc": "iproute2", **({"nginx": "nginx-light"} if web else {})}
    for name, package in needed.items():
        if shutil.which(name, path=PROGRAMS) is None:
            raise InputError("world 'kernel':", f"the program {name} is not installed", f"Debian: {package}")


def _traced(found: Layout, results: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a run for the core (``TracedRun``)."""
    plan, dumbbell = found.plan, found.dumbbell
    endless = {"limit": "1000000p", "aqm": "droptail", "ecn": False}
    queues = (
        (FORWARD, dumbbell["queue"], dumbbell["rate"]),
        (BACKWARD, dumbbell["reverse_queue"] or endless, reverse_rate(found)),
    )
    events = {
        "queued": "net/net_dev_queue",
        "transmitted": "net/net_dev_start_xmit",
        "received": "net/netif_receive_skb",
        "freed": "skb/kfree_skb",
    }
    return {
        "start": results["start"],
        "warmup": plan["warmup"],
        "duration": plan["duration"],
        "interval": plan["trace"]["interval"] or 0,
        "rules": [
            *(
                {"name": one["name"], "ports": [[PORT + i, PORT + i]], "class": one["class"]}
                for i, one in enumerate(plan["traffic"])
            ),
            {"name": "other"},
        ],
        "queues": [_traced_queue(found, *one) for one in queues],
        "overhead": found.overhead,
        "drops": plan["trace"]["drops"],
        "events": {name: _event(results["formats"][event]) for name, event in events.items()},
    }


def _traced_queue(found: Layout, name: str, queue: dict[str, Any], rate: int) -> dict[str, Any]:
    spec = accepted(queue["aqm"], place(found, queue, rate))
    value, unit = _core.parse_unit("size", Spec(spec).limit or queue["limit"])
    limits = {"packets": int(value), "bytes": None} if unit == "p" else {"packets": None, "bytes": int(value)}
    return {"name": name, "spec": spec, "rate": rate, **limits}


def _event(text: str) -> dict[str, Any]:
    """Return the number of an event and the offsets of its fields, from the kernel's description."""
    fields = {}
    for line in text.splitlines():
        declaration, _, rest = line.strip().partition(";")
        if declaration.startswith("field:"):
            fields[declaration.split()[-1]] = int(rest.split("offset:")[1].split(";")[0])
    number = next(line.split()[1] for line in text.splitlines() if line.startswith("ID:"))
    return {"id": int(number), "skb": fields["skbaddr"], "name": fields.get("name")}


@functools.cache
def _version(kernel: str | None) -> str:
    content = sources(__package__, "sojourn.worlds.hosts") + _core.GATEWAY_VERSION.encode()
    content += guest("preload.c") + guest("kernel.config") + str(kernel).encode()
    return hashlib.sha256(content).hexdigest()[:12]


WORLD = InKernel()
