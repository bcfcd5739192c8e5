"""What is done, on disk: the truth about a study.

``runs/ID.parquet`` is one row: what was run, its metrics, and the record they came from.
``traces/ID.parquet`` has the samples over time. A file is written to a temporary name and renamed, the
run's last: a run whose file exists is whole. Kill anything at any time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.errors import disk
from sojourn.record import TYPES, Record, array
from sojourn.study.plan import Point

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "objects", "pages")
RECORD_COLUMNS = ("window", "events", "queues", *TABLES)
TRACE_TABLES = ("drops", "cwnd")
Metrics = dict[str, float | None]


@dataclass(frozen=True)
class Stored:
    """A finished run, as read from disk."""

    run_id: str
    spec: str
    seed: int
    metrics: Metrics
    metrics_version: str
    reduced: str | None
    record: Record


class Store:
    """The folder of a study.

    Parameters
    ----------
    directory : path
        Created if it does not exist.
    traces : bool
        Whether to keep the samples over time too.
    """

    def __init__(self, directory: str | os.PathLike[str], traces: bool = True) -> None:
        self.directory = Path(directory)
        self.traces = traces
        #: The file, within the folder, that holds the scenario of a plan; ``scenario.toml`` if not named.
        self.scenarios: dict[str, str] = {}
        try:
            for name in ("runs", "traces"):
                (self.directory / name).mkdir(parents=True, exist_ok=True)
            if not os.access(self.directory / "runs", os.W_OK):
                raise PermissionError(13, "permission denied", os.fspath(self.directory))
        except OSError as error:
            raise disk(error, self.directory) from None

    def path(self, run_id: str) -> Path:
        """Return where a run is or would be."""
        return self.directory / "runs" / f"{run_id}.parquet"

    def trace_path(self, run_id: str, table: str = "") -> Path:
        """Return where a run's samples (or drops, or windows) are or would be."""
        return self.directory / "traces" / f"{run_id}{'.' if table else ''}{table}.parquet"

    def read(self, run_id: str) -> Stored | None:
        """Return a finished run, or None if it is not done or its file is damaged."""
        path = self.path(run_id)
        if not path.exists():
            return None
        import polars as pl

        try:
            return self._restore(pl.read_parquet(path))
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError):
            return None

    def has_traces(self, run_id: str) -> bool:
        """Tell whether the samples of a run were kept."""
        return self.trace_path(run_id).exists()

    def write(
        self,
        point: Point,
        data: Mapping[str, Any],
        metrics: Metrics,
        version: str,
        reduced: str | None = None,
    ) -> None:
        """Keep a finished run: its samples first, then the row that says it is done."""
        import polars as pl

        try:
            if self.traces:
                for table, frame in _trace_frames(data):
                    write_whole(self.trace_path(point.run_id, table), _parquet(frame))
            facts = {
                "run_id": point.run_id,
                "aqm": point.spec,
                "world": point.world,
                "core_version": _core.CORE_VERSION,
                "metrics_version": version,
                "reduced": reduced,
                "plan": point.plan_json,
                "metrics": json.dumps(list(metrics)),
            }
            row = pl.DataFrame({name: pl.Series([value], dtype=pl.String) for name, value in facts.items()})
            row = row.with_columns(pl.lit(point.seed, dtype=pl.UInt64).alias("seed"))
            values = {name: pl.Series([value], dtype=pl.Float64) for name, value in metrics.items()}
            row = row.with_columns(**values).hstack(_record_frame(data))
            write_whole(self.path(point.run_id), _parquet(row))
        except OSError as error:
            raise disk(error, self.directory) from None

    def fail(self, point: Point, reason: str) -> None:
        """Write down that a run failed; the same seed would fail again."""
        line = {"run_id": point.run_id, "aqm": point.spec, "seed": point.seed, "reason": reason}
        line["repeat"] = self.repeat(point)
        with contextlib.suppress(OSError), (self.directory / "failures.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def repeat(self, point: Point) -> str:
        """Return the command that runs a point again, from what the folder holds."""
        scenario = self.directory / self.scenarios.get(point.plan_json, "scenario.toml")
        words = ["sojourn", "run", os.fspath(scenario), "--aqm", point.spec]
        return shlex.join([*words, "--seeds", "1", "--seed-from", str(point.seed)])

    def _restore(self, row: pl.DataFrame) -> Stored:
        facts = row.select("run_id", "aqm", "seed", "metrics_version", "reduced", "plan", "metrics").row(
            0, named=True
        )
        names = json.loads(facts["metrics"])
        values = row.select(names).row(0, named=True)
        record = Record(_LazyData(self, facts["run_id"], row), json.loads(facts["plan"]))
        return Stored(
            facts["run_id"],
            facts["aqm"],
            facts["seed"],
            values,
            facts["metrics_version"],
            facts["reduced"],
            record,
        )


class _LazyData(dict[str, Any]):
    """The core's dict, read back; samples are read when first asked for."""

    def __init__(self, store: Store, run_id: str, row: pl.DataFrame) -> None:
        super().__init__(_record_data(row))
        self._store = store
        self._run_id = run_id

    def __missing__(self, key: str) -> Any:
        import polars as pl

        if key not in ("series", *TRACE_TABLES):
            raise KeyError(key)
        path = self._store.trace_path(self._run_id, "" if key == "series" else key)
        try:
            frame = pl.read_parquet(path) if path.exists() else None
        except (OSError, pl.exceptions.PolarsError) as error:
            raise disk(OSError(0, f"damaged trace: {error}", os.fspath(path)), path) from None
        if key == "series":
            self[key] = _series_data(frame, [queue["name"] for queue in self["queues"]])
        else:
            self[key] = {
                name: b"" if frame is None else frame[name].to_numpy().tobytes() for name in TYPES[key]
            }
        return self[key]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3)
    return buffer.getvalue()


def _columns(table: Mapping[str, bytes], kind: str) -> dict[str, pl.Series]:
    import polars as pl

    return {name: pl.Series(array(table[name], code)) for name, code in TYPES[kind].items()}


def _record_frame(data: Mapping[str, Any]) -> pl.DataFrame:
    """Return the counters as one row: nested columns, exact."""
    import polars as pl

    def packed(columns: Mapping[str, pl.Series], name: str) -> pl.DataFrame:
        return pl.DataFrame(columns).select(pl.struct(pl.all().implode()).alias(name))

    queues = []
    for queue in data["queues"]:
        histograms = pl.DataFrame(
            {k: v.implode() for k, v in _columns(queue, "queue").items()},
        )
        plain = {name: value for name, value in queue.items() if name not in TYPES["queue"]}
        schema: dict[str, Any] = {name: _dtype(value) for name, value in plain.items()}
        queues.append(pl.DataFrame([plain], schema=schema).hstack(histograms))
    return pl.DataFrame(
        {
            "window": pl.Series([list(data["window"])], dtype=pl.List(pl.UInt64)),
            "events": pl.Series([data["events"]], dtype=pl.UInt64),
            "queues": pl.concat(queues).select(pl.struct(pl.all()).implode()).to_series(),
        }
    ).hstack([packed(_columns(data[name], name), name).to_series() for name in TABLES])


def _dtype(value: Any) -> Any:
    import polars as pl

    kinds = {str: pl.String, int: pl.UInt64, float: pl.Float64, list: pl.List(pl.UInt64)}
    return kinds[type(value)]


def _record_data(row: pl.DataFrame) -> dict[str, Any]:
    def column(values: pl.Series) -> bytes:
        return values.to_numpy().tobytes()

    tables = {}
    for name in TABLES:
        columns = row[name].struct.unnest()
        tables[name] = {key: column(columns[key][0]) for key in TYPES[name]}
    queues = []
    frame = row["queues"][0].struct.unnest()
    for i, one in enumerate(frame.drop(*TYPES["queue"]).iter_rows(named=True)):
        queues.append({**one, **{key: column(frame[key][i]) for key in TYPES["queue"]}})
    return {
        "window": tuple(row["window"][0].to_list()),
        "events": row["events"][0],
        "queues": queues,
        **tables,
    }


def _trace_frames(data: Mapping[str, Any]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the tables over time that hold anything."""
    import polars as pl

    series = data["series"]
    frames = []
    for queue, table in zip(data["queues"], series["queues"], strict=False):
        columns = _columns(table, "series")
        probes = {f"probe.{name}": pl.Series(array(values, "d")) for name, values in table["probes"].items()}
        time = pl.int_range(1, pl.len() + 1, dtype=pl.UInt64) * series["interval"]
        frame = pl.DataFrame({**columns, **probes})
        frames.append(frame.select(pl.lit(queue["name"]).alias("queue"), time.alias("time_ns"), pl.all()))
    if series["interval"] and frames:
        yield "", pl.concat(frames, how="diagonal")
    for name in TRACE_TABLES:
        columns = _columns(data[name], name)
        if len(next(iter(columns.values()))):
            yield name, pl.DataFrame(columns)


def _series_data(frame: pl.DataFrame | None, names: list[str]) -> dict[str, Any]:
    import polars as pl

    if frame is None or frame.is_empty():
        return {"interval": 0, "queues": []}
    queues = []
    for name in names:
        part = frame.filter(pl.col("queue") == name)
        probes = [c for c in part.columns if c.startswith("probe.") and part[c].null_count() < len(part)]
        queues.append(
            {
                **{key: part[key].to_numpy().tobytes() for key in TYPES["series"]},
                "probes": {c.removeprefix("probe."): part[c].to_numpy().tobytes() for c in probes},
            }
        )
    return {"interval": frame["time_ns"][0], "queues": queues}
