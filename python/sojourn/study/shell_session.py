"""The result of ``sojourn shell``: the record of its link, its tables, and its results directory."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.errors import InputError, SojournError
from sojourn.metrics import METRICS, Metrics, compute, metrics_version, shown
from sojourn.metrics.tables import whole
from sojourn.record import Record
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.archive import Archive
from sojourn.runner.execute import Outcome
from sojourn.runner.identity import keep_rows
from sojourn.runner.manifest import command_line, machine, write_manifest
from sojourn.runner.owner import Owner
from sojourn.runner.ownership import entering
from sojourn.runner.point import digest
from sojourn.runner.store import Finished, Store
from sojourn.spec.schema import USUAL_CONVENTIONS
from sojourn.spec.toml import dumps
from sojourn.study import shell_progress
from sojourn.warning_codes import coded
from sojourn.worlds.real.caller import caller, given_to_caller
from sojourn.worlds.real.gateway import lateness, run_warnings, waiting
from sojourn.worlds.real.shell import SHELL_WORLD, Request

#: The two files that identify the directory of a shell.
LINK, MANIFEST = "link.toml", "manifest.json"
#: The content of a file that is written to see whether a folder has room for results: more than most need.
PROBE = bytes(1 << 20)


@dataclass(frozen=True)
class Session:
    """A finished shell.

    Attributes
    ----------
    request : Request
        The link.
    record : Record
        The gateway's record; the measured queue is the one that carried more bytes.
    command : list of str
        The command behind the link; empty: an interactive shell.
    run_id : str
        Id of the stored record (`new_id`).
    started : float
        Start time, in seconds since 1970; 0 for a stored session, whose manifest has it.
    """

    request: Request
    record: Record
    command: Sequence[str]
    run_id: str
    started: float = 0.0
    name: str = field(default="shell", init=False)
    conventions: str = field(default=USUAL_CONVENTIONS, init=False)

    @property
    def note(self) -> str:
        """The command as text."""
        return " ".join(self.command) or "an interactive shell"

    @property
    def spec(self) -> str:
        """The algorithm of the measured queue."""
        return str(self.record.queues[0]["spec"])

    @property
    def seed(self) -> int:
        """Seed of the algorithms' random numbers."""
        return self.request.seed

    @property
    def world(self) -> str:
        """Name of the world, as of a point."""
        return SHELL_WORLD

    @property
    def plan_json(self) -> str:
        """The plan that is stored with the record."""
        return json.dumps({**self.record.plan, "link": asdict(self.request)}, sort_keys=True)

    @cached_property
    def metrics(self) -> Metrics:
        """Every metric by name."""
        return compute(self.record)

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results."""
        return run_warnings(self.record) + self._without_ecn()

    def _without_ecn(self) -> list[str]:
        """Return a warning if ECN was wanted, and no packet was marked where packets were dropped."""
        queues = self.record.queues
        marks, drops = (sum(sum(queue[key]) for queue in queues) for key in ("marks", "drops"))
        if not self.request.ecn or marks or not drops:
            return []
        text = (
            f"--ecn marked no packet, and {drops} were dropped: the senders do not use ECN, the algorithm "
            "does not mark, or the queue was full"
        )
        return [coded("W25", text)]

    def to_toml(self) -> str:
        """Return the link as TOML."""
        start, end = self.record.window
        return dumps({"name": self.name, "duration": f"{end - start:.3f}s", "link": asdict(self.request)})

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn shell --json``."""
        return {
            "link": asdict(self.request),
            "command": list(self.command),
            "seconds": self.record.seconds,
            "metrics": self.metrics,
            "lateness_p99_s": lateness(self.record),
            "waiting_p99_s": waiting(self.record),
            "standstill_s": self.record.data["standstill_ns"] / 1e9,
            "packets": self.record.data["tally"],
            "warnings": self.warnings,
        }

    def by_queue(self) -> dict[str, Metrics]:
        """Return the metrics of the view ``link`` for each queue, by its name."""
        every = whole(self.record)
        queues = sorted(self.record.queues, key=lambda queue: str(queue["name"]))
        tables = {str(queue["name"]): replace(every, queue=queue) for queue in queues}
        return {
            name: {one: METRICS[one].read(table) for one in shown("link")} for name, table in tables.items()
        }

    def write(self, folder: Path, note: Callable[[str], None]) -> Results:
        """Write record and manifest to a folder that `begin` made; return them as results, for a report.

        If they cannot be written, for example because the disk is full, a temporary folder gets them.
        """
        try:
            with given_to_caller(folder):
                return self._write(folder)
        except SojournError as error:
            spare = _temporary(self.request)
            note(f"sojourn: {error}; the results are in {spare}")
            with given_to_caller(spare):
                return self._write(spare)

    def _write(self, folder: Path) -> Results:
        store = Store(folder)
        store.write([Finished(self, self.record.data, self.metrics)], metrics_version())  # type: ignore[arg-type]
        manifest = self._manifest()
        manifest["id"] = keep_rows(store.directory, store.leaves([self.run_id]))
        write_manifest(store.directory, manifest)
        files.write(store.directory / LINK, self.to_toml())
        files.remove(folder / shell_progress.FILE)  # the record has more
        return self._results(store, manifest)

    def _results(self, store: Archive, manifest: dict[str, Any]) -> Results:
        outcome = Outcome(self, self.metrics, self.record, True)  # type: ignore[arg-type]
        warnings = manifest["warnings"]
        return Results(self, [self.spec], [outcome], warnings, store.directory, manifest)  # type: ignore[arg-type]

    def _manifest(self) -> dict[str, Any]:
        late = lateness(self.record)
        return {
            "name": self.name,
            "world": SHELL_WORLD,
            "version": _core.VERSION,
            "core_version": _core.CORE_VERSION,
            "command": command_line(["sojourn", *sys.argv[1:]]),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "run_id": self.run_id,
            "ran": list(self.command),
            **machine(),
            "cores": os.cpu_count(),
            "lateness_p99_s": late,
            "waiting_p99_s": waiting(self.record),
            "standstill_s": self.record.data["standstill_ns"] / 1e9,
            **{f"packets_{name}": count for name, count in self.record.data["tally"].items()},
            "warnings": self.warnings,
        }


def new_id(request: Request, started: float) -> str:
    """Return the id of the record of a session that starts now: the start time makes it unique."""
    return digest(json.dumps(asdict(request), sort_keys=True), repr(started), _core.CORE_VERSION)


def begin(out: Path | None, run_id: str, request: Request, note: Callable[[str], None]) -> Path:
    """Create the folder of a session, and return it; from then on, other commands refuse it.

    Without `out` it is below ``results``, or a temporary folder if that cannot be written.

    Raises
    ------
    InputError
        If `out` has the results of another command, or cannot be written.
    RunFailed
        If there is no room in `out`.
    """
    folder = Path("results") / f"shell-{run_id[:8]}" if out is None else out
    try:
        with given_to_caller(folder):
            _begin(folder, request)
    except SojournError as error:
        if out is not None:
            raise
        folder = _temporary(request)
        note(f"sojourn: {error}; the results will be in {folder}")
    return folder


def _temporary(request: Request) -> Path:
    """Create a temporary folder for a session."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-shell-"))
    if (user := caller()) is not None:
        os.chown(folder, user.uid, user.gid)
    with given_to_caller(folder):
        _begin(folder, request)
    return folder


def _begin(folder: Path, request: Request) -> None:
    link = dumps({"link": asdict(request)})
    with entering(folder, "shell", "shell", link, SHELL_WORLD):
        store = Store(folder)
        probe = store.directory / ".probe"
        try:
            files.write(probe, PROBE)
        finally:
            files.remove(probe)
        command = command_line(["sojourn", *sys.argv[1:]])
        facts = {"world": SHELL_WORLD, "command": command, "status": "running"}
        write_manifest(store.directory, {**facts, "process": asdict(Owner.here())})
        files.write(store.directory / LINK, link)
        layout.write(store.directory, "shell")


def undo(folder: Path) -> None:
    """Remove the files of a session that has no record."""
    for name in (MANIFEST, LINK, layout.SCHEMA, shell_progress.FILE):
        files.remove(folder / name)


def unfinished(folder: Path, manifest: dict[str, Any]) -> str:
    """Return why a session has no record, as the rest of a sentence; empty if it has one."""
    if manifest.get("status") != "running":
        return ""
    try:
        is_dead = Owner(**manifest["process"]).is_dead()
    except (KeyError, TypeError):
        is_dead = None
    state = {True: "was killed", False: "is running", None: "is running, or was killed"}[is_dead]
    seconds = shell_progress.last_seconds(folder)
    if seconds is None:
        return f"has no record: the shell {state}"
    table = Path(shell_progress.FILE).stem
    return f"has no record: the shell {state}; the table {table} has {seconds:.0f} s of its counters"


def reopen(folder: Path) -> tuple[Session, Results]:
    """Read a session from its directory; return it with its results for a report.

    Raises
    ------
    InputError
        If it is not the directory of a shell, or incomplete.
    """
    text = files.read_text(folder / MANIFEST)
    if text is None:
        raise InputError(str(folder), f"is not the directory of a shell: it has no {MANIFEST}")
    try:
        manifest = json.loads(text)
        if problem := unfinished(folder, manifest):
            raise InputError(str(folder), problem)
        name, command, _ = (manifest[key] for key in ("run_id", "ran", "warnings"))
    except KeyError as error:
        raise InputError(str(folder / MANIFEST), f"has no {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(str(folder / MANIFEST), f"cannot be read: {error}") from None
    store = Archive(folder)
    stored = store.read(name)
    if stored is None:
        raise InputError(str(folder), f"has no record: runs/{name}.parquet is missing or damaged")
    request = Request.of_stored(json.loads(stored.plan)["link"])
    session = Session(request, stored.record, command, name)
    return session, session._results(store, manifest)
