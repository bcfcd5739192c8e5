"""``sojourn export``: the log of packets of a stored run as pcapng or as a trace of ns-2."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn.cli.common import warn
from sojourn.cli.options import path_of
from sojourn.errors import InputError
from sojourn.spec.units import Wrong, number
from sojourn.study.folder import Folder
from sojourn.study.folder import open as open_folder
from sojourn.study.packets.write import estimate, format_of, write
from sojourn.terminal import show
from sojourn.warning_codes import coded


def export(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder of run or compare.",
            show_default=False,
            parser=path_of("DIR", "a folder of results"),
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write: .pcapng (Wireshark, tcpdump) or .tr (ns-2).",
            show_default=False,
            parser=path_of("FILE", "a file"),
        ),
    ],
    aqm: Annotated[
        str | None,
        typer.Option(
            "--aqm",
            metavar="SPEC",
            help="The run of this algorithm [default: the only one].",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="The run of this seed [default: the first].", show_default=False
        ),
    ] = None,
    most: Annotated[str, typer.Option("--most", metavar="SIZE", help="Size of the file, at most.")] = "100MB",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the size.")] = False,
) -> None:
    """Write the packets of a stored run, which has [trace] packets = true, for other programs."""
    format_of(file)
    try:
        limit = int(number("bytes", most))
    except Wrong as error:
        raise InputError("most", f"= {most!r} {error.problem}", "a size like 100MB") from None
    folder = open_folder(directory)
    row = chosen(folder, aqm, seed)
    record = folder.record(row["run_id"])
    expected = estimate(record, file)
    if dry_run:
        show(
            f"about {expected / 1e6:.3g} MB of {row['aqm']}, seed {row['seed']}; at most {limit / 1e6:.3g} MB"
        )
        return
    found = write(record, file, limit)
    show(f"{file}: {found.events} events, {found.bytes / 1e6:.3g} MB, of {row['aqm']}, seed {row['seed']}")
    if found.until is not None:
        text = (
            f"{found.total - found.events} of {found.total} events are left out, from "
            f"{found.until:.6f} s on: all need about {expected / 1e6:.3g} MB, the limit is "
            f"{limit / 1e6:.3g} MB (--most)"
        )
        warn([coded("W16", text)])


def chosen(folder: Folder, aqm: str | None, seed: int | None) -> dict[str, Any]:
    """Return the row of the run that the options choose."""
    rows = folder.runs.select(folder.labels).to_dicts()
    if aqm is not None:
        rows = [one for one in rows if aqm in (one["aqm"], str(one["aqm"]).split()[0])]
    if seed is not None:
        rows = [one for one in rows if one["seed"] == seed]
    every = list(dict.fromkeys(f"--aqm {one!r}" for one in folder.runs["aqm"]))
    if not rows:
        raise InputError(str(folder.path), "has no such run", "; ".join(every))
    if len({one["aqm"] for one in rows}) > 1:
        raise InputError(str(folder.path), "has runs of several algorithms", "; ".join(every))
    return rows[0]
