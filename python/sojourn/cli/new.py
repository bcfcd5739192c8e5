"""``sojourn new``: writes a scenario to begin with, by options, questions or from a template."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn import files, templates
from sojourn.cli.common import note
from sojourn.cli.complete import specs, template_names
from sojourn.cli.emit import emit
from sojourn.cli.options import Export, Json, path_of
from sojourn.cli.output import Column, Output, Table
from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario
from sojourn.spec.units import Wrong, number

#: Parameters of `templates.Home` that are options of the command.
_OPTIONS = ("rate", "rtt", "flows", "uploads", "web", "call", "game", "aqm", "ecn", "variant")


def new(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The file to write [default: NAME.toml]; it must not exist.",
            show_default=False,
            parser=path_of("FILE", "a scenario file"),
        ),
    ] = None,
    template: Annotated[
        str,
        typer.Option(
            "--template", metavar="NAME", help="Template; --list shows all.", autocompletion=template_names
        ),
    ] = templates.HOME,
    show: Annotated[bool, typer.Option("--list", help="List the templates; write nothing.")] = False,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="DOWN/UP",
            help="Rates of the link, like 100/20Mbit/s; or one rate for both [default: 100/20Mbit/s].",
            show_default=False,
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            "--rtt", metavar="TIME", help="Base round-trip time [default: 30ms].", show_default=False
        ),
    ] = None,
    flows: Annotated[
        int | None,
        typer.Option("--flows", metavar="N", min=0, help="Bulk downloads [default: 4].", show_default=False),
    ] = None,
    uploads: Annotated[
        int | None,
        typer.Option("--uploads", metavar="N", min=0, help="Bulk uploads [default: 1].", show_default=False),
    ] = None,
    web: Annotated[
        bool | None, typer.Option("--web/--no-web", help="Web pages [default: yes].", show_default=False)
    ] = None,
    call: Annotated[
        bool | None, typer.Option("--call/--no-call", help="A voice call [default: yes].", show_default=False)
    ] = None,
    game: Annotated[
        bool | None,
        typer.Option("--game/--no-game", help="An online game [default: yes].", show_default=False),
    ] = None,
    aqm: Annotated[
        str | None,
        typer.Option(
            "--aqm",
            metavar="SPEC",
            help="Algorithm [default: fq_codel].",
            show_default=False,
            autocompletion=specs,
        ),
    ] = None,
    ecn: Annotated[
        bool | None,
        typer.Option("--ecn/--no-ecn", help="Mark instead of drop [default: no].", show_default=False),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant", metavar="NAME", help="Congestion control [default: cubic].", show_default=False
        ),
    ] = None,
    json: Json = False,
    export: Export = None,
) -> None:
    """Write a scenario to begin with: your home link by options or questions, or a template."""
    if show:
        _list(json, export)
        return
    given = {
        name: value
        for name, value in zip(
            _OPTIONS, (rate, rtt, flows, uploads, web, call, game, aqm, ecn, variant), strict=True
        )
        if value is not None
    }
    path = file if file is not None else Path(f"{template}.toml")
    if template != templates.HOME:
        if given:
            option = f"--{next(iter(given))}"
            raise InputError(option, f"does not apply to the template {template!r}", "edit the file instead")
        content = templates.text(template, str(path))
    else:
        if not given and file is None and sys.stdin.isatty():
            given = _asked()
        content = templates.home(templates.Home(**_home(given)), str(path))
    Scenario.from_toml(content, str(path))  # raises what is wrong with the options
    if not files.create(path, content):
        raise InputError(str(path), "exists", "a new name, or delete the file first")
    note(f"wrote {path}: {templates.title(template)}")
    note(f"try: sojourn compare {path}")


def _asked() -> dict[str, Any]:
    """Ask for each option; an empty answer is the default."""
    default = templates.Home()
    return {
        "rate": typer.prompt("Rates of the link, down/up", default="100/20Mbit/s"),
        "rtt": typer.prompt("Base round-trip time", default=default.rtt),
        "flows": typer.prompt("Bulk downloads", default=default.downloads, type=int),
        "uploads": typer.prompt("Bulk uploads", default=default.uploads, type=int),
        "web": typer.confirm("Web pages?", default=default.web),
        "call": typer.confirm("A voice call?", default=default.call),
        "game": typer.confirm("An online game?", default=default.game),
        "aqm": typer.prompt("Algorithm (sojourn list shows all)", default=default.aqm),
        "ecn": typer.confirm("Mark packets instead of dropping them (ECN)?", default=default.ecn),
    }


def _home(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of `templates.Home`."""
    values = dict(given)
    if "flows" in values:
        values["downloads"] = values.pop("flows")
    if "rate" in values:
        values["rate"], values["reverse_rate"] = rates(values["rate"])
    if "rtt" in values:
        _quantity("--rtt", "span", values["rtt"])
    known = {one.name for one in fields(templates.Home)}
    return {name: value for name, value in values.items() if name in known}


def rates(text: str) -> tuple[str, str]:
    """Return the rates of both directions; the first may take its unit from the second.

    Examples
    --------
    >>> rates("100/20Mbit/s"), rates("1Gbit/s/100mbit"), rates("50mbit")
    (('100Mbit/s', '20Mbit/s'), ('1Gbit/s', '100mbit'), ('50mbit', '50mbit'))
    """
    down, up = _halves(text)
    unit = up.lstrip("0123456789. ")
    if down and down[-1].isdigit():
        down += unit
    for word in (down, up):
        _quantity("--rate", "rate", word)
    return down, up


def _quantity(option: str, kind: str, word: str) -> None:
    """Raise ``InputError`` if the value of an option is not a quantity of this kind."""
    try:
        number(kind, word)
    except Wrong as wrong:
        raise InputError(option, wrong.problem, wrong.allowed, wrong.nearest) from None


def _halves(text: str) -> tuple[str, str]:
    """Split at the slash before the second number; without one, both directions have the same rate."""
    for position, letter in enumerate(text):
        if letter == "/" and text[position + 1 :].strip()[:1].isdigit():
            return text[:position].strip(), text[position + 1 :].strip()
    return text.strip(), text.strip()


def _list(json: bool, export: list[Path] | None) -> None:
    rows = [(name, templates.title(name)) for name in templates.names()]
    columns = [Column("name", "template"), Column("title", "title", prose=True)]
    data = {"templates": [{"name": name, "title": title} for name, title in rows]}
    notes = ["To write one: sojourn new --template NAME FILE"]
    emit(Output("Templates", [Table("templates", "Templates", columns, rows)], data, notes), json, export)
