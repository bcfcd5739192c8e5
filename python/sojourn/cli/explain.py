"""``sojourn explain NAME``: the head of an algorithm's file and its parameters, in the terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import _core
from sojourn.cli.common import Json, print_json
from sojourn.errors import from_core, unknown
from sojourn.metrics import METRICS, Metric, find

if TYPE_CHECKING:
    from rich.console import Console


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An algorithm (or file.py:Class), a scheduler, a marker, a metric, or 'tcp'.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> None:
    """Explain an algorithm (idea, parameters, differences), a metric (formula, source), or TCP's options."""
    algorithms = {one["name"]: one for one in (*_core.algorithms(), *_core.schedulers(), *_core.markers())}
    if ":" in name:
        try:
            algorithms[name] = _core.algorithm(name)
        except _core.SpecError as error:
            raise from_core(error) from None
    metric = find(name)
    if name not in algorithms and name != "tcp" and metric is None:
        raise unknown(name, "an algorithm or a metric", [*algorithms, "tcp", *METRICS])
    if json:
        value: Any = algorithms.get(name)
        if name == "tcp":
            value = _core.tcp_schema()
        elif metric is not None:
            value = {key: getattr(metric, key) for key in ("name", "unit", "formula", "source", "better")}
        print_json(value)
        return
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 110)
    if name in algorithms:
        _algorithm(console, algorithms[name])
    elif name == "tcp":
        _tcp(console, _core.tcp_schema())
    elif metric is not None:
        _metric(console, metric)


def _algorithm(console: Console, one: dict[str, Any]) -> None:
    from rich.markdown import Markdown

    console.print(f"[bold]{one['name']}[/bold]: {one['title']} ({one['source']})")
    if one["alias_of"]:
        console.print(f"Short for: {one['alias_of']}")
    console.print()
    console.print(Markdown(readable(one["doc"])))
    console.print()
    _parameters(console, one["params"])
    if one["probes"]:
        from rich import box
        from rich.table import Table

        table = Table(title="Traces", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for head in ("name", "unit", "meaning"):
            table.add_column(head, overflow="fold", no_wrap=head == "name")
        for probe in one["probes"]:
            table.add_row(probe["name"], probe["unit"] or "-", probe["doc"])
        console.print(table)
    console.print(_use(one["name"]), markup=False)


def _use(name: str) -> str:
    """Say where its spec is written."""
    if name in [one["name"] for one in _core.markers()]:
        return f'Use it: marker = "{name} ..." in a [[traffic]] table.'
    use = f'Use it: sojourn run FILE --aqm "{name}"'
    if name in [one["name"] for one in _core.schedulers()]:
        return f"{use}; limit is the one that its queues share."
    return f"{use}; limit and overflow are the queue's."


def readable(doc: str) -> str:
    """Turn Rust's links into plain code: ``[`Aqm::probe`]`` becomes ``Aqm::probe``.

    Examples
    --------
    >>> readable("see [`Aqm`] and [red](crate::red)")
    'see `Aqm` and red'
    """
    doc = re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", doc)
    return re.sub(r"\[([^\]]+)\]\((?:crate|super)[^)]*\)", r"\1", doc)


def _parameters(console: Console, params: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    if not params:
        console.print("No parameters of its own.")
        return
    table = Table(title="Parameters", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("name", "default", "unit", "allowed", "meaning"):
        table.add_column(head, overflow="fold", no_wrap=head == "name")
    for p in params:
        also = [f"source: {p['source']}"] if p["source"] else []
        also += [f"ns-2: {p['ns2']}"] if p["ns2"] is not None else []
        also += [f"Linux: {p['linux']}"] if p["linux"] is not None else []
        also += [f"tc: {p['tc']}"] if p["tc"] else []
        default = f"({p['default']})" if p["derived"] else p["default"]
        meaning = f"{p['doc']}\n[{'; '.join(also)}]"
        table.add_row(
            *(escape(text) for text in (p["name"], default, p["unit"] or "-", p["allowed"], meaning))
        )
    console.print(table)


def _tcp(console: Console, options: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    console.print(
        "[bold]tcp[/bold]: options of TCP, in \\[tcp] or in a traffic's tcp table, and their presets"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("name", "allowed", "meaning", "source", *_core.CONVENTIONS):
        table.add_column(head, overflow="fold", no_wrap=head == "name")
    for one in options:
        presets = [one["presets"][preset] for preset in _core.CONVENTIONS]
        table.add_row(one["name"], one["allowed"], one["doc"], one["source"], *presets)
    console.print(table)


def _metric(console: Console, metric: Metric) -> None:
    console.print(f"[bold]{metric.name}[/bold] ({metric.unit or 'pure number'})", highlight=False)
    console.print(f"Formula: {metric.formula}", markup=False)
    console.print(f"Source: {metric.source}", markup=False)
    if metric.better:
        console.print(f"{metric.better.capitalize()} is better.")
