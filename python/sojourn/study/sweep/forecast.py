"""Estimates the time and disk space of a sweep from short trial runs.

Short runs are tried as they are; of long ones, a tenth and a fifth of the duration, because what a run takes
is linear in its duration. Runs that finish within a second share a file, so files are fewer than runs; what
a file holds besides its runs follows from a file with one run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sojourn import files
from sojourn.errors import InputError
from sojourn.files import scratch
from sojourn.runner import layout
from sojourn.runner.check import check
from sojourn.runner.code import missing_permission
from sojourn.runner.execute import FLUSH_S, execute
from sojourn.runner.point import Point
from sojourn.runner.sealed import seal
from sojourn.runner.store import Store
from sojourn.study.sweep.directory import done
from sojourn.study.sweep.model import Sweep
from sojourn.worlds.simulated.memory_bound import Bound, bound

#: Durations of the trial runs, as shares of the duration.
TENTH, FIFTH = 0.1, 0.2
#: Number of runs that are tried as they are, if a run takes less than this (s); longer ones are shortened.
MANY, LONG_S = 24, 0.25
#: Bytes of a run in ``rows.parquet`` and of a row of ``summary.parquet`` (measured: 36 to 60, 25 to 40), and
#: of the other files of a sweep besides scenarios.
ROW, SUMMARY_ROW, OTHERS = 45, 30, 8000


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
    with scratch.folder() as folder:
        trial = _trial(plan, folder)
    left = len(points) - finished
    seconds = trial.start + trial.seconds * left / workers if left else 0.0
    return Estimate(len(points), finished, seconds, _bytes(plan, trial, left, seconds), memory)


class _Trial(NamedTuple):
    """What a study and a run take: s; bytes of a row, of a file without rows, the same of tables; metrics."""

    start: float
    seconds: float
    row: float
    file: float
    table_row: float
    table: float
    metrics: int


class _Measured(NamedTuple):
    """What several runs took together: s, bytes of their file, bytes of their table."""

    seconds: float
    file: int
    table: int
    metrics: int


def _trial(plan: Sweep, folder: Path) -> _Trial:
    """Measure short runs as they are, and of long ones a tenth and a fifth."""
    points = plan.points
    _measure([_shortened(points[0], 0.01)], folder / "imports")  # imports and caches
    start = _measure([_shortened(points[0], 0.01)], folder / "start")
    first = _measure([_shortened(points[0], TENTH)], folder / "first")
    if first.seconds - start.seconds < TENTH * LONG_S:
        wanted = list(dict.fromkeys(points[:: max(1, len(points) // MANY)]))[:MANY]
        alone, whole = _measure(wanted[:1], folder / "alone"), _measure(wanted, folder / "whole")
        return _of(alone, whole, whole, len(wanted), 0.0)
    cells = points[: max(1, len(points) // plan.seeds)]
    wanted = list(dict.fromkeys((cells[0], cells[len(cells) // 2], cells[-1])))
    short = [_shortened(point, TENTH) for point in wanted]
    long = [_shortened(point, FIFTH) for point in wanted]
    tenth = _measure(short, folder / "tenth")
    fifth = tenth if short == long else _measure(long, folder / "fifth")
    return _of(first, tenth, fifth, len(wanted), (1 - TENTH) / (FIFTH - TENTH))


def _of(alone: _Measured, some: _Measured, longer: _Measured, count: int, rest: float) -> _Trial:
    """Return what a run takes.

    Parameters
    ----------
    alone, some, longer : _Measured
        One run; `count` runs of the same duration; the same runs, each longer.
    rest : float
        What is missing of a run, in differences between `longer` and `some`.
    """

    def whole(a: float, b: float) -> float:
        return max(a, a + rest * (b - a))

    def of_one(several: float, one: float) -> float:
        # The start, and what a file has besides its runs, are the same for any number of runs.
        return max(0.0, (several - one) / (count - 1)) if count > 1 else 0.0

    row, table_row = of_one(some.file, alone.file), of_one(some.table, alone.table)
    seconds = of_one(some.seconds, alone.seconds)
    return _Trial(
        max(0.0, alone.seconds - seconds),
        whole(seconds, seconds + (longer.seconds - some.seconds) / count),
        whole(row, row + (longer.file - some.file) / count),
        alone.file - row,
        table_row,
        alone.table - table_row,
        some.metrics,
    )


def _measure(points: Sequence[Point], folder: Path) -> _Measured:
    store = Store(folder, traces=False)
    begun = time.perf_counter()
    outcomes = list(execute(points, store, 1))
    seconds = time.perf_counter() - begun
    sizes = [files.size(path) or 0 for path in store.files]
    import polars as pl

    rows = [{"aqm": one.point.spec, "seed": one.point.seed, **one.metrics} for one in outcomes]
    table = len(seal(pl.DataFrame(rows, infer_schema_length=None)))
    return _Measured(seconds, sum(sizes), table, len(outcomes[0].metrics))


def _bytes(plan: Sweep, trial: _Trial, left: int, seconds: float) -> int:
    """Return the bytes of the remaining runs, and of the tables and scenarios of the sweep."""
    if not left:
        return 0
    chunks = min(left, max(1, math.ceil(seconds / FLUSH_S)))
    runs = chunks * trial.file + left * trial.row
    combinations = sum(len(cell.specs) for cell in plan.cells)
    tables = trial.table + len(plan.points) * (trial.table_row + ROW)
    tables += combinations * trial.metrics * SUMMARY_ROW
    scenarios = sum(len(cell.scenario.to_toml()) for cell in plan.cells)
    return round(runs + tables + scenarios + len(layout.text("sweep")) + OTHERS)


def _shortened(point: Point, share: float) -> Point:
    """Return the point with duration and warm-up scaled by `share`; itself if that is not valid."""
    warmup, duration = point.scenario.seconds
    changes = {"duration": f"{duration * share:.9g}s", "warmup": f"{warmup * share:.9g}s"}
    try:
        return Point(point.scenario.with_(**changes), point.spec, point.seed)
    except InputError:
        return point
