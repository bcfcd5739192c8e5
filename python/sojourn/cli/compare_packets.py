"""``sojourn compare-worlds`` with another world of packets, such as the real one: repeated runs of both."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.api import default_directory, plan, run
from sojourn.cli.common import note, progress, resumable, warn
from sojourn.cli.emit import emit
from sojourn.cli.output import Column, Measured, Metrics, OfMetrics, Output, Table, written
from sojourn.cli.run import note_duration
from sojourn.metrics import PERCENT
from sojourn.spec.scenario import load
from sojourn.study.two_worlds import Compared, begin, finish
from sojourn.worlds import DEFAULT, find

if TYPE_CHECKING:
    from sojourn.study.compare_worlds.packets import Row


def compare_packets(
    file: Path,
    world: str,
    aqms: list[str] | None,
    counts: tuple[int, int],
    *,
    out: Path | None,
    json: bool,
    export: list[Path] | None,
    workers: int | None,
) -> None:
    """Run a scenario with simulated packets and in `world`; show both results and the verdicts.

    `counts` are the numbers of simulated runs and of the other world's.
    """
    from sojourn.study.compare_worlds.packets import rows, simulate

    scenario = load(file)
    seeds, repeats = counts
    plan(scenario, aqms, seeds)
    specs = list(dict.fromkeys(point.spec for point in plan(scenario, aqms, repeats, world=world)))
    directory = out if out is not None else default_directory(scenario, specs, f"beside {world}")
    command = ["sojourn", *sys.argv[1:]]
    begin(directory, scenario, world, command)
    note_duration([scenario], len(specs) * repeats, world)
    with resumable(), progress(scenario.name) as move:
        other = run(
            scenario, specs, repeats, world=world, out=directory / world, progress=move, command=command
        )
        simulated = simulate(scenario, specs, repeats, seeds, workers, move, directory)
    warn(f"{world}: {one}" for one in other.warnings)
    data = {"metrics": [row.data(world) for row in rows(simulated, other)]}
    compared = finish(directory, simulated, other, data)
    path = write_packets(compared)
    emit(replace(of_packets(compared), data={**data, "report": str(path)}), json, export)
    note(f"report: {path}")


def of_packets(compared: Compared) -> Output:
    """Return the tables of a comparison with another world of packets."""
    from sojourn.study.compare_worlds.packets import rows

    found = rows(compared.simulated, compared.other)
    return Output(compared.other.scenario.name, _of(found, compared.world), compared.data)


def _of(found: list[Row], world: str) -> list[Table]:
    """Return a table for each algorithm, with a metric in each row."""
    columns = [
        Metrics("metric", ""),
        OfMetrics(DEFAULT, DEFAULT),
        OfMetrics("spread", "std. dev. of single runs", digits=2),
        OfMetrics(world, world),
        Column("difference", "difference", PERCENT, 3),
        Column("verdict", "verdict"),
    ]
    tables = []
    for number, aqm in enumerate(dict.fromkeys(row.aqm for row in found), 1):
        rows = [
            (
                row.metric,
                *(Measured(row.metric, value) for value in (row.simulated, row.spread, row.other)),
                row.difference,
                row.verdict,
            )
            for row in found
            if row.aqm == aqm
        ]
        tables.append(Table(f"{number}", aqm, columns, rows))
    return tables


def write_packets(compared: Compared) -> Path:
    """Write the report of a comparison with another world of packets; return its path."""
    from sojourn import plots
    from sojourn.report import Document, Figure, Section, Text, write
    from sojourn.study.compare_worlds.packets import TARGETS, USUAL

    world, simulated, other = compared.world, compared.simulated[0], compared.other
    targets = "; ".join(f"{one.metric} {100 * one.share:g} %" for one in TARGETS)
    words = (
        f"*agrees*: the {world} mean is within the target of the simulated one ({targets}; mean delay also "
        f"1 ms). *within the spread*: outside the target, but within {USUAL:g} standard deviations "
        "of single simulated runs."
    )
    if find(world).seeded_queue:
        words += (
            f" Simulated runs have the seeds of the {world} ones, and so the same random numbers in the "
            "queue; the random numbers of the hosts differ."
        )
    sections = [Section("When the worlds agree", [Text(words)])]
    for table in of_packets(compared).tables:
        aqm = table.title
        parts: list[Any] = [written(table, f"Means over simulated and over {world} runs")]
        traces = [
            one.trace("queue", aqm=aqm, seed=one.seeds[0]).select("time_s", "queue_mean")
            for one in (simulated, other)
        ]
        if traces[0].height and traces[1].height:
            svg = plots.overlay(*traces, aqm=aqm, labels=(DEFAULT, world))
            parts.append(Figure(svg, "The queue in both worlds", f"{aqm}, the first run of each"))
        sections.append(Section(aqm, parts))
    page = Document(
        title=f"{simulated.scenario.name}: {DEFAULT} and {world}",
        subtitle=", ".join(simulated.aqms),
        kind="Two worlds",
        command=compared.command,
        summary=f"Simulated packets beside those of the {world} world"
        + (", whose runs depend on the machine and its load." if find(world).real_time else "."),
        blocks=sections,
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )
    return write(page, compared.directory / "report.html")
