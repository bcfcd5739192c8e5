"""Functions that several commands share: executor, JSON, progress bar, message after an interruption."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sojourn.algorithms import permit, permit_all
from sojourn.errors import InputError
from sojourn.metrics import Own, load
from sojourn.runner.manifest import command_line
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.study.compare import check_metric
from sojourn.study.pilot import pilot
from sojourn.terminal import console, escape, show
from sojourn.warning_codes import coded
from sojourn.worlds import Executor
from sojourn.worlds.simulated.dask import Dask
from sojourn.worlds.simulated.executors import Local, Serial, cores
from sojourn.worlds.simulated.memory import excess, largest
from sojourn.worlds.simulated.memory_bound import on_disk


def note_memory(points: Iterable[Point], workers: int | None, verbose: bool = False) -> None:
    """Print a warning if runs may need more memory than there is; if `verbose`, the bound in any case.

    Runs that log packets or sample flows also print what their files take on disk.
    """
    plans = [point.plan_json for point in points]
    if verbose and (most := largest(plans)) is not None:
        note(f"memory: at most {most} for a run")
    if stored := max(map(on_disk, set(plans)), default=0):
        note(
            f"log of packets and flows: at most about {stored / 1e6:.3g} MB on disk for each of "
            f"{len(plans)} runs"
        )
    if sentence := excess(plans, min(workers or cores(), len(plans))):
        warn([coded("W12", sentence)])


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
    """Permit the code that the command line names, and with ``--allow-code`` that of its input files."""
    if allow_code:
        permit_all()
    for specs in named:
        permit(specs or ())


def own_metrics(scenario: Scenario, names: Sequence[str] | None) -> tuple[list[str], list[Own]]:
    """Load the metrics of one's own among those of ``--metric``; return the names of all, and these.

    Raises
    ------
    InputError
        Before anything runs, if a metric does not exist or has no value in the scenario.
    """
    found, own = load(names or ())
    for name in found:
        check_metric(scenario, "metric", name)
    return found, own


def with_warmup(
    scenario: Scenario,
    warmup: str | None,
    aqms: Sequence[str] | None,
    maker: Executor | None = None,
    to: str | None = None,
) -> Scenario:
    """Return the scenario with the warm-up of ``--warmup`` and the end of ``--to``.

    If the warm-up is ``auto``, print how it was chosen.
    """
    changes = {"warmup": None if warmup == "auto" else warmup, "duration": to}
    if any(changes.values()):
        scenario = scenario.with_(**{key: value for key, value in changes.items() if value is not None})
    if warmup != "auto":
        return scenario
    chosen = pilot(scenario, aqms, executor=maker)
    note(chosen.sentence)
    return chosen.scenario


def warn(warnings: Iterable[str]) -> None:
    """Print warnings, which end with their codes."""
    for one in warnings:
        note(f"sojourn: warning: {one}")


def note(text: str) -> None:
    """Print a message that is not part of the result."""
    show(text, sys.stderr)


def print_json(value: Any) -> None:
    """Print the result as JSON; numbers must be finite or null."""
    show(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


def remaining(elapsed: float, share: float) -> str:
    """Return the expected rest of a task of which a share is done after some seconds.

    Examples
    --------
    >>> remaining(12.0, 0.25), remaining(100.0, 0.5), remaining(30.0, 0.001), remaining(3.0, 0.0)
    ('36 s left', '1 min 40 s left', '8 h 19 min left', '')
    """
    if share <= 0:
        return ""
    seconds = round(elapsed * (1 / share - 1))
    for unit, size, part, smaller in (("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // smaller} {part} left"
    return f"{seconds} s left"


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[float, int, int], None] | None]:
    """Show a progress bar; yield the function that updates it, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[runs]}"),
        TextColumn("{task.fields[left]}"),
    )
    bar = Progress(*columns, console=console(sys.stderr), transient=True)
    task = bar.add_task(escape(title), total=1.0, runs="", left="")
    begun = time.monotonic()

    def move(share: float, done: int, total: int) -> None:
        left = remaining(time.monotonic() - begun, share)
        bar.update(task, completed=share, runs=f"{done} of {total} runs", left=left)

    bar.start()
    try:
        yield move
    finally:
        with contextlib.suppress(OSError):  # after SIGHUP there may be no terminal
            bar.stop()


class Signalled(KeyboardInterrupt):
    """A signal that ends the work as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Handle Ctrl-C, SIGTERM and SIGHUP: print the command that resumes the work, exit with 128 + the signal.

    The functions that the exception passes through store finished runs. A signal that was ignored before, as
    SIGHUP under ``nohup``, stays ignored.
    """
    try:
        with _raising():
            yield
    except KeyboardInterrupt as error:
        number: int = error.number if isinstance(error, Signalled) else signal.SIGINT
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        with contextlib.suppress(OSError):  # after SIGHUP there may be no terminal
            note(f"sojourn: interrupted{by}; finished runs are kept. Continue with:")
            note(f"  {command_line(['sojourn', *sys.argv[1:]])}")
        raise SystemExit(128 + number) from None


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    """Raise `Signalled` in the main thread at the first SIGTERM or SIGHUP; later ones have no effect."""
    caught: list[int] = []

    def handle(number: int, _frame: object) -> None:
        if not caught:
            caught.append(number)
            raise Signalled(number)

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(one) is signal.SIG_DFL:
                before[one] = signal.signal(one, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
