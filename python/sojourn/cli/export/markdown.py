"""Markdown: tables in GitHub's format, with the text of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sojourn.cli.output import Output, Table


def escaped(text: str) -> str:
    r"""Return a text with the characters escaped that have a meaning in Markdown.

    Examples
    --------
    >>> print(escaped("min_th | *x*"))
    min\_th \| \*x\*
    """
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", text).replace("\n", "<br>")


class Markdown:
    """One table after the other, each below its title."""

    name = "Markdown"
    suffix = ".md"
    one_table = False

    def write(self, output: Output) -> bytes:
        """Return the tables."""
        return "\n".join(map(_table, output.tables)).encode()


def _table(table: Table) -> str:
    heads, rows = table.text()
    rules = ["---:" if right else "---" for right in table.right()]
    lines = [_row(map(escaped, heads)), _row(rules), *(_row(map(escaped, row)) for row in rows)]
    return f"**{escaped(table.title)}**\n\n" + "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
