"""The output of a command: tables of typed columns, and one JSON object.

A command builds one `Output` and passes it to `sojourn.cli.emit.emit`. The terminal, LaTeX and Markdown show
the text of each cell, with labels and displayed units; CSV and Parquet hold the values themselves, in SI
units, under the names of the columns. A cell with several values (an estimate, a difference) has a subclass
of `Column`, which defines its text and its data.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from sojourn.cli.table import cell, columns_of, plain, print_table
from sojourn.format import UNSCALED, Scale
from sojourn.metrics import display, find, heading
from sojourn.stats import Estimate
from sojourn.study.compare import EQUIVALENT, NO_DIFFERENCE, Difference
from sojourn.terminal import show

if TYPE_CHECKING:
    import polars as pl

    from sojourn import report

Stored = dict[str, list[Any]]


@dataclass(frozen=True)
class Column:
    """A column of plain values: text, numbers, yes or no; None where a value is unknown.

    Attributes
    ----------
    key : str
        Name in exported data.
    label : str
        Heading, without the unit.
    display : Scale
        Unit of the text, and the factor from the value to it.
    digits : int
        Significant digits of a number in the text.
    data_only : bool
        Whether the column is left out of the text.
    prose : bool
        Whether the column holds sentences, which may be broken over lines.
    """

    key: str
    label: str
    display: Scale = UNSCALED
    digits: int = 4
    data_only: bool = False
    prose: bool = False

    @property
    def heading(self) -> str:
        """The label with the displayed unit."""
        return f"{self.label} ({self.display.unit})" if self.display.unit else self.label

    def text(self, value: Any) -> str:
        """Return a cell as text."""
        return plain(value, self.display.factor, self.digits)

    def store(self, values: Sequence[Any]) -> Stored:
        """Return the values by the names of the columns that hold them."""
        return {self.key: list(values)}


class Estimates(Column):
    """A column of means with their intervals: ``KEY_mean``, ``KEY_ci95`` (half-width) and ``KEY_n``."""

    def text(self, value: Estimate) -> str:
        """Return ``mean ± half-width``."""
        return cell(value, self.display.factor, self.digits)

    def store(self, values: Sequence[Estimate]) -> Stored:
        """Return means, half-widths and counts."""
        return {
            f"{self.key}_mean": [one.mean for one in values],
            f"{self.key}_ci95": [one.ci95 for one in values],
            f"{self.key}_n": [one.n for one in values],
        }


class Differences(Column):
    """A column of differences from a baseline: ``KEY_difference``, its interval, p-values and verdict."""

    def text(self, value: Difference) -> str:
        """Return the difference with its half-width, in parentheses after ``=`` if it is not significant."""
        effect = value.effect
        if effect.mean is None:
            return "-"
        half = None if effect.high is None else effect.high - effect.mean
        written = cell(Estimate(effect.mean, half, effect.n), self.display.factor, self.digits)
        if value.verdict == NO_DIFFERENCE:
            return f"= ({written})"
        if value.verdict == EQUIVALENT:
            return f"≈ ({written})"
        return written if effect.mean < 0 else f"+{written}"

    def store(self, values: Sequence[Difference]) -> Stored:
        """Return differences, the ends of their intervals, p-values and verdicts."""
        return {
            f"{self.key}_difference": [one.effect.mean for one in values],
            f"{self.key}_low": [one.effect.low for one in values],
            f"{self.key}_high": [one.effect.high for one in values],
            f"{self.key}_n": [one.effect.n for one in values],
            f"{self.key}_p": [one.effect.p for one in values],
            f"{self.key}_p_holm": [one.p_holm for one in values],
            f"{self.key}_verdict": [one.verdict for one in values],
            f"{self.key}_equivalent": [one.equivalent for one in values],
            f"{self.key}_correlation": [one.correlation for one in values],
        }


class Measured(NamedTuple):
    """A value of a metric, for tables with a metric in each row."""

    metric: str
    value: Any


class Metrics(Column):
    """A column of metrics' full names: the text is label and unit, the data are name and SI unit."""

    def text(self, value: str) -> str:
        """Return label and displayed unit."""
        return heading(value)

    def store(self, values: Sequence[str]) -> Stored:
        """Return names and units."""
        known = [find(name) for name in values]
        return {self.key: list(values), "unit": [one.unit if one is not None else "" for one in known]}


class OfMetrics(Column):
    """A column of `Measured` values, each written in the unit of its own metric."""

    def _of(self, value: Measured) -> Column:
        kind = Estimates if isinstance(value.value, Estimate) else Column
        return kind(self.key, self.label, display(value.metric), self.digits)

    def text(self, value: Measured) -> str:
        """Return the value in the displayed unit of its metric."""
        return self._of(value).text(value.value)

    def store(self, values: Sequence[Measured]) -> Stored:
        """Return the values in SI units."""
        return self._of(values[0]).store([one.value for one in values]) if values else {}


@dataclass(frozen=True)
class Table:
    """A table: each row has one value per column.

    Attributes
    ----------
    name : str
        Distinguishes the tables of an output in file names.
    title : str
        Title of the table.
    columns, rows
        The columns, and the values of each row in their order.
    keys : int
        The first columns, which name a row.
    turned : bool
        Whether the text has a line for each column instead of each row; with no keys, a list of facts.
    most : int, optional
        Rows that the terminal shows; the files have all.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    keys: int = 1
    turned: bool = False
    most: int | None = None

    @property
    def text_columns(self) -> list[Column]:
        """The columns of the text."""
        return [one for one in self.columns if not one.data_only]

    def text(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows as text."""
        chosen = [(i, one) for i, one in enumerate(self.columns) if not one.data_only]
        heads = [one.heading for _, one in chosen]
        rows = [[one.text(row[i]) for i, one in chosen] for row in self.rows]
        if not self.turned:
            return heads, rows
        lines = [[head, *(row[i] for row in rows)] for i, head in enumerate(heads)]
        if self.keys == 0:
            return ["", ""], lines
        return ["", *lines[0][1:]], lines[1:]

    def right(self) -> list[bool]:
        """Return for each column of the text whether it is aligned to the right, as numbers are."""
        if self.turned:
            return [False, *(self.keys > 0 for _ in self.rows)]
        words = [all(isinstance(row[i], str | None) for row in self.rows) for i in range(len(self.columns))]
        chosen = [i for i, one in enumerate(self.columns) if not one.data_only]
        return [place >= self.keys and not words[i] for place, i in enumerate(chosen)]

    def frame(self) -> pl.DataFrame:
        """Return the values as a frame, in SI units."""
        import polars as pl

        series = [
            pl.Series(name, values, strict=False)
            for i, column in enumerate(self.columns)
            for name, values in column.store([row[i] for row in self.rows]).items()
        ]
        # A column without any value has no type of its own.
        return pl.DataFrame([one.cast(pl.Float64) if one.dtype == pl.Null else one for one in series])


@dataclass(frozen=True)
class Output:
    """The result of a command.

    Attributes
    ----------
    title : str
        Title of the output.
    tables : sequence of Table
        The tables, in the order of the text.
    data : Any
        The object of ``--json``.
    notes : sequence of str
        Lines of the terminal below the tables.
    with_tables : bool
        Whether the terminal shows the tables, not only the notes.
    """

    title: str
    tables: Sequence[Table]
    data: Any
    notes: Sequence[str] = ()
    with_tables: bool = True

    def print(self, file: TextIO | None = None) -> None:
        """Print tables and notes."""
        file = file or sys.stdout
        for table in self.tables if self.with_tables else ():
            _print(table, file)
        for line in self.notes:
            show(line, file)


def _print(table: Table, file: TextIO) -> None:
    heads, rows = table.text()
    if table.turned and table.keys == 0:
        width = max((len(row[0]) for row in rows), default=0)
        room = max(20, columns_of(file) - width - 2)
        for name, value in rows:
            lines = textwrap.wrap(value, room, break_on_hyphens=False) or [""]
            show(
                "\n".join(
                    f"{head:<{width}}  {line}" for head, line in zip_longest([name], lines, fillvalue="")
                ),
                file,
            )
        return
    left = [i for i, right in enumerate(table.right()) if not right]
    prose = set() if table.turned else {i for i, one in enumerate(table.text_columns) if one.prose}
    print_table(table.title, heads, rows[: table.most], table.keys or 1, left=left, prose=prose, file=file)
    if table.most is not None and len(rows) > table.most:
        show(f"{len(rows) - table.most} more rows are in --json and --export", file)


def written(table: Table, caption: str) -> report.Table:
    """Return the text of a table as a block of a report."""
    import polars as pl

    from sojourn import report

    heads, rows = table.text()
    frame = pl.DataFrame(rows, schema=[str(i) for i in range(len(heads))], orient="row")
    columns = {str(i): report.Column(head or " ") for i, head in enumerate(heads)}
    return report.Table(frame, caption, columns)
