"""``sojourn reproduce``: re-run a paper and judge its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.common import Json, Out, Workers, note, print_json, progress, resumable

REASON = 90


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="A paper's id, or 'all'.", show_default=False)
    ],
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="ID", help="Only this experiment.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Three seeds instead of ten or more.")] = False,
    world: Annotated[
        str | None, typer.Option("--world", metavar="W", help="Only this world.", show_default=False)
    ] = None,
    out: Out = None,
    json: Json = False,
    workers: Workers = None,
) -> None:
    """Re-run a paper's experiments; write report.html, claims.csv and metrics.parquet."""
    from sojourn.errors import unknown
    from sojourn.papers import PAPERS

    if paper not in (*PAPERS, "all"):
        raise unknown(paper, "a paper", [*PAPERS, "all"])
    found = []
    for name in PAPERS if paper == "all" else [paper]:
        place = out / name if out is not None and paper == "all" else out
        found.append(_one(name, experiment, quick, world, place, workers))
    if json:
        print_json(found if paper == "all" else found[0])
        return
    for one in found:
        _show(one)


def _one(
    name: str, experiment: str | None, quick: bool, world: str | None, out: Path | None, workers: int | None
) -> dict[str, object]:
    """Reproduce one paper, say what came of it, return the same as data."""
    from sojourn.papers import reproduce as run_paper

    with resumable(), progress(name) as move:
        result = run_paper(
            name,
            experiment=experiment,
            world=world,
            quick=quick,
            out=out,
            workers=workers,
            progress=move,
            announce=note,
        )
    claims = result.claims.to_dicts()
    verdicts = [one["verdict"] for one in claims]
    return {
        "paper": name,
        "counts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        "claims": claims,
        "directory": str(result.directory),
        "report": str(result.report),
    }


def _show(found: dict[str, object]) -> None:
    """Print the verdicts and where the report is."""
    claims = found["claims"]
    assert isinstance(claims, list)
    width = max((len(one["claim_id"]) for one in claims), default=0)
    for one in claims:
        reason = one["reason"] or ""
        reason = reason if len(reason) <= REASON else reason[: REASON - 3] + "..."
        print(f"{one['claim_id']:<{width}}  {one['verdict']:<14}  {reason}".rstrip())
    counts = found["counts"]
    assert isinstance(counts, dict)
    print(f"{found['paper']}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    print(f"report: {found['report']}")
