"""``sojourn run``: runs one scenario with several algorithms and seeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sojourn import worlds
from sojourn.api import default_directory, plan, run_points
from sojourn.cli.common import (
    note,
    note_memory,
    own_metrics,
    permit_code,
    progress,
    resumable,
    warn,
    with_warmup,
)
from sojourn.cli.emit import emit
from sojourn.cli.options import (
    AllowCode,
    Aqm,
    CheckPhase,
    Export,
    File,
    Json,
    Metric,
    Out,
    RetryFailed,
    SeedFrom,
    Seeds,
    To,
    Verbose,
    Warmup,
    Workers,
    World,
)
from sojourn.cli.summaries import of_results
from sojourn.errors import InputError
from sojourn.format import counted
from sojourn.results import Results
from sojourn.runner.leases import retry
from sojourn.spec.scenario import Scenario, load
from sojourn.spec.senders import senders
from sojourn.spec.units import number
from sojourn.study.compare import Comparison
from sojourn.study.phase import JITTER, jittered, phase_effects


def run(
    file: File,
    aqm: Aqm = None,
    seeds: Seeds = 5,
    seed_from: SeedFrom = 1,
    warmup: Warmup = None,
    to: To = None,
    metric: Metric = None,
    world: World = worlds.DEFAULT,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    verbose: Verbose = False,
    check_phase: CheckPhase = False,
    retry_failed: RetryFailed = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a scenario under several algorithms and seeds. Show metrics with 95 % intervals."""
    permit_code(allow_code, aqm, metric)
    if warmup == "auto" and world != worlds.DEFAULT:
        raise InputError("warmup", f"= auto is chosen by simulated runs, not in the {world} world", "a time")
    if check_phase and world != worlds.DEFAULT:
        raise InputError(
            "check-phase", f"needs simulated runs, not the {world} world", f"--world {worlds.DEFAULT}"
        )
    scenario = load(file)
    shown, own = own_metrics(scenario, metric)
    with resumable():
        scenario = with_warmup(scenario, warmup, aqm, to=to)
    points = plan(scenario, aqm, seeds, seed_from, world)
    specs = list(dict.fromkeys(point.spec for point in points))
    if check_phase:
        jittered(scenario, seeds)
    note_duration([scenario], len(points), world)
    directory = out if out is not None else default_directory(scenario, specs, world)
    if world == worlds.DEFAULT:
        note_memory(points, workers, verbose)
    if retry_failed:
        retry(directory)
    with resumable():
        with progress(scenario.name) as move:
            results = run_points(
                points, workers, out=directory, progress=move, command=["sojourn", *sys.argv[1:]]
            )
        results = results.measured(own)
        if check_phase:
            note_phase(results, metric or (), workers)
        written = write_report(results)
    warn(results.warnings)
    emit(of_results(results, shown), json, export)
    if verbose and results.fast_path is not None:
        note(f"fast path: {results.fast_path}")
    for line in results.notes:
        note(line)
    if (tcp := senders(scenario)) is not None:
        note(f"TCP: {tcp}")
    note(f"report: {written}")
    note(f"id: {results.id}")


def note_phase(results: Results, metrics: Sequence[str], workers: int | None) -> None:
    """Repeat one seed with jitter; add a warning for each metric that depends on exact times."""
    with progress(f"{results.scenario.name} with jitter") as move:
        moved = phase_effects(results, metrics, workers, move)
    results.add_warnings([one.warning for one in moved])
    if not moved:
        note(f"no phase effects found: {JITTER} of send_jitter moves no metric out of its interval")


def note_duration(scenarios: Sequence[Scenario], runs: int, world: str) -> None:
    """Print the minimum duration in real time of `runs` runs of each scenario."""
    if worlds.find(world).real_time:
        minutes = runs * sum(number("span", one.duration) for one in scenarios) / 60e9
        note(f"{counted(runs * len(scenarios), 'run')} in real time: {minutes:.1f} minutes at least")


def write_report(results: Results, comparison: Comparison | None = None) -> Path:
    """Write ``report.html`` into the folder of the results; `comparison` replaces the stored one."""
    from sojourn import report

    assert results.directory is not None
    path = results.directory / "report.html"
    comparison = comparison or Comparison.of(results)
    return report.write(
        report.for_comparison(comparison) if comparison else report.for_results(results), path
    )
