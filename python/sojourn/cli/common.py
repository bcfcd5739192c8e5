"""What several commands share: the executor, JSON, the progress bar, the message after an interruption."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sojourn.algorithms import permit, permit_all
from sojourn.errors import InputError
from sojourn.runner.manifest import command_line
from sojourn.worlds import Executor
from sojourn.worlds.simulated.dask import Dask
from sojourn.worlds.simulated.executors import Local, Serial


@contextlib.contextmanager
def executor(workers: int | None, serial: bool, dask: str | None) -> Iterator[Executor]:
    """Yield the executor that the options choose."""
    if workers is not None and workers < 1:
        raise InputError("workers", f"= {workers} is too few", "at least 1")
    if serial and (dask is not None or workers is not None):
        raise InputError("serial", "has no workers", "either --serial, or --dask and --workers")
    chosen: Executor = Serial() if serial else Local(workers)
    if dask is not None:
        chosen = Dask(dask, workers)
    with contextlib.closing(chosen):
        yield chosen


def permit_code(allow_code: bool, *named: Iterable[str] | None) -> None:
    """Permit the code that the command line names, and with ``--allow-code`` what its input files name."""
    if allow_code:
        permit_all()
    for specs in named:
        permit(specs or ())


def note(text: str) -> None:
    """Print a message that is not part of the result."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print the result as JSON; numbers must be finite or null."""
    print(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[float, int, int], None] | None]:
    """Show a progress bar; yield the function that updates it, or None without a terminal."""
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
    """Turn Ctrl-C into exit code 130 and print the command that resumes the work."""
    try:
        yield
    except KeyboardInterrupt:
        note("sojourn: interrupted; finished runs are kept. Continue with:")
        note(f"  {command_line(['sojourn', *sys.argv[1:]])}")
        raise SystemExit(130) from None
