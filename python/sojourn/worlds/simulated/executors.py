"""Executors of simulated runs: one interface for this machine and for clusters.

``start`` takes an iterator of jobs and returns a `Running` to poll for finished runs, in any order.
``Serial`` executes one run after the other, ``Local`` uses all cores of this machine, and ``sojourn.Dask``
any number of machines. The results do not depend on the executor.

On this machine a run is executed by one of three backends: a native thread of the core, a worker process
(`processes`), or, for a class that is not in a file, the calling thread.
"""

from __future__ import annotations

import operator
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from sojourn import _core
from sojourn import algorithms as own
from sojourn.arguments import whole
from sojourn.metrics import Metrics
from sojourn.record import Record
from sojourn.worlds.base import Answer, Completed, Made, Reduce, Running, measure, parsed
from sojourn.worlds.simulated.memory import refusal, run_limit, trace_limit
from sojourn.worlds.simulated.processes import Processes

#: A plan as the core reads it, and a seed.
Job = tuple[str, int]
#: Runs queued besides those in progress, so that no core waits for this thread: seconds of work, and maximum.
AHEAD_S = 0.1
MOST_AHEAD = 64


def measured(plan_json: str, data: Mapping[str, Any], reduce: Reduce | None) -> Metrics:
    """Return the metrics of a record in the core's form."""
    return measure(Record(data, parsed(plan_json)), reduce)


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def checked(workers: int | None) -> int:
    """Return a number of workers: the cores if it is None.

    Raises
    ------
    InputError
        If it is not a number of at least 1.
    """
    if workers is None:
        return cores()
    return whole(workers, "workers", 1)


class Local:
    """All cores of this machine: native threads, or processes for algorithms in Python.

    Parameters
    ----------
    workers : int, optional
        How many runs at once; as many as there are cores if None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = checked(workers)

    def start(
        self, jobs: Iterator[Job], reduce: Reduce | None, samples: bool, isolated: bool = False
    ) -> Running:
        """Start the jobs."""
        return _LocalRuns(jobs, reduce, self.workers, isolated)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class Serial:
    """One run after the other, in the calling thread; for debugging."""

    def start(
        self, jobs: Iterator[Job], reduce: Reduce | None, samples: bool, isolated: bool = False
    ) -> Running:
        """Start the jobs."""
        return _LocalRuns(jobs, reduce, 1, isolated, serial=True)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class _Backend(Protocol):
    """A method of executing runs."""

    def add(self, index: int, job: Job) -> None: ...
    def poll(self, timeout: float) -> list[tuple[int, Any]]: ...
    def progress(self) -> float: ...
    def cancel(self) -> None: ...


class _Threads:
    """Native threads of the core."""

    def __init__(self, workers: int, limit: int | None) -> None:
        self._batch = _core.Batch([], workers, limit)
        self._index: dict[int, int] = {}
        self._count = 0

    def add(self, index: int, job: Job) -> None:
        self._index[self._batch.add(*job)] = index
        self._count += 1

    def poll(self, timeout: float) -> list[tuple[int, Any]]:
        return [(self._index.pop(own_index), result) for own_index, result in self._batch.poll(timeout)]

    def progress(self) -> float:
        return max(0.0, self._batch.progress() * self._count - (self._count - len(self._index)))

    def cancel(self) -> None:
        self._batch.cancel()


class _CallingThread:
    """The calling thread: each `poll` executes one run."""

    def __init__(self, limit: int | None) -> None:
        self._todo: deque[tuple[int, Job]] = deque()
        self._limit = limit

    def add(self, index: int, job: Job) -> None:
        self._todo.append((index, job))

    def poll(self, timeout: float) -> list[tuple[int, Any]]:
        if not self._todo:
            return []
        index, job = self._todo.popleft()
        try:
            data = _core.run(*job, self._limit)
            return [(index, Answer(data, own.renew(own.names_in(job[0]))))]
        except Exception as error:  # noqa: BLE001 - a failed run is a result
            return [(index, error)]

    def progress(self) -> float:
        return 0.0

    def cancel(self) -> None:
        self._todo.clear()


class _LocalRuns:
    """Runs on this machine; a job is taken when a worker is free, and a few in advance if runs are short."""

    def __init__(
        self, jobs: Iterator[Job], reduce: Reduce | None, workers: int, isolated: bool, serial: bool = False
    ) -> None:
        self._jobs, self._reduce = jobs, reduce
        self._workers, self._isolated, self._serial = workers, isolated, serial
        self._memory = run_limit(min(workers, max(1, operator.length_hint(jobs, workers))))
        self._limit = trace_limit(self._memory)
        #: Runs that were not started.
        self._refused: Completed = []
        self._backends: dict[str, _Backend] = {}
        #: Plan of each run in progress.
        self._open: dict[int, str] = {}
        self._taken = self._done = 0
        self._begun = time.monotonic()

    def _ahead(self) -> int:
        if self._serial or self._isolated:
            return 0
        rate = self._done / max(1e-9, time.monotonic() - self._begun)
        return min(MOST_AHEAD, int(AHEAD_S * rate))

    def _backend(self, plan: str) -> _Backend:
        """Return the backend for a run.

        After the first algorithm in Python all later runs use worker processes, because threads would compete
        with them.
        """
        names = own.names_in(plan)
        if (names and own.shipped(sorted(names)) is None) or (self._serial and not self._isolated):
            return self._backends.setdefault("here", _CallingThread(self._limit))
        if names or self._isolated or "processes" in self._backends:
            if "processes" not in self._backends:
                self._backends["processes"] = Processes(self._workers, self._limit)
            return self._backends["processes"]
        if "threads" not in self._backends:
            self._backends["threads"] = _Threads(self._workers, self._limit)
        return self._backends["threads"]

    def _fill(self) -> None:
        while not self._refused and len(self._open) < self._workers + self._ahead():
            job = next(self._jobs, None)
            if job is None:
                return
            if reason := refusal(job[0], self._memory):
                self._refused.append((self._taken, reason))
            else:
                self._open[self._taken] = job[0]
                self._backend(job[0]).add(self._taken, job)
            self._taken += 1

    def poll(self, timeout: float) -> Completed:
        self._fill()
        if self._refused or not self._open:
            refused, self._refused = self._refused, []
            self._done += len(refused)
            return refused
        backends = list(self._backends.values())
        found = [one for backend in backends[1:] for one in backend.poll(0.0)]
        found += backends[0].poll(0.0 if found else timeout if len(backends) == 1 else min(timeout, 0.01))
        return [(index, self._measured(self._open.pop(index), result)) for index, result in found]

    def _measured(self, plan: str, result: Any) -> Made | Exception:
        self._done += 1
        if isinstance(result, Exception):
            return result
        data, warnings = result if isinstance(result, Answer) else Answer(result)
        try:
            return Made(data, measured(plan, data, self._reduce), warnings)
        except MemoryError:
            return MemoryError("there is not enough memory to compute its metrics")

    def progress(self) -> float:
        return self._done + sum(backend.progress() for backend in self._backends.values())

    def cancel(self) -> None:
        for backend in self._backends.values():
            backend.cancel()
