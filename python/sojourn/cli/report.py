"""``sojourn report``: draw the report of finished results again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.common import path_of
from sojourn.cli.run import write_report
from sojourn.cli.sweep import write_swept
from sojourn.cli.tune import write_tuned
from sojourn.results import Results
from sojourn.study import shell_session
from sojourn.study.sweep import folder
from sojourn.study.tune import folder as tune_folder


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
) -> None:
    """Write report.html of a folder again, from what is stored; nothing is run."""
    if (directory / tune_folder.MANIFEST).exists():
        print(write_tuned(tune_folder.reopen(directory)))
    elif (directory / folder.PLAN).exists():
        print(write_swept(folder.reopen(directory)))
    elif (directory / shell_session.LINK).exists():
        print(write_report(shell_session.reopen(directory)))
    else:
        print(write_report(Results.open(directory)))
