"""Executes runs in worker processes.

Algorithms in Python need them because the GIL would serialize threads, and suspect runs because they may end
their process. Each worker executes one run after the other. If it dies, or its run makes no progress for
`STALL_S`, the run is repeated once, after all others; the second time it fails with `WorkerDied`. Ctrl-C, or
the deletion of the object, kills the workers; finished runs are in the parent's store.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter, deque
from typing import Any

from sojourn import algorithms as own
from sojourn.errors import InputError
from sojourn.worlds.base import WorkerDied
from sojourn.worlds.simulated import forks

Job = tuple[str, int]

#: Deaths of workers after which their run fails.
MOST_DEATHS = 2
#: Time without any progress of virtual time (s) after which a worker is killed.
STALL_S = 600.0
#: The environment variable that overrides it.
STALL = "SOJOURN_STALL_S"
#: Limit of the waiting time that one poll adds (s), since this process may itself have been suspended.
POLL_S = 1.0


def stall_seconds() -> float:
    """Return the time without progress after which a worker is killed, in s.

    Raises
    ------
    InputError
        If the environment variable is not a number above 0.
    """
    text = os.environ.get(STALL, "")
    try:
        value = float(text or STALL_S)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise InputError(STALL, f"= {text!r} is not a time in s", "a number above 0, like 600")
    return value


class _Worker:
    """One process and the pipe to it; it gets the next job after its answer to the last one."""

    def __init__(self) -> None:
        self.process, self.pipe = forks.start()
        #: Names of the classes that the worker has loaded.
        self.has: set[str] = set()
        self.job: int | None = None
        self.share = self.waited = 0.0

    def kill(self) -> int:
        self.process.kill()
        self.pipe.close()
        return self.process.wait()


class Processes:
    """Runs in worker processes.

    Parameters
    ----------
    workers : int
        Maximum number of processes.
    trace_limit : int or None
        Bytes that the traces of a run may take.
    """

    def __init__(self, workers: int, trace_limit: int | None) -> None:
        self._most, self._trace_limit, self._stall = workers, trace_limit, stall_seconds()
        self._jobs: dict[int, Job] = {}
        self._todo: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self._workers: list[_Worker] = []
        self._polled = time.monotonic()

    def add(self, index: int, job: Job) -> None:
        """Add a job."""
        self._jobs[index] = job
        self._todo.append(index)
        self._feed()

    def poll(self, timeout: float) -> list[tuple[int, Any]]:
        """Return the jobs that finished since the last call: index, and record or exception."""
        from multiprocessing.connection import wait

        completed: list[tuple[int, Any]] = []
        deadline = time.monotonic() + timeout
        while not completed and (busy := [worker for worker in self._workers if worker.job is not None]):
            ready = wait([worker.pipe for worker in busy], max(0.0, deadline - time.monotonic()))
            for worker in busy:
                if worker.pipe in ready:
                    completed += self._receive(worker)
            completed += self._watch()
            self._feed()
            if time.monotonic() >= deadline:
                break
        return completed

    def _receive(self, worker: _Worker) -> list[tuple[int, Any]]:
        index = worker.job
        assert index is not None
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            return self._worker_ended(worker, _cause(worker.process.wait()))
        except MemoryError:
            self._remove(worker)
            message = MemoryError("there is not enough memory to receive its record")
        if isinstance(message, float):
            if message > worker.share:
                worker.share, worker.waited = message, 0.0
            return []
        worker.job = None
        self._jobs.pop(index)
        return [(index, message)]

    def _watch(self) -> list[tuple[int, Any]]:
        """Kill the workers whose run has made no progress for `STALL_S`."""
        now = time.monotonic()
        passed, self._polled = min(now - self._polled, POLL_S), now
        completed: list[tuple[int, Any]] = []
        for worker in [worker for worker in self._workers if worker.job is not None]:
            worker.waited += passed
            if worker.waited > self._stall:
                completed += self._worker_ended(
                    worker, f"made no progress for {self._stall:g} s and was killed"
                )
        return completed

    def _worker_ended(self, worker: _Worker, cause: str) -> list[tuple[int, Any]]:
        """Remove a worker that ended; its run is repeated after all others, or fails."""
        index = worker.job
        assert index is not None
        self._remove(worker)
        self._deaths[index] += 1
        if self._deaths[index] < MOST_DEATHS:
            self._todo.append(index)
            return []
        self._jobs.pop(index)
        return [(index, WorkerDied(f"the process that executed it {cause}, {MOST_DEATHS} times"))]

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.kill()

    def _feed(self) -> None:
        """Send the next jobs to idle workers; start workers for them, up to the limit."""
        while self._todo:
            worker = next((one for one in self._workers if one.job is None), None)
            if worker is None:
                if len(self._workers) >= self._most:
                    return
                worker = _Worker()
                self._workers.append(worker)
            worker.job, worker.share, worker.waited = self._todo.popleft(), 0.0, 0.0
            plan, seed = self._jobs[worker.job]
            missing = sorted(set(own.names_in(plan)) - worker.has)
            worker.has.update(missing)
            # The death of a worker is detected when its pipe is read.
            with contextlib.suppress(OSError):
                worker.pipe.send((own.shipped(missing) or [], plan, seed, self._trace_limit))

    def progress(self) -> float:
        """Return the sum of the completed shares of the runs in progress."""
        return sum(worker.share for worker in self._workers if worker.job is not None)

    def cancel(self) -> None:
        """Kill the workers; unfinished runs are lost."""
        self._todo.clear()
        while self._workers:
            self._workers.pop().kill()

    def __del__(self) -> None:
        if hasattr(self, "_workers"):
            self.cancel()


def _cause(code: int) -> str:
    """Return how a process ended, as the rest of a sentence.

    Examples
    --------
    >>> _cause(-9), _cause(3)
    ('was ended by SIGKILL', 'ended with exit code 3')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
