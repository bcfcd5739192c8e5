"""Executors of simulated runs: one interface for this machine and for clusters.

``start`` takes jobs and returns a batch to poll for finished runs, in any order. ``Serial`` executes one run
after the other, ``Local`` uses all cores of this machine, and ``sojourn.Dask`` any number of machines. The
results do not depend on the executor.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn import _core
from sojourn.metrics import Metrics
from sojourn.record import Record
from sojourn.worlds.base import Made, News, Reduce, Running, measure, parsed
from sojourn.worlds.simulated.processes import start

#: A plan as the core reads it, and a seed.
Job = tuple[str, int]
#: Jobs that the core is given at once: each holds its plan.
AT_ONCE = 256


def measured(plan_json: str, data: Mapping[str, Any], reduce: Reduce | None) -> Metrics:
    """Return the metrics of a record as the core gave it."""
    return measure(Record(data, parsed(plan_json)), reduce)


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Local:
    """All cores of this machine: native threads, or processes for algorithms in Python.

    Parameters
    ----------
    workers : int, optional
        How many runs at once; as many as there are cores if None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def start(self, jobs: Sequence[Job], reduce: Reduce | None, samples: bool) -> Running:
        """Start the jobs."""
        return _Slices(jobs, self.workers, reduce)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class _Slices:
    """Jobs that the core gets slice by slice."""

    def __init__(self, jobs: Sequence[Job], workers: int, reduce: Reduce | None) -> None:
        self._jobs, self._workers, self._reduce = jobs, workers, reduce
        self._begin, self._left = 0, 0
        self._next()

    def _next(self) -> None:
        slice_ = self._jobs[self._begin : self._begin + AT_ONCE]
        self._left = len(slice_)
        self._batch = start(slice_, self._workers)

    def poll(self, timeout: float) -> News:
        news: News = []
        for i, result in self._batch.poll(timeout):
            index = self._begin + i
            if not isinstance(result, Exception):
                result = Made(result, measured(self._jobs[index][0], result, self._reduce))
            news.append((index, result))
        self._left -= len(news)
        if self._left == 0 and self._begin + AT_ONCE < len(self._jobs):
            self._begin += AT_ONCE
            self._next()
        return news

    def progress(self) -> float:
        size = min(AT_ONCE, len(self._jobs) - self._begin)
        return (self._begin + self._batch.progress() * size) / len(self._jobs)

    def cancel(self) -> None:
        self._batch.cancel()


class Serial:
    """One run after the other, in this thread: the plainest way, for looking at what happens."""

    def start(self, jobs: Sequence[Job], reduce: Reduce | None, samples: bool) -> Running:
        """Start the jobs."""
        return _InTurn(jobs, reduce)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class _InTurn:
    """The next run is made when there is a `poll`."""

    def __init__(self, jobs: Sequence[Job], reduce: Reduce | None) -> None:
        self._reduce, self._count = reduce, len(jobs)
        self._todo = deque(enumerate(jobs))

    def poll(self, timeout: float) -> News:
        deadline = time.monotonic() + timeout
        news: News = []
        while self._todo and (not news or time.monotonic() < deadline):
            index, (plan, seed) = self._todo.popleft()
            try:
                data = _core.run(plan, seed)
            except Exception as error:  # noqa: BLE001 - a failed run is a result
                news.append((index, error))
            else:
                news.append((index, Made(data, measured(plan, data, self._reduce))))
        return news

    def progress(self) -> float:
        return 1 - len(self._todo) / self._count

    def cancel(self) -> None:
        self._todo.clear()
