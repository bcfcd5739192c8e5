"""``sojourn list``: what there is, from the registry and nothing else."""

from __future__ import annotations

from sojourn.cli.common import Json, print_json


def list_algorithms(json: Json = False) -> None:
    """List every algorithm with its parameters, and the papers that can be reproduced."""
    from sojourn import _core

    algorithms = _core.algorithms()
    if json:
        from sojourn.papers import PAPERS

        papers = {name: paper.title for name, paper in PAPERS.items()}
        print_json({"algorithms": algorithms, "tcp": _core.tcp_schema(), "papers": papers})
        return
    import sys

    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("algorithm", "title", "source", "parameters"):
        table.add_column(head, overflow="fold")
    for one in algorithms:
        title = one["title"] + (f" (= {one['alias_of']})" if one["alias_of"] else "")
        table.add_row(one["name"], title, one["source"], " ".join(p["name"] for p in one["params"]) or "-")
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print("Every spec may carry: limit 100p (or 120kB), overflow tail | head | random.")
    console.print("More about one: sojourn explain red; about a metric or TCP: sojourn explain tcp")
