"""Runs in worker processes, for algorithms in Python: threads of one process would run them serially (GIL).

`Processes` has the interface of the core's ``Batch``. Each worker executes one run after the other; if it
dies, only its run fails. Ctrl-C, or the deletion of the object, kills the workers; finished runs are in the
parent's store.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from sojourn import _core
from sojourn import algorithms as own

Job = tuple[str, int]
News = list[tuple[int, Any]]


def start(jobs: Sequence[Job], workers: int) -> _core.Batch | Processes | Here:
    """Start `jobs` (plan and seed): in native threads, in processes, or here if no process could."""
    names = sorted({name for plan in {plan for plan, _ in jobs} for name in own.names_in(plan)})
    sources = own.shipped(names)
    if sources is None:
        return Here(jobs, workers)
    return Processes(jobs, workers, sources) if names else _core.Batch(list(jobs), workers)


class Here:
    """Runs of classes that only this process knows, one a `poll`; the others go on in native threads."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        mine = {plan for plan in {plan for plan, _ in jobs} if own.names_in(plan)}
        self._todo = deque((index, job) for index, job in enumerate(jobs) if job[0] in mine)
        others = [(index, job) for index, job in enumerate(jobs) if job[0] not in mine]
        self._indices = [index for index, _ in others]
        self._batch = _core.Batch([job for _, job in others], workers)
        self._done, self._count = 0, len(jobs)

    def poll(self, timeout: float = 0.0) -> News:
        """Make the next run, or wait for the others; return what finished."""
        news: News = []
        if self._todo:
            index, job = self._todo.popleft()
            try:
                news.append((index, _core.run(*job)))
            except Exception as error:  # noqa: BLE001 - a failed run is a result
                news.append((index, error))
        others = self._batch.poll(0.0 if news else timeout)
        news += [(self._indices[index], result) for index, result in others]
        self._done += len(news)
        return news

    def progress(self) -> float:
        """Return the share of runs that are done, 0 to 1."""
        return self._done / max(1, self._count)

    def cancel(self) -> None:
        """Start no further run; stop the others."""
        self._todo.clear()
        self._batch.cancel()


class _Worker:
    """One process and the pipe to it; it is sent the next job when it has answered the last."""

    def __init__(self, sources: Iterable[tuple[str, bytes]]) -> None:
        from multiprocessing import Pipe

        self.pipe, theirs = Pipe()
        words = [sys.executable, "-m", "sojourn.worlds.simulated.worker", str(theirs.fileno())]
        # Prints of handlers are no result: standard error. Ctrl-C is the parent's: a group of its own.
        self.process = subprocess.Popen(
            words,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            env=_environment(),
            process_group=0,
        )
        theirs.close()
        self.job: int | None = None
        self.share = 0.0
        self.pipe.send(list(sources))

    def kill(self) -> int:
        self.process.kill()
        self.pipe.close()
        return self.process.wait()


def _environment() -> dict[str, str]:
    """Return the environment of a worker: it must find the same package and modules."""
    path = os.pathsep.join(one or os.getcwd() for one in sys.path)  # noqa: PTH109 - as sys.path means it
    return {**os.environ, "PYTHONPATH": path}


class Processes:
    """Runs that go on in worker processes until all are finished, or cancelled."""

    def __init__(self, jobs: Sequence[Job], workers: int, sources: list[tuple[str, bytes]]) -> None:
        self._jobs, self._sources = list(jobs), sources
        self._todo = deque(range(len(self._jobs)))
        self._done = 0
        self._workers: list[_Worker] = []
        try:
            for _ in range(min(workers, len(self._jobs))):
                self._workers.append(_Worker(sources))
                self._feed(self._workers[-1])
        except BaseException:
            self.cancel()
            raise

    def poll(self, timeout: float = 0.0) -> News:
        """Return what finished since the last call: index of the job, and its record or the exception."""
        from multiprocessing.connection import wait

        news: News = []
        deadline = time.monotonic() + timeout
        while not news and self._workers:
            pipes: list[Any] = [worker.pipe for worker in self._workers]
            ready = wait(pipes, max(0.0, deadline - time.monotonic()))
            if not ready:
                break
            for worker in [worker for worker in self._workers if worker.pipe in ready]:
                news += self._hear(worker)
        self._done += len(news)
        return news

    def _hear(self, worker: _Worker) -> News:
        index = worker.job
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker)
        if isinstance(message, float):
            worker.share = message
            return []
        self._feed(worker)
        assert index is not None
        return [(index, message)]

    def _bury(self, worker: _Worker) -> News:
        """Take away a worker that died: its run failed; another takes its place if there is more to do."""
        self._workers.remove(worker)
        code, index = worker.process.wait(), worker.job
        worker.pipe.close()
        if self._todo:
            self._workers.append(_Worker(self._sources))
            self._feed(self._workers[-1])
        return [] if index is None else [(index, RuntimeError(f"the worker process ended with code {code}"))]

    def _feed(self, worker: _Worker) -> None:
        """Send the next job, or the end."""
        worker.share = 0.0
        worker.job = self._todo.popleft() if self._todo else None
        # A worker that has died is found out when it is heard.
        with contextlib.suppress(OSError):
            worker.pipe.send(None if worker.job is None else self._jobs[worker.job])

    def progress(self) -> float:
        """Return the share of all virtual time that is done, 0 to 1."""
        return (self._done + sum(worker.share for worker in self._workers)) / max(1, len(self._jobs))

    def cancel(self) -> None:
        """Kill the workers; what has not finished never will."""
        self._todo.clear()
        while self._workers:
            self._workers.pop().kill()

    @property
    def finished(self) -> bool:
        """Whether every job has finished and been handed over."""
        return self._done == len(self._jobs)

    def __del__(self) -> None:
        if hasattr(self, "_workers"):
            self.cancel()
