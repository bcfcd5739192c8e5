"""The store: the archive of a study that is running, which adds runs and replaces damaged ones.

Runs that finish together share a file. Files are written whole (`sojourn.files.write`), traces before runs,
so every file in ``runs`` is complete even if a process is killed, or the power fails, at any time. A file
that does not verify is renamed to ``FILE.damaged``, and its runs are repeated.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _core, files
from sojourn.algorithms import names_in
from sojourn.errors import disk, place
from sojourn.metrics import Metrics
from sojourn.record.columns import RECORD_COLUMNS, pack, trace_frames
from sojourn.runner.archive import FAILURES, LOG, Archive, packed, trace_name
from sojourn.runner.identity import row_hash
from sojourn.runner.point import Point, digest
from sojourn.runner.run_index import FACTS
from sojourn.runner.sealed import seal
from sojourn.warning_codes import coded

if TYPE_CHECKING:
    import polars as pl

#: Temporary files older than this (s) belong to killed processes.
STALE_TMP_S = 3600.0


class Finished(NamedTuple):
    """A run to store: columns of its record, metrics, and warnings from its world."""

    point: Point
    data: Mapping[str, Any]
    metrics: Metrics
    warnings: Sequence[str] = ()


class Store(Archive):
    """The directory of a study.

    Parameters
    ----------
    directory : path
        Created if it does not exist.
    traces : bool
        Whether to store the time series, too.
    """

    def __init__(self, directory: str | os.PathLike[str], traces: bool = True) -> None:
        folder = place(directory)
        self.traces = traces
        #: The file in the directory with the scenario of a plan; ``scenario.toml`` if not listed.
        self.scenarios: dict[str, str] = {}
        for name in ("runs", "traces") if traces else ("runs",):
            files.make_folder(folder / name)
            if not files.may_write(folder / name):
                raise disk(PermissionError(errno.EACCES, "permission denied"), folder)
        for name in ("", "runs", "traces"):
            files.remove_stale(folder / name, STALE_TMP_S)
        super().__init__(folder)

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
        traces = [self._write_traces(one) if self.traces else None for one in finished]
        rows = _rows(finished, traces, version, reduced)
        ids = rows["run_id"].to_list()
        name = ids[0] if len(ids) == 1 else f"chunk-{digest(*ids)}"
        path = self.directory / "runs" / f"{name}.parquet"
        files.write(path, seal(rows))
        self._index.add(path, rows[[name for name in rows.columns if name not in RECORD_COLUMNS]])

    def _write_traces(self, one: Finished) -> list[str]:
        """Write the tables over time of a run; return their names."""
        names = []
        for name, frame in trace_frames(one.data):
            content = seal(frame, trace_name(one.point.run_id, name))
            files.write(self.trace_path(one.point.run_id, name), content)
            names.append(name)
        return names

    def fail(self, point: Point, reason: str) -> None:
        """Record that a run failed; the same seed would fail again."""
        line = {"run_id": point.run_id, "aqm": point.spec, "seed": point.seed, "reason": reason}
        line["repeat"] = self.repeat(point)
        files.append(self.directory / FAILURES, json.dumps(line))

    def repeat(self, point: Point) -> str:
        """Return the command that repeats a point from the files of the folder."""
        scenario = self.directory / self.scenarios.get(point.plan_json, "scenario.toml")
        words = ["sojourn", "run", os.fspath(scenario), "--aqm", point.spec]
        words += ["--seeds", "1", "--seed-from", str(point.seed)]
        return shlex.join([*words, "--allow-code"] if names_in(point.plan_json) else words)

    def _damaged(self, path: Path, reason: str) -> None:
        """Rename a file that does not verify."""
        target = path.with_name(f"{path.name}.damaged")
        if files.exists(path):  # another process may have renamed it
            files.rename(path, target)
        text = f"{path} is damaged: {reason}; it is renamed to {target.name}, and its runs are repeated"
        LOG.warning("%s", coded("W13", text))


def _rows(
    finished: Sequence[Finished], traces: Sequence[list[str] | None], version: str, reduced: str | None
) -> pl.DataFrame:
    """Return the rows of finished runs."""
    import polars as pl

    facts = [
        {
            "run_id": one.point.run_id,
            "aqm": one.point.spec,
            "world": one.point.world,
            "core_version": _core.CORE_VERSION,
            "metrics_version": version,
            "reduced": packed(reduced, one.warnings),
            "plan": one.point.plan_json,
            "metrics": json.dumps(list(one.metrics)),
            "traces": None if tables is None else json.dumps(tables),
        }
        for one, tables in zip(finished, traces, strict=True)
    ]
    hashes = [
        row_hash({**row, "seed": one.point.seed}, one.metrics, one.data)
        for row, one in zip(facts, finished, strict=True)
    ]
    names = dict.fromkeys(name for one in finished for name in one.metrics)
    values = {
        name: pl.Series([one.metrics.get(name) for one in finished], dtype=pl.Float64) for name in names
    }
    return (
        pl.DataFrame(facts, schema=dict.fromkeys((*FACTS, "traces"), pl.String))
        .with_columns(
            pl.Series("seed", [one.point.seed for one in finished], dtype=pl.UInt64),
            pl.Series("hash", hashes, dtype=pl.String),
        )
        .hstack(pl.DataFrame(values))
        .hstack(pack([one.data for one in finished]))
    )
