"""The archive: reads the finished runs of a directory and verifies them; it never writes.

``runs/*.parquet`` has a row for each finished run: its plan, metrics and record. ``traces/ID.parquet`` has
its time series, ``traces/ID.drops.parquet`` and ``traces/ID.cwnd.parquet`` the lists of drops and windows.
All are sealed (`sojourn.runner.sealed`). A file that does not verify is reported, and its runs count
as missing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import files
from sojourn.errors import RunFailed, place
from sojourn.metrics import Metrics
from sojourn.record import TYPES, Record, array
from sojourn.record.columns import (
    HISTOGRAMS,
    PARTS,
    RECORD_COLUMNS,
    TRACE_TABLES,
    series_data,
    unpack,
    unpack_parts,
    unpack_queues,
)
from sojourn.runner.identity import row_hash
from sojourn.runner.run_index import RunIndex
from sojourn.runner.sealed import Damaged, table, verify
from sojourn.warning_codes import coded

if TYPE_CHECKING:
    import polars as pl

FAILURES = "failures.jsonl"
#: Reports files that are damaged. The command line prints it to standard error.
LOG = logging.getLogger("sojourn")
#: Files whose rows are kept; several processes fill several files at the same time.
MOST_TABLES = 16


@dataclass(frozen=True)
class Stored:
    """A finished run, as read from disk."""

    run_id: str
    spec: str
    seed: int
    metrics: Metrics
    metrics_version: str
    reduced: str | None
    warnings: tuple[str, ...]
    plan: str
    world: str
    core_version: str
    load: Callable[[], Mapping[str, Any]]

    @cached_property
    def record(self) -> Record:
        """The record, read on first access."""
        return Record(self.load(), json.loads(self.plan))


class Archive:
    """The finished runs of a directory, for commands that only read.

    Parameters
    ----------
    directory : path
        The directory of a study; it need not exist.

    Raises
    ------
    Unreadable
        If a file cannot be read. A file that can be read and does not verify is reported instead.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = place(directory)
        self._index = RunIndex(self.directory / "runs", self._damaged)
        #: The files that were read last.
        self._tables: dict[Path, _Rows] = {}
        if self._index.unsealed:
            text = (
                f"{self._index.folder}: {len(self._index.unsealed)} files have no hashes, so damage in them "
                "is not detected: they are of Sojourn 0.1, or another program wrote them"
            )
            LOG.warning("%s", coded("W14", text))

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._index

    @property
    def files(self) -> set[Path]:
        """The files of the finished runs."""
        return self._index.files

    @property
    def unsealed(self) -> set[Path]:
        """The files of finished runs without a hash."""
        return self._index.unsealed

    def conflicts(self) -> dict[str, tuple[Path, Path]]:
        """Return the runs of which two files hold different rows, with the files."""
        return self._index.conflicts()

    @property
    def run_ids(self) -> list[str]:
        """The ids of all finished runs, sorted."""
        return list(self._index)

    def path(self, run_id: str) -> Path:
        """Return the file of a run; for a missing run, the file that it would get alone."""
        return self._index.path(run_id) or self.directory / "runs" / f"{run_id}.parquet"

    def trace_path(self, run_id: str, table: str = "") -> Path:
        """Return the path of a run's time series (or drops, or windows)."""
        return self.directory / "traces" / f"{trace_name(run_id, table)}.parquet"

    def refresh(self) -> None:
        """Read the files that other processes have added."""
        self._index.refresh()

    def read(self, run_id: str) -> Stored | None:
        """Return a finished run, or None if it is missing or its file is damaged."""
        facts = self._index.facts(run_id)
        if facts is None:
            return None
        try:
            metrics = {name: facts[name] for name in json.loads(facts["metrics"])}
            return Stored(
                run_id,
                facts["aqm"],
                facts["seed"],
                metrics,
                facts["metrics_version"],
                *_unpacked(facts["reduced"]),
                facts["plan"],
                facts["world"],
                facts["core_version"],
                lambda: _LazyData(self, run_id),
            )
        except (ValueError, LookupError, TypeError) as error:  # of a file without a hash
            path = self.path(run_id)
            self._index.remove(path)
            self._damaged(path, f"its columns do not fit together: {error}")
            return None

    def row(self, run_id: str) -> pl.DataFrame:
        """Return the row of a finished run, with its record.

        Raises
        ------
        RunFailed
            If the file was removed or damaged since the archive was opened.
        """
        rows, place = self._row(run_id)
        return rows.frame[place : place + 1]

    def _row(self, run_id: str) -> tuple[_Rows, int]:
        """Return the rows of the file of a finished run, and the place of the run."""
        path = self.path(run_id)
        if path not in self._tables:
            content = files.read(path)
            if content is None:
                raise RunFailed(f"{path}: cannot be read: it was removed")
            try:
                frame = table(content).frame
            except Damaged as error:
                raise _unusable(path, str(error)) from None
            while len(self._tables) >= MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[path] = _Rows(frame)
        rows = self._tables[path]
        if run_id not in rows.places:
            raise _unusable(path, f"it has no run {run_id}")
        return rows, rows.places[run_id]

    def stored_hash(self, run_id: str) -> str | None:
        """Return the hash that the row of a run states; None if it was stored without."""
        facts = self._index.facts(run_id)
        return None if facts is None else facts.get("hash")

    def computed_hash(self, run_id: str) -> str:
        """Return the hash of a run's row, recomputed from its content."""
        facts = self._index.facts(run_id)
        if facts is None:
            raise RunFailed(f"{self.path(run_id)}: cannot be read: the run is missing")
        counters = self.counters(run_id)
        with _fitting(self.path(run_id)):
            return row_hash(facts, {name: facts[name] for name in json.loads(facts["metrics"])}, counters)

    def leaves(self, run_ids: Iterable[str]) -> dict[str, str]:
        """Return the hashes of the rows of finished runs, by run id."""
        return {one: self.stored_hash(one) or self.computed_hash(one) for one in run_ids}

    def trace_tables(self, run_id: str) -> list[str] | None:
        """Return the names of the stored tables over time of a run; None if it was stored without."""
        facts = self._index.facts(run_id)
        if facts is None:
            return None
        if "traces" in facts:
            return None if facts["traces"] is None else list(json.loads(facts["traces"]))
        there = [name for name in ("", *TRACE_TABLES) if files.exists(self.trace_path(run_id, name))]
        return there or None  # of Sojourn 0.1

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return the last recorded failure of each run; lines of a killed process may be incomplete."""
        path = self.directory / FAILURES
        found = {}
        for number, line in enumerate((files.read(path) or b"").splitlines(), 1):
            try:
                one = {name: json.loads(line)[name] for name in ("run_id", "aqm", "seed", "reason", "repeat")}
            except (ValueError, LookupError, TypeError):
                LOG.warning("%s", coded("W15", f"{path}: line {number} is incomplete and left out"))
            else:
                found[str(one["run_id"])] = one
        return found

    def has_traces(self, run_id: str) -> bool:
        """Return whether the time series of a run are stored and verify."""
        tables = self.trace_tables(run_id)
        return tables is not None and all(self._verifies(run_id, name) for name in tables)

    def counters(self, run_id: str) -> dict[str, Any]:
        """Return the record of a finished run without its time series, in the core's form."""
        with _fitting(self.path(run_id)):
            return unpack(self.row(run_id))

    def queues(self, run_id: str) -> list[dict[str, Any]]:
        """Return the counters of the queues of a finished run, in the core's form."""
        with _fitting(self.path(run_id)):
            return unpack_queues(self.row(run_id))

    def window(self, run_id: str) -> tuple[int, ...]:
        """Return begin and end of the measured window of a finished run in ns."""
        with _fitting(self.path(run_id)):
            rows, place = self._row(run_id)
            return rows.windows[place]

    def parts(self, run_id: str) -> tuple[bytes, int]:
        """Return what `Record.parts` needs, without the other counters of the queues."""
        with _fitting(self.path(run_id)):
            rows, place = self._row(run_id)
            return rows.parts[place]

    def series(self, run_id: str, queues: list[str]) -> dict[str, Any]:
        """Return the samples over time of a finished run, in the core's form."""
        with _fitting(self.trace_path(run_id)):
            return series_data(self.trace(run_id), queues)

    def events(self, run_id: str, name: str) -> dict[str, bytes]:
        """Return the drops or windows over time of a finished run, in the core's form."""
        frame = self.trace(run_id, name)
        with _fitting(self.trace_path(run_id, name)):
            return {
                key: b"" if frame is None else array(frame[key].to_numpy().tobytes(), code).tobytes()
                for key, code in TYPES[name].items()
            }

    def trace(self, run_id: str, name: str = "") -> pl.DataFrame | None:
        """Return the time series of a run (or drops, or windows); None if it was stored without.

        Raises
        ------
        RunFailed
            If their file is missing or damaged.
        """
        if name not in (self.trace_tables(run_id) or ()):
            return None
        path = self.trace_path(run_id, name)
        content = files.read(path)
        if content is None:
            raise _unusable(path, "it is missing")
        try:
            return table(content, trace_name(run_id, name)).frame
        except Damaged as error:
            raise _unusable(path, str(error)) from None

    def _verifies(self, run_id: str, name: str) -> bool:
        path = self.trace_path(run_id, name)
        content = files.read(path)
        if content is None:
            return False
        try:
            if not verify(content, trace_name(run_id, name)):
                table(content)
        except Damaged as error:
            self._damaged(path, str(error))
            return False
        return True

    def _damaged(self, path: Path, reason: str) -> None:
        """Report a file that does not verify."""
        LOG.warning("%s", coded("W13", f"{path} is damaged: {reason}; its runs count as missing"))


class _Rows:
    """The rows of a file, and what a study needs of every run, which is read for all rows in one step."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.places = {one: i for i, one in reversed(list(enumerate(frame["run_id"])))}

    @cached_property
    def windows(self) -> list[tuple[int, ...]]:
        """Begin and end of each measured window in ns."""
        return [tuple(one) for one in self.frame["window"].to_list()]

    @cached_property
    def parts(self) -> list[tuple[bytes, int]]:
        """What `Record.parts` needs."""
        return unpack_parts(self.frame)


def trace_name(run_id: str, table: str) -> str:
    """Return the name of a table over time."""
    return f"{run_id}.{table}" if table else run_id


def packed(reduced: str | None, warnings: Sequence[str]) -> str | None:
    """Return the version of the further metrics and the warnings, if any, as one text."""
    return json.dumps({"reduce": reduced, "warnings": list(warnings)}) if warnings else reduced


def _unpacked(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    if text is None or not text.startswith("{"):
        return text, ()
    found = json.loads(text)
    return found["reduce"], tuple(found.get("warnings", ()))


def _unusable(path: Path, reason: str) -> RunFailed:
    return RunFailed(
        f"{path}: cannot be read: {reason}; repeat the command that made the folder to restore it"
    )


@contextlib.contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """Report columns that do not fit together, which only a file without a hash can have."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _unusable(path, f"{type(error).__name__}: {error}") from None


class _LazyData(dict[str, Any]):
    """The core's dict, loaded on first access: counters from the row, samples from their files."""

    def __init__(self, archive: Archive, run_id: str) -> None:
        super().__init__()
        self._archive = archive
        self._run_id = run_id

    def __missing__(self, key: str) -> Any:
        # A study checks the warm-up of every run, which needs parts and window only.
        if key in ("queues", "window", "parts"):
            self[key] = getattr(self._archive, key)(self._run_id)
        elif key in RECORD_COLUMNS:
            missing: dict[str, Any] = {"hosts": {}, "exports": {}, "phases": []}
            missing |= dict.fromkeys(HISTOGRAMS)
            missing |= {name: dict.fromkeys(TYPES[name], b"") for name in PARTS}
            self.update({**missing, **self._archive.counters(self._run_id)})
        elif key == "series":
            self[key] = self._archive.series(self._run_id, [queue["name"] for queue in self["queues"]])
        elif key in TRACE_TABLES:
            self[key] = self._archive.events(self._run_id, key)
        else:
            raise KeyError(key)
        return self[key]
