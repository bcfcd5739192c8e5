"""Writes the output of a command to the terminal and to the files of ``--export``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn.cli.common import note, print_json
from sojourn.cli.export import write
from sojourn.cli.output import Output


def emit(output: Output, json: bool, export: Sequence[Path] | None) -> None:
    """Print an output, as JSON or as tables, and write the files of ``--export``."""
    if json:
        print_json(output.data)
    else:
        output.print()
    write_exports(output, export)


def write_exports(output: Output, export: Sequence[Path] | None) -> None:
    """Write the files of ``--export`` and report them on standard error."""
    for file in export or ():
        for written in write(output, file):
            note(f"export: {written}")
