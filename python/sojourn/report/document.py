"""What a report consists of: plain data, no HTML. `sojourn.report.render` makes the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

Fact: TypeAlias = str | int | float | bool | Path | Sequence["str | int"] | None
"""A value of `Facts`: a sequence is written as a list, ``None`` as a dash."""


@dataclass(frozen=True, slots=True)
class Text:
    """Prose.

    Blank lines part paragraphs; lines that begin with ``-`` make a list; ``**strong**``, ``*emphasis*``,
    ```code``` and ``[link](https://...)`` (or ``(./file)``) mean what they look
    like. Everything else is shown as it is: no HTML passes through.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that must not be overlooked, such as a warning."""

    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True, slots=True)
class Facts:
    """Short facts with their names: what was run, where, with which versions.

    Whole numbers are written in full without grouping (seeds, counts); give a formatted string for
    anything that has a unit.
    """

    items: Mapping[str, Fact]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy: a command or a file."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table is written.

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
    """

    title: str = ""
    unit: str = ""
    half_width: str = ""
    factor: float | None = None
    kind: Literal["", "number", "text", "code", "spec", "verdict", "probability", "seed"] = ""
    digits: int = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A frame as a numbered table.

    Attributes
    ----------
    frame
        The rows.
    caption
        What it shows.
    columns
        The columns to show, in this order; ``None``: all, where ``<name>_ci95`` joins ``<name>``.
    source
        Where the numbers come from.
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

    The SVG is put into the page as it is: pass only what `sojourn.plots` made.
    """

    svg: str
    caption: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Blocks beside each other where the window is wide enough."""

    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Claims with their verdicts.

    Attributes
    ----------
    frame
        One row a claim. Needed: ``claim_id`` and ``verdict`` (``reproduced``, ``not reproduced`` or
        ``undecided``). Shown where present: ``statement``, ``section`` (where it is claimed),
        ``experiment_id``, ``world``, ``check``, ``effect``, ``measure``
        (what the effect is of, with its unit), ``ci_low``, ``ci_high``, ``published``, ``n``,
        ``assumptions`` (text or a list), ``reason``, ``p``, ``p_holm``, ``holm_changes`` (true: with
        Holm's correction the verdict would be another) and ``sensitivity``: a text, or a list of structs
        with ``reading``, ``verdict`` and, if known, ``effect``, ``ci_low``, ``ci_high``.
    caption
        What it shows.
    """

    frame: pl.DataFrame
    caption: str = "Claims and verdicts"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what belongs to it; sections of a document make its contents list.

    Attributes
    ----------
    title
        The heading.
    blocks
        What follows it; sections within are one level lower.
    lead
        A sentence or two beneath the heading, as `Text`.
    """

    title: str
    blocks: Sequence[Block] = ()
    lead: str = ""


Block: TypeAlias = Text | Note | Facts | Code | Table | Figure | Columns | Verdicts | Section
"""Anything that stands in a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes
    ----------
    title, subtitle
        At its head.
    command
        The command that repeats it.
    blocks
        The contents: normally sections.
    kind
        A word or two above the title.
    summary
        A paragraph or two beneath the title, as `Text`.
    highlights
        Large numbers with a short label each, such as ``("40", "runs")``.
    footer
        A line at the end, such as the version.
    """

    title: str
    subtitle: str = ""
    command: str = ""
    blocks: Sequence[Block] = ()
    kind: str = "Report"
    summary: str = ""
    highlights: Sequence[tuple[str, str]] = field(default=())
    footer: str = ""
