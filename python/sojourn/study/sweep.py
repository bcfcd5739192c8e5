"""A sweep: one scenario, some of its keys over many values, several algorithms, several seeds.

The folder explains itself: ``sweep.toml`` is the plan, ``cells/ID.toml`` each combination as a scenario,
``runs/`` what is done, ``summary.parquet`` the result. The same call goes on where it was interrupted.
"""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _core
from sojourn.errors import InputError, disk
from sojourn.scenario import Scenario, load
from sojourn.study.grid import Axis, Cell, cells, listed, spaced
from sojourn.study.plan import MOST_SEEDS, Point, digest
from sojourn.study.stats import mean_ci

if TYPE_CHECKING:
    import polars as pl

    from sojourn.study.execute import Outcome, Progress
    from sojourn.study.store import Store

PLAN = "sweep.toml"
SUMMARY = "summary.parquet"
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Sweep:
    """What is to be run.

    Parameters
    ----------
    scenario : Scenario
        What is varied.
    aqms : sequence of str
        Algorithms at the measured queue.
    axes : sequence of Axis
        Keys and their values.
    seeds : int
        How many seeds each combination has.
    seed_from : int
        The first.
    """

    scenario: Scenario
    aqms: Sequence[str]
    axes: Sequence[Axis]
    seeds: int = 5
    seed_from: int = 1

    @cached_property
    def cells(self) -> list[Cell]:
        """Every combination."""
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise InputError("seeds", f"= {self.seeds} is out of range", f"1 to {MOST_SEEDS}")
        count = self.seeds * max(1, len(self.aqms))
        for axis in self.axes:
            count *= len(axis.values)
        if count > MOST_RUNS:
            raise InputError("sweep", f"has {count} runs", f"at most {MOST_RUNS}")
        return cells(self.scenario, self.aqms, self.axes)

    @cached_property
    def points(self) -> list[Point]:
        """Every run, seed by seed, so that the whole plane fills up evenly; the same run only once."""
        seeds = range(self.seed_from, self.seed_from + self.seeds)
        every = (Point(c.scenario, spec, seed) for seed in seeds for c in self.cells for spec in c.specs)
        return list(dict.fromkeys(every))

    def to_toml(self) -> str:
        """Return the plan as the file that ``sojourn sweep`` reads."""
        from sojourn.toml import dumps

        return dumps(
            {
                "aqms": list(self.aqms),
                "seeds": self.seeds,
                "seed_from": self.seed_from,
                "vary": {axis.key: list(axis.values) for axis in self.axes},
                "scenario": tomllib.loads(self.scenario.to_toml()),
            }
        )

    @property
    def default_directory(self) -> Path:
        """``results/NAME-sweep-ID``: the same sweep of the same version continues in the same folder."""
        return (
            Path("results")
            / f"{self.scenario.name}-sweep-{digest(self.to_toml(), _core.CORE_VERSION, length=8)}"
        )


def read(path: str | os.PathLike[str]) -> Sweep:
    """Read a plan file: ``scenario`` (a table, or a file beside it), ``aqms``, ``seeds``, ``vary``.

    Raises
    ------
    InputError
        If it cannot be read or says something unknown.
    """
    where = str(path)
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(where, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(where, f"is not TOML: {error}") from None
    known = ("scenario", "aqms", "seeds", "seed_from", "vary")
    for key in data:
        if key not in known:
            raise InputError(
                f"{where}: {key}", "is unknown", ", ".join(known), _core.nearest(key, list(known))
            )
    scenario = data.get("scenario")
    if isinstance(scenario, dict):
        varied = Scenario(**scenario, __where__=where)
    elif isinstance(scenario, str):
        varied = load(Path(path).parent / scenario)
    else:
        raise InputError(f"{where}: scenario", "is missing", "the name of a scenario file, or a table")
    vary = data.get("vary", {})
    if not isinstance(vary, dict):
        raise InputError(f"{where}: vary", "is no table", '[vary] "queue.limit" = ["50p", "100p"]')
    return Sweep(
        varied,
        _texts(data.get("aqms", []), f"{where}: aqms"),
        [axis_of(key, values, where) for key, values in _flat(vary)],
        _whole(data.get("seeds", 5), f"{where}: seeds"),
        _whole(data.get("seed_from", 1), f"{where}: seed_from"),
    )


def axis_of(key: str, values: object, where: str) -> Axis:
    """Return the axis of a list of values, or of a range as text."""
    place = f"{where}: vary.{key}"
    if isinstance(values, str):
        return spaced(key, values) if ":" in values else listed(key, values)
    if not isinstance(values, list) or not values:
        raise InputError(place, "has no values", 'a list, or "LOW:HIGH:N"')
    return Axis(key, tuple(dict.fromkeys(str(one) for one in values)))


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Take ``queue.limit = ...`` and ``"queue.limit" = ...`` for the same."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return found


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InputError(where, "is no list of specs", '["red", "pie target 20ms"]')
    return value


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(where, f"= {value!r} is no whole number")
    return value


@dataclass(frozen=True)
class Swept:
    """The result of a sweep."""

    sweep: Sweep
    outcomes: Mapping[Point, Outcome]
    directory: Path | None = None

    def runs(self) -> pl.DataFrame:
        """Return one row a run: the varied keys, aqm, seed, run_id, then every metric."""
        import polars as pl

        rows = [
            {**dict(cell.values), "aqm": spec, "seed": seed, "run_id": point.run_id, **outcome.metrics}
            for cell in self.sweep.cells
            for spec in cell.specs
            for seed in range(self.sweep.seed_from, self.sweep.seed_from + self.sweep.seeds)
            if (outcome := self.outcomes.get(point := Point(cell.scenario, spec, seed))) is not None
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary(self) -> pl.DataFrame:
        """Return one row a combination, algorithm and metric: the varied keys, aqm, metric, mean, ci95, n."""
        import polars as pl

        keys = [axis.key for axis in self.sweep.axes if axis.key != "aqm"]
        runs = self.runs()
        metrics = [name for name in runs.columns if name not in (*keys, "aqm", "seed", "run_id")]
        rows = []
        for group in runs.partition_by([*keys, "aqm"], maintain_order=True):
            head = group.select([*keys, "aqm"]).row(0)
            rows += [(*head, name, *mean_ci(group[name].to_list())) for name in metrics]
        text, number = pl.String, pl.Float64
        schema = {
            **dict.fromkeys([*keys, "aqm", "metric"], text),
            "mean": number,
            "ci95": number,
            "n": pl.UInt32,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")


class Estimate(NamedTuple):
    """What a sweep will take, as far as a few trial runs can tell."""

    runs: int
    done: int
    seconds: float
    bytes: int


def sweep(
    plan: Sweep,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Swept:
    """Run what is missing of a sweep and return all of it.

    Parameters
    ----------
    plan : Sweep
        What to run.
    workers : int, optional
        Threads; all cores if None. The results do not depend on it.
    out : path, optional
        Folder of the sweep; nothing is written if None.
    progress : callable, optional
        Called about ten times a second with (share, done, total).
    command : sequence of str
        The words that repeat this, for the manifest.

    Raises
    ------
    RunFailed
        At the end, if runs failed; the others are kept. ``failures.jsonl`` has seed, reason and the command
        that repeats each.

    Examples
    --------
    >>> scenario = load("examples/red40.toml").with_(duration="4s", warmup="2s")
    >>> plan = Sweep(scenario, ["droptail"], [Axis("queue.limit", ("20p", "40p"))], seeds=2)
    >>> sweep(plan).summary().filter(metric="drops")["queue.limit"].to_list()
    ['20p', '40p']
    """
    from sojourn.study.execute import check, execute

    points = plan.points
    check(points)
    store = None
    if out is not None:
        store = _folder(plan, Path(out), command)
    outcomes = {outcome.point: outcome for outcome in execute(points, store, workers, progress)}
    swept = Swept(plan, outcomes, None if store is None else store.directory)
    if store is not None:
        _finish(swept, store)
    return swept


def _folder(plan: Sweep, directory: Path, command: Sequence[str]) -> Store:
    from sojourn.run import command_line
    from sojourn.study.store import Store, write_whole

    store = Store(directory, traces=False)
    try:
        (directory / "cells").mkdir(exist_ok=True)
        write_whole(directory / PLAN, plan.to_toml().encode())
        for cell in plan.cells:
            text = cell.scenario.to_toml()
            name = f"cells/{digest(text, length=8)}.toml"
            store.scenarios |= {cell.scenario.plan_json(spec): name for spec in cell.specs}
            write_whole(directory / name, text.encode())
    except OSError as error:
        raise disk(error, directory) from None
    facts: dict[str, Any] = {
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "status": "running",
    }
    facts |= {"runs": len(plan.points), "command": command_line(command) if command else ""}
    _write(directory / "manifest.json", json.dumps(facts, indent=1))
    return store


def _finish(swept: Swept, store: Store) -> None:
    import io

    buffer = io.BytesIO()
    swept.summary().write_parquet(buffer)
    from sojourn.study.store import write_whole

    try:
        write_whole(store.directory / SUMMARY, buffer.getvalue())
    except OSError as error:
        raise disk(error, store.directory) from None
    facts = json.loads((store.directory / "manifest.json").read_text())
    _write(store.directory / "manifest.json", json.dumps({**facts, "status": "complete"}, indent=1))


def _write(path: Path, text: str) -> None:
    from sojourn.study.store import write_whole

    try:
        write_whole(path, (text + "\n").encode())
    except OSError as error:
        raise disk(error, path) from None


def done(plan: Sweep, directory: str | os.PathLike[str]) -> int:
    """Return how many of the runs are done in a folder."""
    runs = Path(directory) / "runs"
    return sum((runs / f"{point.run_id}.parquet").exists() for point in plan.points)


def estimate(plan: Sweep, directory: str | os.PathLike[str], workers: int) -> Estimate:
    """Return what is left to do, from short trial runs of the first, middle and last combination."""
    import tempfile

    from sojourn.study.execute import check, execute
    from sojourn.study.store import Store

    points = plan.points
    check(points)
    finished = done(plan, directory)
    first = points[: max(1, len(points) // plan.seeds)]
    seconds, size = [], []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, traces=False)

        def timed(point: Point, share: float) -> float:
            short = _shortened(point, share)
            begun = time.perf_counter()
            list(execute([short], store, 1))
            size.append(store.path(short.run_id).stat().st_size)
            return time.perf_counter() - begun

        timed(first[0], 0.01)  # imports and caches
        for point in (first[0], first[len(first) // 2], first[-1]):
            fifth, tenth = timed(point, 0.2), timed(point, 0.1)
            seconds.append(fifth + 8 * max(0.0, fifth - tenth))
    left = len(points) - finished
    return Estimate(len(points), finished, sum(seconds) / len(seconds) * left / workers, max(size) * left)


def _shortened(point: Point, share: float) -> Point:
    """Return the same with a share of its duration, the warm-up too; itself if that cannot be."""
    warmup, duration = point.scenario.seconds
    changes = {"duration": f"{duration * share:.9g}s", "warmup": f"{warmup * share:.9g}s"}
    try:
        return Point(point.scenario.with_(**changes), point.spec, point.seed)
    except InputError:
        return point


def status(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return how far a sweep in a folder is: runs, done, failed (each with its command), command.

    Raises
    ------
    InputError
        If it is no folder of a sweep.
    """
    folder = Path(directory)
    if not (folder / PLAN).exists():
        raise InputError(str(folder), f"is not the folder of a sweep: it has no {PLAN}")
    plan = read(folder / PLAN)
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        failures = folder / "failures.jsonl"
        lines = failures.read_text().splitlines() if failures.exists() else []
    except (OSError, ValueError) as error:
        raise InputError(str(folder), f"cannot be read: {error}") from None
    failed = {one["run_id"]: one for one in map(json.loads, lines)}
    missing = {p.run_id for p in plan.points if not (folder / "runs" / f"{p.run_id}.parquet").exists()}
    return {
        "runs": len(plan.points),
        "done": len(plan.points) - len(missing),
        "failed": [one for run_id, one in failed.items() if run_id in missing],
        "command": manifest.get("command", ""),
    }
