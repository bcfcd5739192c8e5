"""``sojourn explain NAME``: an algorithm, a metric or the options of TCP, from the registries."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from sojourn import _core
from sojourn.cli import topics
from sojourn.cli.common import permit_code, print_json
from sojourn.cli.complete import algorithms, matching
from sojourn.cli.emit import write_exports
from sojourn.cli.options import Export, Json
from sojourn.cli.output import Column, Output, Table
from sojourn.cli.table import columns_of
from sojourn.errors import InputError, from_core
from sojourn.metrics import METRICS, Metric, find
from sojourn.terminal import console, escape
from sojourn.worlds import having


def _matching(incomplete: str) -> list[str]:
    """Complete a name."""
    markers = [one["name"] for one in _core.markers()]
    return matching([*algorithms(), *markers, "tcp", *METRICS, *topics.names()], incomplete)


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An algorithm (or file.py:Class), a metric, 'tcp', a kind of traffic, a congestion control, "
            "an option of TCP, a key of scenarios, a world, a paper, a template, or a warning, like W05; "
            "'warnings' lists them.",
            show_default=False,
            autocompletion=_matching,
        ),
    ],
    json: Json = False,
    export: Export = None,
) -> None:
    """Explain anything that has a name: algorithms, metrics, TCP, traffic, keys of scenarios, worlds."""
    known = {one["name"]: one for one in (*_core.algorithms(), *_core.schedulers(), *_core.markers())}
    if ":" in name:
        permit_code(False, [name])
        try:
            known[name] = _core.algorithm(name)
        except _core.SpecError as error:
            raise from_core(error) from None
    metric = None if topics.is_key(name) else find(name) or _labelled(name)
    if metric is not None:
        output = _of_metric(metric)
    elif name == "tcp":
        output = _of_tcp(_core.tcp_schema())
    elif name in known:
        output = _of_algorithm(known[name])
    elif (topic := topics.find(name)) is not None:
        output = topic
    else:
        raise _unknown(name, list(known))
    if json:
        print_json(output.data)
    else:
        if output.title:
            _print_head(output.title)
        output.print()
    write_exports(output, export)


def _labelled(name: str) -> Metric | None:
    """Return the metric with this label, or with this name but for its unit: ``mean delay``, ``goodput``."""
    words = name.lower().replace("_", " ")
    units = ("", "_s", "_bps", "_packets")
    known = [one for one in METRICS.values() if one.label == words]
    return next(iter(known or [METRICS[name + unit] for unit in units if name + unit in METRICS]), None)


def _unknown(name: str, algorithms: list[str]) -> InputError:
    """Return the error for a name without an explanation: the nearest name, and the kinds of names."""
    labels = [one.label for one in METRICS.values()]
    known = [*algorithms, "tcp", *METRICS, *topics.names(), *labels]
    kinds = ", ".join(["algorithms", "metrics", *(label for label, _ in topics.groups())])
    return InputError(repr(name), "has no explanation", kinds, _core.nearest(name, known))


def _print_head(text: str) -> None:
    """Print a text in Markdown."""
    from rich.markdown import Markdown

    page = console(sys.stdout, columns_of(sys.stdout))
    page.print(Markdown(escape(text)))
    page.print()


def _of_algorithm(one: dict[str, Any]) -> Output:
    """Return the description of an algorithm with its parameters and traces."""
    head = f"**{one['name']}**: {one['title']} ({one['source']})\n\n"
    if one["alias_of"]:
        head += f"Short for: {one['alias_of']}\n\n"
    columns = [
        Column("name", "name"),
        Column("default", "default", prose=True),
        Column("unit", "unit", prose=True),
        Column("allowed", "allowed", prose=True),
        Column("meaning", "meaning", prose=True),
    ]
    tables = []
    if one["params"]:
        tables.append(Table("parameters", "Parameters", columns, [_parameter(p) for p in one["params"]]))
    if one["probes"]:
        rows = [(probe["name"], probe["unit"] or "-", probe["doc"]) for probe in one["probes"]]
        tables.append(Table("traces", "Traces", [columns[0], columns[2], columns[4]], rows))
    notes = [] if one["params"] else ["It has no parameters of its own."]
    return Output(head + readable(one["doc"]), tables, one, [*notes, _use(one["name"])])


def _parameter(p: dict[str, Any]) -> tuple[str, ...]:
    also = [f"source: {p['source']}"] if p["source"] else []
    also += [f"{word}: {p[key]}" for key, word in (("ns2", "ns-2"), ("linux", "Linux")) if p[key] is not None]
    also += [f"tc: {p['tc']}"] if p["tc"] else []
    default = f"({p['default']})" if p["derived"] else p["default"]
    return p["name"], default, p["unit"] or "-", p["allowed"], f"{p['doc']}\n[{'; '.join(also)}]"


def _of_tcp(options: list[dict[str, Any]]) -> Output:
    """Return the options of TCP with their presets."""
    columns = [
        Column("name", "name"),
        Column("presets", "rfc; other conventions", prose=True),
        Column("meaning", "meaning", prose=True),
    ]
    rows = [(one["name"], topics.presets(one), one["doc"]) for one in options]
    title = "Options of TCP, in [tcp] or in the tcp table of a traffic; values where presets differ"
    notes = ['Values allowed and source: sojourn explain NAME; the traffic: kind = "tcp"']
    return Output("", [Table("tcp", title, columns, rows)], options, notes)


def _of_metric(metric: Metric) -> Output:
    """Return the entry of a metric in the registry."""
    facts = {
        "metric": metric.name,
        "label": metric.label,
        "unit": metric.unit or "pure number",
        "displayed in": metric.display.unit or "pure number",
        "formula": metric.formula,
        "source": metric.source,
        "better": metric.better or "neither",
        "worlds": ", ".join(having(metric)),
    }
    columns = [Column(name.replace(" ", "_"), name) for name in facts]
    table = Table("metric", metric.label, columns, [tuple(facts.values())], keys=0, turned=True)
    data = {key: getattr(metric, key) for key in ("name", "unit", "formula", "source", "better")}
    return Output("", [table], data)


def _use(name: str) -> str:
    """Return how the spec of an algorithm, scheduler or marker is used."""
    if name in [one["name"] for one in _core.markers()]:
        return f'Use it: marker = "{name} ..." in a [[traffic]] table.'
    use = f'Use it: sojourn run FILE --aqm "{name}"'
    if name in [one["name"] for one in _core.schedulers()]:
        return f"{use}; its queues share the limit."
    return f"{use}; limit and overflow belong to the queue."


def readable(doc: str) -> str:
    """Turn Rust's links into plain code: ``[`Aqm::probe`]`` becomes ``Aqm::probe``.

    Examples
    --------
    >>> readable("see [`Aqm`] and [red](crate::red)")
    'see `Aqm` and red'
    """
    doc = re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", doc)
    return re.sub(r"\[([^\]]+)\]\((?:crate|super)[^)]*\)", r"\1", doc)
