"""The live page: a scenario with sliders, simulated in the browser or by a local server.

The module is called, as in ``sojourn.explore("home.toml")``, to see the page in a notebook.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sojourn.explore.frame import Frame
from sojourn.explore.page import DEFAULT, page, write
from sojourn.explore.server import Server
from sojourn.explore.tours import Tour, tours

__all__ = ["DEFAULT", "Frame", "Server", "Tour", "page", "tours", "write"]


class _Callable(ModuleType):
    """Makes the module a function, because ``sojourn.explore`` is both."""

    def __call__(self, *arguments: Any, **options: Any) -> Frame:
        """Show the live page of a scenario in a notebook; the arguments are those of `Frame`."""
        return Frame(*arguments, **options)


explore = sys.modules[__name__]
explore.__class__ = _Callable
