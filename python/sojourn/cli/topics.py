"""What ``sojourn explain`` knows besides algorithms and metrics: everything that a user can name.

Topics are traffic kinds, congestion controls, options of TCP, conventions, tables and keys of scenarios,
worlds, papers, templates and warnings. A name that several of them have is explained by the first.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from inspect import cleandoc
from typing import Any

from pydantic import BaseModel

from sojourn import _core, templates
from sojourn.cli.output import Column, Output, Table
from sojourn.spec import schema
from sojourn.spec.schema import ScenarioFields
from sojourn.warning_codes import KINDS, Kind
from sojourn.worlds import REGISTRY
from sojourn.worlds import find as find_world

#: The keys of a table as `explain` shows them.
KEYS = [
    Column("key", "key"),
    Column("default", "default", prose=True),
    Column("meaning", "meaning", prose=True),
]


def find(name: str) -> Output | None:
    """Return the explanation of `name`, or None if no topic has it."""
    for _, known, explain in _TOPICS:
        if name in known():
            return explain(name)
    if paths := [path for path in _keys() if path.rpartition(".")[2] == name]:
        rows = [(path, *_row(*_keys()[path])[1:]) for path in paths]
        data = {"name": name, "keys": [dict(zip(_HEADS, row, strict=True)) for row in rows]}
        return Output("", [Table("keys", f"Keys named {name}", KEYS, rows)], data)
    return None


def is_key(name: str) -> bool:
    """Return whether a name is the path of a key, like ``trace.drops``; metrics of traffic look alike."""
    return "." in name and name in _keys()


def names() -> list[str]:
    """Return all names that have an explanation here."""
    found = [name for _, known, _ in _TOPICS for name in known()]
    return [*found, *dict.fromkeys(path.rpartition(".")[2] for path in _keys())]


def paths() -> list[str]:
    """Return the keys of scenarios by their paths, like ``queue.limit``."""
    return list(_keys())


def groups() -> list[tuple[str, list[str]]]:
    """Return each kind of topic with its names."""
    return [(label, list(known())) for label, known, _ in _TOPICS]


def _tables() -> dict[str, type[BaseModel]]:
    """Return the tables of a scenario file by the path of their keys, without kinds of traffic."""
    found: dict[str, type[BaseModel]] = {"scenario": ScenarioFields}

    def collect(prefix: str, model: type[BaseModel]) -> None:
        for key, field in model.model_fields.items():
            for inner in _models(field.annotation):
                path = f"{prefix}{field.alias or key}"
                if path not in found and inner not in _kinds().values():
                    found[path] = inner
                    collect(f"{path}.", inner)

    collect("", ScenarioFields)
    return found


def _kinds() -> dict[str, type[BaseModel]]:
    """Return the tables of the kinds of traffic."""
    models = list(_models(schema.Traffic))
    return {typing.get_args(model.model_fields["kind"].annotation)[0]: model for model in models}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the table classes inside a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in typing.get_args(annotation):
        yield from _models(one)


def _keys() -> dict[str, tuple[type[BaseModel], str]]:
    """Return every key by its path, like ``queue.limit``: its table, and its name there."""
    found: dict[str, tuple[type[BaseModel], str]] = {}
    tables = {**_tables(), **{f"traffic.{kind}": model for kind, model in _kinds().items()}}
    for path, model in tables.items():
        for name, field in model.model_fields.items():
            prefix = "" if path == "scenario" else "traffic." if path.startswith("traffic.") else f"{path}."
            found.setdefault(f"{prefix}{field.alias or name}", (model, name))
    return found


def _row(model: type[BaseModel], name: str) -> tuple[str, str, str]:
    field = model.model_fields[name]
    if field.is_required():
        default = "required"
    else:
        value = field.get_default(call_default_factory=True, validated_data={})
        default = "-" if value is None or isinstance(value, BaseModel | dict | list) else str(value)
    default = {"True": "true", "False": "false"}.get(default, default)
    return field.alias or name, default, field.description or _first(model)


def _first(model: type[BaseModel]) -> str:
    """Return the first paragraph of a table's description."""
    return cleandoc(model.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _of_model(title: str, model: type[BaseModel], example: str) -> Output:
    rows = [_row(model, name) for name in model.model_fields]
    data = {
        "name": title,
        "doc": _first(model),
        "keys": [dict(zip(_HEADS, row, strict=True)) for row in rows],
    }
    return Output(f"**{title}**: {_first(model)}", [Table("keys", "Keys", KEYS, rows)], data, [example])


_HEADS = ("key", "default", "meaning")


def _of_kind(name: str) -> Output:
    return _of_model(name, _kinds()[name], f'Use it: kind = "{name}" in a [[traffic]] table.')


def _of_table(name: str) -> Output:
    return _of_model(name, _tables()[name], "All tables: docs/reference/scenario.md; sojourn schema")


def _of_key(name: str) -> Output:
    model, key = _keys()[name]
    _, default, meaning = _row(model, key)
    facts = {"key": name, "default": default, "meaning": meaning}
    if (inner := next(_models(model.model_fields[key].annotation), None)) is not None:
        facts["table"] = _first(inner)
    return _facts(name, facts)


def _facts(title: str, facts: dict[str, str]) -> Output:
    """Return a table with one line for each fact."""
    columns = [Column(name.replace(" ", "_"), name, prose=True) for name in facts]
    table = Table("entry", title, columns, [tuple(facts.values())], keys=0, turned=True)
    return Output("", [table], facts)


def _options() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in _core.tcp_schema()}


def presets(option: dict[str, Any]) -> str:
    """Return the values of an option of TCP: that of `rfc`, and those of presets that differ."""
    values = dict(option["presets"])
    usual = values.pop("rfc")
    others: dict[str, list[str]] = {}
    for preset, value in values.items():
        if value != usual:
            others.setdefault(value, []).append(preset)
    return "; ".join([usual, *(f"{', '.join(found)}: {value}" for value, found in others.items())])


def _of_option(name: str) -> Output:
    one = _options()[name]
    return _facts(
        f"tcp.{name}",
        {
            "option": name,
            "meaning": one["doc"],
            "allowed": one["allowed"],
            "rfc; other conventions": presets(one),
            "source": one["source"],
            "use": f"tcp = {{ {name} = ... }} in a [[traffic]] table, or [tcp] for all",
        },
    )


_SENDERS = {
    "tahoe": ("Tahoe: fast retransmit, then slow start from one packet after every loss", "Jacobson 1988"),
    "reno": ("Reno: slow start, congestion avoidance, fast retransmit, fast recovery", "RFC 5681"),
    "newreno": ("NewReno: Reno whose fast recovery lasts until all lost packets are repaired", "RFC 6582"),
    "sack": ("Reno's windows with loss recovery by selective acknowledgements", "RFC 6675"),
    "cubic": ("CUBIC: the window is a cubic function of the time since the last loss", "RFC 9438"),
    "dctcp": ("DCTCP: the window is reduced in proportion to the share of marked packets", "RFC 8257"),
    "bbr": (
        "BBR version 1: window and pacing rate follow the largest delivery rate and the shortest round trip",
        "Linux 6.1",
    ),
    "vegas": (
        "Vegas: two to four packets of each flow wait in the queue, judged by round trips",
        "Linux 6.1",
    ),
    "westwood": ("Westwood+: Reno, but after a loss the window is bandwidth times round trip", "Linux 6.1"),
    "ledbat": ("LEDBAT: background transfers that keep the queue at 100 ms, by one-way delays", "RFC 6817"),
    "ledbat++": (
        "LEDBAT++: background transfers that keep the queue at 60 ms and slow down periodically",
        "draft-irtf-iccrg-ledbat-plus-plus",
    ),
    "prague": (
        "Prague: as DCTCP for the Internet (L4S): accurate ECN feedback, pacing, equal rates below 25 ms",
        "draft-briscoe-iccrg-prague-congestion-control",
    ),
}


def _senders() -> list[str]:
    return list(_options()["variant"]["choices"])


def _of_sender(name: str) -> Output:
    meaning, source = _SENDERS[name]
    usual = [preset for preset, value in _options()["variant"]["presets"].items() if value == name]
    facts = {"congestion control": name, "meaning": meaning, "source": source}
    facts["default of conventions"] = ", ".join(usual) or "none"
    return _facts(
        name, {**facts, "use": f'variant = "{name}" in a [[traffic]] table; options: sojourn explain tcp'}
    )


def _of_conventions(name: str) -> Output:
    """Return the options of TCP that a preset sets otherwise than RFCs and papers do."""
    columns = [Column("option", "option"), Column("value", "value"), Column("meaning", "meaning", prose=True)]
    rows = [
        (one["name"], one["presets"][name], one["doc"])
        for one in _options().values()
        if name == "rfc" or one["presets"][name] != one["presets"]["rfc"]
    ]
    title = f"{name}: options of TCP" + ("" if name == "rfc" else " that differ from the preset rfc")
    options = [dict(zip(("option", "value", "meaning"), row, strict=True)) for row in rows]
    return Output(
        "",
        [Table("conventions", title, columns, rows)],
        {"name": name, "options": options},
        [f'Use it: conventions = "{name}" in a scenario; all values: docs/reference/conventions.md'],
    )


def _of_world(name: str) -> Output:
    world = find_world(name)
    answers = {
        "single packets": world.has_packets,
        "runs differ by seed": world.seeded,
        "runs in real time": world.real_time,
    }
    facts = {"world": name, **{fact: "yes" if value else "no" for fact, value in answers.items()}}
    return _facts(name, {**facts, "use": f"sojourn run FILE --world {name}"})


def _papers() -> list[str]:
    from sojourn.papers import PAPERS

    return list(PAPERS)


def _of_paper(name: str) -> Output:
    from sojourn.papers import PAPERS

    title = PAPERS[name].title
    return _facts(
        name, {"paper": name, "title": title, "use": f"sojourn reproduce {name} [--quick | --search]"}
    )


def _of_template(name: str) -> Output:
    use = f"sojourn new FILE --template {name}"
    return _facts(name, {"template": name, "title": templates.title(name), "use": use})


def _of_warning(name: str) -> Output:
    if name != "warnings":
        return _facts(name, KINDS[name]._asdict())
    columns = [Column("code", "code"), *(Column(key, key, prose=True) for key in Kind._fields[1:])]
    table = Table("warnings", "All warnings", columns, list(KINDS.values()))
    return Output("", [table], [one._asdict() for one in KINDS.values()])


_TOPICS: list[tuple[str, Callable[[], typing.Iterable[str]], Callable[[str], Output]]] = [
    ("kinds of traffic", _kinds, _of_kind),
    ("congestion controls", _senders, _of_sender),
    ("options of TCP", _options, _of_option),
    ("conventions", lambda: _core.CONVENTIONS, _of_conventions),
    ("worlds", lambda: REGISTRY, _of_world),
    ("papers", _papers, _of_paper),
    ("tables of a scenario", _tables, _of_table),
    ("keys of a scenario", _keys, _of_key),
    ("templates", templates.names, _of_template),
    ("warnings", lambda: ["warnings", *KINDS], _of_warning),
]
