"""``sojourn report``: draw the report of finished results again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.common import path_of


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
    from sojourn.cli.run import write_report
    from sojourn.results import Results
    from sojourn.study.sweep import folder
    from sojourn.study.tune import folder as tune_folder
    from sojourn.worlds.real import session

    if (directory / tune_folder.MANIFEST).exists():
        from sojourn.cli.tune import write_tuned

        print(write_tuned(tune_folder.reopen(directory)))
    elif (directory / folder.PLAN).exists():
        from sojourn.cli.sweep import write_swept

        print(write_swept(folder.reopen(directory)))
    elif (directory / session.LINK).exists():
        print(session.redraw(directory))
    else:
        print(write_report(Results.open(directory)))
