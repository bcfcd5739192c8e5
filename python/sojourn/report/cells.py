"""The cells of a table as text, from its frame: digits, alignment, units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from sojourn.format import MISSING, PLUS_MINUS, Scale, estimate, number, probability, scale
from sojourn.metrics import label
from sojourn.plots.theme import styles
from sojourn.report.document import Column, Table

_INTERVAL = "_ci95"


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column."""

    title: str
    unit: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell: `margin` is the part from ± on; `kind` is its style, `tint` its background.

    `below` is a second line.
    """

    text: str
    margin: str = ""
    kind: str = "text"
    colour: str = ""
    hint: str = ""
    tint: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as text."""

    headings: list[Heading]
    rows: list[list[Cell]]

    @property
    def is_labelled(self) -> bool:
        """Whether it has metrics with their labels, so that a narrow page needs no names."""
        return [one.title for one in self.headings[:2]] == ["metric", "label"]


def grid(table: Table) -> Grid:
    """Return the cells of a table.

    Parameters
    ----------
    table
        Its frame and columns.

    Returns
    -------
    Grid
        Headings and rows of text.
    """
    frame = table.frame
    columns = table.columns if table.columns is not None else _all_columns(frame, table.row_unit)
    units = frame[table.row_unit].to_list() if table.row_unit else None
    headings: list[Heading] = []
    written: list[list[Cell]] = []
    for name, column in columns.items():
        kind = column.kind or _kind(name, frame.schema[name])
        halves = frame[column.half_width].to_list() if column.half_width else [None] * frame.height
        values = frame[name].to_list()
        unit = column.unit if kind == "number" else ""
        if kind == "number" and units is None:
            chosen = scale(values, unit) if column.factor is None else Scale(column.factor, unit)
            unit = chosen.unit
            written.append(
                [_number(v, h, chosen.factor, column.digits) for v, h in zip(values, halves, strict=True)]
            )
        elif kind == "number" and units is not None:
            written.append(_row_units(frame, columns, name, units))
        else:
            specs = [str(v) for v in values if v is not None] if kind == "spec" else []
            written.append([_cell(v, kind, _spec_labels(specs)) for v in values])
        for part in ("tint", "below"):
            if source := getattr(column, part):
                texts = [str(one or "") for one in frame[source].to_list()]
                written[-1] = [replace(c, **{part: one}) for c, one in zip(written[-1], texts, strict=True)]
        headings.append(Heading(column.title or label(name), unit, kind in {"number", "probability"}))
    if units is not None:
        headings.append(Heading("unit", "", numeric=False))
        written.append([Cell(_row_scale(frame, columns, i, u or "")[1]) for i, u in enumerate(units)])
    return Grid(headings, [list(row) for row in zip(*written, strict=True)])


def _all_columns(frame: pl.DataFrame, row_unit: str) -> dict[str, Column]:
    names = set(frame.columns)
    return {
        name: Column(half_width=name + _INTERVAL if name + _INTERVAL in names else "")
        for name in frame.columns
        if name != row_unit and not (name.endswith(_INTERVAL) and name.removesuffix(_INTERVAL) in names)
    }


def _kind(name: str, dtype: pl.DataType) -> str:
    if name == "aqm":
        return "spec"
    if name == "verdict":
        return "verdict"
    if name in {"seed", "seeds"}:
        return "seed"
    return "number" if dtype.is_numeric() else "text"


def _number(value: float | None, half: float | None, factor: float, digits: int) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell(number(value), kind="number")
    if factor != 1:
        value, half = value * factor, None if half is None else half * factor
    return _split(estimate(value, half, digits))


def _split(text: str) -> Cell:
    value, plus_minus, margin = text.partition(PLUS_MINUS)
    return Cell(value, plus_minus + margin, "number")


def _row_scale(frame: pl.DataFrame, columns: Mapping[str, Column], row: int, unit: str) -> tuple[float, str]:
    """Return the common scale of the numbers of a row."""
    numeric = [n for n, c in columns.items() if (c.kind or _kind(n, frame.schema[n])) == "number"]
    chosen = scale([frame[name][row] for name in numeric], unit)
    return chosen.factor, chosen.unit


def _row_units(
    frame: pl.DataFrame, columns: Mapping[str, Column], name: str, units: list[str | None]
) -> list[Cell]:
    column = columns[name]
    cells: list[Cell] = []
    for i, unit in enumerate(units):
        half = frame[column.half_width][i] if column.half_width else None
        factor = _row_scale(frame, columns, i, unit or "")[0]
        cells.append(_number(frame[name][i], half, factor, column.digits))
    return cells


def _cell(value: object, kind: str, labels: Mapping[str, tuple[str, str]]) -> Cell:
    if value is None:
        return Cell(MISSING, kind="missing")
    if kind == "probability" and isinstance(value, int | float):
        return Cell(probability(float(value)), kind="number")
    if kind == "spec":
        text, colour = labels[str(value)]
        return Cell(text, kind="spec", colour=colour, hint=str(value))
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, list):
        return Cell(", ".join(str(item) for item in value), kind=kind)
    return Cell(str(value), kind=kind)


def _spec_labels(specs: list[str]) -> dict[str, tuple[str, str]]:

    return {spec: (look.title, look.colour) for spec, look in styles(specs).items()} if specs else {}
