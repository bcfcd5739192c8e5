"""The fluid world: a point of a study goes in, an outcome with the same metrics as a simulated run comes out.

Metrics that averages do not determine are null; what is to be doubted is a warning.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from importlib import resources

from sojourn.metrics import compute, find
from sojourn.record import Record
from sojourn.runner.execute import Outcome, Progress, metrics_version
from sojourn.runner.point import Point
from sojourn.runner.store import Finished, Metrics, Store
from sojourn.worlds.fluid.columns import columns
from sojourn.worlds.fluid.mgt import TOLERANCE, Solution
from sojourn.worlds.fluid.system import Setting, setting

#: Below this mean window time-outs rule, of which the model knows nothing.
FEW_PACKETS = 4.0


@functools.cache
def version() -> str:
    """Return a hash of the fluid world's sources: part of the id of its runs."""
    files = sorted(
        (one for one in resources.files(__package__).iterdir() if one.name.endswith(".py")),
        key=lambda f: f.name,
    )
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:12]


def run_points(
    points: Sequence[Point], store: Store | None = None, on_progress: Progress | None = None
) -> Iterator[tuple[Outcome, list[str]]]:
    """Yield the outcome of each point in the fluid world, and what is to be doubted about it.

    Parameters
    ----------
    points : sequence of Point
        What to run; all are checked before the first starts.
    store : Store, optional
        Where finished runs are kept and found again.
    on_progress : callable, optional
        Called after each with (share, done, total).

    Raises
    ------
    InputError
        If a scenario or an algorithm has no place in this world.
    """
    settings = [setting(point.scenario, point.spec) for point in points]
    for done, (point, found) in enumerate(zip(points, settings, strict=True), 1):
        yield _run(point, found, store)
        if on_progress is not None:
            on_progress(done / len(points), done, len(points))


def _run(point: Point, found: Setting, store: Store | None) -> tuple[Outcome, list[str]]:
    stored = store.read(point.run_id) if store is not None else None
    if store is not None and stored is not None and stored.metrics_version == metrics_version():
        doubts = json.loads(stored.reduced or "[]")
        if not store.traces or store.has_traces(point.run_id):
            return Outcome(point, stored.metrics, stored.record, False), doubts
    solution = found.solve()
    data = columns(found, solution)
    record = Record(data, found.plan)
    values = metrics(record)
    doubts = _doubts(solution)
    if store is not None:
        store.write([Finished(point, data, values)], metrics_version(), json.dumps(doubts))
    return Outcome(point, values, record, True), doubts


def metrics(record: Record) -> Metrics:
    """Return every metric of a record of the fluid world, null where this world does not have it."""
    return {
        name: value if (metric := find(name)) is not None and "fluid" in metric.worlds else None
        for name, value in compute(record).items()
    }


def _doubts(solution: Solution) -> list[str]:
    found = []
    if solution.error is not None and solution.error > TOLERANCE:
        found.append(f"the queue still moves by {100 * solution.error:.0f} % when the step is halved")
    window = float(solution.window[solution.measured].mean())
    if window < FEW_PACKETS:
        found.append(
            f"the mean window is {window:.1f} packets: time-outs, which the fluid model lacks, matter below 4"
        )
    return found
