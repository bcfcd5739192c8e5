"""``sojourn list``: the registry of algorithms, schedulers and markers, and the papers."""

from __future__ import annotations

from sojourn import _core
from sojourn.cli.emit import emit
from sojourn.cli.options import Export, Json
from sojourn.cli.output import Column, Output, Table


def list_algorithms(json: Json = False, export: Export = None) -> None:
    """List algorithms, schedulers, markers and papers. Show their parameters."""
    from sojourn.papers import PAPERS

    tables = []
    kinds = {
        "algorithms": _core.algorithms(),
        "schedulers": _core.schedulers(),
        "markers": _core.markers(),
    }
    for kind, entries in kinds.items():
        columns = [
            Column("name", kind.removesuffix("s")),
            Column("title", "title", prose=True),
            Column("source", "source", prose=True),
            Column("parameters", "parameters", prose=True),
        ]
        rows = [
            (
                one["name"],
                one["title"] + (f" (= {one['alias_of']})" if one["alias_of"] else ""),
                one["source"],
                " ".join(p["name"] for p in one["params"]) or "-",
            )
            for one in entries
        ]
        tables.append(Table(kind, kind.capitalize(), columns, rows))
    columns = [
        Column("name", "paper"),
        Column("title", "title; to re-run it: sojourn reproduce NAME", prose=True),
    ]
    papers = {name: paper.title for name, paper in PAPERS.items()}
    tables.append(Table("papers", "Papers", columns, list(papers.items())))
    notes = [
        "Every spec may set limit 100p (or 120kB), and an algorithm's overflow tail | head | random.",
        "Details: sojourn explain NAME, of an algorithm, a metric, or 'tcp' for the options of TCP",
    ]
    emit(
        Output("Registry", tables, {**kinds, "tcp": _core.tcp_schema(), "papers": papers}, notes),
        json,
        export,
    )
