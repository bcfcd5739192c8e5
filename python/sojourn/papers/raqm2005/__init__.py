"""The RAQM paper (Wang, Li, Hou, Sohraby, Long 2005), re-run.

RAQM multiplies its drop probability each second by an exponential of the mismatch between input rate and
link rate, and scales it by queue / q_0 at each packet. ``theorems`` checks what the paper proves, on the map
of `sojourn.worlds.fluid.raqm`; ``experiments`` and ``readings`` are what is simulated; ``checks`` decides
each claim.
"""

from __future__ import annotations

from typing import Any

from sojourn.papers.reproduction import Reproduction


def __getattr__(name: str) -> Any:
    """Return ``PAPER``, made when it is first asked for."""
    if name != "PAPER":
        raise AttributeError(name)
    from sojourn.papers.raqm2005.paper import paper

    return paper()


def reproduce(**options: Any) -> Reproduction:
    """Re-run the paper; see `sojourn.papers.reproduction.reproduce` for the options."""
    from sojourn.papers import reproduction
    from sojourn.papers.raqm2005.paper import paper

    return reproduction.reproduce(paper(), **options)
