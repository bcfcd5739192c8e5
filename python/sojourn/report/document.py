"""The parts of a report as plain data; `sojourn.report.render` makes the HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

Fact: TypeAlias = str | int | float | bool | Path | Sequence["str | int"] | None
"""A value of `Facts`: a sequence is written as a list, ``None`` as a dash."""


@dataclass(frozen=True, slots=True)
class Text:
    """Prose.

    Blank lines separate paragraphs, lines that begin with ``-`` are a list, and ``**strong**``,
    ``*emphasis*``, ```code``` and ``[link](https://...)`` (or ``(./file)``) are as in Markdown. All other
    text is escaped.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A highlighted remark, such as a warning."""

    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with short values, such as versions.

    Integers are written in full without grouping (seeds, counts); a quantity with a unit is passed as text.
    """

    items: Mapping[str, Fact]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A command or a file, to be copied."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """The format of one column of a table.

    Attributes
    ----------
    title
        Heading; made from the column's name if empty.
    unit
        Unit of the values; with `factor` the unit that they are written in. Without it the column is scaled
        as a whole (s to ms, bit/s to Mbit/s). The unit is part of the heading.
    factor
        From the values to `unit`, such as 100 for per cent; chosen with the unit if None.
    half_width
        The column that holds the half-width of the 95 % interval.
    kind
        ``number``, ``text``, ``code``, ``spec`` (algorithm, with its colour), ``verdict``,
        ``probability`` (a p-value), ``seed`` (digits as they are); by the type of the column if empty.
    digits
        Significant digits of a number without interval.
    tint
        The column that holds the class of each cell, which colours it: ``near``, ``middle``, ``far``.
    below
        The column that holds a second line of text of each cell.
    """

    title: str = ""
    unit: str = ""
    half_width: str = ""
    factor: float | None = None
    kind: Literal["", "number", "text", "code", "spec", "verdict", "probability", "seed"] = ""
    digits: int = 3
    tint: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A frame as a numbered table.

    Attributes
    ----------
    frame
        The rows.
    caption
        Caption of the table.
    columns
        The columns to show, in this order; ``None``: all, with ``<name>_ci95`` as half-width of ``<name>``.
    source
        Source of the numbers.
    row_unit
        The column that holds the unit of a row's numbers, for tables with one metric a row.
    """

    frame: pl.DataFrame
    caption: str = ""
    columns: Mapping[str, Column] | None = None
    source: str = ""
    row_unit: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its number, caption and source.

    The SVG is embedded, with colours that follow the page: pass only the output of `sojourn.plots`.

    Attributes
    ----------
    svg
        The figure without a script, and in print.
    caption, source
        Caption and source.
    live
        The data of `sojourn.report.live` that the script draws in its place.
    more
        Further pictures below `svg`.
    """

    svg: str
    caption: str
    source: str = ""
    live: Mapping[str, Any] | None = None
    more: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lab:
    """A live page inside the report.

    Attributes
    ----------
    page
        The HTML of `sojourn.explore.page.page`.
    script_hash
        Hash of its script, which the policy of the report allows.
    """

    page: str
    script_hash: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Blocks that are placed side by side if the window is wide enough; with `unequal` the first is wider."""

    blocks: Sequence[Block]
    unequal: bool = False


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Claims with their verdicts.

    Attributes
    ----------
    frame
        One row a claim. Needed: ``claim_id`` and ``verdict`` (``reproduced``, ``not reproduced`` or
        ``undecided``). Shown where present: ``statement``, ``section`` (where it is claimed),
        ``experiment_id``, ``world``, ``check``, ``effect``, ``measure``
        (the quantity of the effect, with its unit), ``ci_low``, ``ci_high``, ``published``, ``n``,
        ``assumptions`` (text or a list), ``reason``, ``p``, ``p_holm``, ``holm_changes`` (true: with
        Holm's correction the verdict would be another) and ``sensitivity``: a text, or a list of structs
        with ``reading``, ``verdict`` and, if known, ``effect``, ``ci_low``, ``ci_high``.
    caption
        Caption of the table.
    """

    frame: pl.DataFrame
    caption: str = "Claims and verdicts"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; the sections of a document are its table of contents.

    Attributes
    ----------
    title
        The heading.
    blocks
        Its blocks; sections within are one level lower.
    lead
        One or two sentences below the heading, as `Text`.
    """

    title: str
    blocks: Sequence[Block] = ()
    lead: str = ""


Block: TypeAlias = Text | Note | Facts | Code | Table | Figure | Lab | Columns | Verdicts | Section
"""A block of a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes
    ----------
    title, subtitle
        Its headings.
    command
        The command that reproduces it.
    blocks
        The contents, usually sections.
    kind
        The kind of report, shown above the title.
    summary
        One or two paragraphs below the title, as `Text`.
    highlights
        Numbers in large type with a short label each, such as ``("40", "runs")``.
    footer
        A line at the end, such as the version.
    verdict
        The result in one sentence, as `Text`; the first that a reader sees.
    """

    title: str
    subtitle: str = ""
    command: str = ""
    blocks: Sequence[Block] = ()
    kind: str = "Report"
    summary: str = ""
    highlights: Sequence[tuple[str, str]] = field(default=())
    footer: str = ""
    verdict: str = ""
