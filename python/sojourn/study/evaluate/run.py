"""Runs an evaluation: a comparison of each case, and two studies of parameters, each in a folder of its own.

Every folder is a results folder of ``compare`` or ``run``: its finished runs are not repeated, so a killed
evaluation continues where it ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, files, worlds
from sojourn.algorithms import look, spec_of
from sojourn.api import run as run_scenario
from sojourn.errors import InputError
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.code import refusal
from sojourn.runner.execute import Progress
from sojourn.runner.manifest import (
    command_line,
    machine,
    manifest_of,
    marking_interruption,
    write_manifest,
)
from sojourn.runner.ownership import KIND_EVALUATION, PARTS, entering
from sojourn.runner.point import digest
from sojourn.spec.toml import dumps
from sojourn.study.compare import Comparison, compare
from sojourn.study.evaluate.catalogue import Case, Entry, catalogue
from sojourn.study.evaluate.measures import MEASURES
from sojourn.study.evaluate.model import BASELINE, Evaluation, Judged, Plan
from sojourn.study.evaluate.parameters import halves_and_doubles, targets
from sojourn.worlds import Executor

#: The file that describes the study, in its folder.
PLAN = "evaluation.toml"
#: Folders of the studies that serve several sections.
FAIR, SENSITIVITY = "fair", "sensitivity"
#: The scenario of both studies: mild congestion, which most sections refer to.
STUDIED = "S8"


def default_directory(plan: Plan) -> Path:
    """Return ``results/evaluate-ALGORITHM-ID``; the same algorithm and durations use the same folder."""
    name = plan.aqm.split()[0].rpartition("/")[2].rpartition(":")[2]
    return Path("results") / f"evaluate-{name}-{digest(_about(plan), _core.CORE_VERSION, length=8)}"


def evaluate(
    plan: Plan,
    out: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Callable[[str], Progress | None] | None = None,
    command: Sequence[str] = (),
) -> Evaluation:
    """Run an evaluation, or what is missing of it.

    Parameters
    ----------
    plan : Plan
        The algorithm, its rivals, the scenarios, and the number of seeds.
    out : path, optional
        The folder; `default_directory` if None. Finished runs in it are not repeated.
    executor : Executor, optional
        Executes the runs, such as `sojourn.Dask`; the cores of this machine if None.
    progress : callable, optional
        Called with a title for each study; returns what is called about ten times a second with (share,
        done, total).
    command : sequence of str
        The command line, for the manifests.

    Raises
    ------
    InputError
        Before anything runs, if the folder has another study, or no scenario can run.
    RunFailed
        If runs failed; the others are stored.
    """
    if not plan.runnable and not any(one.topic for one in plan.entries):
        refused = plan.refused[0]
        raise InputError(f"scenario {refused.case.name}", f"cannot run: {refused.reason}")
    folder = Path(out) if out is not None else default_directory(plan)
    facts = _facts(plan, command)
    with entering(folder, KIND_EVALUATION, plan.aqm, _about(plan), plan.world):
        files.write(folder / PLAN, _about(plan))
        write_manifest(folder, facts)
        layout.write(folder, KIND_EVALUATION)
    bars = progress or (lambda _title: None)
    with marking_interruption(folder):  # the results of all cases need more memory than those of one
        for entry, case in plan.runnable:
            _compare(plan, entry, case, folder, executor, bars(case.name), command)
        for name, specs in _studies(plan).items():
            _study(plan, specs, folder / name, executor, bars(name), command)
    write_manifest(folder, {**facts, "status": "complete"})
    return reopen(folder)


def reopen(directory: str | os.PathLike[str]) -> Evaluation:
    """Read a finished evaluation from its folder; nothing is run.

    Raises
    ------
    InputError
        If it is not the folder of a finished evaluation, or if one of its algorithms is a class whose code
        may not be executed: the discussions of its cost and its parameters call it.
    """
    folder = Path(directory)
    facts = manifest_of(folder)
    if not files.exists(folder / PLAN):
        raise InputError(str(folder), "is not a folder of evaluate")
    if facts.get("status") != "complete":
        raise InputError(str(folder), "is not complete", f"finish it with: {facts.get('command', '')}")
    try:
        chosen = [one for one in catalogue().entries if one.id in facts["scenarios"]]
        plan = Plan(
            facts["aqm"],
            tuple(facts["against"]),
            tuple(chosen),
            facts["number_of_seeds"],
            facts["quick"],
            facts["until_ci"],
            facts.get("world", worlds.DEFAULT),
            facts["refused"],
        )
    except (KeyError, TypeError) as error:
        raise InputError(
            str(folder / layout.MANIFEST.path), f"does not describe an evaluation: {error}"
        ) from None
    for name in (name for spec in plan.specs for name in _core.classes_in(spec)):
        if look(name) != "loaded":
            raise refusal(name, str(folder / PLAN))
    judged = []
    for entry, case in plan.runnable:
        results = Results.open(folder / case.name)
        comparison = Comparison.of(results)
        if comparison is None:
            raise InputError(str(folder / case.name), "has no comparison")
        judged.append(Judged.of(entry, case, comparison))
    studies = {name: Results.open(folder / name) for name in _studies(plan)}
    return Evaluation(plan, judged, studies.get(FAIR), studies.get(SENSITIVITY), folder)


def _compare(
    plan: Plan,
    entry: Entry,
    case: Case,
    folder: Path,
    executor: Executor | None,
    progress: Progress | None,
    command: Sequence[str],
) -> None:
    scenario = case.scenario(entry.shorter if plan.quick else None, plan.world)
    compare(
        scenario,
        plan.specs,
        BASELINE,
        seeds=plan.seeds,
        until_ci=plan.until_ci,
        executor=executor,
        out=folder / case.name,
        progress=progress,
        command=command or None,
        metrics=[MEASURES.get(name, name) for name in entry.measured(scenario)],
        world=plan.world,
    )


def _studies(plan: Plan) -> dict[str, list[str]]:
    """Return the specs of the studies of parameters that the plan's scenarios need."""
    topics = {one.topic for one in plan.entries}
    found = {}
    if any(entry.id == STUDIED for entry in plan.entries):
        specs = [one.spec for spec in plan.specs for one in targets(spec)]
        found[FAIR] = specs
    if topics & {"stability", "control"}:
        specs = [one.spec for one in halves_and_doubles(plan.aqm)[0]]
        found[SENSITIVITY] = [plan.aqm, *specs]
    return {name: list(dict.fromkeys(map(spec_of, specs))) for name, specs in found.items() if specs}


def _study(
    plan: Plan,
    specs: Sequence[str],
    folder: Path,
    executor: Executor | None,
    progress: Progress | None,
    command: Sequence[str],
) -> None:
    entry = next(one for one in catalogue().entries if one.id == STUDIED)
    run_scenario(
        entry.cases[0].scenario(entry.shorter if plan.quick else None),
        specs,
        plan.seeds,
        out=folder,
        progress=progress,
        keep_traces="none",
        command=command or None,
        executor=executor,
    )


def _about(plan: Plan) -> str:
    """Return what makes an evaluation the same study, as TOML."""
    world = {} if plan.world == worlds.DEFAULT else {"world": plan.world}
    return dumps({"name": plan.aqm, "quick": plan.quick, **world})


def _facts(plan: Plan, command: Sequence[str]) -> dict[str, Any]:
    return {
        "name": plan.aqm,
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "command": command_line(command) if command else "",
        "status": "running",
        "aqm": plan.aqm,
        "against": list(plan.against),
        "quick": plan.quick,
        "number_of_seeds": plan.seeds,
        "until_ci": plan.until_ci,
        "world": plan.world,
        "scenarios": [one.id for one in plan.entries],
        PARTS: [*(case.name for _, case in plan.runnable), *_studies(plan)],
        "refused": {one.case.name: one.reason for one in plan.refused},
        **machine(),
    }
