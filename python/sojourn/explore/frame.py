"""The live page in a notebook: an iframe with the whole page, or of a local server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from html import escape

from sojourn.algorithms import Aqm
from sojourn.algorithms import spec_of as canonical
from sojourn.explore.page import default, engine, page
from sojourn.explore.server import Server
from sojourn.spec.scenario import Scenario, load


class Frame:
    """The live page of a scenario as the output of a notebook cell.

    If the simulator for web pages has been built (`make wasm`) and all algorithms are compiled ones, the page
    simulates by itself, also where the notebook's server is another machine. Otherwise a local server
    simulates until `close` or the end of the process, and the browser must be on the same machine.

    Parameters
    ----------
    scenario : Scenario or path, optional
        What is simulated first; a home link if None.
    aqms : sequence of str or Aqm
        Algorithms side by side; without any, that of the scenario and drop tail or CoDel.
    tour : str, optional
        The guided tour that is open at the start; they are about the default scenario.
    height : int
        Pixels.

    Examples
    --------
    >>> import sojourn
    >>> "<iframe" in sojourn.explore()._repr_html_()
    True
    """

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        aqms: Sequence[str | type[Aqm] | Aqm] = (),
        *,
        tour: str | None = None,
        height: int = 900,
    ) -> None:
        self.height = height
        shown = default() if scenario is None else scenario
        shown = shown if isinstance(shown, Scenario) else load(shown)
        specs = [canonical(one) for one in aqms]
        self._is_whole = engine() is not None and not any(":" in spec for spec in specs)
        self._html = page(shown, specs, tour, server=not self._is_whole, tours_of=scenario is None)

    @cached_property
    def _server(self) -> Server:
        server = Server(self._html)
        server.__enter__()
        return server

    def close(self) -> None:
        """Stop the local server, if there is one."""
        if "_server" in self.__dict__:
            self._server.__exit__(None, None, None)
            del self._server

    def _repr_html_(self) -> str:
        source = f'srcdoc="{escape(self._html)}"' if self._is_whole else f'src="{self._server.address}"'
        return (
            f'<iframe title="Live page" {source} width="100%" height="{int(self.height)}" '
            'style="border: 1px solid #dde2e7"></iframe>'
        )
