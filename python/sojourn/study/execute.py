"""Run what is missing: points in, outcomes out, as they finish.

Runs go on in the core's native threads, all cores, no GIL; those of algorithms in Python in processes. What
the store has is not run again. Ctrl-C stops within a fraction of a second; what is done stays. One failed
run does not stop the others: the failure is written down and raised at the end.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _core, own
from sojourn.errors import InputError, RunFailed, from_core
from sojourn.record import Record
from sojourn.resolve import measured, queues
from sojourn.study.plan import Point
from sojourn.study.processes import start
from sojourn.study.store import Metrics, Store, Stored

#: Share of all virtual time done (0..1), runs done, runs in all.
Progress = Callable[[float, int, int], None]
#: Further numbers from a record, kept with its metrics. A function that only reads the record's counters
#: or series; give it an attribute ``version`` (text) if its values may be reused without the series.
Reduce = Callable[[Record], Mapping[str, float | None]]

CHUNK = 256
PATIENCE = 0.1


@dataclass(frozen=True)
class Outcome:
    """A finished run: `fresh` if it was run now, not found in the store."""

    point: Point
    metrics: Metrics
    record: Record
    fresh: bool


@functools.cache
def metrics_version() -> str:
    """Return a hash of the formulas: stored metrics of others are computed again."""
    folder = Path(__file__).parent.parent
    content = b"".join((folder / name).read_bytes() for name in ("metrics.py", "tables.py"))
    return hashlib.sha256(content).hexdigest()[:12]


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def check(points: Iterable[Point]) -> None:
    """Refuse, before anything runs, what the core cannot run."""
    seen = set()
    for point in points:
        plan = point.plan_json
        if plan in seen:
            continue
        seen.add(plan)
        try:
            _core.check(plan)
        except _core.PlanError as error:
            raise _refused(point, error) from None
        except _core.AlgorithmError as error:
            raise InputError(f"aqm {point.spec!r}:", str(error)) from None
        except ValueError as error:
            raise InputError(point.scenario.where, str(error)) from None


def _refused(point: Point, error: _core.PlanError) -> InputError:
    """Return the core's refusal with the place where the offending words stand."""
    scenario = point.scenario
    own = _core.canonical(queues(scenario)[measured(scenario)].aqm)
    if error.key == "queue.aqm" and point.spec != own:
        return InputError(f"aqm {point.spec!r}:", error.problem, error.allowed, error.nearest)
    return from_core(error).at(scenario.where)


def execute(
    points: Iterable[Point],
    store: Store | None = None,
    workers: int | None = None,
    on_progress: Progress | None = None,
    reduce: Reduce | None = None,
) -> Iterator[Outcome]:
    """Yield an outcome for each point: first what the store has, then the rest as it finishes.

    Parameters
    ----------
    points : iterable of Point
        What to run; checked before the first starts.
    store : Store, optional
        Where finished runs are kept and found again; None keeps nothing.
    workers : int, optional
        Threads; all cores if None. The results do not depend on it.
    on_progress : callable, optional
        Called about ten times a second with (share, done, total).
    reduce : callable, optional
        Record to further metrics, which are merged into the outcome's and kept in the store.

    Raises
    ------
    InputError
        Before anything runs, if the core refuses a point.
    RunFailed
        At the end, if runs failed.
    """
    if own.within_load():
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
    done = len(wanted) - len(missing)
    failures: list[tuple[Point, Exception]] = []
    for begin in range(0, len(missing), CHUNK):
        chunk = missing[begin : begin + CHUNK]
        jobs = [(point.plan_json, point.seed) for point in chunk]
        batch = start(jobs, workers or default_workers())
        finished = 0
        # No `finally` around a `yield`: a batch that nobody holds any more cancels itself.
        while finished < len(chunk):
            try:
                news = batch.poll(PATIENCE)
                outcomes = []
                for index, result in news:
                    if isinstance(result, Exception):
                        failures.append((chunk[index], result))
                        if store is not None:
                            store.fail(chunk[index], str(result))
                    else:
                        outcomes.append(_finish(chunk[index], result, store, reduce))
                finished += len(news)
                if on_progress is not None:
                    share = (done + begin + batch.progress() * len(chunk)) / len(wanted)
                    on_progress(min(1.0, share), done + begin + finished, len(wanted))
            except BaseException:
                batch.cancel()
                raise
            yield from outcomes
    if failures:
        raise _failed(failures, len(wanted))


def _finish(point: Point, data: dict[str, Any], store: Store | None, reduce: Reduce | None) -> Outcome:
    from sojourn.metrics import compute

    record = Record(data, _plan(point.plan_json))
    values = compute(record)
    if reduce is not None:
        values.update(reduce(record))
    if store is not None:
        store.write(point, data, values, metrics_version(), _version(reduce))
    return Outcome(point, values, record, True)


def _recall(point: Point, store: Store, reduce: Reduce | None) -> Outcome | None:
    """Return what the store has of a point, if it has enough."""
    stored = store.read(point.run_id)
    if stored is None:
        return None
    samples = _plan(point.plan_json)["trace"]["interval"] is not None
    whole = store.has_traces(point.run_id) or not samples
    if store.traces and not whole:
        return None
    if _is_current(stored, reduce):
        return Outcome(point, stored.metrics, stored.record, False)
    if reduce is not None and not whole:
        return None
    from sojourn.metrics import compute

    values = compute(stored.record)
    if reduce is not None:
        values.update(reduce(stored.record))
    return Outcome(point, values, stored.record, False)


def _is_current(stored: Stored, reduce: Reduce | None) -> bool:
    if stored.metrics_version != metrics_version():
        return False
    return reduce is None or (_version(reduce) is not None and stored.reduced == _version(reduce))


def _version(reduce: Reduce | None) -> str | None:
    return getattr(reduce, "version", None)


@functools.lru_cache(maxsize=64)
def _plan(plan_json: str) -> dict[str, Any]:
    import json

    return dict(json.loads(plan_json))


def _failed(failures: Sequence[tuple[Point, Exception]], total: int) -> RunFailed:
    point, error = failures[0]
    reason = " ".join(str(error).split())
    return RunFailed(
        f"{len(failures)} of {total} runs failed; the first: {point.scenario.name}, {point.spec}, "
        f"seed {point.seed}: {reason}"
    )
