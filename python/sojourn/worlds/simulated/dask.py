"""Executes runs on a Dask cluster: workers on any number of machines, through one scheduler.

Runs are sent in chunks of a few seconds of work, sized by the duration of earlier runs, with at most two
chunks per worker in flight. A chunk whose worker is lost goes to another one. After the loss of several
workers (four by Dask's default), the runs of a chunk are repeated one by one at the end, and the one that
kills its worker fails. Workers must have the same version of the core. Results on disk are authoritative;
only this process writes them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from sojourn import _core
from sojourn import algorithms as own
from sojourn.errors import InputError, RunFailed
from sojourn.metrics import metrics_version
from sojourn.record.columns import TRACE_TABLES
from sojourn.worlds.base import Completed, Made, Reduce, Running, WorkerDied
from sojourn.worlds.simulated.executors import Job, cores, measured
from sojourn.worlds.simulated.memory import SHARE, refusal, run_limit, trace_limit

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds of work per chunk: much more than the scheduler's overhead, and a small loss if a worker dies.
WORK = 3.0
MOST = 1000
AHEAD = 2
CONNECT_S = 15.0
#: Time without any worker (s) before the study fails; a nanny restarts one in seconds.
NO_WORKERS_S = 60.0
#: Weight of the latest chunk in the estimate of a run's duration.
WEIGHT = 0.5


class Dask:
    """A Dask cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler, like ``tcp://head:8786``; or ``local``: processes of this machine.
    workers : int, optional
        With ``local``: number of processes; one per core if None.

    Raises
    ------
    InputError
        When jobs start: if Dask is not installed, no scheduler answers, or a worker has another version.

    Notes
    -----
    The connection lasts from the first jobs to `close`, or to the end of a ``with`` block or of the process.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address, self.workers = address, workers
        self._client: Client | None = None

    def start(
        self, jobs: Iterator[Job], reduce: Reduce | None, samples: bool, isolated: bool = False
    ) -> Running:
        """Start the jobs; `isolated` has no effect, since the death of a worker never affects other runs."""
        if self._client is None:
            self._client = self._connect()
        return _Chunks(self._client, jobs, reduce, samples)

    def close(self) -> None:
        """Disconnect from the cluster; stop it if this object started it."""
        client, self._client = self._client, None
        if client is not None:
            _leave(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _connect(self) -> Client:
        try:
            from distributed import LocalCluster
        except ImportError:
            raise InputError("dask", "is not installed", "pip install 'sojourn[dask]'") from None
        connect = _client()
        if self.address == "local":
            cluster = LocalCluster(
                n_workers=self.workers or cores(),
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=50,
            )
            return _checked(connect(cluster))
        try:
            client = connect(self.address, timeout=CONNECT_S)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                "dask", f"= {self.address!r}: no scheduler answers ({reason})", "tcp://HOST:PORT, or local"
            ) from None
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            client.close()
            raise InputError("dask", f"= {self.address!r} has no workers", "dask worker ADDRESS") from None
        return _checked(client)


@functools.cache
def _client() -> type[Client]:
    """Return Dask's client class without its finalizer.

    The garbage collector may call the finalizer in a thread that another client waits for. Closing a client
    takes the lock that the other one holds: a deadlock. This happens even if its constructor failed.
    """
    from distributed import Client

    class Lasting(Client):  # type: ignore[misc]
        def __del__(self) -> None:
            pass

    return Lasting


def version() -> dict[str, str]:
    """Return the versions that all workers must share."""
    return {"core": _core.CORE_VERSION, "metrics": metrics_version()}


def _version_there() -> dict[str, str] | str:
    """Return the versions on a worker, or its error."""
    try:
        return version()
    except Exception as error:  # noqa: BLE001 - any error is reported
        return f"{type(error).__name__}: {error}"


def _checked(client: Client) -> Client:
    """Raise ``InputError`` if a worker has another version."""
    for worker, found in client.run(_version_there).items():
        if found != version():
            _leave(client)
            raise InputError(f"dask: worker {worker}", _other(found), f"core {_core.CORE_VERSION}, as here")
    return client


def _other(found: object) -> str:
    if not isinstance(found, dict):
        return f"has no working sojourn ({found})"
    if found["core"] != _core.CORE_VERSION:
        return f"has another core, {found['core']}"
    return "has another version of the metrics"


def _leave(client: Client) -> None:
    cluster = client.cluster
    with contextlib.suppress(Exception):
        client.close()
    if cluster is not None:
        with contextlib.suppress(Exception):
            cluster.close()


def work(
    jobs: list[Job],
    expected: dict[str, str],
    sources: list[tuple[str, own.Code]],
    reduce: Reduce | None,
    samples: bool,
) -> tuple[list[Made | Exception], float]:
    """Execute the runs of a chunk on a worker; return the result of each, and the time in seconds."""
    if version() != expected:  # a worker that joined after the check
        raise RuntimeError(_other(version()))
    for name, code in sources:
        own.adopt(name, code)
    begun = time.perf_counter()
    found: list[Made | Exception] = []
    limit = _limit()
    for plan, seed in jobs:
        if reason := refusal(plan, limit):
            found.append(reason)
            continue
        batch = _core.Batch([(plan, seed)], 1, trace_limit(limit))
        while not (completed := batch.poll(1.0)):
            pass
        result = completed[0][1]
        if not isinstance(result, Exception):
            metrics = measured(plan, result, reduce)
            warnings = own.renew(own.names_in(plan))
            result = Made(result if samples else _without_samples(result), metrics, warnings)
        found.append(result)
    return found, time.perf_counter() - begun


def _limit() -> int | None:
    """Return the bytes that a run may take on this worker: of the machine's memory, and of Dask's limit."""
    from distributed import get_worker

    worker = get_worker()
    threads = worker.state.nthreads
    found = [run_limit(threads), int(SHARE * (worker.memory_manager.memory_limit or 0)) // threads]
    return min((limit for limit in found if limit), default=None)


def _without_samples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in ("series", *TRACE_TABLES)}


class _Chunks:
    """Jobs that are sent to the cluster in chunks."""

    def __init__(
        self,
        client: Client,
        jobs: Iterator[Job],
        reduce: Reduce | None,
        samples: bool,
    ) -> None:
        from distributed import as_completed

        self._client, self._source = client, jobs
        self._with = (reduce, samples)
        #: Jobs in flight, by index.
        self._jobs: dict[int, Job] = {}
        self._taken = 0
        #: Runs of chunks that lost several workers; each is repeated alone at the end.
        self._suspects: deque[int] = deque()
        self._alone = False
        self._in_flight: dict[Future, list[int]] = {}
        self._finished = as_completed()
        self._done = 0
        #: Seconds per run; unknown until the first chunks, of one run each, have finished.
        self._seconds: float | None = None
        #: Time since which there has been no worker, s of the monotonic clock.
        self._no_workers_since: float | None = None

    def _size(self) -> int:
        if self._seconds is None:
            return 1
        return max(1, min(MOST, math.floor(WORK / max(self._seconds, 1e-9))))

    def _threads(self) -> int:
        """Return the number of threads of all workers; fail after `NO_WORKERS_S` without any."""
        found: int = sum(self._client.nthreads().values())
        now = time.monotonic()
        if found:
            self._no_workers_since = None
        elif self._no_workers_since is None:
            self._no_workers_since = now
        elif now - self._no_workers_since > NO_WORKERS_S:
            raise RunFailed(
                f"the Dask cluster has had no worker for {NO_WORKERS_S:g} s; finished runs are kept: "
                "repeat the command when it has workers"
            )
        return found

    def _feed(self) -> None:
        """Send chunks until every worker has one in progress and, with a known run time, one in reserve."""
        threads = max(1, self._threads())
        ahead = threads * (1 if self._seconds is None else AHEAD)
        while len(self._in_flight) < ahead:
            # The last runs are divided evenly among the workers.
            size = min(self._size(), math.ceil(operator.length_hint(self._source, MOST) / threads))
            if not (indices := self._take_jobs(max(1, size))):
                break
            self._send(indices)
        if self._suspects and not self._in_flight:
            self._alone = True
            self._send([self._suspects.popleft()])

    def _take_jobs(self, count: int) -> list[int]:
        """Take up to `count` further jobs; return their indices."""
        first = self._taken
        for job in itertools.islice(self._source, count):
            self._jobs[self._taken] = job
            self._taken += 1
        return list(range(first, self._taken))

    def _send(self, indices: list[int]) -> None:
        jobs = [self._jobs[index] for index in indices]
        sources = own.shipped(
            sorted({name for plan in {plan for plan, _ in jobs} for name in own.names_in(plan)})
        )
        if sources is None:
            raise InputError("dask", "cannot run an algorithm that is not in a file", "file.py:Class")
        future = self._client.submit(work, jobs, version(), sources, *self._with, pure=False)
        self._in_flight[future] = indices
        self._finished.add(future)

    def poll(self, timeout: float) -> Completed:
        self._feed()
        if not self._in_flight:
            return []
        completed: Completed = []
        deadline = time.monotonic() + timeout
        while not completed and time.monotonic() < deadline:
            if self._finished.queue.empty():
                time.sleep(0.005)
            for future in self._finished.next_batch(block=False):
                completed += self._take(future)
        self._feed()
        return completed

    def _take(self, future: Future) -> Completed:
        from distributed import CancelledError, KilledWorker

        indices = self._in_flight.pop(future)
        try:
            error = future.exception()
        except CancelledError:
            raise RunFailed("the Dask cluster was lost; finished runs are kept: repeat the command") from None
        if error is None:
            results, seconds = future.result()
            self._update_seconds(seconds / len(indices))
        elif not isinstance(error, KilledWorker):
            raise error
        elif not self._alone:
            self._suspects.extend(indices)
            return []
        else:
            results = [WorkerDied("every worker that executed it died")]
        future.release()
        self._done += len(indices)
        for index in indices:
            del self._jobs[index]
        return list(zip(indices, results, strict=True))

    def _update_seconds(self, seconds: float) -> None:
        before = self._seconds
        self._seconds = seconds if before is None else (1 - WEIGHT) * before + WEIGHT * seconds

    def progress(self) -> float:
        return float(self._done)

    def cancel(self) -> None:
        self._source = iter(())
        self._suspects.clear()
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._in_flight))
        self._in_flight.clear()
