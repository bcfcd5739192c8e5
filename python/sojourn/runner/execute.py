"""Executes points and yields their outcomes as they finish.

Runs that the store has are not executed again. Ctrl-C stops within a fraction of a second; finished runs stay
stored. A failed run does not stop the others: the failure is logged, and raised at the end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sojourn import worlds
from sojourn.algorithms import within_load
from sojourn.errors import InputError, RunFailed, SojournError
from sojourn.metrics import Metrics, metrics_version
from sojourn.record import Record
from sojourn.runner.check import check
from sojourn.runner.point import Point
from sojourn.runner.store import Finished, Store, Stored
from sojourn.worlds import Executor, Made, Reduce, parsed

#: Completed share of all virtual time (0 to 1), finished runs, total runs.
Progress = Callable[[float, int, int], None]

POLL_S = 0.1
#: Runs that finish within this time (s) share a file; a killed process loses at most these.
FLUSH_S = 1.0


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
    missing = []
    for point in wanted:
        outcome = _recall(point, store, reduce) if store is not None else None
        if outcome is None:
            missing.append(point)
        else:
            yield outcome
    if not missing:
        return
    done = len(wanted) - len(missing)
    failures: dict[int, Exception] = {}
    world = worlds.find(missing[0].world)
    running = world.run(missing, reduce, store is None or store.traces, workers, executor)
    finished = 0
    waiting: list[Finished] = []
    kept = time.monotonic()
    # No `finally` around a `yield`: runs without a reference cancel themselves.
    while finished < len(missing):
        try:
            for index, result in running.poll(POLL_S):
                finished += 1
                if isinstance(result, Made):
                    waiting.append(Finished(missing[index], *result))
                    continue
                failures[index] = result
                if store is not None:
                    store.fail(missing[index], str(result))
            outcomes = []
            last = finished == len(missing)
            if last or store is None or store.traces or time.monotonic() - kept >= FLUSH_S:
                outcomes = _keep(waiting, store, reduce)
                waiting, kept = [], time.monotonic()
            if on_progress is not None:
                share = (done + running.progress() * len(missing)) / len(wanted)
                on_progress(min(1.0, share), done + finished, len(wanted))
        except BaseException:
            running.cancel()
            # Report the first error only: a full disk would cause a second one here.
            with contextlib.suppress(SojournError):
                _keep(waiting, store, reduce)
            raise
        yield from outcomes
    if failures:
        raise _failed([(missing[i], failures[i]) for i in sorted(failures)], len(wanted))


def _keep(waiting: Sequence[Finished], store: Store | None, reduce: Reduce | None) -> list[Outcome]:
    """Write finished runs to the store, if any; return their outcomes."""
    if store is not None and store.traces:
        for one in waiting:
            store.write([one], metrics_version(), _version(reduce))
    elif store is not None and waiting:
        store.write(waiting, metrics_version(), _version(reduce))
    return [
        Outcome(
            one.point, one.metrics, Record(one.data, parsed(one.point.plan_json)), True, tuple(one.warnings)
        )
        for one in waiting
    ]


def _recall(point: Point, store: Store, reduce: Reduce | None) -> Outcome | None:
    """Return the outcome of a stored point; None if the store lacks data that is needed."""
    stored = store.read(point.run_id)
    if stored is None:
        return None
    samples = parsed(point.plan_json)["trace"]["interval"] is not None
    whole = store.has_traces(point.run_id) or not samples
    if store.traces and not whole:
        return None
    if _is_current(stored, reduce):
        return Outcome(point, stored.metrics, stored.record, False, stored.warnings)
    if reduce is not None and not whole:
        return None
    values = worlds.find(point.world).metrics(stored.record, reduce)
    return Outcome(point, values, stored.record, False, stored.warnings)


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
