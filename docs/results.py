"""Copy the summaries of re-run papers: ``python docs/results.py FOLDER...`` fills ``docs/results``.

Each folder is one that ``sojourn reproduce`` wrote in a full run. Its summary with its figures, verdicts and
published numbers are copied; the list in ``docs/results/README.md`` is written again from all papers in the
folder. A paper may have two runs, one with real hosts: ``claims.csv`` combines the rows of both worlds, the
other files are kept for each. With every call the verdict over all readings, the column ``standing`` of the
claims and a column of the summary, is recomputed from the stored verdicts and the stored search.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from sojourn.papers import find
from sojourn.papers.result import over_all_readings
from sojourn.papers.search.standing import by_claim, overall, proofs

HERE = Path(__file__).parent / "results"
REAL = "real"
#: Of each of the two runs: its summary, the published numbers beside its own, and the folder of its figures.
FILES = {
    False: ("summary.md", "published.csv", "figures"),
    True: ("summary-real.md", "published-real.csv", "figures-real"),
}
CLAIMS = "claims.csv"
#: The files of a search of readings that are kept.
SEARCH = ("search.md", "search.json")
#: A line of a summary about a claim that only real hosts could decide.
AWAITED = re.compile(r"^\| \S+ \| real \| undecided \| needs the real world .*\n", re.MULTILINE)
#: The sentence of a summary with the number of claims for each verdict over all readings.
COUNTS = re.compile(r"Over all readings, of \d+: [^.]*\.")
#: Cells in the row of a claim of a summary, and which of them is the verdict over all readings.
CELLS, OVER = 9, 7
VERDICTS = ("reproduced", "not reproduced", "undecided", "not run")
#: How the verdicts over all readings begin, in the order of the list.
STANDINGS = ("reproduced under", "not under", "impossible", "undecided")
HEAD = """<!-- Written by docs/results.py; do not edit. -->

# Results of the papers, re-run

Full runs, without the raw data. Each summary is a companion to its paper: the figures beside its words, its
tables with ours and the reason of every miss, the verdicts, the readings. It states version and command, and
the time of uninterrupted runs. `claims.csv` has every verdict with effect, interval, seeds, assumptions, the
verdict under each alternative interpretation (column `sensitivity`), the verdict over all of them
(`standing`) and why a claim is not reproduced (`cause`); `published.csv` compares every number that the paper
prints with ours.
`search.md` and `search.json` are from a search of the paper's readings
([how papers are searched](../paper-search.md), with the five verdicts).

`sojourn reproduce all --quick` takes four and a half minutes on two cores for the five papers (256 s of wall
time, 397 s of processor time, 1,692 runs); claims that need more seeds are left undecided, with their current
tendency. Full runs can be interrupted and resumed with the same command. They took, in minutes of processor
time: ldc2002 7, raqm2005 24, bio2002 16, avqred2007 31, taildrop2001 54; together more than an hour on two
cores.

Rows with *real hosts* are shorter runs, three repetitions of some arms on one machine; claims about arms that
were not run are counted as "not run".

What no experiment re-runs is listed [with the reason](not-run.md).

The last four counts are of the verdicts over all readings: reproduced under another reading only, under none
that was tried, impossible, and undecided.

| paper | reproduced | not reproduced | undecided | not run | other reading | none | impossible | open | - |
|---|---|---|---|---|---|---|---|---|---|
"""


def keep(folder: Path, here: Path = HERE) -> None:
    """Copy the summaries of one re-run paper to ``here``."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    if "readings" in manifest:
        keep_search(folder, here / manifest["paper"], manifest["status"])
        return
    if manifest["quick"] or manifest["experiment"] or manifest["status"] != "complete":
        sys.exit(f"{folder}: not a full run of a whole paper")
    real = manifest["world"] == REAL
    place = here / manifest["paper"]
    place.mkdir(parents=True, exist_ok=True)
    summary, published, figures = FILES[real]
    text = (folder / "summary.md").read_text("utf-8").replace("](figures/", f"]({figures}/")
    (place / summary).write_text(AWAITED.sub("", text), "utf-8")
    shutil.rmtree(place / figures, ignore_errors=True)
    if (folder / "figures").is_dir():
        shutil.copytree(folder / "figures", place / figures)
    numbers = read(folder / "published.csv")
    (numbers.filter(pl.col("ours").is_not_null()) if real else numbers).write_csv(place / published)
    claims = read(folder / CLAIMS)
    if (place / CLAIMS).exists():
        kept = read(place / CLAIMS)
        claims = merged(kept, claims) if real else merged(claims, kept)
    claims.write_csv(place / CLAIMS)


def keep_search(folder: Path, place: Path, status: str) -> None:
    """Copy a search of readings into the folder of its paper."""
    if status != "complete":
        sys.exit(f"{folder}: not a complete search")
    place.mkdir(parents=True, exist_ok=True)
    for name in SEARCH:
        (place / name).write_text((folder / name).read_text("utf-8"), "utf-8")


def merged(simulated: pl.DataFrame, real: pl.DataFrame) -> pl.DataFrame:
    """Return the claims of one run with the real world's rows from the other, in the order of the first."""
    keys = ["claim_id", "world"]
    order = simulated.select(keys).with_row_index("place")
    both = [simulated.filter(pl.col("world") != REAL), real.filter(pl.col("world") == REAL)]
    rows = pl.concat(both, how="diagonal").join(order, on=keys, how="left").sort("place", nulls_last=True)
    columns = list(dict.fromkeys([*simulated.columns, *real.columns]))
    return rows.select(columns)


def read(path: Path) -> pl.DataFrame:
    """Return a table with every value as text."""
    return pl.read_csv(path, infer_schema=False)


def listing(here: Path = HERE) -> str:
    """Return the list of all papers in ``here``."""
    rows = []
    for place in sorted(path for path in here.iterdir() if path.is_dir()):
        claims = read(place / CLAIMS)
        for real, (summary, *_) in FILES.items():
            if (place / summary).exists():
                own = [row for row in claims.to_dicts() if (row["world"] == REAL) == real]
                verdicts = [verdict(row) for row in own]
                over = [row.get("standing") or "" for row in own]
                numbers = [verdicts.count(word) for word in VERDICTS]
                numbers += [sum(one.startswith(word) for one in over) for word in STANDINGS]
                counts = " | ".join("" if real and i > 3 else str(one) for i, one in enumerate(numbers))
                name = f"{place.name}, real hosts" if real else place.name
                links = f"[summary]({place.name}/{summary})"
                if not real and (place / SEARCH[0]).exists():
                    links += f", [readings tried jointly]({place.name}/{SEARCH[0]})"
                rows.append(f"| {name} | {counts} | {links} |\n")
    return HEAD + "".join(rows)


def stand(place: Path) -> None:
    """Make the column ``standing`` of a paper's claims again, with its search if it has one."""
    claims, known = read(place / CLAIMS), proofs(find(place.name))
    path = place / SEARCH[1]
    searched = by_claim(json.loads(path.read_text("utf-8")) if path.exists() else {})

    def words(row: dict[str, str]) -> str:
        if row["world"] == REAL or verdict(row) == "not run":
            return ""
        pairs = (one.rsplit(": ", 1) for one in (row["sensitivity"] or "").split("; ") if one)
        name = row["claim_id"]
        return overall(row["verdict"], dict(pairs), known.get(name, ""), searched.get(name)).text

    column = pl.Series("standing", [words(row) for row in claims.to_dicts()], dtype=pl.String)
    claims.with_columns(column).write_csv(place / CLAIMS)
    summary = place / FILES[False][0]
    if summary.exists():
        standing = {row["claim_id"]: one for row, one in zip(claims.to_dicts(), column, strict=True) if one}
        summary.write_text(restated(summary.read_text("utf-8"), standing), "utf-8")


def restated(summary: str, standing: Mapping[str, str]) -> str:
    """Return a summary with these verdicts over all readings, by claim."""

    def line(text: str) -> str:
        cells = text.split(" | ")
        if len(cells) == CELLS and (name := cells[0].removeprefix("| ")) in standing:
            cells[OVER] = standing[name]
        return " | ".join(cells)

    words = over_all_readings(standing.values())
    return "\n".join(map(line, COUNTS.sub(lambda _: words, summary).split("\n")))


def verdict(row: dict[str, str]) -> str:
    """Return the verdict on a claim, or "not run"."""
    return "not run" if row["verdict"] == "undecided" and row["n"] == "0" else row["verdict"]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        keep(Path(argument))
    for folder in HERE.iterdir():
        if folder.is_dir():
            stand(folder)
    (HERE / "README.md").write_text(listing(), "utf-8")
