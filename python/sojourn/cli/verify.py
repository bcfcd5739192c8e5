"""``sojourn verify``: recomputes the hashes of a results directory and repeats a sample of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.common import note, permit_code, print_json, progress, resumable
from sojourn.cli.options import AllowCode, Json, Workers, path_of
from sojourn.runner.manifest import manifest_of
from sojourn.study.verify import Verification
from sojourn.study.verify import verify as verify_directory
from sojourn.terminal import show

if TYPE_CHECKING:
    from sojourn.worlds import Reduce

#: Differences that are printed; ``--json`` has all.
MOST = 20


def verify(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder of run, compare, sweep, tune or reproduce.",
            show_default=False,
            parser=path_of("DIR", "a folder of results"),
        ),
    ],
    sample: Annotated[
        str,
        typer.Option("--sample", metavar="SHARE|N", help="Runs to repeat: 5%, 100%, 20; 0 for none."),
    ] = "5%",
    seed: Annotated[
        int, typer.Option("--seed", metavar="K", help="Seed that selects the runs of the sample.")
    ] = 1,
    json: Json = False,
    workers: Workers = None,
    allow_code: AllowCode = False,
) -> None:
    """Verify a folder by its hashes and a sample of its runs. Compare bit for bit; write nothing.

    The exit code is 1 if a value differs.
    """
    permit_code(allow_code)
    with resumable(), progress(f"verify {directory}") as move:
        found = verify_directory(directory, sample, seed, workers, _measure(directory), move)
    if json:
        print_json(found.to_json())
    else:
        for line in _lines(found):
            show(line)
    for one in found.differences[:MOST]:
        note(f"sojourn: {one}")
    if len(found.differences) > MOST:
        note(f"sojourn: {len(found.differences) - MOST} more differences are in --json")
    if found.differences:
        raise SystemExit(1)


def _measure(directory: Path) -> Reduce | None:
    """Return the function for the further metrics of the paper in a directory; None without a paper."""
    name = manifest_of(directory).get("paper")
    if name is None:
        return None
    from sojourn.papers import find

    return find(str(name)).measure


def _lines(found: Verification) -> list[str]:
    lines = [
        f"hashes: {found.files} files and {found.rows} rows recomputed",
        f"repeated: {found.repeated} of {found.eligible} runs",
    ]
    if found.unsealed:
        lines.append(f"without a hash: {found.unsealed} files, which cannot be verified")
    lines += [f"not verifiable: {count} runs {reason}" for reason, count in found.skipped.items()]
    if found.id:
        lines.append(f"id: {found.id}")
    lines.append(f"differences: {len(found.differences)}")
    return lines
