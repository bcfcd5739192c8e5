"""Tables of the terminal, readable without colour and at any width."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Collection, Sequence
from typing import Any, TextIO

from sojourn.stats import Estimate
from sojourn.terminal import console, escape

#: Columns of a table that is not printed to a terminal.
WIDTH = 80
#: Columns of the narrowest table.
NARROWEST = 40


def columns_of(file: TextIO) -> int:
    """Return the width of a terminal, of the variable COLUMNS, or `WIDTH`."""
    if file.isatty() or os.environ.get("COLUMNS"):
        return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)
    return WIDTH


def print_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    keys: int = 1,
    *,
    left: Collection[int] = (0,),
    prose: Collection[int] = (),
    file: TextIO | None = None,
) -> None:
    """Print a table; a table that is too wide is split into parts, each with the first `keys` columns.

    Numbers are never wrapped, nor are names that fit into half of the width. Columns of `prose` are wrapped
    instead, and such a table is not split. Columns of `left` are aligned to the left.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    file = file or sys.stdout
    page = console(file, columns_of(file))
    title, heads = escape(title), list(map(escape, heads))
    rows = [list(map(escape, row)) for row in rows]
    cells = [max((len(row[i]) for row in rows), default=0) for i in range(len(heads))]
    natural = [max(cell, len(head)) for cell, head in zip(cells, heads, strict=True)]
    tight = [
        max([cell, *map(len, head.split())]) for cell, head in zip(cells, heads, strict=True)
    ]  # headings may break between words
    widths: Sequence[int | None]
    if prose or _width(natural) <= page.width:
        parts = [list(range(len(heads)))]
        widths = [None] * len(heads) if prose else natural
    else:
        narrow = [min(n, page.width // 2 // keys) for n in natural[:keys]] + tight[keys:]
        parts = [list(range(keys))]
        for i in range(keys, len(heads)):
            if len(parts[-1]) > keys and _width([narrow[k] for k in (*parts[-1], i)]) > page.width:
                parts.append(list(range(keys)))
            parts[-1].append(i)
        widths = narrow
    for number, part in enumerate(parts):
        table = Table(
            title=title if not number else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for i in part:
            width = widths[i]
            table.add_column(
                Text(heads[i]),
                justify="left" if i in left else "right",
                overflow="fold",
                no_wrap=bool(prose) and i < keys,
                width=None if width is None else max(1, width),
            )
        for row in rows:
            table.add_row(*(Text(row[i]) for i in part))
        with page.capture() as printed:
            page.print(table)
        file.write("".join(f"{line.rstrip()}\n" for line in printed.get().splitlines()))


def _width(columns: Sequence[int]) -> int:
    """Return the width of a table of such columns: three spaces between, one at each end."""
    return sum(columns) + 3 * (len(columns) - 1) + 2


def cell(estimate: Estimate, factor: float, digits: int = 4) -> str:
    """Return ``mean ± half-width`` with as many decimals as the interval supports.

    Examples
    --------
    >>> from sojourn.stats import Estimate
    >>> cell(Estimate(0.98765, 0.0123, 5), 100)
    '98.8 ± 1.2'
    >>> cell(Estimate(0.25, None, 1), 1), cell(Estimate(None, None, 0), 1)
    ('0.25', '-')
    >>> cell(Estimate(0.1, 1e-17, 5), 100)
    '10 ± 0'
    """
    if estimate.mean is None or estimate.ci95 is None:
        return plain(estimate.mean, factor, digits)
    mean, half = estimate.mean * factor, estimate.ci95 * factor
    if half <= 1e-12 * abs(mean):  # all seeds are equal, up to the rounding of a sum
        return f"{plain(mean, 1.0, digits)} ± 0"
    most = 4 - math.floor(math.log10(abs(mean))) if mean else 4
    decimals = max(0, min(4, most, 1 - math.floor(math.log10(half))))
    return f"{mean:.{decimals}f} ± {half:.{decimals}f}"


def plain(value: Any, factor: float = 1.0, digits: int = 4) -> str:
    """Return a value as text: a number with its significant digits, but never without its integer part.

    Examples
    --------
    >>> plain(0.0123456, 1e3), plain(123456.0), plain(7), plain(True), plain(None), plain("red")
    ('12.35', '123456', '7', 'yes', '-', 'red')
    >>> plain(-99.99, digits=2)
    '-100'
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) and factor == 1:
        return str(value)
    shown = value * factor
    text = f"{shown:.{digits}g}"
    return f"{shown:.0f}" if "e+" in text and abs(shown) < 1e15 else text
