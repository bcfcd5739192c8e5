"""Generate the parts of the documentation that are made from the code (``make docs``).

``python docs/generate.py`` writes them; ``--check`` lists the stale ones and exits with 1.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from markup import NOTE, table
from pages import pages

from sojourn import _core, templates
from sojourn.cli import _app as command_line
from sojourn.cli import topics
from sojourn.cli.examples import EXAMPLES
from sojourn.metrics import METRICS, per_class
from sojourn.notebook import topology
from sojourn.record import UNKNOWN
from sojourn.record.tables import Column
from sojourn.runner.layout import KINDS, File
from sojourn.spec.scenario import Scenario, json_schema
from sojourn.warning_codes import KINDS as WARNINGS
from sojourn.warning_codes import Kind
from sojourn.worlds import having

HERE = Path(__file__).parent


def conventions() -> str:
    """Tabulate the options that differ between the presets of conventions."""
    names = _core.CONVENTIONS
    tcp = [
        [f"`{o['name']}`", *(o["presets"][name] for name in names), o["doc"], o["source"]]
        for o in _core.tcp_schema()
        if len(set(o["presets"].values())) > 1
    ]
    queues = [
        [
            f"`{a['name']}`",
            f"`{p['name']}`",
            p["default"],
            p["ns2"] or p["default"],
            p["ns2_2001"] or p["ns2"] or p["default"],
            p["linux"] or p["default"],
            p["doc"],
        ]
        for a in [*_core.algorithms(), *_core.schedulers()]
        for p in a["params"]
        if (p["ns2"], p["linux"]) != (None, None)
    ]
    return (
        NOTE
        + (HERE / "parts/conventions-head.md").read_text(encoding="utf-8")
        + "\n## TCP\n\n"
        + table(["option", *names, "meaning", "source of the default"], tcp)
        + "\n## Algorithms\n\n"
        + table(["algorithm", "parameter", "rfc", "ns2, ns2-2004", "ns2-2001", "linux", "meaning"], queues)
        + "\n"
        + (HERE / "parts/conventions-tail.md").read_text(encoding="utf-8")
    )


def metrics() -> str:
    """Tabulate every metric with label, units, formula, source and worlds."""
    return (
        NOTE
        + "# Metrics\n\nAll metrics, over [warm-up, end] at the measured queue. Unknown is null, never 0.\n"
        + "With several traffic classes, "
        + ", ".join(f"`{name}`" for name in per_class())
        + " exist for each class as `classes.NUMBER.NAME`.\n\n"
        + table(
            ["metric", "label", "unit", "displayed in", "formula", "source", "better", "worlds"],
            [
                [
                    f"`{m.name}`",
                    m.label,
                    m.unit,
                    m.display.unit,
                    m.formula,
                    m.source,
                    m.better,
                    ", ".join(having(m)),
                ]
                for m in METRICS.values()
            ],
        )
    )


def results_files() -> str:
    """Tabulate the files of each kind of results folder, and their columns."""
    text = NOTE + (HERE / "parts/files-head.md").read_text(encoding="utf-8")
    for kind, files in KINDS.items():
        text += f"\n## A folder of `{kind}`\n\n"
        text += table(["file", "format", "content"], [[f"`{f.path}`", f.format, f.meaning] for f in files])
    tables: list[File] = []
    for file in itertools.chain.from_iterable(KINDS.values()):
        if file.columns and file not in tables:
            tables.append(file)
    for file in tables:
        text += f"\n## Columns of `{file.path}`\n\n{file.meaning[0].upper()}{file.meaning[1:]}.\n\n"
        text += table(["column", "type", "unit", "meaning"], columns(file.columns))
    return text


def columns(given: Sequence[Column], before: str = "") -> list[list[str]]:
    """Return a row for each column, and for each field of a structure."""
    rows = []
    for one in given:
        words = [one.meaning]
        if one.codes:
            words.append(", ".join(f"{code}: {word}" for code, word in one.codes.items()))
        if one.null is not None:
            words.append(f"unknown: {'2^64 - 1' if one.null == UNKNOWN else one.null}")
        if one.is_optional:
            words.append("not in every file")
        rows.append([f"`{before}{one.name}`", one.type, one.unit, "; ".join(words)])
        rows += columns(one.fields, f"{before}{one.name}.")
    return rows


def commands() -> str:
    """Tabulate the arguments and options of every command."""
    text = NOTE + "# Commands\n\nWhat `sojourn COMMAND --help` prints.\n"
    group = typer.main.get_command(command_line(()))
    for name, one in group.commands.items():  # type: ignore[attr-defined]
        text += f"\n## `sojourn {name}`\n\n{one.help.strip()}\n\n"
        rows = []
        for given in one.params:
            is_option = given.param_type_name == "option"
            names = ", ".join(f"`{word}`" for word in given.opts) if is_option else f"`{given.metavar}`"
            meta = given.metavar if is_option and given.metavar and not given.is_flag else ""
            default = given.default if not callable(given.default) else None
            shown_default = f"`{default}`" if default not in (None, False, (), []) else ""
            rows.append([names, f"`{meta}`" if meta else "", shown_default, given.help or ""])
        text += table(["argument", "value", "default", "meaning"], rows)
        text += "\n```sh\n" + "\n".join(EXAMPLES[name]) + "\n```\n"
    return text


def schema() -> str:
    """Write the JSON Schema of scenario files, for editors."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def scenario() -> str:
    """Tabulate every key of a scenario file."""
    root = json_schema()
    text = NOTE + "# Scenario keys\n\nThe keys of each table of a [scenario file](../scenarios.md).\n"
    for title, part in [("Top level", root), *root["$defs"].items()]:
        required = part.get("required", [])
        rows = [
            [
                f"`{key}`",
                "required" if key in required else shown(field.get("default")),
                field.get("description", ""),
            ]
            for key, field in part.get("properties", {}).items()
        ]
        if rows:
            text += f"\n## {title}\n\n{part.get('description', '').split(chr(10) * 2)[0]}\n\n"
            text += table(["key", "default", "meaning"], rows)
    return text


def shown(default: object) -> str:
    """Return a default in the notation of TOML."""
    return "" if default in (None, [], {}) else f"`{json.dumps(default)}`"


def senders() -> str:
    """Tabulate kinds of traffic, congestion controls and options of TCP, as `sojourn explain` has them."""
    text = NOTE + "# Senders\n\nWhat `sojourn explain NAME` prints about them.\n"
    topics_of = dict(topics.groups())
    text += "\n## Kinds of traffic\n\nThe keys of a `[[traffic]]` table, by its `kind`.\n"
    for name in topics_of["kinds of traffic"]:
        found = topics.find(name)
        text += f"\n### `{name}`\n\n{found.data['doc']}\n\n"
        text += table(
            ["key", "default", "meaning"], [[f"`{row[0]}`", *row[1:]] for row in found.tables[0].rows]
        )
    for label in ("congestion controls", "options of TCP"):
        entries = [topics.find(name).tables[0] for name in topics_of[label]]
        entries = [one for one in entries if one.columns == entries[-1].columns]
        heads = [one.label for one in entries[-1].columns]
        rows = [[f"`{row[0]}`", *(str(cell) for cell in row[1:])] for one in entries for row in one.rows]
        text += f"\n## {label[0].upper()}{label[1:]}\n\n" + table(heads, rows)
    return text


def template_pages() -> dict[str, str]:
    """Write the page of all templates, and a picture of the topology of each."""
    text = (
        NOTE + "# Templates\n\nScenarios to begin with. `sojourn new --template NAME FILE` writes one, "
        "with comments;\n"
    )
    text += "the options of `sojourn new` change the home link. A red mark is a queue of finite size.\n"
    made = {}
    for name in templates.names():
        one = Scenario.from_toml(templates.text(name, f"{name}.toml"), name)
        made[f"templates/{name}.svg"] = topology.svg(one)
        text += f"\n## {name}\n\n{templates.title(name)}.\n\n![Topology of {name}]({name}.svg)\n\n"
        text += table(["traffic", "kind", "sources", "direction"], topology.traffic(one))
        text += f"\n```sh\nsojourn new --template {name} {name}.toml\n```\n"
    return {"templates/README.md": text, **made}


def warnings() -> str:
    """Tabulate every warning."""
    head = "# Warnings\n\nEach warning ends with its code, which `sojourn explain CODE` explains.\n\n"
    rows = [[f"`{one.code}`", *one[1:]] for one in WARNINGS.values()]
    return NOTE + head + table(Kind._fields, rows)


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/conventions.md": conventions,
    "reference/files.md": results_files,
    "reference/metrics.md": metrics,
    "reference/scenario.md": scenario,
    "reference/scenario.schema.json": schema,
    "reference/senders.md": senders,
    "reference/warnings.md": warnings,
}


def main() -> int:
    """Write every page, or only compare with ``--check``."""
    stale = []
    for name, text in {
        **pages(),
        **template_pages(),
        **{name: make() for name, make in PAGES.items()},
    }.items():
        path = HERE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print("stale, run make docs: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
