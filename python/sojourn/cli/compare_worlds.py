"""``sojourn compare-worlds``: another world beside simulated packets, and when to trust it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import _core
from sojourn.api import default_directory, plan
from sojourn.api import run as run_scenario
from sojourn.cli.common import File, Json, Out, Workers, note, print_json, progress
from sojourn.cli.compare_real import compare_real
from sojourn.errors import InputError, disk, unknown
from sojourn.metrics import shown
from sojourn.results import Results
from sojourn.runner.ownership import require_owner
from sojourn.runner.store import write_whole
from sojourn.spec.scenario import load

if TYPE_CHECKING:
    from sojourn.study.compare_worlds.fluid import Cell

HEADS = ("flows", "rtt ms", "buffer", "q fluid", "packets", "p fluid %", "packets", "util fl %", "packets")
TAIL = ("window", "trust")


def compare_worlds(
    file: File,
    aqm: Annotated[
        list[str] | None,
        typer.Option(
            "--aqm",
            metavar="SPEC",
            help="Algorithm; several beside the real world [default: the scenario's].",
            show_default=False,
        ),
    ] = None,
    world: Annotated[
        str, typer.Option("--world", metavar="W", help="What stands beside simulated packets: fluid or real.")
    ] = "fluid",
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Seeds of the simulated packets [default: 2]; runs beside the real world [10].",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="With --world real: real runs, in real time.")
    ] = 1,
    grid: Annotated[
        bool, typer.Option("--grid/--no-grid", help="Also over half to twice the flows, delays and buffer.")
    ] = True,
    out: Out = None,
    json: Json = False,
    workers: Workers = None,
) -> None:
    """Run a scenario in simulated packets and in another world; draw both queues, say how near they are."""
    if world not in ("fluid", "real"):
        raise unknown(world, "a world beside simulated packets", ["fluid", "real"], "world")
    if world == "real":
        compare_real(file, aqm, (seeds or 10, repeats), out=out, json=json, workers=workers)
    else:
        _compare_fluid(file, aqm, seeds or 2, grid=grid, out=out, json=json, workers=workers)


def _compare_fluid(
    file: Path,
    aqm: list[str] | None,
    seeds: int,
    *,
    grid: bool,
    out: Path | None,
    json: bool,
    workers: int | None,
) -> None:
    from sojourn.study.compare_worlds.fluid import grid as over_grid

    scenario = load(file)
    if aqm and len(aqm) > 1:
        raise InputError("aqm", "is given twice", "one beside the fluid world")
    points = plan(scenario, aqm, seeds)
    spec = points[0].spec
    directory = out if out is not None else default_directory(scenario, [spec], "both")
    require_owner(directory, "compare-worlds", scenario.name)  # its report would take the place of another's
    fluid = run_scenario(scenario, [spec], 1, world="fluid")
    with progress(scenario.name) as move:
        packets = run_scenario(scenario, [spec], seeds, workers=workers, progress=move)
        numbers = tuple(range(1, seeds + 1))
        cells = over_grid(scenario, spec, numbers, workers=workers, progress=move) if grid else []
    for warning in fluid.warnings:
        note(f"sojourn: warning: fluid: {warning}")
    rows = [_row(name, fluid, packets, spec) for name in shown("worlds")]
    path = _write(directory, spec, fluid, packets, rows, cells)
    if json:
        print_json({"aqm": spec, "metrics": rows, "grid": [_cell(one) for one in cells], "report": str(path)})
    else:
        _show(rows, cells)
    note(f"report: {path}")


def _row(name: str, fluid: Results, packets: Results, spec: str) -> dict[str, Any]:
    ours, theirs = fluid.estimate(spec, name).mean, packets.estimate(spec, name)
    share = None if ours is None or not theirs.mean else ours / theirs.mean - 1
    return {"metric": name, "fluid": ours, "packets": theirs.mean, "ci95": theirs.ci95, "error": share}


def _cell(one: Cell) -> dict[str, Any]:
    return {
        "flows": one.flows,
        "rtt_s": one.rtt,
        "limit": one.limit,
        "window": one.window,
        "fluid": {name: one.fluid.get(name) for name in shown("worlds")},
        "packets": {name: one.packets.get(name) for name in shown("worlds")},
        "errors": {name: one.error(name) for name in ("queue", "signals", "utilization")},
        "trusted": one.trusted,
        "reason": one.reason,
    }


def _words(one: Cell) -> list[str]:
    def both(name: str, factor: float = 1.0) -> list[str]:
        return [f"{factor * (values.get(name) or 0.0):.3g}" for values in (one.fluid, one.packets)]

    signal = (
        "drop_ratio"
        if (one.packets.get("drop_ratio") or 0) >= (one.packets.get("mark_ratio") or 0)
        else "mark_ratio"
    )
    return [
        str(one.flows),
        f"{1e3 * one.rtt:.0f}",
        f"{one.limit:.0f}",
        *both("mean_queue_packets"),
        *both(signal, 100),
        *both("utilization", 100),
        f"{one.window:.1f}",
        "yes" if one.trusted else f"no: {one.reason}",
    ]


def _show(rows: list[dict[str, Any]], cells: list[Cell]) -> None:
    print(f"{'metric':<20}{'fluid':>12}{'packets':>12}{'error %':>10}")
    for row in rows:
        ours, theirs, share = (row[name] for name in ("fluid", "packets", "error"))
        texts = ["-" if x is None else f"{x:.4g}" for x in (ours, theirs)]
        away = "-" if share is None else f"{100 * share:.0f}"
        print(f"{row['metric']:<20}{texts[0]:>12}{texts[1]:>12}{away:>10}")
    if cells:
        print()
        print("  ".join(f"{head:>8}" for head in (*HEADS, *TAIL)))
        for one in cells:
            print(
                "  ".join(
                    f"{word:>{max(8, len(head))}}"
                    for word, head in zip(_words(one), (*HEADS, *TAIL), strict=True)
                )
            )
        print(f"trusted at {sum(one.trusted for one in cells)} of {len(cells)} points")


def _write(
    directory: Path,
    spec: str,
    fluid: Results,
    packets: Results,
    rows: list[dict[str, Any]],
    cells: list[Cell],
) -> Path:
    """Write the report of both worlds."""
    import polars as pl

    from sojourn import plots
    from sojourn.report import Document, Figure, Section, Table, Text, render
    from sojourn.study.compare_worlds.fluid import BLIND, NEAR

    seed = packets.seeds[0]
    traces = [one.trace("queue", seed=seed).select("time_s", "queue_mean") for one in (packets, fluid)]
    blocks: list[Any] = []
    if traces[0].height and traces[1].height:
        svg = plots.overlay(*traces, aqm=spec)
        blocks.append(Figure(svg, "The queue in both worlds", f"{spec}, seed {seed}"))
    blocks.append(
        Table(pl.DataFrame(rows), "Metrics: fluid, and packets with the 95 % half-width over seeds")
    )
    sections = [Section("The scenario", blocks)]
    if cells:
        heads = ["flows", "rtt ms", "buffer"]
        for name in ("queue", "signals %", "utilization %"):
            heads += [f"{name}, fluid", f"{name}, packets"]
        heads += ["window", "trust"]
        table = pl.DataFrame([dict(zip(heads, _words(one), strict=True)) for one in cells])
        words = (
            f"A point is trusted where the fluid queue is within {NEAR['queue']:.0%} of the buffer, the "
            f"signalled share within {100 * NEAR['signals']:g} points and the utilization within "
            f"{100 * NEAR['utilization']:g} points of the packets'."
        )
        sections.append(Section("Over flows, delays and buffer", [Text(words), Table(table, "Both worlds")]))
    blind = "\n".join(f"- **{name}**: {words}." for name, words in BLIND.items())
    sections.append(Section("What the fluid model cannot know", [Text(blind)]))
    page = Document(
        title=f"{fluid.scenario.name}: fluid and packets",
        subtitle=spec,
        kind="Two worlds",
        command=f"sojourn compare-worlds {fluid.scenario.where}",
        summary="Equations for averages beside the packets that they average.",
        blocks=sections,
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )
    path = directory / "report.html"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(path, render(page).encode())
    except OSError as error:
        raise disk(error, path) from None
    return path
