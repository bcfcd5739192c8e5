"""The kinds of warnings: each has a code, at the end of its text, and an explanation.

``sojourn explain W05`` prints one, ``sojourn explain warnings`` all. A warning is a text,
because it is stored with results and read by other versions. `coded` is the only way to make one;
``tests/unit/test_warning_codes.py`` checks this, and that each code is in use.
"""

from __future__ import annotations

import re

from sojourn.warning_codes.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind", "code_of", "coded", "extended"]

_CODE = re.compile(r" \(sojourn explain (W\d\d)\)$")


def coded(code: str, text: str) -> str:
    """Return a warning: its text and its code.

    Examples
    --------
    >>> coded("W02", "the queue never held more than 1 packets")
    'the queue never held more than 1 packets (sojourn explain W02)'
    """
    return f"{text} (sojourn explain {KINDS[code].code})"


def code_of(warning: str) -> str | None:
    """Return the code of a warning; None if a version without codes stored it."""
    found = _CODE.search(warning)
    return found and found[1]


def extended(warning: str, more: str) -> str:
    """Return a warning with more text before its code.

    Examples
    --------
    >>> extended("it is late (sojourn explain W01)", " (1 of 2 runs)")
    'it is late (1 of 2 runs) (sojourn explain W01)'
    """
    text = _CODE.sub("", warning)
    return f"{text}{more}{warning.removeprefix(text)}"
