"""One scenario, several algorithms, several seeds: the first thing that a user calls."""

from __future__ import annotations

from sojourn import _core
from sojourn.errors import from_core


def aqm(name: str, **params: object) -> str:
    """Return the canonical spec of an algorithm.

    Parameters
    ----------
    name : str
        As ``sojourn list`` shows it.
    **params
        Its parameters: numbers, booleans, or text with units.

    Examples
    --------
    >>> aqm("droptail", limit="50p", overflow="head")
    'droptail limit 50p overflow head'
    """
    words = [name]
    for key, value in params.items():
        words += [key, ("on" if value else "off") if isinstance(value, bool) else str(value)]
    try:
        return _core.canonical(" ".join(words))
    except _core.SpecError as error:
        raise from_core(error) from None


def run() -> None:
    """Run."""
