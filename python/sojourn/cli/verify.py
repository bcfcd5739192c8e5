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

#: The argument of commands that repeat runs.
Runs = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A folder of run, compare, compare-worlds, sweep, tune, reproduce or evaluate.",
        show_default=False,
        parser=path_of("DIR", "a folder of results"),
    ),
]
#: Differences that are printed; ``--json`` has all.
MOST = 20


def verify(
    directory: Runs,
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
        found = verify_directory(directory, sample, seed, workers, measure_of(directory), move)
    if json:
        print_json(found.to_json())
    else:
        for line in _lines(found):
            show(line)
    note_differences(found)
    if found.differences:
        raise SystemExit(1)


def note_differences(found: Verification) -> None:
    """Print the first differences to standard error."""
    for one in found.differences[:MOST]:
        note(f"sojourn: {one}")
    if len(found.differences) > MOST:
        note(f"sojourn: {len(found.differences) - MOST} more differences are in --json")


def measure_of(directory: Path) -> Reduce | None:
    """Return the function for the further metrics of the paper in a directory; None without a paper."""
    name = manifest_of(directory).get("paper")
    if name is None:
        return None
    from sojourn.papers import find

    return find(str(name)).measure


def code_lines(found: Verification) -> list[str]:
    """Return one line for each class whose stored code was executed, and for other versions here."""
    lines = [f"executed: {name}, SHA-256 {sha256}" for name, sha256 in found.code.items()]
    return lines + [f"environment: {one}" for one in found.environment]


def _lines(found: Verification) -> list[str]:
    lines = [
        f"hashes: {found.files} files and {found.rows} rows recomputed",
        f"repeated: {found.repeated} of {found.eligible} runs",
    ]
    if found.unsealed:
        lines.append(f"without a hash: {found.unsealed} files, which cannot be verified")
    lines += code_lines(found)
    lines += [f"not verifiable: {count} runs {reason}" for reason, count in found.skipped.items()]
    if found.id:
        lines.append(f"id: {found.id}")
    lines.append(f"differences: {len(found.differences)}")
    return lines
