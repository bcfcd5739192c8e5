"""``sojourn list``: what there is, from the registry and nothing else."""

from __future__ import annotations

import sys

from sojourn import _core
from sojourn.cli.common import Json, print_json


def list_algorithms(json: Json = False) -> None:
    """List algorithms, schedulers and markers with their parameters, and papers to reproduce."""
    from sojourn.papers import PAPERS

    algorithms, schedulers, markers = _core.algorithms(), _core.schedulers(), _core.markers()
    if json:
        papers = {name: paper.title for name, paper in PAPERS.items()}
        queues = {"algorithms": algorithms, "schedulers": schedulers, "markers": markers}
        print_json({**queues, "tcp": _core.tcp_schema(), "papers": papers})
        return

    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
    for what, entries in (("algorithm", algorithms), ("scheduler", schedulers), ("marker", markers)):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for head in (what, "title", "source", "parameters"):
            table.add_column(head, overflow="fold", no_wrap=head == what)
        for one in entries:
            title = one["title"] + (f" (= {one['alias_of']})" if one["alias_of"] else "")
            words = " ".join(p["name"] for p in one["params"])
            table.add_row(one["name"], title, one["source"], words or "-")
        console.print(table)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("paper", no_wrap=True)
    table.add_column("about, to be re-run: sojourn reproduce NAME")
    for name, paper in PAPERS.items():
        table.add_row(name, paper.title)
    console.print(table)
    console.print(
        "Every spec may carry: limit 100p (or 120kB), and an algorithm's overflow tail | head | random."
    )
    console.print("More about one: sojourn explain red; about a metric or TCP: sojourn explain tcp")
