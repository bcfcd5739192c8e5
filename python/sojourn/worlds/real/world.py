"""The real world: points of a study go in, one after the other, each for as long as its scenario lasts.

The gateway runs in a thread of this process, the hosts in processes of their own. Runs are never made at the
same time: they would take the machine from each other.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

from sojourn import _core
from sojourn.metrics import compute
from sojourn.metrics.diagnostics import cautions
from sojourn.record import Record
from sojourn.runner.execute import Outcome, Progress, metrics_version
from sojourn.runner.point import Point
from sojourn.runner.store import Finished, Metrics, Store
from sojourn.worlds.real.columns import columns
from sojourn.worlds.real.cpu_idle import awake
from sojourn.worlds.real.gateway import FORWARD, Gateway, Host, Link, Match, doubts, standstill
from sojourn.worlds.real.hosts import Network, require
from sojourn.worlds.real.jobs import layout
from sojourn.worlds.real.testbed import PORT, Layout
from sojourn.worlds.simulated.executors import Reduce

#: A queue that is never full, in packets.
ENDLESS = "1000000p"


@functools.cache
def version() -> str:
    """Return a hash of the real world's sources, the gateway's too: part of the id of its runs."""
    files = sorted(
        (one for one in resources.files(__package__).iterdir() if one.name.endswith(".py")),
        key=lambda f: f.name,
    )
    content = b"".join(one.read_bytes() for one in files) + _core.GATEWAY_VERSION.encode()
    return hashlib.sha256(content).hexdigest()[:12]


def run_points(
    points: Sequence[Point],
    store: Store | None = None,
    on_progress: Progress | None = None,
    reduce: Reduce | None = None,
) -> Iterator[tuple[Outcome, list[str]]]:
    """Yield the outcome of each point in the real world, and what is to be doubted about it.

    Raises
    ------
    InputError
        Before anything starts, if a scenario has no place in this world, or this machine lacks something.
    RunFailed
        If hosts or gateway failed.
    """
    web = any(one.kind == "web" for point in points for one in point.scenario.traffic)
    require(web=web)
    found = [layout(point.scenario, point.spec, point.seed) for point in points]
    with awake():
        for done, (point, one) in enumerate(zip(points, found, strict=True)):

            def move(share: float, done: int = done) -> None:
                if on_progress is not None:
                    on_progress((done + share) / len(points), done, len(points))

            yield _recall(point, store, reduce) or _run(point, one, store, reduce, move)
            move(1.0)


def _recall(point: Point, store: Store | None, reduce: Reduce | None) -> tuple[Outcome, list[str]] | None:
    stored = store.read(point.run_id) if store is not None else None
    if store is None or stored is None:
        return None
    facts = json.loads(stored.reduced or "{}")
    values = stored.metrics
    if stored.metrics_version != metrics_version() or facts.get("reduce") != _version(reduce):
        if not store.has_traces(point.run_id):
            return None
        values = _values(stored.record, reduce)
    return Outcome(point, values, stored.record, False), facts.get("doubts", [])


def _run(
    point: Point, found: Layout, store: Store | None, reduce: Reduce | None, move: Any
) -> tuple[Outcome, list[str]]:
    seen, hosts = measure(found, move)
    data = columns(found, seen.data, hosts)
    record = Record(data, found.plan)
    values = _values(record, reduce)
    warnings = cautions(record) + doubts(seen) + _standstill(seen, hosts) + _faults(hosts)
    if store is not None:
        facts = json.dumps({"doubts": warnings, "reduce": _version(reduce)})
        store.write([Finished(point, data, values)], metrics_version(), facts)
    return Outcome(point, values, record, True), warnings


def _values(record: Record, reduce: Reduce | None) -> Metrics:
    values = compute(record)
    values.update(reduce(record) if reduce is not None else {})
    return values


def _version(reduce: Reduce | None) -> str | None:
    return getattr(reduce, "version", None)


def measure(found: Layout, move: Any = lambda _share: None) -> tuple[Record, dict[Any, Any]]:
    """Run a layout once; return what the gateway recorded, and what each namespace counted.

    Raises
    ------
    RunFailed
        If something broke on the way.
    """
    seconds = found.plan["duration"] / 1e9
    with Network(found) as network, gateway(found, network.hosts) as running:
        start = time.monotonic_ns()
        network.start(start)
        while not running.finished:
            move(min(1.0, (time.monotonic_ns() - start) / 1e9 / seconds))
            time.sleep(0.05)
        results = network.results()
        return running.finish(), results


def gateway(found: Layout, hosts: Sequence[Host]) -> Gateway:
    """Return the gateway between the hosts of a layout, running."""
    dumbbell, plan = found.dumbbell, found.plan
    rate, delay = f"{dumbbell['rate']}bit/s", f"{dumbbell['delay']}ns"
    queue = dumbbell["queue"]
    back = dumbbell["reverse_queue"] or {"limit": ENDLESS, "aqm": "droptail", "ecn": False}
    return Gateway(
        hosts,
        forward=Link(rate, delay, queue["limit"], queue["aqm"], queue["ecn"], dumbbell["capacity"]),
        backward=Link(rate, delay, back["limit"], back["aqm"], back["ecn"]),
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
        overhead=found.overhead,
        mean_packet=found.mean_packet,
        conventions=plan["conventions"],
    )


def _standstill(record: Record, hosts: dict[Any, Any]) -> list[str]:
    """Return a doubt about the host that was kept longest; what kept the gateway, too, is said of that."""
    (side, number), worst = max(hosts.items(), key=lambda item: item[1]["standstill_ns"])
    if worst["standstill_ns"] <= record.data["standstill_ns"]:
        return []
    return standstill(f"the host {side}{number}", worst["standstill_ns"], record)


def _faults(hosts: dict[Any, Any]) -> list[str]:
    count = sum(one["fault_count"] for one in hosts.values())
    first = next((fault for one in hosts.values() for fault in one["faults"]), "")
    return [f"{count} faults of hosts; the first: {first}"] if count else []
