"""The results directory of a tuning: plan, scenario, runs, trials and confirmation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.algorithms import remember
from sojourn.errors import InputError, RunFailed, refuse_damaged
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.archive import Archive
from sojourn.runner.code import code_of, require_same, stored
from sojourn.runner.data import data_of
from sojourn.runner.identity import keep_rows
from sojourn.runner.manifest import command_line, machine, manifest_of, write_manifest
from sojourn.runner.ownership import entering
from sojourn.runner.point import points
from sojourn.runner.sealed import Damaged, seal, table
from sojourn.runner.store import Store
from sojourn.spec.scenario import load
from sojourn.study.compare import Comparison
from sojourn.study.significance import Requirement
from sojourn.study.tune.model import CONFIRM, Tune, Tuned, choose
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.search import Trial

MANIFEST = "tune.json"
TRIALS = "trials.parquet"
REPORT = "report.html"


def prepare(plan: Tune, folder: Path, command: Sequence[str]) -> Store:
    """Create or reopen the directory; return the store of its runs."""
    with entering(folder, "tune", plan.scenario.name, plan.scenario.to_toml()):
        return _describe(plan, folder, command)


def _describe(plan: Tune, folder: Path, command: Sequence[str]) -> Store:
    some = points(plan.scenario, plan.specs, [plan.seed_from])
    code = code_of(some)
    require_same(folder, code)
    store = Store(folder, traces=False)
    facts = {
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "status": "running",
        "command": command_line(command) if command else "",
        "code": code,
        "data": data_of(some),
        **machine(),
        **plan.facts(),
    }
    if files.exists(folder / MANIFEST) and not _is_same_plan(folder, plan):
        for name in (TRIALS, REPORT):  # of another plan; its finished runs stay in runs/
            files.remove(folder / name)
    files.write(folder / "scenario.toml", plan.scenario.to_toml())
    write_manifest(folder, facts, MANIFEST)
    layout.write(folder, "tune")
    return store


def _is_same_plan(folder: Path, plan: Tune) -> bool:
    """Return whether the directory belongs to the same plan."""
    try:
        facts = manifest_of(folder, MANIFEST)
    except InputError:
        return False
    now = json.loads(json.dumps(plan.facts()))
    return all(facts.get(key) == value for key, value in now.items())


def finish(tuned: Tuned, store: Store, run_ids: Iterable[str]) -> str:
    """Write the trials of a finished tuning; return the id of the runs `run_ids` and the confirmation."""
    folder = store.directory
    files.write(folder / TRIALS, seal(tuned.table(), TRIALS))
    outcomes = tuned.comparison.results.outcomes
    confirmed = Archive(folder / CONFIRM).leaves(one.point.run_id for one in outcomes)
    known = keep_rows(folder, store.leaves(run_ids) | confirmed)
    write_manifest(folder, {**manifest_of(folder, MANIFEST), "status": "complete", "id": known}, MANIFEST)
    return known


@refuse_damaged
def reopen(directory: str | os.PathLike[str]) -> Tuned:
    """Read a finished tuning from its directory; nothing is run.

    Raises
    ------
    InputError
        If it is not the directory of a finished tuning.
    """
    folder = Path(directory)
    facts, content = manifest_of(folder, MANIFEST), files.read(folder / TRIALS)
    if not facts or content is None:
        raise InputError(str(folder), f"is not a finished tuning: it has no {MANIFEST} or no {TRIALS}")
    try:
        tuned = _tuned(folder, facts, table(content, TRIALS).frame.rows(named=True))
    except Damaged as error:
        raise RunFailed(
            f"{folder / TRIALS}: cannot be read: {error}; to restore it, repeat {facts.get('command')}"
        ) from None
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            str(folder / MANIFEST), f"does not describe a tuning: {type(error).__name__}: {error}"
        ) from None
    return tuned


def _tuned(folder: Path, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Tuned:
    remember(stored(folder))
    objectives = [Objective.parse(one) for one in facts["objectives"]]
    (first, last), (fresh, latest) = facts["seeds"], facts["fresh_seeds"]
    tune = Tune(
        load(folder / "scenario.toml", is_stored=True),
        facts["aqms"],
        objectives,
        {},
        facts["trials"],
        last - first + 1,
        first,
        latest - fresh + 1,
        facts["best"],
        facts["baseline"],
        facts["rank"],
        facts["rule"],
        facts["sampler_seed"],
        facts["weights"],
        [Requirement(*one) for one in facts["requirements"]],
    )
    trials = [
        Trial(
            row["trial"],
            row["aqm"],
            {o.metric: row[f"{o.metric}_by_seed"] for o in objectives},
            row["state"],
            {one.metric: row[f"{one.metric}_by_seed"] for one in tune.requirements},
        )
        for row in rows
    ]
    comparison = Comparison.of(Results.open(folder / CONFIRM))
    if comparison is None:
        raise InputError(str(folder), "is not a finished tuning: the confirmation is missing")
    return Tuned(tune, trials, choose(tune, trials), comparison, folder, facts.get("id"))
