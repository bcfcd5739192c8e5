"""The results directory of a sweep: plan, scenarios, runs, tables, and a README that describes them.

``sweep.toml`` is the plan, ``cells/ID.toml`` is the scenario of each combination, ``runs/`` has the finished
runs. ``runs.parquet`` and ``summary.parquet`` are written when all runs are complete.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.algorithms import digests, identified_by, remember
from sojourn.errors import InputError, refuse_damaged
from sojourn.metrics import Own, measure
from sojourn.metrics.diagnostics import diagnose, parts_of
from sojourn.runner import layout
from sojourn.runner.archive import Archive
from sojourn.runner.code import code_of, require_same, stored, warn_of_changes
from sojourn.runner.data import data_of
from sojourn.runner.identity import keep_rows
from sojourn.runner.manifest import command_line, machine, manifest_of, write_manifest
from sojourn.runner.ownership import entering
from sojourn.runner.point import Point, digest, run_id
from sojourn.runner.sealed import seal, table
from sojourn.runner.store import Store
from sojourn.study.axes import Axis, magnitudes
from sojourn.study.sweep.model import Sweep, Swept
from sojourn.study.sweep.plan_file import read

PLAN = "sweep.toml"
RUNS = "runs.parquet"
SUMMARY = "summary.parquet"
REPORT = "report.html"

README = """\
# A sweep of {name}, by sojourn {version}

{runs} runs: {cells} combinations, {seeds} seeds each. This command created the sweep and resumes it:

    {command}

| file | content |
|---|---|
| sweep.toml | the plan, complete |
| cells/ID.toml | each combination as a scenario for `sojourn run` |
| runs/ | finished runs: one row per run, with metrics and counters |
| runs.parquet | when all runs are complete: one row per run, with the varied keys and every metric |
| summary.parquet | when all runs are complete: mean and half-width of the 95 % interval over the seeds |
| rows.parquet | when all runs are complete: run id and hash of each row |
| failures.jsonl | failed runs: seed, reason, command to repeat the run |
| report.html | when all runs are complete: the report |
| manifest.json | versions, command, status |
| schema.json | the columns of these tables: types, units, codes |

Progress: `sojourn sweep status DIR`. The report again: `sojourn report DIR`. In Python, one of

    polars.read_parquet("DIR/summary.parquet")
    pandas.read_parquet("DIR/summary.parquet")
    duckdb.sql("FROM 'DIR/summary.parquet'")
"""


def prepare(plan: Sweep, directory: Path, command: Sequence[str]) -> Store:
    """Create or reopen the directory of a sweep; return the store of its runs."""
    with entering(directory, "sweep", plan.scenario.name, plan.scenario.to_toml()):
        return _describe(plan, directory, command)


def _describe(plan: Sweep, directory: Path, command: Sequence[str]) -> Store:
    code = code_of(plan.points)
    require_same(directory, code)
    store = Store(directory, traces=False)
    words = command_line(command) if command else ""
    text = plan.to_toml()
    files.make_folder(directory / "cells")
    if files.exists(directory / PLAN) and files.read_text(directory / PLAN) != text:
        for name in (RUNS, SUMMARY, REPORT):  # of another plan; its finished runs stay in runs/
            files.remove(directory / name)
    files.write(directory / PLAN, text)
    layout.write(directory, "sweep", {"keys": {axis.key: _key(axis) for axis in plan.axes}})
    written = set(files.names(directory / "cells"))
    for cell in plan.cells:
        text = cell.scenario.to_toml()
        name = f"{digest(text, length=8)}.toml"
        store.scenarios |= {cell.scenario.plan_json(spec): f"cells/{name}" for spec in cell.specs}
        if name not in written:
            files.write(directory / "cells" / name, text)
    facts: dict[str, Any] = {
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "status": "running",
        "runs": len(plan.points),
        "command": words,
        "code": code,
        "data": data_of(plan.points),
        **machine(),
    }
    write_manifest(directory, facts)
    page = README.format(
        name=plan.scenario.name,
        version=_core.VERSION,
        runs=len(plan.points),
        cells=len(plan.cells),
        seeds=plan.seeds,
        command=words or f"sojourn sweep {PLAN} --out .",
    )
    files.write(directory / "README.md", page)
    return store


def _key(axis: Axis) -> dict[str, Any]:
    """Return the values of a varied key as in tables, and as numbers with a unit if they are quantities."""
    found = magnitudes(axis)
    numbers = {} if found is None else {"numbers": found[0], "unit": found[1]}
    return {"values": list(axis.data), **numbers}


def finish(swept: Swept, store: Store) -> str:
    """Write the tables of a complete sweep, and its id; return the id."""
    directory = store.directory
    files.write(directory / RUNS, seal(swept.runs(), RUNS))
    files.write(directory / SUMMARY, seal(swept.summary(), SUMMARY))
    known = keep_rows(directory, store.leaves(point.run_id for point in swept.sweep.points))
    facts = {"status": "complete", "id": known, "warnings": swept.warnings}
    write_manifest(directory, {**manifest_of(directory), **facts})
    return known


def done(plan: Sweep, directory: str | os.PathLike[str]) -> int:
    """Return the number of finished runs in a directory."""
    archive = Archive(directory)
    return sum(point.run_id in archive for point in plan.points)


def where(point: Point) -> str:
    """Return a run as text, for messages."""
    return f"{point.scenario.name}, {point.spec}, seed {point.seed}"


@refuse_damaged
def reopen(directory: str | os.PathLike[str], own: Sequence[Own] = ()) -> Swept:
    """Read the finished part of a sweep from its directory; nothing is run.

    Metrics of one's own are computed from the stored records.
    """
    code = stored(directory)
    remember(code)
    warn_of_changes(code)
    archive = Archive(directory)
    with identified_by(code):
        plan = _stored_plan(Path(directory))
        found = {point: archive.read(point.run_id) for point in plan.points}
    metrics = {
        point: {**one.metrics, **measure(own, one.record, where(point), False)}
        for point, one in found.items()
        if one is not None
    }
    parts = {
        point: known
        for point, one in found.items()
        if one is not None and (known := parts_of(one.record)) is not None
    }
    facts = manifest_of(Path(directory))
    stated = facts.get("warnings")
    if isinstance(stated, list):
        return Swept(plan, metrics, Path(directory), facts.get("id"), parts, stated=list(map(str, stated)))
    doubts = {
        point: warnings
        for point, one in found.items()
        if one is not None and (warnings := [*diagnose(one.record), *one.warnings])
    }
    return Swept(plan, metrics, Path(directory), facts.get("id"), parts, doubts=doubts)


def _stored_plan(folder: Path) -> Sweep:
    """Return the plan of a folder, with the ids that its runs have there: the core may be another one now."""
    plan = read(folder / PLAN, is_stored=True)
    core = manifest_of(folder).get("core_version")
    if core == _core.CORE_VERSION or not isinstance(core, str):
        return plan
    if (content := files.read(folder / RUNS)) is not None:
        return replace(plan, stored=table(content, RUNS).frame["run_id"].to_list())
    points = (point for _, group in plan.groups for point in group)
    ids = [
        run_id(one.plan_json, one.spec, one.seed, one.world, digests(one.plan_json), core) for one in points
    ]
    return replace(plan, stored=ids)


@refuse_damaged
def status(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the progress of a sweep: runs, done, failed (each with its command), command.

    Raises
    ------
    InputError
        If it is not the directory of a sweep.
    """
    folder = Path(directory)
    if not files.exists(folder / PLAN):
        raise InputError(str(folder), f"is not the directory of a sweep: it has no {PLAN}")
    code = stored(folder)
    remember(code)
    archive = Archive(folder)
    with identified_by(code):
        plan = _stored_plan(folder)
        missing = {point.run_id for point in plan.points if point.run_id not in archive}
    return {
        "runs": len(plan.points),
        "done": len(plan.points) - len(missing),
        "failed": [one for run_id, one in archive.failures().items() if run_id in missing],
        "command": manifest_of(folder).get("command", ""),
    }
