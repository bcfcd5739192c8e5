"""The result of ``sojourn shell``: the record of its link, its tables, and its results directory."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.errors import InputError
from sojourn.metrics import METRICS, Metrics, compute, metrics_version, shown
from sojourn.metrics.tables import whole
from sojourn.record import Record
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.archive import Archive
from sojourn.runner.execute import Outcome
from sojourn.runner.identity import keep_rows
from sojourn.runner.manifest import command_line, write_manifest
from sojourn.runner.owner import Owner
from sojourn.runner.ownership import entering
from sojourn.runner.point import digest
from sojourn.runner.store import Finished, Store
from sojourn.spec.toml import dumps
from sojourn.worlds.real.gateway import lateness, run_warnings
from sojourn.worlds.real.shell import SHELL_WORLD, Request

#: The two files that identify the directory of a shell.
LINK, MANIFEST = "link.toml", "manifest.json"


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
    started : float
        Start time, in seconds since 1970.
    run_id : str
        Id of the stored record; it includes the start time, so it is unique.
    """

    request: Request
    record: Record
    command: Sequence[str]
    started: float
    run_id: str = ""
    name: str = field(default="shell", init=False)
    conventions: str = field(default="default", init=False)

    def __post_init__(self) -> None:
        if not self.run_id:
            name = digest(self.plan_json, repr(self.started), _core.CORE_VERSION)
            object.__setattr__(self, "run_id", name)

    @property
    def default_folder(self) -> Path:
        """The folder of the results if none is given."""
        return Path("results") / f"{self.name}-{self.run_id[:8]}"

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
        return run_warnings(self.record)

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

    def write(self, out: Path | None) -> Results:
        """Write record and manifest to a directory; return them as results, for a report."""
        store = Store(out if out is not None else self.default_folder)
        store.write([Finished(self, self.record.data, self.metrics)], metrics_version())  # type: ignore[arg-type]
        manifest = self._manifest()
        manifest["id"] = keep_rows(store.directory, store.leaves([self.run_id]))
        write_manifest(store.directory, manifest)
        files.write(store.directory / LINK, self.to_toml())
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
            "python": platform.python_version(),
            "platform": platform.platform(),
            "host": platform.node(),
            "cores": os.cpu_count(),
            "lateness_p99_s": late,
            "standstill_s": self.record.data["standstill_ns"] / 1e9,
            **{f"packets_{name}": count for name, count in self.record.data["tally"].items()},
            "warnings": self.warnings,
        }


def begin(folder: Path, request: Request) -> None:
    """Create the directory of a session; from then on, other commands refuse it.

    Raises
    ------
    InputError
        If it has the results of another command.
    """
    link = dumps({"link": asdict(request)})
    with entering(folder, "shell", "shell", link, SHELL_WORLD):
        store = Store(folder)
        command = command_line(["sojourn", *sys.argv[1:]])
        facts = {"world": SHELL_WORLD, "command": command, "status": "running"}
        write_manifest(store.directory, {**facts, "process": asdict(Owner.here())})
        files.write(store.directory / LINK, link)
        layout.write(store.directory, "shell")


def undo(folder: Path) -> None:
    """Remove the files that `begin` wrote, because the session has no record."""
    for name in (MANIFEST, LINK, layout.SCHEMA):
        files.remove(folder / name)


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
        if manifest.get("status") == "running":
            raise InputError(
                str(folder),
                "has no record yet: the shell is running, or was killed",
                "a shell with this --out, after a kill",
            )
        name, command, _ = (manifest[key] for key in ("run_id", "ran", "warnings"))
    except KeyError as error:
        raise InputError(str(folder / MANIFEST), f"has no {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(str(folder / MANIFEST), f"cannot be read: {error}") from None
    store = Archive(folder)
    stored = store.read(name)
    if stored is None:
        raise InputError(str(folder), f"has no record: runs/{name}.parquet is missing or damaged")
    request = Request(**json.loads(stored.plan)["link"])
    session = Session(request, stored.record, command, 0.0, name)
    return session, session._results(store, manifest)
