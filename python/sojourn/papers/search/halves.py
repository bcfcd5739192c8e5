"""Two halves of a paper's printed results: one is scored in a search of readings, the other is only shown.

A reading that was chosen for the scored half is confirmed, or not, by the other. The halves are drawn once:
within each table (of numbers) and each experiment (of claims) the items are ordered by a hash of their id,
and alternately put into either half. ``data/halves.csv`` of each paper keeps the drawing; ``python -m
sojourn.papers.search.halves`` writes it for a paper that has none.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from sojourn import files
from sojourn.papers import PAPERS, find
from sojourn.papers.claims import rows
from sojourn.papers.paper import Paper

#: Prefix of the hashed text: the seed of the drawing.
SEED = "sojourn halves 1"
NAME = "halves.csv"
FIELDS = ("kind", "id", "half")


class Half(StrEnum):
    """The use of an item in a search."""

    SCORED = "scored"
    SHOWN = "shown"


def items(paper: Paper) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, id, group) of every printed number and claim; the id of a number is its row, from 1."""
    for number, row in enumerate(paper.table("published"), 1):
        yield "number", str(number), row["table_or_figure"]
    for claim in paper.claims:
        yield "claim", claim.id, claim.experiment


def draw(found: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], Half]:
    """Return the half of every item, by kind and id."""
    groups: dict[tuple[str, str], list[str]] = {}
    for kind, name, group in found:
        groups.setdefault((kind, group), []).append(name)
    halves: dict[tuple[str, str], Half] = {}
    for (kind, _), names in groups.items():
        for name in sorted(names, key=lambda name: _hash(kind, name)):
            halves[kind, name] = Half.SHOWN if len(halves) % 2 else Half.SCORED
    return halves


def _hash(kind: str, name: str) -> str:
    return hashlib.sha256(f"{SEED}|{kind}|{name}".encode()).hexdigest()


def load(paper: Paper) -> dict[tuple[str, str], Half]:
    """Return the halves that were drawn for a paper."""
    return {(row["kind"], row["id"]): Half(row["half"]) for row in rows(paper.data / NAME)}


def text(paper: Paper) -> str:
    """Return the file of a paper's halves."""
    halves = draw(items(paper))
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(FIELDS)
    table.writerows((kind, name, halves[kind, name]) for kind, name, _ in items(paper))
    return buffer.getvalue()


def main() -> None:
    """Write the file of every paper that has none."""
    for name in sys.argv[1:] or PAPERS:
        path = Path(str(find(name).data)) / NAME
        if not path.exists():
            files.write(path, text(find(name)))


if __name__ == "__main__":
    main()
