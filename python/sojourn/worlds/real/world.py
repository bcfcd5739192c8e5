"""The real world: runs its cases one after the other, each in real time.

The gateway runs in a thread of this process, the hosts in separate processes. Runs never overlap, since they
would compete for the processors.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Generator, Iterator, Sequence

from sojourn import _core
from sojourn.errors import RunFailed
from sojourn.metrics import Metrics
from sojourn.metrics.diagnostics import diagnose
from sojourn.record import Record
from sojourn.spec.plan import FORWARD
from sojourn.warning_codes import coded
from sojourn.worlds.base import Case, Completed, Executor, Made, Reduce, measure, sources
from sojourn.worlds.hosts.columns import Hosts, columns
from sojourn.worlds.hosts.jobs import layout
from sojourn.worlds.hosts.testbed import PORT, Layout
from sojourn.worlds.real.cpu_idle import prevent_cpu_idle
from sojourn.worlds.real.gateway import Gateway, Host, Link, Match, run_warnings, stall_warning
from sojourn.worlds.real.hosts import Network, require

#: Limit of a queue that never fills.
UNLIMITED = "1000000p"
#: Interval between two polls of a run in progress, s.
STEP = 0.05


class Real:
    """The real world."""

    seeded = True
    seeded_queue = True
    real_time = True
    has_packets = True

    def version(self) -> str:
        """Return a hash of this world's sources and of the gateway's."""
        return version()

    def supports(self, cases: Sequence[Case]) -> None:
        """Reject scenarios that real hosts cannot run, and machines that lack a requirement."""
        for case in cases:
            layout(case.scenario, case.spec, case.seed)
        require(web=any(one.kind == "web" for case in cases for one in case.scenario.traffic))

    def run(
        self,
        cases: Iterator[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
        isolated: bool = False,
    ) -> Measuring:
        """Start the runs."""
        return Measuring((layout(case.scenario, case.spec, case.seed) for case in cases), reduce)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record."""
        return measure(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return reasons to doubt the results of a record."""
        return diagnose(record)


class Measuring:
    """Runs that execute one after the other; one whose hosts or gateway failed is a failed run."""

    def __init__(self, layouts: Iterator[Layout], reduce: Reduce | None) -> None:
        self._progress = 0.0
        self._steps = self._all(layouts, reduce)

    def _all(self, layouts: Iterator[Layout], reduce: Reduce | None) -> Generator[Completed]:
        with prevent_cpu_idle():
            for index, found in enumerate(layouts):
                steps = measuring(found)
                while True:
                    try:
                        self._progress = index + next(steps)
                    except StopIteration as end:
                        seen, hosts = end.value
                        result: Made | Exception = _made(found, seen, hosts, reduce)
                        break
                    except RunFailed as error:
                        result = error
                        break
                    yield []
                self._progress = index + 1.0
                yield [(index, result)]

    def poll(self, timeout: float) -> Completed:
        """Continue for about `timeout` seconds at most; return the run that finished, if any."""
        deadline = time.monotonic() + timeout
        completed = next(self._steps, [])
        while not completed and time.monotonic() < deadline:
            completed = next(self._steps, [])
        return completed

    def progress(self) -> float:
        """Return the number of finished runs, plus the completed share of the one in progress."""
        return self._progress

    def cancel(self) -> None:
        """Stop the run in progress."""
        self._steps.close()


@functools.cache
def version() -> str:
    """Return a hash of the sources of the real world and of the gateway; it is part of the id of a run."""
    content = sources(__package__, "sojourn.worlds.hosts") + _core.GATEWAY_VERSION.encode()
    return hashlib.sha256(content).hexdigest()[:12]


def _made(found: Layout, seen: Record, hosts: Hosts, reduce: Reduce | None) -> Made:
    data = columns(found, {**seen.data, "counters": {"gateway": _counters(seen)}}, hosts)
    warnings = run_warnings(seen) + _host_stall(seen, hosts) + _faults(hosts)
    return Made(data, measure(Record(data, found.plan), reduce), warnings)


def _counters(seen: Record) -> dict[str, int]:
    """Return the gateway's own counters."""
    data = seen.data
    drops = sum(data["kernel_drops"].values())
    return {**data["tally"], "kernel_drops": drops, "standstill_ns": data["standstill_ns"]}


def measuring(found: Layout) -> Generator[float, None, tuple[Record, Hosts]]:
    """Run a layout once; yield the elapsed share of its duration.

    Returns
    -------
    (Record, dict)
        The gateway's record, and the counters of each namespace.

    Raises
    ------
    RunFailed
        If a host, its server, a device or the gateway failed: the record would describe another testbed.
    """
    seconds = found.plan["duration"] / 1e9
    with Network(found) as network, gateway(found, network.hosts) as running:
        start = time.monotonic_ns()
        network.start(start)
        while not running.finished:
            network.check()
            live = running.live()
            if live is not None and live.gone:
                raise RunFailed("the device of a host was deleted")
            yield min(1.0, (time.monotonic_ns() - start) / 1e9 / seconds)
            time.sleep(STEP)
        results = network.results()
        record = running.finish()
    _require_intact(record, results)
    return record, results


def _require_intact(record: Record, hosts: Hosts) -> None:
    """Raise ``RunFailed`` if hosts met errors of the testbed, or a device refused packets."""
    refused = record.data["tally"]["undelivered"]
    if refused:
        raise RunFailed(f"{refused} packets could not be written: the device of a host was down")
    count, first = _errors(hosts, "testbed")
    if count:
        raise RunFailed(f"{count} errors of the testbed; the first: {first}")


def gateway(found: Layout, hosts: Sequence[Host]) -> Gateway:
    """Start the gateway between the hosts of a layout."""
    dumbbell, plan = found.dumbbell, found.plan
    rate, delay = f"{dumbbell['rate']}bit/s", f"{dumbbell['delay']}ns"
    reverse_rate = f"{dumbbell.get('reverse_rate', dumbbell['rate'])}bit/s"
    queue = dumbbell["queue"]
    back = dumbbell["reverse_queue"] or {"limit": UNLIMITED, "aqm": "droptail", "ecn": False}
    return Gateway(
        hosts,
        forward=Link(
            rate,
            delay,
            queue["limit"],
            queue["aqm"],
            queue["ecn"],
            dumbbell["capacity"],
            dumbbell.get("impairment"),
        ),
        backward=Link(
            reverse_rate,
            delay,
            back["limit"],
            back["aqm"],
            back["ecn"],
            impairment=dumbbell.get("reverse_impairment"),
        ),
        traffic=[
            Match(
                one["name"],
                next(iter(one["kind"])),
                [(PORT + number, PORT + number)],
                class_=one["class"],
                reverse=one["reverse"],
            )
            for number, one in enumerate(plan["traffic"])
        ],
        duration=f"{plan['duration']}ns",
        warmup=f"{plan['warmup']}ns",
        interval=None if plan["trace"]["interval"] is None else f"{plan['trace']['interval']}ns",
        seed=found.seed,
        measured=FORWARD,
        names=("R1", "R2"),  # a wire then takes the random numbers of the simulated one
        overhead=found.overhead,
        mean_packet=found.mean_packet,
        conventions=plan["conventions"],
    )


def _host_stall(record: Record, hosts: Hosts) -> list[str]:
    """Return a warning about the host that stalled longest, unless the gateway stalled at least that long."""
    (side, number), worst = max(hosts.items(), key=lambda item: item[1]["standstill_ns"])
    if worst["standstill_ns"] <= record.data["standstill_ns"]:
        return []
    return stall_warning(f"the host {side}{number}", worst["standstill_ns"], record)


def _errors(hosts: Hosts, kind: str) -> tuple[int, str]:
    """Return the number of errors of one kind on all hosts, and the first."""
    found = [one["faults"][kind] for one in hosts.values()]
    return sum(one["count"] for one in found), next((one["first"][0] for one in found if one["count"]), "")


def _faults(hosts: Hosts) -> list[str]:
    count, first = _errors(hosts, "network")
    return [coded("W24", f"{count} connections broke; the first: {first}")] if count else []


WORLD = Real()
