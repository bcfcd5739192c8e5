"""``sojourn report``: write the report of finished results again, or export their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _core, files
from sojourn.cli.common import permit_code
from sojourn.cli.compare_worlds import of_compared, write_compared
from sojourn.cli.emit import write_exports
from sojourn.cli.evaluate import of_evaluation, write_evaluation
from sojourn.cli.options import Export, Metric, path_of
from sojourn.cli.output import Output
from sojourn.cli.run import write_report
from sojourn.cli.shell import of_session
from sojourn.cli.summaries import of_comparison, of_results, of_sweep
from sojourn.cli.sweep import write_swept
from sojourn.cli.tune import of_tuned, write_tuned
from sojourn.errors import InputError
from sojourn.metrics import Own, load
from sojourn.results import Results
from sojourn.runner.manifest import manifest_of
from sojourn.study import shell_session, two_worlds
from sojourn.study.compare import Comparison
from sojourn.study.evaluate import run as evaluation_directory
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.tune import directory as tune_directory
from sojourn.study.tune.model import CONFIRM
from sojourn.terminal import show


def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder of run, compare, compare-worlds, sweep, tune, evaluate or shell.",
            show_default=False,
            parser=path_of("DIR", "a folder of results"),
        ),
    ],
    metric: Metric = None,
    export: Export = None,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Execute the Python code that DIR names, if it is an evaluation."),
    ] = False,
) -> None:
    """Write the report of stored results again. Show metrics of stored runs, also own ones. Export tables."""
    permit_code(allow_code, metric)
    names, own = load(metric or ())
    output: Callable[[], Output]
    if files.exists(directory / tune_directory.MANIFEST):
        if metric:
            allowed = f"those of a run or a sweep, or {directory / CONFIRM}"
            raise InputError("metric", "is not for a tuning, whose objectives are fixed", allowed)
        tuned = tune_directory.reopen(directory)
        show(str(write_tuned(tuned)))
        output = partial(of_tuned, tuned)
    elif files.exists(directory / sweep_directory.PLAN):
        swept = sweep_directory.reopen(directory, own)
        show(str(write_swept(swept)))
        output = partial(of_sweep, swept, names)
    elif files.exists(directory / two_worlds.WORLDS):
        if metric:
            allowed = f"those of a part, such as {two_worlds.copy_of(directory)}"
            raise InputError("metric", "is not for a comparison of worlds", allowed)
        compared = two_worlds.reopen(directory)
        show(str(write_compared(compared)))
        output = partial(of_compared, compared)
    elif files.exists(directory / evaluation_directory.PLAN):
        if metric:
            raise InputError(
                "metric", "is not for an evaluation, whose metrics are those of RFC 7928", "those of a case"
            )
        evaluation = evaluation_directory.reopen(directory)
        show(str(write_evaluation(evaluation)))
        output = partial(of_evaluation, evaluation, every=True)
    elif files.exists(directory / shell_session.LINK):
        session, results = shell_session.reopen(directory)
        results = _with(results, names, own)
        show(str(write_report(results)))
        output = partial(of_results, results, names) if names else partial(of_session, session)
    elif "paper" in (facts := manifest_of(directory)):
        command = (
            f"sojourn reproduce {facts['paper']}{' --quick' if facts.get('quick') else ''} --out {directory}"
        )
        raise InputError(
            str(directory), "is a reproduction of a paper", f"{command}, which keeps finished runs"
        )
    else:
        results = _with(Results.open(directory), names, own)
        comparison = Comparison.of(results)
        if comparison is not None and names:
            comparison = replace(comparison, chosen=tuple(names), sort=names[0])
        show(str(write_report(results, comparison)))
        output = partial(of_comparison, comparison) if comparison else partial(of_results, results, names)
    if names:
        output().print()
    if export:
        write_exports(output(), export)


def _with(results: Results, names: list[str], own: list[Own]) -> Results:
    """Return results with own metrics; raise ``InputError`` if they lack one of `names`."""
    results = results.measured(own)
    for name in names:
        if name not in results.metric_names:
            near = _core.nearest(name, results.metric_names)
            raise InputError("metric", f"= {name!r} was not measured", "a metric of the runs", near)
    return results
