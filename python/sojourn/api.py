"""``sojourn.run``: runs a scenario with several algorithms and seeds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from sojourn import _core, worlds
from sojourn.algorithms import Aqm, digests, permitting, spec_of
from sojourn.errors import InputError, place
from sojourn.metrics.diagnostics import alike, summary
from sojourn.results import Results
from sojourn.runner.check import check
from sojourn.runner.code import require_same
from sojourn.runner.execute import Outcome, Progress, execute
from sojourn.runner.manifest import manifest as begin
from sojourn.runner.manifest import write_manifest, write_text
from sojourn.runner.ownership import require_owner
from sojourn.runner.point import MOST_SEEDS, Point, digest, points
from sojourn.runner.store import Store
from sojourn.spec.plan import measured, queues
from sojourn.spec.scenario import Scenario
from sojourn.worlds import Executor


def run(
    scenario: Scenario,
    aqms: Sequence[str | Aqm | type[Aqm]] | None = None,
    seeds: int | Iterable[int] = 5,
    seed_from: int = 1,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    keep_traces: Literal["all", "none"] = "all",
    command: Sequence[str] | None = None,
    world: str = worlds.DEFAULT,
    executor: Executor | None = None,
    allow_code: bool = False,
) -> Results:
    """Run every algorithm with every seed and return the results.

    Parameters
    ----------
    scenario : Scenario
        The network and its traffic; see ``load``.
    aqms : sequence of str or Aqm, optional
        Algorithms at the measured queue: specs, or classes and objects in Python; the scenario's if None.
    seeds : int or iterable of int
        The number of seeds, or the seeds.
    seed_from : int
        The first seed, if `seeds` is a number.
    workers : int, optional
        Threads; all cores if None. The results do not depend on it.
    out : path, optional
        Results directory; finished runs in it are not repeated. Nothing is written if None.
    progress : callable, optional
        Called about ten times a second with (share, done, total).
    keep_traces : {"all", "none"}
        Whether the time series are stored in `out`.
    command : sequence of str, optional
        The command line, for the manifest; ``sys.argv`` if None.
    world : str
        A key of `sojourn.worlds.REGISTRY`: simulated packets; real hosts and packets
        (`sojourn.worlds.real`), in real time, one run after the other; or the equations of
        `sojourn.worlds.fluid`, which are deterministic and use only the first seed.
    executor : Executor, optional
        Executes the runs, such as `sojourn.Dask`; the cores of this machine if None.
    allow_code : bool
        Execute the Python files that the scenario and specs name (``mine.py:Mine``). Classes and objects in
        `aqms` need no permission. See ``SECURITY.md``.

    Examples
    --------
    >>> import sojourn
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="6s", warmup="3s")
    >>> results = sojourn.run(scenario, aqms=["red", "droptail"], seeds=2)
    >>> results.runs.select("aqm", "seed").rows()
    [('red', 1), ('red', 2), ('droptail', 1), ('droptail', 2)]
    >>> results.trace("queue", aqm="red", seed=1).columns[:4]
    ['aqm', 'seed', 'time_s', 'queue_packets']
    """
    with permitting(allow_code):
        # Once code is loaded, specs have their canonical form.
        scenario = scenario.with_() if allow_code else scenario
        wanted = plan(scenario, aqms, seeds, seed_from, world)
    if workers is not None and workers < 1:
        raise InputError("workers", f"= {workers} is too few", "at least 1")
    begun = (time.time(), time.perf_counter(), time.process_time())
    store, manifest = None, None
    if out is not None:
        require_owner(place(out), "run", scenario.name, scenario.to_toml(), world)
        manifest = begin(scenario, wanted, command or sys.argv, world)
        require_same(out, manifest["code"])
        store = _open(out, keep_traces)
        write_manifest(store, manifest)
        write_text(store, "scenario.toml", scenario.to_toml())
    specs = list(dict.fromkeys(point.spec for point in wanted))
    outcomes = []
    noted = {}
    for outcome in execute(wanted, store, workers, progress, executor=executor):
        noted[outcome.point] = outcome.warnings
        outcomes.append(_settle(outcome, store))
    warnings = summary((point.spec, noted[point]) for point in wanted)
    warnings += alike((one.point.spec, one.metrics) for one in outcomes)
    if store is None or manifest is None:
        return Results(scenario, specs, outcomes, warnings)
    manifest.update(
        status="complete",
        warnings=warnings,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun[0])),
        wall_s=round(time.perf_counter() - begun[1], 3),
        cpu_s=round(time.process_time() - begun[2], 3),
    )
    write_manifest(store, manifest)
    return Results(scenario, specs, outcomes, warnings, store.directory, manifest)


def plan(
    scenario: Scenario,
    aqms: Sequence[str | Aqm | type[Aqm]] | None,
    seeds: int | Iterable[int],
    seed_from: int = 1,
    world: str = worlds.DEFAULT,
) -> list[Point]:
    """Return the points of a run; raise ``InputError`` for invalid arguments."""
    there = worlds.find(world)
    if isinstance(aqms, str):
        raise InputError("aqms", f"= {aqms!r} is one text", "a list of specs")
    specs = [spec_of(one) for one in aqms or [queues(scenario)[measured(scenario)].aqm]]
    for spec in specs:
        if specs.count(spec) > 1:
            raise InputError(f"aqm {spec!r}", "is given twice")
    if isinstance(seeds, int):
        if not 1 <= seeds <= MOST_SEEDS:
            raise InputError("seeds", f"= {seeds} is out of range", f"1 to {MOST_SEEDS}")
        seeds = range(seed_from, seed_from + seeds)
    numbers = list(dict.fromkeys(seeds))
    for seed in (*numbers[:1], *numbers[-1:], *(s for s in numbers if s < 0)):
        if not 0 <= seed < 2**53:
            raise InputError("seed", f"= {seed} is out of range", f"0 to {2**53 - 1}")
    if not numbers:
        raise InputError("seeds", "is empty", "at least one seed")
    wanted = points(scenario, specs, numbers if there.seeded else numbers[:1], world)
    check(wanted)
    return wanted


def default_directory(scenario: Scenario, aqms: Sequence[str], world: str = worlds.DEFAULT) -> Path:
    """Return ``results/NAME-ID``: the same scenario, algorithms, code and version use the same directory."""
    more = [] if world == worlds.DEFAULT else [world]
    more += sorted({one for spec in aqms for one in digests(scenario.plan_json(spec))})
    name = digest(scenario.to_toml(), "\n".join(aqms), _core.CORE_VERSION, *more, length=8)
    return Path("results") / f"{scenario.name}-{name}"


def _open(out: str | os.PathLike[str], keep_traces: str) -> Store:
    if keep_traces not in ("all", "none"):
        raise InputError("keep_traces", f"= {keep_traces!r} is not one of the allowed words", "all, none")
    return Store(out, traces=keep_traces == "all")


def _settle(outcome: Outcome, store: Store | None) -> Outcome:
    """Release a finished record that can be read from disk."""
    if store is None or not outcome.fresh or not store.traces:
        return outcome
    stored = store.read(outcome.point.run_id)
    return outcome if stored is None else replace(outcome, record=stored.record)
