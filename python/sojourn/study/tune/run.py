"""Tunes an algorithm for a link: tries settings, selects the best, confirms it on held-out seeds.

Settings come from a grid or list (``rank``) or from a search (``search``). With several objectives the search
gives a Pareto front. Significant differences (`sojourn.study.significance`) or the rank rule of the AVQRED
paper (`sojourn.study.tune.rank`) select from it, or from the grid. The best of many noisy results is biased
by the selection, so the selected settings run again, on held-out seeds, together with the baseline.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace

from sojourn.algorithms import permitting
from sojourn.api import run as run_scenario
from sojourn.arguments import folder as folder_of
from sojourn.errors import InputError
from sojourn.metrics import Metrics
from sojourn.runner.check import check
from sojourn.runner.execute import Progress, execute
from sojourn.runner.manifest import marking_interruption
from sojourn.runner.point import Point, points
from sojourn.study.compare import Comparison, keep
from sojourn.study.tune.directory import MANIFEST, finish, prepare
from sojourn.study.tune.model import CONFIRM, Tune, Tuned, choose
from sojourn.study.tune.search import Run, Trial, search
from sojourn.worlds import Executor


def tune(
    plan: Tune,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
    executor: Executor | None = None,
    allow_code: bool = False,
) -> Tuned:
    """Try settings, select the best, confirm them.

    Parameters
    ----------
    plan : Tune
        The plan.
    out : path, optional
        Results directory; the same call resumes an interrupted tuning. Nothing is written if None.
    progress : callable, optional
        Called after each group of runs with (share, done, total).
    command : sequence of str
        The command line, for the manifest.
    executor : Executor, optional
        Executes the runs; all cores of this machine if None. The results do not depend on it.
    allow_code : bool
        Execute the Python files that the plan names.

    Raises
    ------
    InputError
        For an invalid plan, before anything runs.
    RunFailed
        If a run fails.
    """
    with permitting(allow_code):
        plan = replace(plan, scenario=plan.scenario.with_()) if allow_code else plan
        check(points(plan.scenario, plan.specs, [plan.seed_from]))
    folder = None if out is None else folder_of(out)
    store = None if folder is None else prepare(plan, folder, command)
    groups = len(plan.aqms) * (plan.trials if plan.rule == "search" else 1)
    total, done = groups * plan.seeds + (1 + plan.best) * plan.confirm, 0

    made: set[str] = set()

    def run(wanted: Sequence[Point]) -> dict[Point, Metrics]:
        nonlocal done
        found = {one.point: one.metrics for one in execute(wanted, store, executor=executor)}
        done += len(found)
        made.update(point.run_id for point in found)
        if progress is not None:
            progress(min(1.0, done / total), done, total)
        return found

    seeds = range(plan.seed_from, plan.seed_from + plan.seeds)
    with contextlib.nullcontext() if folder is None else marking_interruption(folder, MANIFEST):
        trials = _searched(plan, seeds, run) if plan.rule == "search" else _listed(plan, seeds, run)
        ranking = choose(plan, trials)
        baseline = plan.baseline
        results = run_scenario(
            plan.scenario,
            list(dict.fromkeys([*ranking.order[: plan.best], baseline])),
            plan.fresh,
            out=None if folder is None else folder / CONFIRM,
            progress=None,
            command=command or None,
            executor=executor,
        )
    comparison = keep(Comparison(results, baseline, plan.objectives[0].metric))
    tuned = Tuned(plan, trials, ranking, comparison, folder)
    return tuned if store is None else replace(tuned, id=finish(tuned, store, made))


def _searched(plan: Tune, seeds: range, run: Run) -> list[Trial]:
    found: list[Trial] = []
    for aqm in plan.aqms:
        trials = search(
            plan.scenario,
            aqm,
            plan.dimensions[aqm],
            plan.objectives,
            plan.trials,
            seeds,
            run,
            plan.sampler_seed,
            plan.requirements,
        )
        for trial in trials:
            trial.number += len(found)
        found += trials
    return found


def _listed(plan: Tune, seeds: range, run: Run) -> list[Trial]:
    metrics = run(points(plan.scenario, plan.aqms, seeds))
    found = []
    for number, spec in enumerate(plan.aqms):
        rows = [metrics[Point(plan.scenario, spec, seed)] for seed in seeds]
        values: dict[str, list[float]] = {}
        watched: dict[str, list[float]] = {}
        for name in [o.metric for o in plan.objectives] + [r.metric for r in plan.requirements]:
            known = [row.get(name) for row in rows]
            if any(value is None for value in known):
                raise InputError(
                    f"metric {name}", f"has no value in some runs of {spec}", "a metric that every run has"
                )
            is_objective = any(name == one.metric for one in plan.objectives)
            (values if is_objective else watched)[name] = [one for one in known if one is not None]
        found.append(Trial(number, spec, values, "finished", watched))
    return found
