"""``sojourn compare-worlds --world real``: simulated packets beside real ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.api import default_directory, plan, run
from sojourn.cli.common import note, progress, resumable
from sojourn.cli.emit import emit
from sojourn.cli.output import Column, Measured, Metrics, OfMetrics, Output, Table, written
from sojourn.cli.run import note_duration
from sojourn.metrics import PERCENT
from sojourn.results import Results
from sojourn.spec.scenario import load

if TYPE_CHECKING:
    from sojourn.study.compare_worlds.real import Row


def compare_real(
    file: Path,
    aqms: list[str] | None,
    counts: tuple[int, int],
    *,
    out: Path | None,
    json: bool,
    export: list[Path] | None,
    workers: int | None,
) -> None:
    """Run a scenario in simulated and in real packets, `counts` times each; show both and the verdicts."""
    from sojourn.study.compare_worlds.real import rows, simulate

    scenario = load(file)
    seeds, repeats = counts
    plan(scenario, aqms, seeds)
    specs = list(dict.fromkeys(point.spec for point in plan(scenario, aqms, repeats, world="real")))
    directory = out if out is not None else default_directory(scenario, specs, "beside real")
    note_duration(scenario, len(specs) * repeats, "real")
    with resumable(), progress(scenario.name) as move:
        real = run(scenario, specs, repeats, world="real", out=directory, progress=move)
        simulated = simulate(scenario, specs, repeats, seeds, workers, move)
    for warning in real.warnings:
        note(f"sojourn: warning: real: {warning}")
    found = rows(simulated, real)
    tables = _of(found)
    path = _write(directory, simulated[0], real, tables)
    data = {"metrics": [row.data() for row in found], "report": str(path)}
    emit(Output(scenario.name, tables, data), json, export)
    note(f"report: {path}")


def _of(found: list[Row]) -> list[Table]:
    """Return a table for each algorithm, with a metric in each row."""
    columns = [
        Metrics("metric", ""),
        OfMetrics("simulated", "simulated"),
        OfMetrics("spread", "std. dev. of single runs", digits=2),
        OfMetrics("real", "real"),
        Column("difference", "difference", PERCENT, 3),
        Column("verdict", "verdict"),
    ]
    tables = []
    for number, aqm in enumerate(dict.fromkeys(row.aqm for row in found), 1):
        rows = [
            (
                row.metric,
                *(Measured(row.metric, value) for value in (row.simulated, row.spread, row.real)),
                row.difference,
                row.verdict,
            )
            for row in found
            if row.aqm == aqm
        ]
        tables.append(Table(f"{number}", aqm, columns, rows))
    return tables


def _write(directory: Path, simulated: Results, real: Results, tables: list[Table]) -> Path:
    """Write the report of both worlds."""
    from sojourn import plots
    from sojourn.report import Document, Figure, Section, Text, write
    from sojourn.study.compare_worlds.real import TARGETS, USUAL

    targets = "; ".join(f"{one.metric} {100 * one.share:g} %" for one in TARGETS)
    blocks: list[Any] = [
        Text(
            f"*agrees*: the real mean is within the target of the simulated one ({targets}; mean delay also "
            "1 ms). "
            f"*within the spread*: not so, but within {USUAL:g} standard deviations of single simulated "
            "runs. Simulated runs have the seeds of the real ones, and so the same random numbers in the "
            "queue; what the hosts draw differs."
        )
    ]
    sections = [Section("When the worlds agree", blocks)]
    for table in tables:
        aqm = table.title
        parts: list[Any] = [written(table, "Means over simulated runs, and over real ones")]
        traces = [
            one.trace("queue", aqm=aqm, seed=one.seeds[0]).select("time_s", "queue_mean")
            for one in (simulated, real)
        ]
        if traces[0].height and traces[1].height:
            svg = plots.overlay(
                *traces, aqm=aqm, title="Simulated and real queue", labels=("simulated", "real")
            )
            parts.append(Figure(svg, "The queue in both worlds", f"{aqm}, the first run of each"))
        sections.append(Section(aqm, parts))
    page = Document(
        title=f"{simulated.scenario.name}: simulated and real",
        subtitle=", ".join(simulated.aqms),
        kind="Two worlds",
        command=f"sojourn compare-worlds {simulated.scenario.where} --world real",
        summary="Simulated packets beside real ones; real runs are of one machine, under its load.",
        blocks=sections,
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )
    return write(page, directory / "report.html")
