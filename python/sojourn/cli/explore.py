"""``sojourn explore``: a live page of a scenario, with sliders."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from sojourn import explore as pages
from sojourn.cli.common import note, permit_code
from sojourn.cli.options import AllowCode, Aqm, path_of
from sojourn.errors import InputError
from sojourn.explore.page import default, engine
from sojourn.spec.scenario import load
from sojourn.terminal import show

_FILE = path_of("SCENARIO", "a scenario file")


def explore(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario file (TOML) [default: a home link].",
            show_default=False,
            parser=_FILE,
        ),
    ] = None,
    aqm: Aqm = None,
    tour: Annotated[
        str | None, typer.Option("--tour", metavar="NAME", help="Begin with this guided tour.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the page, which needs no server; do not open it."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port of 127.0.0.1; 0: any.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Show a scenario as a live page: move rate, delay, flows or parameters and see the queue at once."""
    permit_code(allow_code, aqm)
    if file is not None and tour is not None:
        raise InputError("--tour", "has its own scenario", "no SCENARIO")
    scenario = default() if file is None else load(file)
    specs = aqm or []
    if out is not None:
        if engine() is None:
            raise InputError("--out", "needs the simulator for web pages, which is not built", "`make wasm`")
        written = pages.write(pages.page(scenario, specs, tour, tours_of=file is None), out)
        note(f"page: {written}")
        return
    html = pages.page(scenario, specs, tour, server=True, tours_of=file is None)
    try:
        server = pages.Server(html, port)
    except OSError as error:
        raise InputError(
            "--port", f"= {port} cannot be used: {error.strerror}", "a free port, or 0"
        ) from None
    with server:
        show(server.address)
        note("Ctrl-C stops the server.")
        if not no_browser:
            webbrowser.open(server.address)
        try:
            server.wait()
        except KeyboardInterrupt:
            return
