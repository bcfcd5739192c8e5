"""``sojourn.open``: one reader for every kind of results folder; it writes nothing and executes no code.

A folder is read from what is stored in it: rows of finished runs, tables, manifest. So an unfinished folder
opens, and so does one whose own algorithms are gone. The objects that the commands return, with all their
functions, are in `Folder.study`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sojourn import arguments, files
from sojourn.errors import InputError, RunFailed, refuse_damaged
from sojourn.metrics import Metrics, Value, find, measure
from sojourn.metrics import load as load_own
from sojourn.record import Record
from sojourn.results import EVENTS, Results
from sojourn.runner import layout
from sojourn.runner.archive import Archive
from sojourn.runner.code import stored, warn_of_changes
from sojourn.runner.manifest import manifest_of
from sojourn.runner.ownership import KIND_COMPARED, KIND_EVALUATION, PARTS, owner_of
from sojourn.runner.sealed import Damaged, table
from sojourn.stats import mean_ci
from sojourn.study import shell_session
from sojourn.study.compare import Comparison
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.sweep.model import Swept
from sojourn.study.tune import directory as tune_directory
from sojourn.study.tune.model import Tuned

if TYPE_CHECKING:
    import polars as pl

    from sojourn.metrics.own import Function

Kind = Literal["run", "sweep", "tune", "reproduce", "search", "shell", "compare-worlds", "evaluate"]
#: Of a folder of folders: the column of `Folder.runs` with their names.
PART_NAMES = {KIND_COMPARED: "world", KIND_EVALUATION: "case"}
#: Folders that an error names, at most.
MOST_NAMED = 5
#: What identifies a run in `Folder.runs`, besides varied keys; all other columns are metrics.
LABELS = ("world", "case", "experiment_id", "reading", "arm", "aqm", "seed", "run_id")


class Folder:
    """A results folder, as ``sojourn.open`` returns it.

    Attributes
    ----------
    path : Path
        The folder.
    kind : str
        ``run`` (of ``run`` and ``compare``), ``sweep``, ``tune``, ``reproduce``, ``search`` (of readings of
        a paper), ``shell``, ``compare-worlds`` or ``evaluate``.
    """

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path, self.kind = path, kind

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Versions, command, seeds, machine, status, id."""
        return manifest_of(
            self.path, tune_directory.MANIFEST if self.kind == "tune" else layout.MANIFEST.path
        )

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The description of all files: columns, types, units, codes (``schema.json``)."""
        text = files.read_text(self.path / layout.SCHEMA)
        if text is None:  # of a version without it
            return layout.schema(self.kind)
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError) as error:
            raise InputError(str(self.path / layout.SCHEMA), f"cannot be read: {error}") from None

    @property
    def id(self) -> str | None:
        """The id of a finished result; None if there is none."""
        found = self.manifest.get("id")
        return found if isinstance(found, str) else None

    @property
    def is_complete(self) -> bool:
        """Whether all runs are done; for a session of a shell, whether it has a record."""
        if self.kind == "shell":
            return not shell_session.unfinished(self.path, self.manifest)
        return self.manifest.get("status") == "complete"

    @cached_property
    def archive(self) -> Archive:
        """The stored runs."""
        return Archive(self.path)

    @cached_property
    def parts(self) -> dict[str, Folder]:
        """The folders of runs of a folder of ``compare-worlds`` or ``evaluate``, by name; otherwise none."""
        names = self.manifest.get(PARTS, [])
        return {name: Folder(self.path / name, "run") for name in names}

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per finished run: world or case, varied keys or arm, aqm, seed, run_id, then every metric.

        The name of the part is in the column ``world`` of a comparison of worlds, and ``case`` of an
        evaluation; others have neither. In a reproduction, a run that several arms use has several rows.
        """
        import polars as pl

        if self.parts:
            frames = [
                one.runs.select(pl.lit(name).alias(PART_NAMES[self.kind]), pl.all())
                for name, one in self.parts.items()
            ]
            return pl.concat(frames, how="diagonal_relaxed")
        if self.kind == "sweep":
            return self._sweep_runs()
        if self.kind == "reproduce" and (found := self._stored("metrics.parquet")) is not None:
            return found
        return self._archived(self._run_ids())

    def with_metrics(self, *metrics: str | Function) -> pl.DataFrame:
        """Return `runs` with a column for each metric of one's own, computed from the records.

        Parameters
        ----------
        *metrics : callable or str
            Functions of a `Record` that return a number or None; ``FILE.py:NAME`` if the file is permitted.

        Raises
        ------
        InputError
            If a function fails, or if it reads a table over time that the folder does not store.
        """
        import polars as pl

        _, own = load_own(metrics)
        stored = self.kind != "sweep"
        values: dict[str, list[Value]] = {one.name: [] for one in own}
        for row in self.runs.select(self.labels).iter_rows(named=True):
            found: Metrics = {}
            if row["run_id"]:  # a calculated row of a paper has none
                found = measure(own, self.record(row["run_id"]), f"run {row['run_id']}", stored)
            for name, column in values.items():
                column.append(found.get(name))
        return self.runs.with_columns(
            pl.Series(name, column, dtype=pl.Float64) for name, column in values.items()
        )

    @property
    def labels(self) -> list[str]:
        """The columns of `runs` that are not metrics: varied keys and what identifies a run."""
        keys = self._keys() if self.kind == "sweep" else []
        return [name for name in self.runs.columns if name in LABELS or name in keys]

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics in `runs`."""
        labels = self.labels
        return [name for name in self.runs.columns if name not in labels]

    def summary(self) -> pl.DataFrame:
        """Return mean and 95 % half-width over the seeds: labels, metric, unit, mean, ci95, n."""
        import polars as pl

        labels = [name for name in self.labels if name not in ("seed", "run_id")]
        rows = []
        for group in self.runs.partition_by(labels, maintain_order=True) if self.runs.height else ():
            head = group.select(labels).row(0)
            for name in self.metrics:
                metric = find(name)
                unit = metric.unit if metric else ""
                rows.append((*head, name, unit, *mean_ci(group[name].to_list())))
        schema: dict[str, Any] = {
            **{name: self.runs.schema[name] for name in labels},
            "metric": pl.String,
            "unit": pl.String,
            "mean": pl.Float64,
            "ci95": pl.Float64,
            "n": pl.UInt32,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def record(self, run_id: str) -> Record:
        """Return the record of a run: counters, histograms, flows, and its tables over time, if stored.

        Raises
        ------
        InputError
            If the folder has no such run.
        """
        wanted = arguments.text(run_id, "run_id", "a run_id of runs")
        archives = [one.archive for one in (self, *self.parts.values())]
        stored = next((found for one in archives if (found := one.read(wanted)) is not None), None)
        if stored is None:
            raise InputError(f"run {run_id}", f"is not in {self.path}", "a run_id of runs")
        return stored.record

    def records(self) -> Iterator[tuple[dict[str, Any], Record]]:
        """Yield the labels and the record of each run that is stored."""
        for row in self.runs.select(self.labels).iter_rows(named=True):
            if row["run_id"]:  # a calculated row of a paper has none
                yield row, self.record(row["run_id"])

    def trace(self, what: str = "queue") -> pl.DataFrame:
        """Return a table over time of every run that has one, after its labels.

        Parameters
        ----------
        what : str
            ``queue`` (samples of the measured queue), ``drops``, ``cwnd``, ``packets`` or ``flows``.
        """
        import polars as pl

        arguments.word(what, "what", ("queue", *EVENTS))
        frames = []
        for row, record in self.records():
            frame = record.series() if what == "queue" else getattr(record, EVENTS[what])
            if frame.height:
                kinds = {name: self.runs.schema[name] for name in row}
                labels = pl.DataFrame([row], schema=kinds).join(frame, how="cross")
                frames.append(labels)
        if not frames:
            raise InputError(
                str(self.path), f"has no {what} over time", "a folder of runs whose scenario records them"
            )
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def tables(self) -> list[str]:
        """The names of the stored tables, as for `table`."""
        paths = [one["path"] for one in self.schema["files"] if one["format"] in ("Parquet", "CSV")]
        return [Path(name).stem for name in paths if "/" not in name and files.exists(self.path / name)]

    def table(self, name: str) -> pl.DataFrame:
        """Return a stored table: ``summary`` of a sweep, ``trials`` of a tuning, ``claims`` of a paper, ...

        Raises
        ------
        InputError
            If there is no such table.
        """
        if name not in self.tables:
            raise InputError(f"table {name!r}", f"is not in {self.path}", ", ".join(self.tables))
        if (found := self._stored(f"{name}.parquet")) is not None:
            return found
        import polars as pl

        content = files.read(self.path / f"{name}.csv")
        return pl.read_csv(content or b"", infer_schema_length=None)

    @cached_property
    def study(self) -> Results | Comparison | Swept | Tuned:
        """The object of the command that made the folder, with all its functions.

        Raises
        ------
        InputError
            If the folder is incomplete (a sweep may be), or of a reproduction, whose tables are all there is.
        """
        if self.kind == "sweep":
            return sweep_directory.reopen(self.path)
        if self.kind == "tune":
            return tune_directory.reopen(self.path)
        if self.kind == "shell":
            return shell_session.reopen(self.path)[1]
        if self.parts:
            raise InputError(str(self.path), "has several studies", "study of one of the parts")
        if self.kind == "run":
            results = Results.open(self.path)
            return Comparison.of(results) or results
        raise InputError(str(self.path), "has tables only", f"table(NAME), with {', '.join(self.tables)}")

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", incomplete"
        if state and self.kind == "shell":
            state = f"; it {shell_session.unfinished(self.path, self.manifest)}"
        return f"<Folder {self.path}: {self.kind}, {len(self.runs)} runs{state}>"

    def _run_ids(self) -> list[str]:
        """Return the ids of the finished runs of the result; a folder may also hold runs of other seeds."""
        if self.kind == "run" and isinstance(self.manifest.get("runs"), list):
            listed = [str(one.get("run_id", "")) for one in self.manifest["runs"] if isinstance(one, dict)]
            return [one for one in listed if one in self.archive]
        return self.archive.run_ids

    def _archived(self, run_ids: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        stored = [found for one in run_ids if (found := self.archive.read(one)) is not None]
        names = list(dict.fromkeys(name for one in stored for name in one.metrics))
        return pl.DataFrame(
            {
                "aqm": pl.Series([one.spec for one in stored], dtype=pl.String),
                "seed": pl.Series([one.seed for one in stored], dtype=pl.Int64),
                "run_id": pl.Series([one.run_id for one in stored], dtype=pl.String),
                **{
                    name: pl.Series([one.metrics.get(name) for one in stored], dtype=pl.Float64)
                    for name in names
                },
            }
        )

    def _sweep_runs(self) -> pl.DataFrame:
        found = self._stored(sweep_directory.RUNS)
        return sweep_directory.reopen(self.path).runs() if found is None else found

    def _keys(self) -> list[str]:
        """Return the varied keys of a sweep, which are the first columns of its tables."""
        columns = self.runs.columns
        return columns[: columns.index("aqm")] if "aqm" in columns else []

    def _stored(self, name: str) -> pl.DataFrame | None:
        """Return a stored table; None if there is none."""
        content = files.read(self.path / name)
        if content is None:
            return None
        try:
            return table(content, name).frame
        except Damaged as error:
            raise RunFailed(f"{self.path / name}: cannot be read: {error}") from None


@refuse_damaged
def open(directory: str | os.PathLike[str]) -> Folder:  # noqa: A001 - called as sojourn.open
    """Open a results folder of any kind; nothing is written, and no code is executed.

    Parameters
    ----------
    directory : path
        A folder of ``run``, ``compare``, ``compare-worlds``, ``sweep``, ``tune``, ``reproduce``, ``evaluate``
        or ``shell``.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> import sojourn, tempfile
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="4s", warmup="2s")
    >>> folder = tempfile.mkdtemp()
    >>> results = sojourn.run(scenario, aqms=["red"], seeds=2, out=folder)
    >>> opened = sojourn.open(folder)
    >>> opened.kind, opened.is_complete, opened.runs["seed"].to_list()
    ('run', True, [1, 2])
    >>> opened.record(opened.runs["run_id"][0]).flows.height
    44
    """
    path = arguments.folder(directory)
    if files.is_file(path):
        raise InputError(str(path), "is a file", f"the results folder that holds it, such as {path.parent}")
    if not files.exists(path):
        raise InputError(str(path), "does not exist", "a results folder")
    owner = owner_of(path)
    if owner is None:
        raise InputError(str(path), "is not a results folder: it has no manifest", *_instead(path))
    kind: Any = owner.kind
    warn_of_changes(stored(path))
    return Folder(path, kind)


def _instead(path: Path) -> tuple[str]:
    """Return what to open instead: folders in this one, or the one that it is in."""
    if owner_of(path.parent) is not None:
        return (f"{path.parent}",)
    near = [path / name for name in sorted(files.names(path))]
    near += [one / name for one in near for name in sorted(files.names(one))]
    if inside := [str(one) for one in near if owner_of(one) is not None]:
        return (", ".join(inside[:MOST_NAMED]),)
    return ("a folder of run, compare, compare-worlds, sweep, tune, reproduce, evaluate or shell",)
