"""Exporters: the formats of ``--export FILE``, each known by the suffix of its files.

To add a format, write a class with the attributes of `Exporter` and add it to `EXPORTERS`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from sojourn import _core, files
from sojourn.cli.export.data import Csv, Json, Parquet
from sojourn.cli.export.latex import Latex
from sojourn.cli.export.markdown import Markdown
from sojourn.cli.output import Output
from sojourn.errors import InputError, place


class Exporter(Protocol):
    """A format.

    Attributes
    ----------
    name : str
        Name of the format in help texts and errors.
    suffix : str
        Suffix of the file name, with its dot.
    one_table : bool
        Whether a file of this format holds a single table.
    """

    name: str
    suffix: str
    one_table: bool

    def write(self, output: Output) -> bytes:
        """Return the content of the file."""


EXPORTERS: Final[dict[str, Exporter]] = {
    one.suffix: one for one in (Json(), Csv(), Parquet(), Latex(), Markdown())
}


def check(text: str) -> Path:
    """Return the file of ``--export``; refuse a format that does not exist and a file that cannot be written.

    Raises
    ------
    InputError
        With the list of formats, and the nearest.
    """
    file = place(text, "--export", "a file")
    suffix = file.suffix.lower()
    if suffix not in EXPORTERS:
        raise InputError(
            f"--export {text}",
            f"has the suffix {suffix!r}, which is not a format" if suffix else "has no suffix",
            ", ".join(f"{one.suffix} ({one.name})" for one in EXPORTERS.values()),
            _core.nearest(suffix, list(EXPORTERS)) if suffix else None,
        )
    if file.is_dir() or not file.parent.is_dir():
        problem = "is a folder" if file.is_dir() else f"needs the folder {file.parent}, which does not exist"
        raise InputError(f"--export {text}", problem, "a file in a folder that exists")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InputError(f"--export {text}", "cannot be written", "a file in a folder that may be written")
    return file


def write(output: Output, file: Path) -> list[Path]:
    """Write an output in the format of the file's suffix; return the files.

    If a file of the format holds one table, the first table is written to `file`, each further one to a file
    in the same folder with the table's name appended.
    """
    exporter = EXPORTERS[file.suffix.lower()]
    parts = {file: output}
    if exporter.one_table:
        parts = {
            file.with_stem(f"{file.stem}-{table.name}") if number else file: replace(output, tables=[table])
            for number, table in enumerate(output.tables)
        }
    for path, part in parts.items():
        files.write(path, exporter.write(part))
    return list(parts)
