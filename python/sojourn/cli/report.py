"""``sojourn report``: draw the report of finished results again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A results folder of 'sojourn run' or 'compare'.", show_default=False
        ),
    ],
) -> None:
    """Write report.html of a results folder again, from what is stored; nothing is run."""
    from sojourn.cli.run import write_report
    from sojourn.results import Results

    print(write_report(Results.open(directory)))
