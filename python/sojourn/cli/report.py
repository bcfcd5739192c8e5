"""``sojourn report``: write the report of finished results again, or export their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sojourn import files
from sojourn.cli.emit import write_exports
from sojourn.cli.options import Export, path_of
from sojourn.cli.output import Output
from sojourn.cli.run import write_report
from sojourn.cli.shell import of_session
from sojourn.cli.summaries import of_comparison, of_results, of_sweep
from sojourn.cli.sweep import write_swept
from sojourn.cli.tune import of_tuned, write_tuned
from sojourn.results import Results
from sojourn.study import shell_session
from sojourn.study.compare import Comparison
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.tune import directory as tune_directory
from sojourn.terminal import show


def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder of run, compare, sweep, tune or shell.",
            show_default=False,
            parser=path_of("DIR", "a folder of results"),
        ),
    ],
    export: Export = None,
) -> None:
    """Write the report of stored results again. Also export their tables."""
    output: Callable[[], Output]
    if files.exists(directory / tune_directory.MANIFEST):
        tuned = tune_directory.reopen(directory)
        show(str(write_tuned(tuned)))
        output = partial(of_tuned, tuned)
    elif files.exists(directory / sweep_directory.PLAN):
        swept = sweep_directory.reopen(directory)
        show(str(write_swept(swept)))
        output = partial(of_sweep, swept)
    elif files.exists(directory / shell_session.LINK):
        session, results = shell_session.reopen(directory)
        show(str(write_report(results)))
        output = partial(of_session, session)
    else:
        results = Results.open(directory)
        show(str(write_report(results)))
        comparison = Comparison.of(results)
        output = partial(of_comparison, comparison) if comparison else partial(of_results, results)
    if export:
        write_exports(output(), export)
