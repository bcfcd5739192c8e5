"""``sojourn bench aqm``: what a decision of each algorithm and scheduler costs on this machine."""

from __future__ import annotations

import sys

from sojourn import _core
from sojourn.algorithms import costs
from sojourn.cli.common import note, print_json, progress
from sojourn.errors import from_core


def bench_aqm(specs: list[str] | None, json: bool) -> None:
    """Measure ``specs``, or everything that there is, and print the table."""
    for spec in specs or ():
        _check(spec)
    with progress("measuring") as told:
        measured = costs.measure(specs or [one["name"] for one in costs.subjects()], told)
    if json:
        print_json(measured)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    head, rows = costs.table(measured)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=measured["machine"], caption_justify="left")
    for i, name in enumerate(head):
        table.add_column(name, overflow="fold", justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200).print(table)
    if measured["missing"]:
        note(f"sojourn: {measured['missing']}")


def _check(spec: str) -> None:
    """Refuse a spec that is not one, before anything is measured."""
    try:
        _core.inspect(spec, costs.RATE, 1, 1)
    except _core.SpecError as error:
        raise from_core(error, "--aqm") from None
