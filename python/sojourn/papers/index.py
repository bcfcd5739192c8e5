"""The page over several papers: counts per paper, and the answers that the verdicts give for each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sojourn import _core, files
from sojourn.papers.answers import answers
from sojourn.papers.claims import Verdict
from sojourn.papers.result import Reproduction
from sojourn.report import Column, Document, Section, Table, Text, render

SUMMARY = """Each claim of each paper has a verdict. *Reproduced* and *not reproduced* rest on 95 % intervals
over seeds; *undecided* means that the runs do not decide. Claims that are also made about the
real world, which runs only on request, are counted once and have their own column."""


def counts(results: Sequence[Reproduction]) -> pl.DataFrame:
    """Return one row per paper: number of claims, by verdict and in other worlds, and of runs."""
    return pl.DataFrame(
        [
            {
                "paper": result.paper.id,
                "title": result.paper.title,
                "claims": len(result.counted),
                **{str(verdict): result.count(verdict) for verdict in Verdict},
                "not run in the real world": len(result.elsewhere),
                "runs": len(result.campaign.runs),
                "wall time (s)": round(result.seconds),
                "processor time (s)": round(result.cpu_seconds),
            }
            for result in results
        ],
        infer_schema_length=None,
    )


def document(results: Sequence[Reproduction], command: str, directory: Path) -> Document:
    """Return the page; links to reports are relative to `directory`."""
    table = counts(results)
    words = [f"{table[str(verdict)].sum()} {verdict}" for verdict in Verdict]
    total = table["claims"].sum()
    columns = {
        name: Column(kind="seed" if name not in ("paper", "title") else "text") for name in table.columns
    }
    return Document(
        title="Papers, re-run",
        kind="Index",
        command=command,
        summary=f"Of {total} claims in {len(results)} papers: {', '.join(words)}.\n\n{SUMMARY}",
        highlights=[(str(total), "claims"), (str(table["runs"].sum()), "simulated runs")],
        blocks=[
            Section("Counts", [Table(table, "Verdicts by paper", columns)]),
            Section(
                "Findings on these papers",
                [Section(result.paper.title, [Text(_about(result, directory))]) for result in results],
                "Derived from the verdicts. Each line names the claims that support it.",
            ),
        ],
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )


def _about(result: Reproduction, directory: Path) -> str:
    place = Path(os.path.relpath(result.report, directory)).as_posix()
    link = f"[Report of {result.paper.id}](./{place})" if " " not in place else result.paper.id
    return f"{result.paper.citation}. {link}.\n\n{answers(result)}"


def write(results: Sequence[Reproduction], command: str, directory: Path) -> Path:
    """Write ``index.html`` into `directory`; return its path."""
    path = directory / "index.html"
    files.write(path, render(document(results, command, directory)))
    return path
