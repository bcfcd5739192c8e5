"""The results directory of a tuning: plan, scenario, runs, trials and confirmation."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

from sojourn import _core, files
from sojourn.algorithms import remember
from sojourn.errors import InputError
from sojourn.results import Results
from sojourn.runner.code import code_of, require_same, stored
from sojourn.runner.manifest import command_line
from sojourn.runner.ownership import require_owner
from sojourn.runner.point import points
from sojourn.runner.store import Store, parquet
from sojourn.spec.scenario import load
from sojourn.study.compare import Comparison
from sojourn.study.tune.model import CONFIRM, Tune, Tuned, choose
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.search import Trial

MANIFEST = "tune.json"
TRIALS = "trials.parquet"
REPORT = "report.html"


def prepare(plan: Tune, folder: Path, command: Sequence[str]) -> Store:
    """Create or reopen the directory; return the store of its runs."""
    require_owner(folder, "tune", plan.scenario.name, plan.scenario.to_toml())
    code = code_of(points(plan.scenario, plan.specs, [plan.seed_from]))
    require_same(folder, code)
    store = Store(folder, traces=False)
    facts = {
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "command": command_line(command) if command else "",
        "code": code,
        **plan.facts(),
    }
    if files.exists(folder / MANIFEST) and not _is_same_plan(folder, plan):
        for name in (TRIALS, REPORT):  # of another plan; its finished runs stay in runs/
            files.remove(folder / name)
    files.write(folder / "scenario.toml", plan.scenario.to_toml())
    files.write(folder / MANIFEST, json.dumps(facts, indent=1) + "\n")
    return store


def _is_same_plan(folder: Path, plan: Tune) -> bool:
    """Return whether the directory belongs to the same plan."""
    try:
        facts = json.loads(files.read_text(folder / MANIFEST) or "")
    except ValueError:
        return False
    now = json.loads(json.dumps(plan.facts()))
    return all(facts.get(key) == value for key, value in now.items())


def keep_trials(tuned: Tuned, folder: Path) -> None:
    """Write the trials of a finished tuning."""
    files.write(folder / TRIALS, parquet(tuned.table()))


def reopen(directory: str | os.PathLike[str]) -> Tuned:
    """Read a finished tuning from its directory; nothing is run.

    Raises
    ------
    InputError
        If it is not the directory of a finished tuning.
    """
    import polars as pl

    folder = Path(directory)
    plan, table = files.read_text(folder / MANIFEST), files.read(folder / TRIALS)
    if plan is None or table is None:
        raise InputError(str(folder), f"is not a finished tuning: it has no {MANIFEST} or no {TRIALS}")
    try:
        facts = json.loads(plan)
        rows = pl.read_parquet(io.BytesIO(table)).rows(named=True)
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(str(folder), f"cannot be read: {error}") from None
    remember(stored(folder))
    objectives = [Objective.parse(one) for one in facts["objectives"]]
    (first, last), (fresh, latest) = facts["seeds"], facts["fresh_seeds"]
    tune = Tune(
        load(folder / "scenario.toml"),
        facts["aqms"],
        objectives,
        {},
        facts["trials"],
        last - first + 1,
        first,
        latest - fresh + 1,
        facts["best"],
        facts["baseline"],
        facts["weight"],
        facts["rule"],
        facts["sampler_seed"],
    )
    trials = [
        Trial(
            row["trial"], row["aqm"], {o.metric: row[f"{o.metric}_by_seed"] for o in objectives}, row["state"]
        )
        for row in rows
    ]
    comparison = Comparison.of(Results.open(folder / CONFIRM))
    if comparison is None:
        raise InputError(str(folder), "is not a finished tuning: the confirmation is missing")
    return Tuned(tune, trials, choose(tune, trials), comparison, folder)
