"""Re-run papers: scenarios, published numbers, claims and figures. They use the library; it never uses them.

``PAPERS`` lists them by id. A paper is loaded on first use. Read ``reproduction`` for the steps from a paper
to its report; ``experiment``, ``terms`` and ``checks`` are the types that describe a paper, and ``raqm2005``
is an example. A new paper needs a directory with ``data/`` (claims, assumptions, published numbers, each with
its origin), ``scenarios/``, a ``paper.py`` with a function ``paper``, and a line in ``PAPERS``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.errors import unknown

if TYPE_CHECKING:
    from sojourn.papers.paper import Paper
    from sojourn.papers.result import Reproduction
    from sojourn.papers.search.run import Search
    from sojourn.papers.search.space import Space


@dataclass(frozen=True)
class Entry:
    """A paper in the list.

    Attributes
    ----------
    title : str
        Its title.
    load : callable
        Returns the paper with its claims, experiments and checks.
    """

    title: str
    load: Callable[[], Paper]


def _load(name: str) -> Callable[[], Paper]:
    def load() -> Paper:
        found: Paper = importlib.import_module(f"sojourn.papers.{name}.paper").paper()
        return found

    return load


#: Every paper by its id.
PAPERS: dict[str, Entry] = {
    "avqred2007": Entry(
        "Adaptive Virtual Queue RED (AVQRED) under 4000 connections, and its fluid model", _load("avqred2007")
    ),
    "ldc2002": Entry("A comparison of load-based and queue-based algorithms (LDC)", _load("ldc2002")),
    "bio2002": Entry("BIO: an alternative to RIO (RED, BLUE, RIO and BIO)", _load("bio2002")),
    "taildrop2001": Entry("Tail drop against RED for FTP and web traffic", _load("taildrop2001")),
    "raqm2005": Entry("A stable rate-based algorithm for active queue management (RAQM)", _load("raqm2005")),
    "l4s": Entry("Dual Queue Coupled AQM: DualPI2 and L4S over 25 links", _load("l4s")),
}


def find(name: str) -> Paper:
    """Return a paper by its id.

    Raises
    ------
    InputError
        If no paper has this id.
    """
    if name not in PAPERS:
        raise unknown(name, "a paper", PAPERS)
    return PAPERS[name].load()


def space(name: str) -> Space:
    """Return the space of readings of the paper called `name`."""
    found: Space = importlib.import_module(f"sojourn.papers.{name}.space").space()
    return found


def search_readings(name: str, **options: Any) -> Search:
    """Search the readings of the paper called `name`; see `sojourn.papers.search.run.search` for the options.

    The result is written into its folder.
    """
    from sojourn.papers.search.report import write  # noqa: PLC0415 - the list loads no paper
    from sojourn.papers.search.run import search as run  # noqa: PLC0415

    found = run(find(name), space(name), **options)
    write(found)
    return found


def reproduce(name: str, **options: Any) -> Reproduction:
    """Re-run the paper called `name`; see `sojourn.papers.reproduction.reproduce` for the options."""
    from sojourn.papers.reproduction import reproduce as run  # noqa: PLC0415 - the list loads no paper

    return run(find(name), **options)
