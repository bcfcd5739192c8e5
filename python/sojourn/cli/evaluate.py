"""``sojourn evaluate``: the evaluation of RFC 7928, with a report for a working group."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from sojourn import worlds
from sojourn.algorithms import spec_of
from sojourn.cli.common import executor, note, permit_code, progress, resumable
from sojourn.cli.compare import share_of
from sojourn.cli.complete import specs
from sojourn.cli.emit import emit, write_exports
from sojourn.cli.options import Dask, Export, Json, Out, RetryFailed, Serial, Workers, World
from sojourn.cli.output import Column, Output, Table
from sojourn.cli.run import note_duration
from sojourn.errors import InputError, InputErrors
from sojourn.format import counted
from sojourn.runner.execute import Progress
from sojourn.runner.leases import retry
from sojourn.study.evaluate.catalogue import catalogue
from sojourn.study.evaluate.model import BASELINE, FULL_SEEDS, QUICK_SEEDS, Evaluation, Plan
from sojourn.study.evaluate.run import default_directory
from sojourn.study.evaluate.run import evaluate as run_evaluation

#: The rivals if none are given.
RIVALS = "pie,codel,fq_codel"


def evaluate(
    aqm: Annotated[
        str | None,
        typer.Argument(
            metavar="SPEC",
            help="The algorithm, like pie, 'codel target 10ms' or mine.py:Mine.",
            show_default=False,
            autocompletion=specs,
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="SPECS",
            help="Rivals with commas between, besides droptail; the first is named.",
        ),
    ] = RIVALS,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            metavar="S",
            help="Only this scenario or section, like S8, 8.2.5 or 8; repeatable.",
            show_default=False,
        ),
    ] = None,
    world: World = worlds.DEFAULT,
    quick: Annotated[bool, typer.Option("--quick", help="Run short scenarios with five seeds.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", help="Number of seeds [default: 20, with --quick 5].", show_default=False
        ),
    ] = None,
    until_ci: Annotated[
        str | None,
        typer.Option(
            "--until-ci",
            metavar="SHARE",
            help="In each case, add seeds until the half-width of its first metric is this share, like 5%.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the scenarios with their assumptions; run nothing.")
    ] = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also write each figure of the report as PDF into DIR/figures.")
    ] = False,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
) -> None:
    """Evaluate an algorithm by RFC 7928. Show in which scenarios it is better or worse than drop tail."""
    chosen = catalogue().choose(scenario or ())
    if listed:
        emit(_catalogue(), json, export)
        return
    if aqm is None:
        raise InputError("SPEC", "is missing: the algorithm to evaluate", "pie, mine.py:Mine, or --list")
    rivals = [word.strip() for word in against.split(",") if word.strip()]
    permit_code(False, [aqm, *rivals])
    plan = Plan(
        str(_spec(aqm)),
        tuple(_specs(rivals)),
        chosen,
        (QUICK_SEEDS if quick else FULL_SEEDS) if seeds is None else seeds,
        quick,
        None if until_ci is None else share_of("until-ci", until_ci),
        world,
    )
    folder = out if out is not None else default_directory(plan)
    if retry_failed:
        for _, case in plan.runnable:
            retry(folder / case.name)
    for one in plan.refused:
        note(f"sojourn: {one.case.name} cannot run: {one.reason}")
    cases = counted(len(plan.runnable), "case")
    note(f"{cases} of {counted(len(plan.specs), 'algorithm')}, {counted(plan.seeds, 'seed')}: {folder}")
    runs = len(plan.specs) * plan.seeds
    note_duration(
        [case.scenario(entry.shorter if quick else None) for entry, case in plan.runnable], runs, world
    )
    with resumable(), executor(workers, serial, dask) as maker, ExitStack() as bars:

        def bar(title: str) -> Progress | None:
            bars.close()
            return bars.enter_context(progress(title))

        evaluation = run_evaluation(plan, folder, maker, bar, ["sojourn", *sys.argv[1:]])
    if warned := [one.case.name for one in evaluation.judged if one.results.warnings]:
        cases = counted(len(warned), "case")
        note(f"sojourn: runs of {cases} have warnings, which the chapters of the report state")
    emit(of_evaluation(evaluation), json, None)
    write_exports(of_evaluation(evaluation, every=True), export)
    note(f"report: {write_evaluation(evaluation, pdf)}")


def of_evaluation(evaluation: Evaluation, every: bool = False) -> Output:
    """Return the summary and where the algorithm fails; with `every` also each metric of each case."""
    from sojourn.report.evaluated import summary_frame

    plan = evaluation.plan
    frame = summary_frame(evaluation)
    names = [one for one in (plan.aqm, *plan.rivals, "rival") if one in frame.columns]
    against = f"{plan.aqm} against {plan.rivals[0]}" if plan.rivals else ""
    columns = [Column("case", "case")]
    columns += [
        Column(one, against if one == "rival" else one, data_only=one != plan.aqm, prose=True)
        for one in names
    ]
    columns += [
        Column(
            f"{one} size", "size, as share" if one == plan.aqm else "", data_only=one != plan.aqm, prose=True
        )
        for one in names
    ]
    rows = [
        [row["case"], *(row[one] or "" for one in names), *(row.get(f"{one} below") or "" for one in names)]
        for row in frame.iter_rows(named=True)
    ]
    title = f"{plan.aqm} by RFC 7928: verdicts against {BASELINE}"
    summary = Table("summary", title, columns, rows)
    differences = [
        {"case": one.case.name, "section": one.entry.section, **row}
        for one in evaluation.judged
        for row in one.comparison.table().to_dicts()
    ]
    metrics = Table(
        "differences",
        f"Every metric, with the difference from {BASELINE}",
        [Column(name, name.replace("_", " ")) for name in (differences[0] if differences else {"case": ""})],
        [list(row.values()) for row in differences],
    )
    failures = [{"case": one.judged.case.name, "reasons": list(one.reasons)} for one in evaluation.failures]
    data = {
        "aqm": plan.aqm,
        "against": plan.rivals,
        "verdict": evaluation.verdict,
        "summary": frame.to_dicts(),
        "failures": failures,
        "refused": {one.case.name: one.reason for one in plan.refused},
        "differences": differences,
    }
    notes = ["", evaluation.verdict]
    if failures:
        notes.append(
            f"fails in {counted(len(failures), 'case')}: {', '.join(str(one['case']) for one in failures)}"
        )
    return Output(title, [summary, metrics] if every and differences else [summary], data, notes)


def write_evaluation(evaluation: Evaluation, pdf: bool = False) -> Path:
    """Write the report, and its figures as PDF if `pdf`."""
    from sojourn import report
    from sojourn.report.figures import write_pdf

    document = report.for_evaluation(evaluation)
    if pdf:
        count = write_pdf(document, evaluation.directory / "figures")
        note(f"figures: {count} files in {evaluation.directory / 'figures'}")
    return report.write(document, evaluation.directory / "report.html")


def _catalogue() -> Output:
    """Return the scenarios with their sections, cases and assumptions."""
    entries = catalogue().entries
    columns = [
        Column("id", "id"),
        Column("section", "section"),
        Column("title", "scenario", prose=True),
        Column("weight", "the RFC", prose=True),
        Column("cases", "cases", prose=True),
    ]
    rows = [
        [
            one.id,
            one.section,
            one.title,
            one.weight,
            ", ".join(case.name for case in one.cases) or "a discussion",
        ]
        for one in entries
    ]
    open_ = [("all", one) for one in catalogue().assumptions]
    open_ += [(one.id, each) for one in entries for each in one.assumptions]
    assumptions = Table(
        "assumptions",
        "Values that the RFC leaves open",
        [
            Column("id", "id"),
            Column("name", "assumption", prose=True),
            Column("value", "value", prose=True),
            Column("reason", "reason", prose=True),
        ],
        [[name, one.name, one.value, one.reason] for name, one in open_],
    )
    data = {
        "scenarios": [dict(zip((c.key for c in columns), row, strict=True)) for row in rows],
        "assumptions": [
            dict(zip((c.key for c in assumptions.columns), r, strict=True)) for r in assumptions.rows
        ],
    }
    return Output("RFC 7928", [Table("scenarios", "Scenarios of RFC 7928", columns, rows), assumptions], data)


def _spec(word: str) -> str:
    return str(spec_of(word))


def _specs(words: list[str]) -> list[str]:
    """Return canonical specs; all errors at once."""
    found: list[str] = []
    wrong: list[InputError] = []
    for word in words:
        try:
            found.append(_spec(word))
        except InputError as error:
            wrong.append(error)
    if wrong:
        raise InputErrors(wrong)
    return list(dict.fromkeys(found))
