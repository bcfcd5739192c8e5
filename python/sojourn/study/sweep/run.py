"""Runs a sweep: a scenario with several values of some keys, several algorithms and seeds.

Several processes or machines that share a directory may run parts of a sweep: each run belongs to one shard,
and the process that finds all runs complete writes the tables. The same call resumes an interrupted sweep.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sojourn.algorithms import permitting
from sojourn.arguments import folder as folder_of
from sojourn.metrics import Metrics, Own, measure
from sojourn.metrics import load as load_own
from sojourn.metrics.diagnostics import parts_of
from sojourn.runner.check import check
from sojourn.runner.code import require_permission
from sojourn.runner.execute import Progress, execute
from sojourn.runner.manifest import marking_interruption
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from sojourn.stats.warmup import QueueParts
from sojourn.study.sweep.directory import finish, prepare, where
from sojourn.study.sweep.model import WHOLE, Shard, Sweep, Swept
from sojourn.worlds import Executor

if TYPE_CHECKING:
    from sojourn.metrics.own import Function


def sweep(
    plan: Sweep,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
    executor: Executor | None = None,
    shard: Shard = WHOLE,
    allow_code: bool = False,
    metrics: Sequence[str | Function | Own] = (),
) -> Swept:
    """Run the missing runs of a sweep; return all results.

    Parameters
    ----------
    plan : Sweep
        The plan.
    workers : int, optional
        Threads; all cores if None. The results do not depend on it.
    out : path, optional
        Directory of the sweep; nothing is written if None.
    progress : callable, optional
        Called about ten times a second with (share, done, total).
    command : sequence of str
        The command line, for the manifest.
    executor : Executor, optional
        Executes the runs; all cores of this machine if None. The results do not depend on it.
    shard : Shard
        Run this part only. The result is the whole sweep if the other parts are complete, else this part.
    allow_code : bool
        Execute the Python files that the plan names.
    metrics : sequence of str or callable
        Metrics of one's own, computed in addition: functions of a `Record`, or ``FILE.py:NAME`` if the file
        is permitted. They read counters and flows: a sweep stores no tables over time.

    Raises
    ------
    RunFailed
        At the end, if runs failed; the others are stored. ``failures.jsonl`` has seed, reason and command of
        each failed run.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.study.axes import Axis
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="4s", warmup="2s")
    >>> plan = Sweep(scenario, ["droptail"], [Axis("queue.limit", ("20p", "40p"))], seeds=2)
    >>> sweep(plan).summary().filter(metric="drops")["queue.limit"].to_list()
    ['20p', '40p']
    """
    with permitting(allow_code):
        _, own = load_own(metrics)
        plan = replace(plan, scenario=plan.scenario.with_()) if allow_code else plan
        points = plan.points
        require_permission(points, plan.where)
        check(points)
    store = None if out is None else prepare(plan, folder_of(out), command)

    def swept_from(wanted: Sequence[Point], store: Store | None) -> Swept:
        found: dict[Point, Metrics] = {}
        parts: dict[Point, QueueParts] = {}
        doubts: dict[Point, list[str]] = {}
        with contextlib.nullcontext() if store is None else marking_interruption(store.directory):
            for one in execute(wanted, store, workers, progress, executor=executor):
                found[one.point] = {**one.metrics, **measure(own, one.record, where(one.point), False)}
                if (known := parts_of(one.record)) is not None:
                    parts[one.point] = known
                if warnings := one.warnings:
                    doubts[one.point] = warnings
        folder = None if store is None else store.directory
        return Swept(plan, found, folder, parts=parts, doubts=doubts)

    swept = swept_from(shard.of(points), store)
    if store is None:
        return swept
    # Other shards may have finished in the meantime.
    store.refresh()
    if not swept.complete and all(point.run_id in store for point in points):
        swept = swept_from(points, store)
    return replace(swept, id=finish(swept, store)) if swept.complete else swept
