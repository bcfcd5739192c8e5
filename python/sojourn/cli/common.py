"""What several commands share: options, a bar of progress, the word about an interruption."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn.errors import InputError, place
from sojourn.runner.manifest import command_line
from sojourn.worlds import Executor
from sojourn.worlds.simulated.dask import Dask as Cluster
from sojourn.worlds.simulated.executors import Local
from sojourn.worlds.simulated.executors import Serial as InTurn


def path_of(where: str, allowed: str) -> Callable[[str], Path]:
    """Return what reads the path given as `where`; an empty one, to Python the working folder, is refused."""

    def read(text: str) -> Path:

        return place(text, where, allowed)

    return read


scenario_file = path_of("FILE", "a scenario file")
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of the results [default: results/NAME-ID].",
        show_default=False,
        parser=path_of("--out", "a folder"),
    ),
]
File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="The scenario, as TOML.", show_default=False, parser=scenario_file),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Threads [default: all cores].", show_default=False),
]
Serial = Annotated[bool, typer.Option("--serial", help="One run after the other, in this process.")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Runs on a Dask cluster: tcp://HOST:PORT, or local.",
        show_default=False,
    ),
]


@contextlib.contextmanager
def executor(workers: int | None, serial: bool, dask: str | None) -> Iterator[Executor]:
    """Yield who makes the runs."""
    if workers is not None and workers < 1:
        raise InputError("workers", f"= {workers} is too few", "at least 1")
    if serial and (dask is not None or workers is not None):
        raise InputError("serial", "has no workers", "either --serial, or --dask and --workers")
    chosen: Executor = InTurn() if serial else Local(workers)
    if dask is not None:
        chosen = Cluster(dask, workers)
    with contextlib.closing(chosen):
        yield chosen


def note(text: str) -> None:
    """Say something that is not the result."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print the result as JSON; what is not a finite number is null."""
    print(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[float, int, int], None] | None]:
    """Show a bar on a terminal; yield what moves it, or None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[runs]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0, runs="")

        def move(share: float, done: int, total: int) -> None:
            bar.update(task, completed=share, runs=f"{done} of {total} runs")

        yield move


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Turn Ctrl-C into exit code 130 and the command that goes on from here."""
    try:
        yield
    except KeyboardInterrupt:
        note("sojourn: interrupted; what is done is kept. Go on with:")
        note(f"  {command_line(['sojourn', *sys.argv[1:]])}")
        raise SystemExit(130) from None
