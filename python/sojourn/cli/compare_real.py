"""``sojourn compare-worlds --world real``: simulated packets beside real ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.api import default_directory, plan, run
from sojourn.cli.common import note, print_json, progress, resumable
from sojourn.cli.run import say_how_long
from sojourn.errors import disk
from sojourn.results import Results
from sojourn.runner.store import write_whole
from sojourn.spec.scenario import load

if TYPE_CHECKING:
    from sojourn.study.compare_worlds.real import Row

HEADS = ("metric", "simulated", "spread", "real", "%", "")


def compare_real(
    file: Path,
    aqms: list[str] | None,
    counts: tuple[int, int],
    *,
    out: Path | None,
    json: bool,
    workers: int | None,
) -> None:
    """Run a scenario in simulated and in real packets, `counts` times each; show both and the targets."""
    from sojourn.study.compare_worlds.real import rows, simulate

    scenario = load(file)
    seeds, repeats = counts
    plan(scenario, aqms, seeds)
    specs = list(dict.fromkeys(point.spec for point in plan(scenario, aqms, repeats, world="real")))
    directory = out if out is not None else default_directory(scenario, specs, "beside real")
    say_how_long(scenario, len(specs) * repeats, "real")
    with resumable(), progress(scenario.name) as move:
        real = run(scenario, specs, repeats, world="real", out=directory, progress=move)
        simulated = simulate(scenario, specs, repeats, seeds, workers, move)
    for warning in real.warnings:
        note(f"sojourn: warning: real: {warning}")
    found = rows(simulated, real)
    path = _write(directory, simulated[0], real, found)
    if json:
        print_json({"metrics": [row.data() for row in found], "report": str(path)})
    else:
        _show(found)
    note(f"report: {path}")


def _words(row: Row) -> list[str]:
    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.4g}"

    away = "-" if row.difference is None else f"{100 * row.difference:+.1f}"
    return [row.metric, text(row.simulated), f"{row.spread:.2g}", text(row.real), away, row.verdict]


def _show(found: list[Row]) -> None:
    for aqm in dict.fromkeys(row.aqm for row in found):
        print(aqm)
        for words in (HEADS, *(_words(row) for row in found if row.aqm == aqm)):
            print(f"  {words[0]:<16}" + "".join(f"{word:>12}" for word in words[1:5]) + f"  {words[5]}")


def _write(directory: Path, simulated: Results, real: Results, found: list[Row]) -> Path:
    """Write the report of both worlds."""
    import polars as pl

    from sojourn import plots
    from sojourn.report import Document, Figure, Section, Table, Text, render
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
    sections = [Section("How near is near", blocks)]
    for aqm in simulated.aqms:
        rows = [_words(row) for row in found if row.aqm == aqm]
        heads = [*HEADS[:5], "verdict"]
        table = pl.DataFrame([dict(zip(heads, words, strict=True)) for words in rows])
        parts: list[Any] = [Table(table, "Means over simulated runs, and over real ones")]
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
    path = directory / "report.html"
    try:
        write_whole(path, render(page).encode())
    except OSError as error:
        raise disk(error, path) from None
    return path
