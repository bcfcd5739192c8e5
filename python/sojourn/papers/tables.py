"""The printed tables as in the print: each cell is printed, ours, ratio and reason, coloured by distance.

A row is an algorithm with its setting, a column a metric and its statistic. Numbers of sections and figures,
which no table holds, are rows of one table. Below each table are its reasons in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import polars as pl

from sojourn.papers.reasons import NEAR, Reasons
from sojourn.report import Block, Column, Table, Text

#: What is not in a table of the paper.
ELSEWHERE = "Sections and figures"
EMPTY = "·"


class Distance(StrEnum):
    """How far ours is from the print."""

    NEAR = "near"
    MIDDLE = "middle"
    FAR = "far"
    UNKNOWN = "unknown"

    @property
    def mark(self) -> str:
        """A coloured square, for Markdown."""
        return {"near": "🟩", "middle": "🟨", "far": "🟥", "unknown": "⬜"}[self]


def distance(ratio: float | None) -> Distance:
    """Return how far ours is: within 25 %, within a factor of two, or farther.

    Examples
    --------
    >>> [str(distance(ratio)) for ratio in (1.2, 0.6, 3.0, -1.0, None)]
    ['near', 'middle', 'far', 'far', 'unknown']
    """
    if ratio is None:
        return Distance.UNKNOWN
    if abs(ratio - 1) <= NEAR:
        return Distance.NEAR
    return Distance.MIDDLE if 0.5 <= ratio <= 2 else Distance.FAR


@dataclass(frozen=True)
class Printed:
    """One table of a paper.

    Attributes
    ----------
    name : str
        As the paper numbers it.
    rows : polars.DataFrame
        Its rows of ``published.csv`` with ours.
    """

    name: str
    rows: pl.DataFrame

    @cached_property
    def ratios(self) -> list[float]:
        """Ours divided by the printed number, where both are known and the print is not 0."""
        return self.rows["ratio"].drop_nulls().to_list()

    @property
    def score(self) -> str:
        """The share of numbers within 25 % and within a factor of two, in words; empty without ratios."""
        count = len(self.ratios)
        if not count:
            return ""
        near = [sum(distance(one) in kinds for one in self.ratios) for kinds in
                ((Distance.NEAR,), (Distance.NEAR, Distance.MIDDLE))]  # fmt: skip
        return (
            f"{100 * near[1] / count:.0f} % of {count} cells within a factor of 2, "
            f"{100 * near[0] / count:.0f} % within 25 %"
        )

    @cached_property
    def columns(self) -> list[tuple[str, str, str]]:
        """Metric, statistic and unit of its columns."""
        names = self.rows.select("metric", "statistic", "unit").unique(maintain_order=True)
        return [tuple(row) for row in names.rows()]

    @cached_property
    def grid(self) -> list[tuple[str, list[dict[str, object] | None]]]:
        """The name of each row, and its cells in the order of the columns; None where there is none."""
        found: dict[str, dict[tuple[str, str, str], dict[str, object]]] = {}
        settings = self.rows.select("algorithm", "parameter_set").unique().height
        named = settings > self.rows["algorithm"].n_unique()
        for row in self.rows.to_dicts():
            name = str(row["algorithm"])
            if named and row["parameter_set"]:
                setting = str(row["parameter_set"])
                name = setting if name in setting else f"{name}, {setting}"
            found.setdefault(name, {})[row["metric"], row["statistic"], row["unit"]] = row
        return [(name, [cells.get(one) for one in self.columns]) for name, cells in found.items()]

    @property
    def wide(self) -> bool:
        """Whether it is a table with columns, and not a list of single numbers."""
        return self.name != ELSEWHERE

    @property
    def reasons(self) -> list[str]:
        """The ids of its reasons, each once."""
        return list(dict.fromkeys(one for one in self.rows["reason"].to_list() if one))


def tables(published: pl.DataFrame) -> list[Printed]:
    """Return the tables of a paper with a counterpart of ours, then all other numbers as one."""
    known = published.filter(pl.col("ours").is_not_null())
    place = pl.when(pl.col("table_or_figure").str.starts_with("Table")).then(pl.col("table_or_figure"))
    known = known.with_columns(place=place.otherwise(pl.lit(ELSEWHERE)))
    found = [Printed(str(name), part) for (name,), part in known.group_by("place", maintain_order=True)]
    return sorted(found, key=lambda one: one.name == ELSEWHERE)


def text(cell: dict[str, object] | None) -> str:
    """Return a cell in words: printed, ours, ratio, reason."""
    if cell is None:
        return EMPTY
    printed, ours, ratio = cell["published"], cell["ours"], cell["ratio"]
    parts = [f"{printed:g} | {ours:.4g}"]
    if ratio is not None:
        parts.append(f" | ×{ratio:.2f}")
    if cell["reason"]:
        parts.append(f" | {cell['reason']}")
    return "".join(parts)


def heading(metric: str, statistic: str, unit: str) -> str:
    """Return the heading of a column."""
    return f"{metric.replace('_', ' ')}, {statistic} ({unit})"


def blocks(printed: Printed, reasons: Reasons) -> Iterator[Block]:
    """Yield a table for the report, and its reasons."""
    caption = f"{printed.name}: printed | ours | ratio | reason of a cell off by more than 25 %."
    if printed.score:
        caption += f" {printed.score}."
    yield Table(*_framed(printed, caption))
    if printed.reasons:
        yield Text("\n".join(f"- **{name}**: {reasons.all[name].words}" for name in printed.reasons))


def _framed(printed: Printed, caption: str) -> tuple[pl.DataFrame, str, dict[str, Column]]:
    """Return the frame of a table with a column of colours beside each column, caption and columns."""
    cells: list[list[dict[str, object] | None]]
    if not printed.wide:
        names = [f"{row['table_or_figure']}: {_named(row)}" for row in printed.rows.to_dicts()]
        cells = [[row] for row in printed.rows.to_dicts()]
        headings = ["printed | ours | ratio | reason"]
    else:
        names = [name for name, _ in printed.grid]
        cells = [row for _, row in printed.grid]
        headings = [heading(*one) for one in printed.columns]
    data: dict[str, list[str]] = {"row": names}
    columns = {"row": Column("", kind="text")}
    for i, title in enumerate(headings):
        data[f"c{i}"] = [text(row[i]) for row in cells]
        data[f"d{i}"] = [str(_distance(row[i])) for row in cells]
        columns[f"c{i}"] = Column(title, kind="text", tint=f"d{i}")
    return pl.DataFrame(data), caption, columns


def _distance(cell: dict[str, object] | None) -> Distance:
    ratio = cell["ratio"] if cell else None
    return distance(ratio if isinstance(ratio, float) else None)


def _named(row: dict[str, object]) -> str:
    words = (str(row[name]) for name in ("metric", "statistic", "algorithm", "parameter_set"))
    return " ".join(word.replace("_", " ") for word in words if word not in ("", "all", "none"))


def markdown(printed: Printed, reasons: Reasons) -> list[str]:
    """Return a table in Markdown: its score, its rows, and its reasons."""
    lines = [f"### {printed.name}", ""]
    if printed.score:
        lines += [f"{printed.score}.", ""]
    frame, _, columns = _framed(printed, "")
    names = list(columns)
    lines += [_line([columns[name].title for name in names]), "|" + "---|" * len(names)]
    for row in frame.to_dicts():
        lines.append(_line([row["row"], *(_marked(row, columns[name], name) for name in names[1:])]))
    if printed.reasons:
        lines += ["", *(f"- **{name}**: {reasons.all[name].words}" for name in printed.reasons)]
    return [*lines, ""]


def _marked(row: dict[str, str], column: Column, name: str) -> str:
    mark = Distance(row[column.tint]).mark if row[name] != EMPTY else ""
    return f"{mark} {row[name]}".strip()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
