"""``sojourn sweep``: keys of a scenario over many values; how far it is; what it will take."""

from __future__ import annotations

import shlex
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.common import (
    Dask,
    Json,
    Out,
    Serial,
    Workers,
    executor,
    note,
    path_of,
    print_json,
    progress,
    resumable,
    scenario_file,
)
from sojourn.errors import InputError, disk
from sojourn.spec.aqm_spec import canonical
from sojourn.spec.plan import measured, queues
from sojourn.spec.scenario import load
from sojourn.study.axes import listed, spaced
from sojourn.study.compare import check_metric
from sojourn.study.sweep.folder import status
from sojourn.study.sweep.forecast import estimate
from sojourn.study.sweep.model import WHOLE, Shard, Sweep, Swept
from sojourn.study.sweep.plan_file import read
from sojourn.study.sweep.run import sweep as run_sweep
from sojourn.study.sweep.slurm import write_script
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
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "-P",
            metavar="KEY RANGE",
            help="A key over a range, like: dumbbell.rate 1Mbit/s:100Mbit/s:log5.",
            show_default=False,
        ),
    ] = None,
    lists: Annotated[
        list[str] | None,
        typer.Option(
            "-L",
            metavar="KEY VALUES",
            help="A key over a list, like: queue.limit 50p,100p; aqm.target 5ms,20ms; aqm red,pie.",
            show_default=False,
        ),
    ] = None,
    aqm: Annotated[
        list[str] | None,
        typer.Option("--aqm", metavar="SPEC", help="Algorithm; several to compare.", show_default=False),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", help="Seeds each [default: 5].", show_default=False)
    ] = None,
    seed_from: Annotated[int, typer.Option("--seed-from", metavar="K", help="The first seed.")] = 1,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Column of the table; several [default: the main ones].",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only part I of N; the parts share the folder, the last writes the tables.",
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
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
) -> None:
    """Run a scenario over values of its keys, every algorithm and seed; go on where it was interrupted."""
    if str(file) == "status":
        if directory is None:
            raise InputError("sweep status", "needs the folder of a sweep")
        _status(directory, json)
        return
    if directory is not None:
        raise InputError(str(directory), "is one argument too many", "sojourn sweep FILE [OPTIONS]")
    plan = _plan(file, ranges or [], lists or [], aqm, seeds, seed_from)
    for name in metric or []:
        check_metric(plan.scenario, "metric", name)
    if sbatch is not None and shard is not None:
        raise InputError("sbatch", "writes the jobs of all shards, and --shard is one", "one of the two")
    folder = out if out is not None else plan.default_directory
    if dry_run:
        _estimate(plan, folder, json, workers)
        return
    command = ["sojourn", *whole(sys.argv[1:])]
    if sbatch is not None:
        print(f"sbatch {shlex.quote(str(write_script(plan, folder, sbatch, workers, command)))}")
        return

    part = WHOLE if shard is None else Shard.parse(shard)
    with resumable(), executor(workers, serial, dask) as maker, progress(plan.scenario.name) as move:
        swept = run_sweep(plan, out=folder, progress=move, command=command, executor=maker, shard=part)
    if not swept.complete:
        note(f"sojourn: shard {shard}: {len(swept.metrics)} runs are done, others are missing in {folder}")
    if json:
        print_json({"runs": swept.runs().to_dicts(), "summary": swept.summary().to_dicts()})
    elif swept.complete:
        from sojourn.cli.table import show_sweep

        show_sweep(swept, metric)
    for warning in swept.warnings:
        note(f"sojourn: warning: {warning}")
    note(f"folder: {folder}")


def _plan(
    file: Path,
    ranges: list[str],
    lists: list[str],
    aqm: list[str] | None,
    seeds: int | None,
    seed_from: int,
) -> Sweep:
    """Read a plan, or make one of a scenario and the options; options win over the plan's seeds and aqms."""
    try:
        is_plan = not {"scenario", "vary"}.isdisjoint(tomllib.loads(file.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError):
        is_plan = False  # load() says what is wrong with it
    plan = read(file) if is_plan else Sweep(load(file), [], [])
    axes = [*plan.axes, *(spaced(*pair(one)) for one in ranges), *(listed(*pair(one)) for one in lists)]
    specs = [canonical(one) for one in aqm or plan.aqms]
    if not specs:
        specs = [canonical(queues(plan.scenario)[measured(plan.scenario)].aqm)]
    changes = {} if seeds is None else {"seeds": seeds, "seed_from": seed_from}
    return replace(plan, aqms=specs, axes=axes, **changes)  # type: ignore[arg-type]


def whole(arguments: list[str]) -> list[str]:
    """Return the words of a command without those that ask for a part of the work.

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
    try:
        report.write(report.for_swept(swept, status(swept.directory)["command"]), path)
    except OSError as error:
        raise disk(error, path) from None
    return path


def pair(text: str) -> tuple[str, str]:
    """Return key and values of what followed -P or -L."""
    key, _, values = text.strip().replace("=", " ", 1).partition(" ")
    if not values.strip():
        raise InputError(key, "has no values", "-P KEY LOW:HIGH:N, or -L KEY a,b,c")
    return key, values.strip()


def _status(directory: Path, json: bool) -> None:

    found = status(directory)
    if json:
        print_json(found)
        return
    print(f"{found['done']} of {found['runs']} runs are done, {len(found['failed'])} failed")
    for one in found["failed"]:
        print(f"failed: {one['aqm']}, seed {one['seed']}: {one['reason']}\n  {one['repeat']}")
    if found["done"] < found["runs"]:
        print(f"go on with:\n  {found['command']}")


def _estimate(plan: Sweep, folder: Path, json: bool, workers: int | None) -> None:

    cores = workers or all_cores()
    found = estimate(plan, folder, cores)
    if json:
        print_json(found._asdict())
        return
    print(f"combinations  {len(plan.cells)}")
    print(f"runs          {found.runs}, of which {found.done} are done in {folder}")
    print(
        f"time          about {_duration(found.seconds)} with {cores} workers (from three short trial runs)"
    )
    print(f"disk          about {found.bytes / 1e6:.3g} MB")


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"
