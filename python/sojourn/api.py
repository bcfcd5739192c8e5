"""``sojourn.run``: runs a scenario with several algorithms and seeds."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from sojourn import _core, arguments, files, worlds
from sojourn.algorithms import Aqm, digests, permitting, spec_of
from sojourn.errors import InputError
from sojourn.metrics.diagnostics import alike, summary
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.check import check
from sojourn.runner.code import require_same
from sojourn.runner.execute import Outcome, Progress, execute
from sojourn.runner.identity import keep_rows
from sojourn.runner.manifest import manifest as begin
from sojourn.runner.manifest import marking_interruption, write_manifest
from sojourn.runner.ownership import entering
from sojourn.runner.point import MOST_SEEDS, Point, digest, points
from sojourn.runner.store import Store
from sojourn.spec.plan import measured, queues
from sojourn.spec.scenario import Scenario, load
from sojourn.worlds import Executor


def run(
    scenario: Scenario | str | os.PathLike[str],
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
    scenario : Scenario or path
        The network and its traffic, or the file that describes them; see ``load``.
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

    Raises
    ------
    InputError
        Before anything runs, for an argument of a wrong type or value.
    RunFailed
        At the end, if runs failed; the others are stored in `out`.

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
        scenario = scenario_of(scenario)
        # Specs of Python code have a canonical form only after the code is loaded.
        scenario = scenario.with_() if allow_code else scenario
        wanted = plan(scenario, aqms, seeds, seed_from, world)
    return run_points(wanted, workers, out, progress, keep_traces, command, executor)


def run_points(
    wanted: Sequence[Point],
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    keep_traces: Literal["all", "none"] = "all",
    command: Sequence[str] | None = None,
    executor: Executor | None = None,
) -> Results:
    """Run what `plan` returned; the parameters are those of `run`."""
    scenario, world = wanted[0].scenario, wanted[0].world
    if workers is not None:
        arguments.whole(workers, "workers", 1)
    arguments.callback(progress, "progress", "a function of (share, done, total)")
    arguments.word(keep_traces, "keep_traces", ("all", "none"))
    if command is not None:
        arguments.texts(command, "command", "a list of words")
    if executor is not None and not hasattr(executor, "start"):
        raise arguments.wrong(executor, "executor", "is not an executor", "sojourn.Dask(ADDRESS), or None")
    begun = (time.time(), time.perf_counter(), time.process_time())
    store, manifest = None, None
    if out is not None:
        with entering(arguments.folder(out), "run", scenario.name, scenario.to_toml(), world):
            manifest = begin(scenario, wanted, command or sys.argv, world)
            require_same(out, manifest["code"])
            store = Store(out, traces=keep_traces == "all")
            write_manifest(store.directory, manifest)
            files.write(store.directory / "scenario.toml", scenario.to_toml())
            layout.write(store.directory, "run")
    specs = list(dict.fromkeys(point.spec for point in wanted))
    outcomes = []
    noted = {}
    with contextlib.nullcontext() if store is None else marking_interruption(store.directory):
        for outcome in execute(wanted, store, workers, progress, executor=executor):
            noted[outcome.point] = outcome.warnings
            outcomes.append(_settle(outcome, store))
    warnings = summary((point.spec, noted[point]) for point in wanted)
    warnings += alike((one.point.spec, one.metrics) for one in outcomes)
    if store is None or manifest is None:
        return Results(scenario, specs, outcomes, warnings)
    results = Results(scenario, specs, outcomes, warnings, store.directory, manifest)
    manifest.update(
        status="complete",
        id=keep_rows(store.directory, store.leaves(point.run_id for point in wanted)),
        warnings=results.warnings,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun[0])),
        wall_s=round(time.perf_counter() - begun[1], 3),
        cpu_s=round(time.process_time() - begun[2], 3),
    )
    write_manifest(store.directory, manifest)
    return results


def scenario_of(value: Scenario | str | os.PathLike[str]) -> Scenario:
    """Return a scenario, read from a file if `value` is a path."""
    if isinstance(value, Scenario):
        return value
    if isinstance(value, str | os.PathLike):
        return load(value)
    raise arguments.wrong(value, "scenario", "is not a scenario", "a Scenario, or the path of its file")


def plan(
    scenario: Scenario,
    aqms: Sequence[str | Aqm | type[Aqm]] | None,
    seeds: int | Iterable[int],
    seed_from: int = 1,
    world: str = worlds.DEFAULT,
) -> list[Point]:
    """Return the points of a run; raise ``InputError`` for invalid arguments."""
    there = worlds.find(arguments.word(world, "world", worlds.REGISTRY))
    scenario = scenario_of(scenario)
    given = [] if aqms is None else arguments.listed(aqms, "aqms", "a list of specs")
    for one in given:
        if not (isinstance(one, str | Aqm) or (isinstance(one, type) and issubclass(one, Aqm))):
            raise arguments.wrong(
                one, "aqms", "is not an algorithm", "a spec, an Aqm class, or an object of one"
            )
    specs = [spec_of(one) for one in given or [queues(scenario)[measured(scenario)].aqm]]
    for spec in specs:
        if specs.count(spec) > 1:
            raise InputError(f"aqm {spec!r}", "is given twice")
    first = arguments.whole(seed_from, "seed_from")
    if isinstance(seeds, Iterable):
        found = arguments.listed(seeds, "seeds", "a number, or a list of numbers")
    else:
        found = list(range(first, first + arguments.whole(seeds, "seeds", 1, MOST_SEEDS)))
    numbers = list(dict.fromkeys(arguments.whole(seed, "seed") for seed in found))
    if not numbers:
        raise InputError("seeds", "is empty", "at least one seed")
    wanted = points(scenario, specs, numbers if there.seeded else numbers[:1], world)
    check(wanted)
    return wanted


def default_directory(scenario: Scenario, aqms: Sequence[str], world: str = worlds.DEFAULT) -> Path:
    """Return ``results/NAME-ID``: the same scenario, algorithms, code and version use the same directory.

    `world` is a world, or ``beside WORLD`` for simulated runs that are compared with those of that world.
    """
    arguments.word(world, "world", [*worlds.REGISTRY, *(f"beside {name}" for name in worlds.REGISTRY)])
    scenario = scenario_of(scenario)
    specs = [spec_of(one) for one in arguments.texts(aqms, "aqms", "a list of specs")]
    more = [] if world == worlds.DEFAULT else [world]
    more += sorted({one for spec in specs for one in digests(scenario.plan_json(spec))})
    name = digest(scenario.to_toml(), "\n".join(specs), _core.CORE_VERSION, *more, length=8)
    return Path("results") / f"{scenario.name}-{name}"


def _settle(outcome: Outcome, store: Store | None) -> Outcome:
    """Release a finished record that can be read from disk."""
    if store is None or not outcome.fresh or not store.traces:
        return outcome
    stored = store.read(outcome.point.run_id)
    return outcome if stored is None else replace(outcome, record=stored.record)
