"""``sojourn compare-worlds``: compares simulated packets with another world and finds where it is accurate.

This module compares a world of averages; `compare_packets` compares a world of packets.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import _core
from sojourn.api import default_directory, plan
from sojourn.api import run as run_scenario
from sojourn.cli.common import note, permit_code, progress, resumable, warn
from sojourn.cli.compare_packets import compare_packets, of_packets, write_packets
from sojourn.cli.emit import emit
from sojourn.cli.options import AllowCode, Aqm, Export, File, Json, Out, Workers
from sojourn.cli.output import Column, Measured, Metrics, OfMetrics, Output, Table, written
from sojourn.errors import InputError, unknown
from sojourn.format import Scale
from sojourn.metrics import PERCENT, display, label, shown, text
from sojourn.results import Results
from sojourn.spec.scenario import load
from sojourn.study.two_worlds import Compared, begin, copy_of, finish
from sojourn.worlds import COMPARED, DEFAULT, REGISTRY, find

if TYPE_CHECKING:
    from sojourn.study.compare_worlds.fluid import Cell


#: The metrics that come first in the report.
MAIN = ("mean_queue_packets", "utilization", "drop_ratio")


def others() -> list[str]:
    """Return the worlds that can be compared with simulated packets."""
    return [name for name in REGISTRY if name != DEFAULT]


def compare_worlds(
    file: File,
    aqm: Aqm = None,
    world: Annotated[
        str,
        typer.Option("--world", metavar="W", help=f"World to compare: {', '.join(others())}."),
    ] = COMPARED,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Seeds of the simulated packets [default: 2; 10 if the other world has packets].",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Runs of the other world, if it has packets.")
    ] = 1,
    grid: Annotated[
        bool, typer.Option("--grid/--no-grid", help="Also vary flows, delays and buffer from 0.5x to 2x.")
    ] = True,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    allow_code: AllowCode = False,
) -> None:
    """Compare simulated packets with another world. Report how well the results agree."""
    permit_code(allow_code, aqm)
    if world not in others():
        raise unknown(world, "a world to compare with simulated packets", others(), "world")
    output: Any = {"out": out, "json": json, "export": export, "workers": workers}
    if find(world).has_packets:
        compare_packets(file, world, aqm, (seeds or 10, repeats), **output)
    else:
        _compare_averages(file, world, aqm, seeds or 2, grid=grid, **output)


def _compare_averages(
    file: Path,
    world: str,
    aqm: list[str] | None,
    seeds: int,
    *,
    grid: bool,
    out: Path | None,
    json: bool,
    export: list[Path] | None,
    workers: int | None,
) -> None:
    from sojourn.study.compare_worlds.fluid import grid as over_grid

    scenario = load(file)
    if aqm and len(aqm) > 1:
        raise InputError("aqm", "is given twice", f"one algorithm with --world {world}")
    spec = plan(scenario, aqm, seeds)[0].spec
    plan(scenario, [spec], 1, world=world)
    directory = out if out is not None else default_directory(scenario, [spec], f"beside {world}")
    command = ["sojourn", *sys.argv[1:]]
    begin(directory, scenario, world, command)
    of_runs: Any = {"command": command, "workers": workers}
    with resumable(), progress(scenario.name) as move:
        averages = run_scenario(scenario, [spec], 1, world=world, out=directory / world, **of_runs)
        packets = run_scenario(scenario, [spec], seeds, out=copy_of(directory), progress=move, **of_runs)
        numbers = tuple(range(1, seeds + 1))
        cells = over_grid(scenario, spec, numbers, workers=workers, progress=move) if grid else []
    warn(f"{world}: {one}" for one in averages.warnings)
    rows = [_row(name, world, averages, packets, spec) for name in shown("worlds")]
    data = {"aqm": spec, "metrics": rows, "grid": [_data(one, world) for one in cells]}
    compared = finish(directory, [packets], averages, data)
    path = write_averages(compared)
    output = of_averages(compared)
    emit(replace(output, data={**data, "report": str(path)}), json, export)
    note(f"report: {path}")


def write_compared(compared: Compared) -> Path:
    """Write the report of two worlds; return its path."""
    return (write_packets if find(compared.world).has_packets else write_averages)(compared)


def of_compared(compared: Compared) -> Output:
    """Return the tables of two worlds."""
    return (of_packets if find(compared.world).has_packets else of_averages)(compared)


def of_averages(compared: Compared) -> Output:
    """Return the tables of a comparison with a world of averages."""
    cells = _cells(compared)
    tables = _of(compared.data["aqm"], compared.world, compared.other, compared.simulated[0], cells)
    trusted = sum(one.trusted for one in cells)
    notes = [f"trusted at {trusted} of {len(cells)} points"] if cells else []
    return Output(tables[0].title, tables, compared.data, notes)


def _said(spec: str, world: str, averages: Results, packets: Results) -> list[str]:
    """Return the main metrics in both worlds, as a list."""
    found = []
    for name in MAIN:
        ours, theirs = averages.estimate(spec, name).mean, packets.estimate(spec, name)
        if ours is None or theirs.mean is None:
            continue
        error = _error(ours, theirs.mean)
        size = "" if error is None else f" ({100 * error:+.1f} %)"
        both = f"{world} {text(name, ours)}, simulated {text(name, theirs.mean, theirs.ci95)}"
        found.append(f"- **{label(name)}**: {both}{size}.")
    return found


def _row(name: str, world: str, averages: Results, packets: Results, spec: str) -> dict[str, Any]:
    ours, theirs = averages.estimate(spec, name).mean, packets.estimate(spec, name)
    error = _error(ours, theirs.mean)
    return {"metric": name, world: ours, "packets": theirs.mean, "ci95": theirs.ci95, "error": error}


def _error(average: float | None, packets: float | None) -> float | None:
    """Return the relative error of an average; None if a value is unknown or the packets' value is 0."""
    return None if average is None or not packets else average / packets - 1


def _data(one: Cell, world: str) -> dict[str, Any]:
    return {
        "flows": one.flows,
        "rtt_s": one.rtt,
        "limit": one.limit,
        "window": one.window,
        world: {name: one.fluid.get(name) for name in shown("worlds")},
        "packets": {name: one.packets.get(name) for name in shown("worlds")},
        "errors": {name: one.error(name) for name in ("queue", "signals", "utilization")},
        "trusted": one.trusted,
        "reason": one.reason,
    }


def _cells(compared: Compared) -> list[Cell]:
    """Return the points of the grid from what `_data` made of them."""
    from sojourn.study.compare_worlds.fluid import Cell

    return [
        Cell(one["flows"], one["rtt_s"], one["limit"], one[compared.world], one["packets"], one["window"])
        for one in compared.data["grid"]
    ]


def _of(spec: str, world: str, averages: Results, packets: Results, cells: list[Cell]) -> list[Table]:
    """Return the metrics in both worlds, and the grid over flows, delays and buffer."""
    rows = []
    for name in shown("worlds"):
        ours, theirs = averages.estimate(spec, name).mean, packets.estimate(spec, name)
        rows.append((name, Measured(name, ours), Measured(name, theirs), _error(ours, theirs.mean)))
    columns = [
        Metrics("metric", ""),
        OfMetrics(world, world),
        OfMetrics("packets", "packets"),
        Column("error", "error", PERCENT, 2),
    ]
    tables = [Table("metrics", f"{spec}: {world} world and packets", columns, rows)]
    if not cells:
        return tables
    queue, used, share = (display(name) for name in ("mean_queue_packets", "utilization", "drop_ratio"))
    columns = [
        Column("flows", "flows"),
        Column("rtt_s", "RTT", Scale(1e3, "ms"), 3),
        Column("limit_packets", "buffer", Scale(1.0, "packets"), 3),
    ]
    quantities = (("mean_queue_packets", "queue", queue), ("signal_ratio", "signals", share))
    for key, words, unit in (*quantities, ("utilization", "utilization", used)):
        columns += [Column(f"{key}_{one}", f"{words}, {one}", unit, 3) for one in (world, "packets")]
    columns += [
        Column("window_packets", "window", Scale(1.0, "packets"), 2),
        Column("trusted", "trusted"),
        Column("reason", "reason"),
    ]
    grid = []
    for one in cells:
        signal = max(("mark_ratio", "drop_ratio"), key=lambda name: one.packets.get(name) or 0)
        means = [
            values.get(name) or 0.0
            for name in ("mean_queue_packets", signal, "utilization")
            for values in (one.fluid, one.packets)
        ]
        grid.append((one.flows, one.rtt, one.limit, *means, one.window, one.trusted, one.reason))
    tables.append(Table("grid", f"{spec} over flows, delays and buffer", columns, grid, keys=3))
    return tables


def write_averages(compared: Compared) -> Path:
    """Write the report of a comparison with a world of averages; return its path."""
    from sojourn import plots
    from sojourn.report import Document, Figure, Section, Text, write
    from sojourn.study.compare_worlds.fluid import BLIND, NEAR

    world, packets, averages = compared.world, compared.simulated[0], compared.other
    spec, tables = compared.data["aqm"], of_averages(compared).tables
    seed = packets.seeds[0]
    traces = [one.trace("queue", seed=seed).select("time_s", "queue_mean") for one in (packets, averages)]
    blocks: list[Any] = []
    if traces[0].height and traces[1].height:
        svg = plots.overlay(*traces, aqm=spec, labels=("packets", world))
        blocks.append(Figure(svg, "The queue in both worlds", f"{spec}, seed {seed}"))
    blocks.append(written(tables[0], f"Metrics: {world}, and packets with the 95 % half-width over seeds"))
    sections = [Section("The scenario", blocks)]
    said = _said(spec, world, averages, packets)
    if len(tables) > 1:
        cells = _cells(compared)
        trusted = sum(one.trusted for one in cells)
        said.append(f"- **over flows, delays and buffer**: trusted at {trusted} of {len(cells)} points.")
        words = (
            f"A point is trusted where the {world} queue is within {NEAR['queue']:.0%} of the buffer, the "
            f"signalled share within {100 * NEAR['signals']:g} points and the utilization within "
            f"{100 * NEAR['utilization']:g} points of the simulated packets' values."
        )
        sections.append(
            Section("Over flows, delays and buffer", [Text(words), written(tables[1], "Both worlds")])
        )
    blind = "\n".join(f"- **{name}**: {words}." for name, words in BLIND.items())
    sections.append(Section(f"What the {world} world does not include", [Text(blind)]))
    page = Document(
        title=f"{averages.scenario.name}: {world} and packets",
        subtitle=spec,
        kind="Two worlds",
        command=compared.command,
        verdict="\n".join(["Equations for averages, compared with simulated packets:", "", *said]),
        blocks=sections,
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )
    return write(page, compared.directory / "report.html")
