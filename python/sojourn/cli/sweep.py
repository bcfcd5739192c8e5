"""``sojourn sweep``: keys of a scenario over many values, with status and cost estimate."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.common import (
    executor,
    note,
    note_memory,
    own_metrics,
    permit_code,
    progress,
    resumable,
    warn,
)
from sojourn.cli.emit import emit
from sojourn.cli.options import (
    AllowCode,
    Aqm,
    Dask,
    Export,
    Json,
    Lists,
    Metric,
    Out,
    Ranges,
    RetryFailed,
    SeedFrom,
    Serial,
    Workers,
    path_of,
    scenario_file,
)
from sojourn.cli.output import Column, Output, Table
from sojourn.cli.summaries import of_sweep
from sojourn.errors import InputError
from sojourn.format import Scale
from sojourn.runner.code import missing_permission
from sojourn.runner.leases import retry
from sojourn.runner.manifest import manifest_of
from sojourn.spec.aqm_spec import canonical
from sojourn.spec.plan import measured, queues
from sojourn.study.axes import listed, spaced
from sojourn.study.sweep.directory import status
from sojourn.study.sweep.forecast import estimate
from sojourn.study.sweep.model import WHOLE, Shard, Sweep, Swept
from sojourn.study.sweep.plan_file import read
from sojourn.study.sweep.run import sweep as run_sweep
from sojourn.study.sweep.slurm import write_script
from sojourn.terminal import show
from sojourn.worlds.simulated.executors import cores as all_cores


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario or a plan, as TOML; or the word status.",
            show_default=False,
            parser=scenario_file,
        ),
    ],
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="With status: the folder.",
            show_default=False,
            parser=path_of("DIR", "a folder of results"),
        ),
    ] = None,
    ranges: Ranges = None,
    lists: Lists = None,
    aqm: Aqm = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", help="Seeds of each combination [default: 5].", show_default=False
        ),
    ] = None,
    seed_from: SeedFrom = 1,
    metric: Metric = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate runs, time and disk space.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Run only part I of N; the parts share the folder, the last one writes the tables.",
            show_default=False,
        ),
    ] = None,
    sbatch: Annotated[
        int | None,
        typer.Option(
            "--sbatch",
            metavar="N",
            help="Write a SLURM job script for N shards; run nothing.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a scenario over ranges of its keys. The same command resumes an interrupted sweep."""
    if str(file) == "status":
        if directory is None:
            raise InputError("sweep status", "needs the folder of a sweep")
        _status(directory, json, export)
        return
    if directory is not None:
        raise InputError(str(directory), "is one argument too many", "sojourn sweep FILE [OPTIONS]")
    permit_code(allow_code, aqm, specs_of(lists), metric)
    plan = _plan(file, ranges or [], lists or [], aqm, seeds, seed_from)
    shown, own = own_metrics(plan.scenario, metric)
    if sbatch is not None and shard is not None:
        raise InputError(
            "sbatch", "writes a script for all shards, --shard runs a single one", "one of the two"
        )
    folder = out if out is not None else plan.default_directory
    if dry_run:
        _estimate(plan, folder, json, export, workers)
        return
    command = ["sojourn", *whole(sys.argv[1:])]
    if sbatch is not None:
        show(f"sbatch {shlex.quote(str(write_script(plan, folder, sbatch, workers, command)))}")
        return

    note_memory(plan.points, workers)
    if retry_failed:
        retry(folder)
    part = WHOLE if shard is None else Shard.parse(shard)
    with resumable(), executor(workers, serial, dask) as maker, progress(plan.scenario.name) as move:
        swept = run_sweep(
            plan,
            out=folder,
            progress=move,
            command=command,
            executor=maker,
            shard=part,
            metrics=own,
        )
    if not swept.complete:
        note(f"sojourn: shard {shard}: {len(swept.metrics)} runs are done, others are missing in {folder}")
    if swept.complete or json or export:
        emit(of_sweep(swept, shown), json, export)
    warn(swept.warnings)
    for line in swept.notes:
        note(line)
    if not plan.axes:
        note("nothing is varied; to vary a key: -L queue.limit 50p,100p")
    note(f"folder: {folder}")
    if swept.complete:
        note(f"report: {write_swept(swept)}")
        note(f"id: {swept.id}")


def _plan(
    file: Path,
    ranges: list[str],
    lists: list[str],
    aqm: list[str] | None,
    seeds: int | None,
    seed_from: int,
) -> Sweep:
    """Read a plan, or make one of a scenario and the options, which override the plan's seeds and aqms."""
    plan = read(file, or_scenario=True)
    axes = [*plan.axes, *(spaced(*pair(one)) for one in ranges), *(listed(*pair(one)) for one in lists)]
    specs = [canonical(one) for one in aqm or plan.aqms]
    if not specs:
        specs = [canonical(queues(plan.scenario)[measured(plan.scenario)].aqm)]
    changes = {} if seeds is None else {"seeds": seeds, "seed_from": seed_from}
    return replace(plan, aqms=specs, axes=axes, **changes)  # type: ignore[arg-type]


def whole(arguments: list[str]) -> list[str]:
    """Return the words of a command without the options that select a part of the work.

    Examples
    --------
    >>> whole(["sweep", "plan.toml", "--shard", "1/4", "--sbatch=4", "--seeds", "2"])
    ['sweep', 'plan.toml', '--seeds', '2']
    """
    words = iter(arguments)
    found = []
    for word in words:
        if word in ("--shard", "--sbatch"):
            next(words, None)
        elif not word.startswith(("--shard=", "--sbatch=")):
            found.append(word)
    return found


def write_swept(swept: Swept) -> Path:
    """Write ``report.html`` into the folder of a sweep."""
    from sojourn import report

    assert swept.directory is not None
    path = swept.directory / "report.html"
    return report.write(report.for_swept(swept, manifest_of(swept.directory).get("command", "")), path)


def pair(text: str) -> tuple[str, str]:
    """Return key and values of an argument of -P or -L."""
    key, _, values = text.strip().replace("=", " ", 1).partition(" ")
    if not values.strip():
        raise InputError(key, "has no values", "-P KEY LOW:HIGH:N, or -L KEY a,b,c")
    return key, values.strip()


def specs_of(lists: list[str] | None) -> list[str]:
    """Return the values of -L that may be specs of algorithms.

    Examples
    --------
    >>> specs_of(["aqm red,mine.py:Mine", "queue.limit 50p"])
    ['red', 'mine.py:Mine']
    """
    pairs = [pair(one) for one in lists or () if re.match(r"\s*([\w.-]+\.)?aqm[\s=]", one)]
    return [word.strip() for _, values in pairs for word in values.split(",")]


def _status(directory: Path, json: bool, export: list[Path] | None) -> None:
    found = status(directory)
    notes = [f"{found['done']} of {found['runs']} runs are done, {len(found['failed'])} failed"]
    for one in found["failed"]:
        notes.append(f"failed: {one['aqm']}, seed {one['seed']}: {one['reason']}\n  {one['repeat']}")
    if found["done"] < found["runs"]:
        notes.append(f"continue with:\n  {found['command']}")
    columns = [Column("runs", "runs"), Column("done", "done"), Column("failed", "failed")]
    rows = [(found["runs"], found["done"], len(found["failed"]))]
    table = Table("status", f"Status of {directory}", columns, rows, keys=0, turned=True)
    emit(Output(table.title, [table], found, notes, with_tables=False), json, export)


def _estimate(plan: Sweep, folder: Path, json: bool, export: list[Path] | None, workers: int | None) -> None:
    cores = workers or all_cores()
    found = estimate(plan, folder, cores)
    columns = [
        Column("combinations", "combinations"),
        Column("runs", "runs"),
        Column("done", "done"),
        Column("seconds", "time", Scale(1.0, "s"), 2),
        Column("bytes", "disk", Scale(1e-6, "MB"), 3),
        Column("memory", "memory of a run, at most", Scale(1e-6, "MB"), 3),
    ]
    memory = found.memory.total
    rows = [(len(plan.cells), found.runs, found.done, found.seconds, found.bytes, memory)]
    table = Table("estimate", f"Estimate of {plan.scenario.name}", columns, rows, keys=0, turned=True)
    notes = [
        f"combinations  {len(plan.cells)}",
        f"runs          {found.runs}, of which {found.done} are done in {folder}",
    ]
    if found.seconds is None or found.bytes is None:
        notes.append(
            f"time          unknown without trial runs: {missing_permission(plan.points, plan.where)}"
        )
    else:
        time = _duration(found.seconds)
        notes.append(f"time          about {time} with {cores} workers (from trial runs)")
        notes.append(f"disk          about {found.bytes / 1e6:.3g} MB")
    notes.append(f"memory        at most {found.memory} for a run")
    note_memory(plan.points, workers)
    data = {**found._asdict(), "memory": {**found.memory._asdict(), "total": memory}}
    emit(Output(table.title, [table], data, notes, with_tables=False), json, export)


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"
