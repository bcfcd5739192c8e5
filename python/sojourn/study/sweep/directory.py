"""The results directory of a sweep: plan, scenarios, runs, tables, and a README that describes them.

``sweep.toml`` is the plan, ``cells/ID.toml`` is the scenario of each combination, ``runs/`` has the finished
runs. ``runs.parquet`` and ``summary.parquet`` are written when all runs are complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.algorithms import remember
from sojourn.errors import InputError
from sojourn.runner.code import code_of, require_same, stored
from sojourn.runner.manifest import command_line
from sojourn.runner.ownership import require_owner
from sojourn.runner.point import digest
from sojourn.runner.run_index import RunIndex
from sojourn.runner.store import Store, parquet
from sojourn.study.sweep.model import Sweep, Swept
from sojourn.study.sweep.plan_file import read

PLAN = "sweep.toml"
MANIFEST = "manifest.json"
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
| failures.jsonl | failed runs: seed, reason, command to repeat the run |
| manifest.json | versions, command, status |

Progress: `sojourn sweep status DIR`. Report: `sojourn report DIR`. In Python, one of

    polars.read_parquet("DIR/summary.parquet")
    pandas.read_parquet("DIR/summary.parquet")
    duckdb.sql("FROM 'DIR/summary.parquet'")
"""


def prepare(plan: Sweep, directory: Path, command: Sequence[str]) -> Store:
    """Create or reopen the directory of a sweep; return the store of its runs."""
    require_owner(directory, "sweep", plan.scenario.name, plan.scenario.to_toml())
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
    }
    _write_facts(directory, facts)
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


def finish(swept: Swept, directory: Path) -> None:
    """Write the tables of a complete sweep."""
    files.write(directory / RUNS, parquet(swept.runs()))
    files.write(directory / SUMMARY, parquet(swept.summary()))
    facts = json.loads(files.read_text(directory / MANIFEST) or "{}")
    _write_facts(directory, {**facts, "status": "complete"})


def _write_facts(directory: Path, facts: dict[str, Any]) -> None:
    files.write(directory / MANIFEST, json.dumps(facts, indent=1) + "\n")


def done(plan: Sweep, directory: str | os.PathLike[str]) -> int:
    """Return the number of finished runs in a directory."""
    index = RunIndex(Path(directory) / "runs")
    return sum(point.run_id in index for point in plan.points)


def reopen(directory: str | os.PathLike[str]) -> Swept:
    """Read the finished part of a sweep from its directory; nothing is run."""
    remember(stored(directory))
    plan = read(Path(directory) / PLAN)
    store = Store(directory, traces=False)
    found = {point: store.read(point.run_id) for point in plan.points}
    return Swept(plan, {p: one.metrics for p, one in found.items() if one is not None}, Path(directory))


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
    remember(stored(folder))
    plan = read(folder / PLAN)
    try:
        manifest = json.loads(files.read_text(folder / MANIFEST) or "{}")
        lines = (files.read_text(folder / "failures.jsonl") or "").splitlines()
    except ValueError as error:
        raise InputError(str(folder), f"cannot be read: {error}") from None
    failed = {one["run_id"]: one for one in map(json.loads, lines)}
    index = RunIndex(folder / "runs")
    missing = {point.run_id for point in plan.points if point.run_id not in index}
    return {
        "runs": len(plan.points),
        "done": len(plan.points) - len(missing),
        "failed": [one for run_id, one in failed.items() if run_id in missing],
        "command": manifest.get("command", ""),
    }
