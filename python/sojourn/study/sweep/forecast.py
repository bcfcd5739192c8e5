"""Estimates the time and disk space of a sweep from short trial runs."""

from __future__ import annotations

import os
import tempfile
import time
from typing import NamedTuple

from sojourn import files
from sojourn.errors import InputError
from sojourn.runner.check import check
from sojourn.runner.code import missing_permission
from sojourn.runner.execute import execute
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from sojourn.study.sweep.directory import done
from sojourn.study.sweep.model import Sweep
from sojourn.worlds.simulated.memory_bound import Bound, bound


class Estimate(NamedTuple):
    """Runs, finished runs, the estimated time and disk space of the rest, and a bound on the memory of a run.

    Time and space are None if the plan names code that may not be executed: no trial run was made.
    """

    runs: int
    done: int
    seconds: float | None
    bytes: int | None
    memory: Bound


def estimate(plan: Sweep, directory: str | os.PathLike[str], workers: int) -> Estimate:
    """Estimate the remaining work from short trial runs of the first, middle and last combination."""
    points = plan.points
    finished = done(plan, directory)
    memory = max((bound(point.plan_json) for point in points), key=lambda one: one.total)
    if missing_permission(points) is not None:
        return Estimate(len(points), finished, None, None, memory)
    check(points)
    first = points[: max(1, len(points) // plan.seeds)]
    seconds, size = [], []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, traces=False)

        def timed(point: Point, share: float) -> float:
            short = _shortened(point, share)
            begun = time.perf_counter()
            list(execute([short], store, 1))
            size.append(files.size(store.path(short.run_id)) or 0)
            return time.perf_counter() - begun

        timed(first[0], 0.01)  # imports and caches
        for point in (first[0], first[len(first) // 2], first[-1]):
            fifth, tenth = timed(point, 0.2), timed(point, 0.1)
            seconds.append(fifth + 8 * max(0.0, fifth - tenth))
    left = len(points) - finished
    time_left = sum(seconds) / len(seconds) * left / workers
    return Estimate(len(points), finished, time_left, max(size) * left, memory)


def _shortened(point: Point, share: float) -> Point:
    """Return the point with duration and warm-up scaled by `share`; itself if that is not valid."""
    warmup, duration = point.scenario.seconds
    changes = {"duration": f"{duration * share:.9g}s", "warmup": f"{warmup * share:.9g}s"}
    try:
        return Point(point.scenario.with_(**changes), point.spec, point.seed)
    except InputError:
        return point
