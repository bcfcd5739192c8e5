"""The store of finished runs; results on disk are authoritative.

``runs/*.parquet`` has a row for each finished run: its plan, metrics and record; runs that finish together
share a file. ``traces/ID.parquet`` has the time series. Files are written under a temporary name and renamed,
traces before runs, so every file in ``runs`` is complete even if a process is killed at any time.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _core, files
from sojourn.algorithms import names_in
from sojourn.errors import RunFailed, disk, place
from sojourn.metrics import Metrics
from sojourn.record import TYPES, Record
from sojourn.record.columns import RECORD_COLUMNS, TRACE_TABLES, pack, series_data, trace_frames, unpack
from sojourn.runner.point import Point, digest
from sojourn.runner.run_index import RunIndex

if TYPE_CHECKING:
    import polars as pl

#: What identifies a row; the rest are metrics and the columns of the record.
FACTS = ("run_id", "aqm", "world", "core_version", "metrics_version", "reduced", "plan", "metrics")
#: Temporary files older than this (s) belong to killed processes.
STALE_TMP_S = 3600.0


class Finished(NamedTuple):
    """A run to store: columns of its record, metrics, and warnings from its world."""

    point: Point
    data: Mapping[str, Any]
    metrics: Metrics
    warnings: Sequence[str] = ()


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
    load: Callable[[], dict[str, Any]]

    @cached_property
    def record(self) -> Record:
        """The record, read on first access."""
        return Record(self.load(), json.loads(self.plan))


class Store:
    """The directory of a study.

    Parameters
    ----------
    directory : path
        Created if it does not exist.
    traces : bool
        Whether to store the time series, too.
    """

    def __init__(self, directory: str | os.PathLike[str], traces: bool = True) -> None:
        self.directory = place(directory)
        self.traces = traces
        #: The file in the directory with the scenario of a plan; ``scenario.toml`` if not listed.
        self.scenarios: dict[str, str] = {}
        for name in ("runs", "traces") if traces else ("runs",):
            files.make_folder(self.directory / name)
            if not files.may_write(self.directory / name):
                raise disk(PermissionError(errno.EACCES, "permission denied"), self.directory)
        for name in ("", "runs", "traces"):
            files.remove_stale(self.directory / name, STALE_TMP_S)
        self._index = RunIndex(self.directory / "runs")

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._index

    def path(self, run_id: str) -> Path:
        """Return the file of a run; for a missing run, the file that it would get alone."""
        return self._index.find(run_id) or self.directory / "runs" / f"{run_id}.parquet"

    def trace_path(self, run_id: str, table: str = "") -> Path:
        """Return the path of a run's time series (or drops, or windows)."""
        return self.directory / "traces" / f"{run_id}{'.' if table else ''}{table}.parquet"

    def read(self, run_id: str) -> Stored | None:
        """Return a finished run, or None if it is missing or its file is damaged."""
        facts = self._index.read(run_id)
        if facts is None:
            return None
        return Stored(
            run_id,
            facts["aqm"],
            facts["seed"],
            {name: facts[name] for name in json.loads(facts["metrics"])},
            facts["metrics_version"],
            *_unpacked(facts["reduced"]),
            facts["plan"],
            lambda: _LazyData(self, run_id),
        )

    def row(self, run_id: str) -> pl.DataFrame:
        """Return the row of a finished run, with its record."""
        import polars as pl

        path = self.path(run_id)
        content = files.read(path)
        if content is None:
            raise RunFailed(f"{path}: cannot be read: it was removed")
        try:
            return pl.read_parquet(io.BytesIO(content)).filter(pl.col("run_id") == run_id)
        except pl.exceptions.PolarsError as error:
            raise RunFailed(f"{path}: cannot be read: damaged: {error}") from None

    def has_traces(self, run_id: str) -> bool:
        """Return whether the time series of a run are stored."""
        return files.exists(self.trace_path(run_id))

    def write(self, finished: Sequence[Finished], version: str, reduced: str | None = None) -> None:
        """Write finished runs: first their time series, then one file with their rows.

        Parameters
        ----------
        finished : sequence of Finished
            At least one.
        version : str
            Version of the formulas of the metrics.
        reduced : str or None
            Version of the further metrics among them.
        """
        import polars as pl

        facts = [
            {
                "run_id": one.point.run_id,
                "aqm": one.point.spec,
                "world": one.point.world,
                "core_version": _core.CORE_VERSION,
                "metrics_version": version,
                "reduced": _packed(reduced, one.warnings),
                "plan": one.point.plan_json,
                "metrics": json.dumps(list(one.metrics)),
            }
            for one in finished
        ]
        names = dict.fromkeys(name for one in finished for name in one.metrics)
        values = {
            name: pl.Series([one.metrics.get(name) for one in finished], dtype=pl.Float64) for name in names
        }
        rows = (
            pl.DataFrame(facts, schema=dict.fromkeys(FACTS, pl.String))
            .with_columns(pl.Series("seed", [one.point.seed for one in finished], dtype=pl.UInt64))
            .hstack(pl.DataFrame(values))
            .hstack(pack([one.data for one in finished]))
        )
        ids = [one.point.run_id for one in finished]
        name = ids[0] if len(ids) == 1 else f"chunk-{digest(*ids)}"
        path = self.directory / "runs" / f"{name}.parquet"
        for one in finished if self.traces else ():
            for table, frame in trace_frames(one.data):
                files.write(self.trace_path(one.point.run_id, table), parquet(frame))
        files.write(path, parquet(rows))
        self._index.add(path, ids)

    def fail(self, point: Point, reason: str) -> None:
        """Write down that a run failed; the same seed would fail again."""
        line = {"run_id": point.run_id, "aqm": point.spec, "seed": point.seed, "reason": reason}
        line["repeat"] = self.repeat(point)
        files.append(self.directory / "failures.jsonl", json.dumps(line))

    def repeat(self, point: Point) -> str:
        """Return the command that runs a point again, from what the folder holds."""
        scenario = self.directory / self.scenarios.get(point.plan_json, "scenario.toml")
        words = ["sojourn", "run", os.fspath(scenario), "--aqm", point.spec]
        words += ["--seeds", "1", "--seed-from", str(point.seed)]
        return shlex.join([*words, "--allow-code"] if names_in(point.plan_json) else words)


def _packed(reduced: str | None, warnings: Sequence[str]) -> str | None:
    """Return version of further metrics and warnings as one text; without warnings the version alone."""
    return json.dumps({"reduce": reduced, "warnings": list(warnings)}) if warnings else reduced


def _unpacked(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    if text is None or not text.startswith("{"):
        return text, ()
    found = json.loads(text)
    return found["reduce"], tuple(found.get("warnings", ()))


class _LazyData(dict[str, Any]):
    """The core's dict, read back when it is asked for: counters from the row, samples from their files."""

    def __init__(self, store: Store, run_id: str) -> None:
        super().__init__()
        self._store = store
        self._run_id = run_id

    def __missing__(self, key: str) -> Any:
        if key in RECORD_COLUMNS:
            self.update({"hosts": {}, "lateness": None, **unpack(self._store.row(self._run_id))})
        elif key == "series":
            self[key] = series_data(self._trace(""), [queue["name"] for queue in self["queues"]])
        elif key in TRACE_TABLES:
            frame = self._trace(key)
            self[key] = {
                name: b"" if frame is None else frame[name].to_numpy().tobytes() for name in TYPES[key]
            }
        else:
            raise KeyError(key)
        return self[key]

    def _trace(self, table: str) -> pl.DataFrame | None:
        import polars as pl

        path = self._store.trace_path(self._run_id, table)
        content = files.read(path)
        try:
            return None if content is None else pl.read_parquet(io.BytesIO(content))
        except pl.exceptions.PolarsError as error:
            raise RunFailed(f"{path}: cannot be read: damaged: {error}") from None


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3)
    return buffer.getvalue()
