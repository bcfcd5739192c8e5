r"""LaTeX: tables with the text of the terminal and the rules of ``booktabs``."""

from __future__ import annotations

from typing import Final

from sojourn.cli.output import Output, Table

ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "µ": r"$\mu$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "×": r"$\times$",
        "−": "$-$",
        "\N{NO-BREAK SPACE}": "~",
        "\N{NARROW NO-BREAK SPACE}": r"\,",
        "\n": " ",
    }
)


def escaped(text: str) -> str:
    r"""Return a text escaped for LaTeX.

    Examples
    --------
    >>> print(escaped("min_th 15 & 5 %"))
    min\_th 15 \& 5 \%
    """
    return text.translate(ESCAPES)


class Latex:
    """One ``table`` environment per table; needs the package ``booktabs``."""

    name = "LaTeX"
    suffix = ".tex"
    one_table = False

    def write(self, output: Output) -> bytes:
        """Return the tables."""
        return ("% \\usepackage{booktabs}\n" + "\n".join(map(_table, output.tables))).encode()


def _table(table: Table) -> str:
    heads, rows = table.text()
    alignment = "".join("r" if right else "l" for right in table.right())
    lines = [
        "\\begin{table}",
        f"  \\caption{{{escaped(table.title)}}}",
        f"  \\begin{{tabular}}{{{alignment}}}",
    ]
    lines.append("    \\toprule")
    if any(heads):
        lines += [f"    {_row(heads)}", "    \\midrule"]
    lines += [f"    {_row(row)}" for row in rows]
    lines += ["    \\bottomrule", "  \\end{tabular}", "\\end{table}"]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
