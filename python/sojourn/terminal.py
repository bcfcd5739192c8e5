"""Output to the terminal: `show` prints text in which control characters are escaped.

Texts from files (names, keys, specs, messages) may contain control sequences, which could retitle the
terminal, hide lines or forge output. Line feeds and tabs are kept. Control sequences of the program itself
are written by `control`, tables by `console`, which takes escaped texts only. No other module writes to the
terminal.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

#: Control characters except line feed and tab, line separators, bidirectional overrides and marks, and
#: halves of surrogate pairs (bytes of a file name that are not UTF-8).
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def escape(text: str) -> str:
    r"""Return a text with control characters as ``\\uXXXX``, which JSON reads as the same character.

    Examples
    --------
    >>> print(escape("a\x1b[2Jb"))
    a\u001b[2Jb
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def show(text: str = "", file: TextIO | None = None) -> None:
    """Print a text, escaped, to standard output or to `file`, and flush it."""
    print(escape(text), file=file or sys.stdout, flush=True)


def control(sequence: str) -> None:
    """Write control sequences of the program to standard error; the caller has escaped texts within them."""
    sys.stderr.write(sequence)
    sys.stderr.flush()


def console(file: TextIO, width: int | None = None) -> Console:
    """Return a rich console on `file`; the caller has to escape the texts that it prints."""
    from rich.console import Console

    return Console(file=file, highlight=False, markup=False, emoji=False, width=width)
