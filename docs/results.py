"""Keep what is small of re-run papers: ``python docs/results.py FOLDER...`` fills ``docs/results``.

Each folder is one that ``sojourn reproduce`` wrote in a full run. Its summary, verdicts and published numbers
are copied; the list in ``docs/results/README.md`` is written anew from all that are there.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent / "results"
FILES = ("summary.md", "claims.csv", "published.csv")
VERDICTS = ("reproduced", "not reproduced", "undecided")
HEAD = """<!-- Written by docs/results.py; do not edit. -->

# Results of the papers, re-run

Full runs, without the raw data. `claims.csv` has every verdict with effect, interval, seeds, assumptions and
the verdict under each other reading; `published.csv` has every number that the paper prints with ours beside
it; the summary names version and command, and where it ran in one piece its time.

`sojourn reproduce all --quick` takes four and a half minutes on two cores for all five papers (256 s of wall
time, 397 s of processor time, 1,692 runs); a claim that needs more seeds says what it leans to. Full
runs can be taken in pieces: interrupt them, and the same command goes on.

| paper | reproduced | not reproduced | undecided | not run in the real world | summary |
|---|---|---|---|---|---|
"""


def keep(folder: Path) -> None:
    """Copy what is small of one re-run paper."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    if manifest["quick"] or manifest["experiment"] or manifest["status"] != "complete":
        sys.exit(f"{folder}: not a full run of a whole paper")
    place = HERE / manifest["paper"]
    place.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(folder / name, place / name)


def listing() -> str:
    """Return the list of all papers that are kept."""
    rows = []
    for place in sorted(path for path in HERE.iterdir() if path.is_dir()):
        claims = pl.read_csv(place / "claims.csv", infer_schema=False)
        verdicts = claims.filter(pl.col("world") != "real")["verdict"].to_list()
        real = claims.height - len(verdicts)
        counts = " | ".join(map(str, (*(verdicts.count(verdict) for verdict in VERDICTS), real)))
        rows.append(f"| {place.name} | {counts} | [summary]({place.name}/summary.md) |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        keep(Path(argument))
    (HERE / "README.md").write_text(listing(), "utf-8")
