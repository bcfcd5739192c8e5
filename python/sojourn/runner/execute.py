"""Executes points and yields their outcomes as they finish.

Runs that the store has are not executed again, and runs that another process executes are waited for
(`sojourn.runner.leases`). Ctrl-C stops within a fraction of a second; finished runs stay stored. A failed run
does not stop the others: the failure is logged, and raised at the end. After an earlier process died, each
run gets a process of its own, and those that may have ended it come last.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from sojourn import worlds
from sojourn.algorithms import within_load
from sojourn.errors import InputError, RunFailed, SojournError
from sojourn.metrics import Metrics, metrics_version
from sojourn.record import Record
from sojourn.runner.archive import Stored
from sojourn.runner.check import check
from sojourn.runner.code import keep
from sojourn.runner.data import keep_data
from sojourn.runner.leases import LOOK_S, Lease, Leases, State
from sojourn.runner.point import Point
from sojourn.runner.store import Finished, Store
from sojourn.worlds import Executor, Made, Reduce, Running, WorkerDied, parsed

#: Completed share of all virtual time (0 to 1), finished runs, total runs.
Progress = Callable[[float, int, int], None]

POLL_S = 0.1
#: Runs that finish within this time (s) share a file; a killed process loses at most these.
FLUSH_S = 1.0
#: Work that is leased at a time: s, and runs at most.
BATCH_S = 0.5
MOST_LEASED = 256
#: The longest time between two looks at the runs of other processes (s); the first follow faster.
LONGEST_LOOK_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes
    ----------
    fresh : bool
        Whether the run was executed now, not read from the store.
    noted : tuple of str
        Warnings from the world; `warnings` adds those that follow from the record.
    """

    point: Point
    metrics: Metrics
    record: Record
    fresh: bool
    noted: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results, one sentence each."""
        return [*worlds.find(self.point.world).warnings(self.record), *self.noted]


def execute(
    points: Iterable[Point],
    store: Store | None = None,
    workers: int | None = None,
    on_progress: Progress | None = None,
    reduce: Reduce | None = None,
    executor: Executor | None = None,
) -> Iterator[Outcome]:
    """Yield an outcome for each point: stored runs first, then the others as they finish.

    Parameters
    ----------
    points : iterable of Point
        The runs, all in one world; checked before the first starts.
    store : Store, optional
        Stores finished runs; None stores nothing.
    workers : int, optional
        Threads; all cores if None. The results do not depend on it.
    on_progress : callable, optional
        Called about ten times a second with (share, done, total).
    reduce : callable, optional
        Computes further metrics from a record, which are added to the outcome's and stored.
    executor : Executor, optional
        Executes simulated runs; the cores of this machine if None. The results do not depend on it.

    Raises
    ------
    InputError
        Before anything runs, if the core rejects a point.
    RunFailed
        At the end, if runs failed.
    """
    if within_load():
        raise InputError(
            "a file with an algorithm",
            "runs simulations when it is loaded",
            'below if __name__ == "__main__":',
        )
    wanted = list(points)
    check(wanted)
    if store is not None:
        keep(store.directory, wanted)
        keep_data(store.directory, wanted)
    missing: dict[str, list[Point]] = {}  # equal plans of several scenarios are one run
    for point in wanted:
        outcome = _recall(point, store, reduce) if store is not None else None
        if outcome is None:
            missing.setdefault(point.run_id, []).append(point)
        else:
            yield outcome
    if not missing:
        return
    first = {run_id: same[0] for run_id, same in missing.items()}
    study = _Study(first, len(wanted), store, reduce, on_progress)
    for outcome in _outcomes(study, workers, executor):
        for point in missing[outcome.point.run_id]:
            yield replace(outcome, point=point)
    if study.failures:
        order = {point.run_id: i for i, point in enumerate(wanted)}
        failures = sorted(study.failures, key=lambda failure: order[failure[0].run_id])
        raise _failed(failures, len(wanted))


def _outcomes(study: _Study, workers: int | None, executor: Executor | None) -> Iterator[Outcome]:
    """Yield an outcome for each missing point that can be executed."""
    store, world = study.store, worlds.find(next(iter(study.missing.values())).world)
    # Leases are released if the caller drops the generator, too.
    with study.leases or contextlib.nullcontext():
        while study.missing:
            yield from study.recalled()
            if turn := study.turn():
                source = _Source(turn.points, study, turn.after)
                samples = store is None or store.traces
                running = world.run(source, study.reduce, samples, workers, executor, turn.isolated)
                yield from study.executed(running, source)
            elif study.missing:
                study.wait()


class _Turn(NamedTuple):
    """Points that may be executed now, and the stale leases that some of them have."""

    points: list[Point]
    after: dict[str, Lease]
    isolated: bool


class _Study:
    """The missing points of a study, their leases and their failures."""

    def __init__(
        self,
        missing: dict[str, Point],
        total: int,
        store: Store | None,
        reduce: Reduce | None,
        on_progress: Progress | None,
    ) -> None:
        self.missing, self.total = missing, total
        self.store, self.reduce, self.on_progress = store, reduce, on_progress
        self.leases = None if store is None else Leases(store.directory)
        self.failures: list[tuple[Point, Exception]] = []
        self._pause = LOOK_S
        #: Stored runs that lack data that is needed, such as their series.
        self._partial = set() if store is None else {one for one in missing if one in store}

    def is_stored(self, point: Point) -> bool:
        """Return whether the store has all data of a point that are needed."""
        store = self.store
        if store is None or point.run_id not in store:
            return False
        return point.run_id not in self._partial or _recall(point, store, self.reduce) is not None

    def recalled(self) -> Iterator[Outcome]:
        """Yield the outcomes that other processes have stored in the meantime."""
        if self.store is None:
            return
        self.store.refresh()
        found = []
        for point in list(self.missing.values()):
            if (
                point.run_id in self.store
                and (outcome := _recall(point, self.store, self.reduce)) is not None
            ):
                found.append(outcome)
        if found:
            self._pause = LOOK_S
        self._finish([one.point for one in found])
        yield from found

    def turn(self) -> _Turn | None:
        """Return the points to execute next: those without a lease, then suspects; None if there are none.

        Runs that were given up fail.
        """
        leases = {} if self.leases is None else self.leases.survey()
        free, suspects = [], []
        for point in self.missing.values():
            lease = leases.get(point.run_id)
            if lease is None:
                free.append(point)
            elif lease.state is State.STALE:
                suspects.append(point)
            elif lease.state is State.ENDED:
                self.fail(point, WorkerDied(f"{lease.reason}; --retry-failed executes it again"))
        self._finish([point for point, _ in self.failures])
        if free:
            # After one death every run gets a process of its own, because others may end their process, too.
            return _Turn(free, {}, bool(suspects))
        return _Turn(suspects, leases, True) if suspects else None

    def wait(self) -> None:
        """Wait for the runs that other processes execute."""
        self._report(0, 0.0)
        time.sleep(self._pause)
        self._pause = min(LONGEST_LOOK_S, 1.5 * self._pause)

    def fail(self, point: Point, error: Exception) -> None:
        """Note that a point failed."""
        self.failures.append((point, error))
        if self.store is not None:
            with contextlib.suppress(SojournError):  # a full disk stops the next write
                self.store.fail(point, str(error))

    def _finish(self, points: Iterable[Point]) -> None:
        for point in points:
            self.missing.pop(point.run_id, None)

    def _report(self, waiting: int, running: float) -> None:
        if self.on_progress is not None:
            done = self.total - len(self.missing) + waiting
            self.on_progress(min(1.0, (done + running) / self.total), done, self.total)

    def executed(self, running: Running, source: _Source) -> Iterator[Outcome]:
        """Yield the outcomes of the points of `source` as they finish, and are stored."""
        waiting: list[Finished] = []
        flushed = time.monotonic()
        last = False
        # No `finally` around a `yield`: runs without a reference cancel themselves.
        while not last:
            try:
                for index, result in running.poll(POLL_S):
                    source.finished += 1
                    point = source.taken[index]
                    if isinstance(result, Made):
                        waiting.append(Finished(point, *result))
                    else:
                        self._failed(point, result)
                outcomes = []
                last = source.is_exhausted and source.finished == len(source.taken)
                store = self.store
                if last or store is None or store.traces or time.monotonic() - flushed >= FLUSH_S:
                    outcomes = self._keep(waiting)
                    waiting, flushed = [], time.monotonic()
                self._finish(one.point for one in outcomes)
                self._report(len(waiting), max(0.0, running.progress() - source.finished))
            except BaseException:
                running.cancel()
                # Report the first error only: a full disk would cause a second one here.
                with contextlib.suppress(SojournError):
                    self._keep(waiting)
                raise
            yield from outcomes

    def _failed(self, point: Point, error: Exception) -> None:
        self.fail(point, error)
        self._finish([point])
        if self.leases is not None and isinstance(error, WorkerDied):
            self.leases.give_up(point.run_id, str(error))
        elif self.leases is not None:
            self.leases.release([point.run_id])

    def _keep(self, waiting: Sequence[Finished]) -> list[Outcome]:
        """Write finished runs to the store, if any; return their outcomes."""
        store, leases = self.store, self.leases
        if store is not None and leases is not None:
            # If this process was suspended for long, another one may have taken over its leases.
            waiting = [one for one in waiting if leases.holds(one.point.run_id)]
            for part in [[one] for one in waiting] if store.traces else [waiting] if waiting else []:
                store.write(part, metrics_version(), _version(self.reduce))
                leases.release([one.point.run_id for one in part])
        return [
            Outcome(
                one.point,
                one.metrics,
                Record(one.data, parsed(one.point.plan_json)),
                True,
                tuple(one.warnings),
            )
            for one in waiting
        ]


class _Source:
    """Points to execute, in order; those of other processes are left out.

    Points are leased in batches of about `BATCH_S` of work, so that few calls of the file system share the
    work of many short runs. After the death of a process (`after`), each is leased by itself.
    """

    def __init__(self, points: Sequence[Point], study: _Study, after: Mapping[str, Lease]) -> None:
        self._points, self._next = points, 0
        self._study, self._after = study, after
        self._leased: deque[Point] = deque()
        self._begun = time.monotonic()
        #: What was taken, by index.
        self.taken: list[Point] = []
        #: How many of these have finished.
        self.finished = 0
        self.is_exhausted = False

    def __iter__(self) -> Self:
        return self

    def __length_hint__(self) -> int:
        return len(self._leased) + len(self._points) - self._next

    def __next__(self) -> Point:
        while not self._leased and self._next < len(self._points):
            self._lease()
        if self._leased:
            self.taken.append(self._leased.popleft())
            return self.taken[-1]
        self.is_exhausted = True
        raise StopIteration

    def _batch(self) -> int:
        """Return the number of points to lease now."""
        if self._after:
            return 1
        rate = self.finished / max(1e-9, time.monotonic() - self._begun)
        return max(1, min(MOST_LEASED, int(BATCH_S * rate)))

    def _lease(self) -> None:
        """Lease the next points that no other process has leased or stored."""
        store, leases = self._study.store, self._study.leases
        found: list[Point] = []
        size = self._batch()
        while len(found) < size and self._next < len(self._points):
            point = self._points[self._next]
            self._next += 1
            if leases is None or (
                not self._study.is_stored(point) and leases.take(point.run_id, self._after.get(point.run_id))
            ):
                found.append(point)
        if store is not None and leases is not None and found:
            # They may have been stored, and their leases released, since the last look.
            store.refresh()
            stored = {point.run_id for point in found if self._study.is_stored(point)}
            leases.release(stored)
            found = [point for point in found if point.run_id not in stored]
        self._leased.extend(found)


def _recall(point: Point, store: Store, reduce: Reduce | None) -> Outcome | None:
    """Return the outcome of a stored point; None if the store lacks data that is needed."""
    stored = store.read(point.run_id)
    if stored is None:
        return None
    if store.traces and not _has_traces(point, store):
        return None
    if _is_current(stored, reduce):
        return Outcome(point, stored.metrics, stored.record, False, stored.warnings)
    if reduce is not None and not _has_traces(point, store):
        return None
    values = worlds.find(point.world).metrics(stored.record, reduce)
    return Outcome(point, values, stored.record, False, stored.warnings)


def _has_traces(point: Point, store: Store) -> bool:
    """Return whether all time series that the scenario requests are stored and verify."""
    return not any(parsed(point.plan_json)["trace"].values()) or store.has_traces(point.run_id)


def _is_current(stored: Stored, reduce: Reduce | None) -> bool:
    if stored.metrics_version != metrics_version():
        return False
    return reduce is None or (_version(reduce) is not None and stored.reduced == _version(reduce))


def _version(reduce: Reduce | None) -> str | None:
    return getattr(reduce, "version", None)


def _failed(failures: Sequence[tuple[Point, Exception]], total: int) -> RunFailed:
    point, error = failures[0]
    reason = " ".join(str(error).split())
    return RunFailed(
        f"{len(failures)} of {total} runs failed; the first: {point.scenario.name}, {point.spec}, "
        f"seed {point.seed}: {reason}"
    )
