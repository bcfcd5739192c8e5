"""``sojourn reproduce``: re-run a paper and judge its claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.common import executor, note, permit_code, progress, resumable
from sojourn.cli.complete import papers
from sojourn.cli.emit import emit
from sojourn.cli.options import Dask, Export, Json, Out, RetryFailed, Workers
from sojourn.cli.output import Column, Output, Table
from sojourn.errors import InputError, unknown
from sojourn.runner.leases import retry

if TYPE_CHECKING:
    from sojourn.papers.result import Reproduction
    from sojourn.papers.search.run import Search

REASON = 90
#: Columns of a claim in the text of exported tables.
SHOWN = ("claim_id", "world", "verdict", "reason")


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="A paper's id, or 'all'.", show_default=False, autocompletion=papers
        ),
    ],
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="ID", help="Run only this experiment.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run few seeds instead of ten or more.")] = False,
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="Run no other readings of what the paper leaves open.")
    ] = False,
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            metavar="W",
            help="Run only this world ('real' runs only if you ask for it).",
            show_default=False,
        ),
    ] = None,
    aqm: Annotated[
        list[str] | None,
        typer.Option(
            "--aqm",
            metavar="SPEC",
            help="Also run this algorithm, or file.py:Class; repeatable.",
            show_default=False,
        ),
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            metavar="NAME",
            help="With --world real: run only this arm; repeatable.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        bool,
        typer.Option("--search", help="Jointly vary the details that the paper leaves open."),
    ] = False,
    readings: Annotated[
        int | None,
        typer.Option(
            "--readings",
            metavar="N",
            help="With --search: number of designed joint readings, at best a power of two [default: 64].",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    dask: Dask = None,
) -> None:
    """Re-run a paper and judge its claims. Write report.html, claims.csv, published.csv, metrics.parquet.

    With --search, search for the readings under which its claims are reproduced; write report.html,
    search.json and search.md.
    """
    from sojourn.papers import PAPERS
    from sojourn.papers import reproduce as run_paper

    permit_code(False, aqm)
    if paper not in (*PAPERS, "all"):
        raise unknown(paper, "a paper", [*PAPERS, "all"])
    several = paper == "all"
    if not search and (readings is not None or dask is not None):
        raise InputError("--readings" if readings is not None else "--dask", "is for --search")
    if search:
        given = {
            "--world": world,
            "--quick": quick,
            "--as-printed": as_printed,
            "--aqm": aqm,
            "--arm": arm,
            "--retry-failed": retry_failed,
        }
        for option in (name for name, value in given.items() if value):
            raise InputError(
                option, "is not for --search", "--experiment, --readings, --out, --workers, --dask"
            )
        names = _searched(experiment) if several else [paper]
        _search(names, experiment, readings, out, json, export, workers, dask)
        return
    names = _holding(experiment, world) if several else [paper]
    results: list[Reproduction] = []
    for name in names:
        title = f"{name} ({len(results) + 1} of {len(names)})" if several else name
        if retry_failed:
            own = [out / name if several else out] if out is not None else Path("results").glob(f"{name}-*")
            for directory in own:
                retry(directory)
        with resumable(), progress(title) as move:
            results.append(
                run_paper(
                    name,
                    experiment=experiment,
                    world=world,
                    quick=quick,
                    as_printed=as_printed,
                    aqms=aqm or (),
                    arms=arm or (),
                    out=out / name if out is not None and several else out,
                    workers=workers,
                    progress=move,
                    announce=note,
                )
            )
    index = str(_index(results, out or Path("results"))) if several else None
    found = [_data(result) for result in results]
    notes = [line for one in found for line in _lines(one)]
    if index:
        notes.append(f"index: {index}")
    data = {"papers": found, "index": index} if several else found[0]
    tables = [_claims(result) for result in results]
    emit(Output(", ".join(names), tables, data, notes, with_tables=False), json, export)


def _search(
    names: list[str],
    experiment: str | None,
    readings: int | None,
    out: Path | None,
    json: bool,
    export: list[Path] | None,
    workers: int | None,
    dask: str | None,
) -> None:
    """Search the readings of papers and print the verdicts."""
    from sojourn.papers import search_readings
    from sojourn.papers.search.report import as_data, claim_rows

    designed = {} if readings is None else {"readings": readings}
    found: list[Search] = []
    for name in names:
        title = f"{name} ({len(found) + 1} of {len(names)})" if len(names) > 1 else name
        where = out / name if out is not None and len(names) > 1 else out
        with resumable(), progress(title) as move, executor(workers, False, dask) as runs:
            found.append(
                search_readings(
                    name,
                    experiment=experiment,
                    **designed,
                    out=where,
                    progress=move,
                    announce=note,
                    executor=runs,
                )
            )
    data = [as_data(one) for one in found]
    notes, tables = [], []
    for one, facts in zip(found, data, strict=True):
        rows = claim_rows(one)
        notes += [f"{row['claim']}  {row['verdict']}  ({row['evidence']})" for row in rows]
        notes += [facts["summary"], f"report: {one.directory / 'report.html'}"]
        columns = [Column(key, key) for key in (rows[0] if rows else ["claim"])]
        tables.append(
            Table(
                one.paper.id, f"Claims of {one.paper.title}", columns, [tuple(row.values()) for row in rows]
            )
        )
    whole = {"papers": data} if len(names) > 1 else data[0]
    emit(Output(", ".join(names), tables, whole, notes, with_tables=False), json, export)


def _searched(experiment: str | None) -> list[str]:
    """Return the papers whose space contains the experiment; all papers if none is given."""
    from sojourn.papers import PAPERS, space

    spaces = {name: space(name).experiments for name in PAPERS}
    if experiment is None:
        return list(spaces)
    if not any(experiment in known for known in spaces.values()):
        raise unknown(
            experiment, "an experiment that is searched", [one for k in spaces.values() for one in k]
        )
    return [name for name, known in spaces.items() if experiment in known]


def _holding(experiment: str | None, world: str | None) -> list[str]:
    """Return the papers that have the experiment and claims of the world; all if neither is given."""
    from sojourn.papers import PAPERS, find

    papers = {name: find(name) for name in PAPERS}
    for word, what, known in (
        (
            experiment,
            "an experiment",
            {n: [one.id for one in paper.experiments] for n, paper in papers.items()},
        ),
        (world, "a world", {name: paper.worlds for name, paper in papers.items()}),
    ):
        if word is None:
            continue
        if not any(word in some for some in known.values()):
            raise unknown(word, what, dict.fromkeys(one for some in known.values() for one in some))
        papers = {name: paper for name, paper in papers.items() if word in known[name]}
    return list(papers)


def _index(results: list[Reproduction], directory: Path) -> Path:
    """Write the index page of all papers; return its path."""
    from sojourn.papers.index import write

    return write(results, f"sojourn reproduce all {results[0].selection.options}".strip(), directory)


def _data(result: Reproduction) -> dict[str, object]:
    """Return the claims of a paper as the object of ``--json``."""
    from sojourn.papers.claims import Verdict

    return {
        "paper": result.paper.id,
        "counts": {str(verdict): result.count(verdict) for verdict in Verdict},
        "claims": result.claims.to_dicts(),
        "directory": str(result.directory),
        "report": str(result.report),
        "id": result.id,
    }


def _claims(result: Reproduction) -> Table:
    """Return the claims of a paper with their verdicts; files have every column of ``claims.csv``."""
    frame = result.claims
    columns = [
        Column(name, name.replace("_", " "), data_only=name not in SHOWN, prose=name == "reason")
        for name in frame.columns
    ]
    return Table(result.paper.id, f"Claims of {result.paper.title}", columns, frame.rows())


def _lines(found: dict[str, object]) -> Iterator[str]:
    """Yield a line for each verdict, the counts, and the path of the report."""
    claims = found["claims"]
    assert isinstance(claims, list)
    width = max((len(one["claim_id"]) for one in claims), default=0)
    for one in claims:
        reason = one["reason"] or ""
        reason = reason if len(reason) <= REASON else reason[: REASON - 3] + "..."
        yield f"{one['claim_id']:<{width}}  {one['world']:<9}  {one['verdict']:<14}  {reason}".rstrip()
    counts = found["counts"]
    assert isinstance(counts, dict)
    yield f"{found['paper']}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    yield f"report: {found['report']}"
    yield f"id: {found['id']}"
