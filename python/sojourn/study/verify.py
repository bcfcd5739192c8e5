"""Verifies a results directory: every hash, the id, and a sample of the runs, which is repeated.

Runs are deterministic, so every copy of an archive can be checked: the stored values of a run are a function
of the plan in its row, the seed and the version of the core. Nothing is written, and code is executed only if
it is permitted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sojourn import _core, files, worlds
from sojourn.algorithms import Code, every_file_is_permitted, may_execute, names_in, version_of
from sojourn.errors import InputError, RunFailed, SojournError
from sojourn.metrics import metrics_version
from sojourn.record.columns import RECORD_COLUMNS, trace_frames
from sojourn.runner.archive import Archive, Stored
from sojourn.runner.code import code_for, executing, kept
from sojourn.runner.data import damaged as damaged_data
from sojourn.runner.data import listed
from sojourn.runner.identity import ROWS, STATED, identifier, read_rows, row_hash
from sojourn.runner.manifest import MANIFEST, manifest_of
from sojourn.runner.ownership import PARTS
from sojourn.runner.point import Point
from sojourn.runner.sealed import Damaged, table
from sojourn.spec.scenario import Scenario, load
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.sweep.plan_file import read as read_plan
from sojourn.study.tune import directory as tune_directory
from sojourn.study.tune.model import CONFIRM
from sojourn.worlds import Made, Reduce

#: Tables beside the runs; the name in their seal is that of the file.
TABLES = (ROWS, sweep_directory.RUNS, sweep_directory.SUMMARY, tune_directory.TRIALS, "metrics.parquet")
SCENARIO = "scenario.toml"

#: Called with the completed share of the work (0 to 1), the number of completed runs, and their total.
Progress = Callable[[float, int, int], None]


class Difference(NamedTuple):
    """A stored value that differs from the recomputed one.

    Attributes
    ----------
    where : str
        Id of the run, or path of the file.
    column : str
        The column, or ``content``.
    stored, recomputed : str
        Both values as text.
    """

    where: str
    column: str
    stored: str
    recomputed: str

    def __str__(self) -> str:
        return f"{self.where}: {self.column}: stored {self.stored}, recomputed {self.recomputed}"


@dataclass
class Verification:
    """The result of `verify`.

    Attributes
    ----------
    id : str or None
        The id that the manifest states.
    files, rows : int
        Files and rows with a hash, which was recomputed.
    unsealed : int
        Files without a hash.
    repeated : int
        Runs that were repeated.
    eligible : int
        Runs that can be repeated here.
    skipped : mapping of str to int
        Number of runs that cannot be repeated, by reason.
    code : mapping of str to str
        The stored code that was executed: class to SHA-256.
    environment : list of str
        How Python and packages here differ from those of the stored code.
    differences : list of Difference
        All differences.
    """

    id: str | None = None
    files: int = 0
    rows: int = 0
    unsealed: int = 0
    repeated: int = 0
    eligible: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    code: dict[str, str] = field(default_factory=dict)
    environment: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn verify --json``."""
        return {
            **vars(self),
            "skipped": dict(self.skipped),
            "differences": [d._asdict() for d in self.differences],
        }


class Sample(NamedTuple):
    """The size of the sample of runs that are repeated: a share, or a number."""

    share: float | None
    number: int | None

    @classmethod
    def parse(cls, text: str) -> Sample:
        """Parse ``5%`` or ``20``.

        Examples
        --------
        >>> Sample.parse("5%").of(90), Sample.parse("20").of(90), Sample.parse("0").of(90)
        (5, 20, 0)
        """
        number, percent, rest = text.strip().partition("%")
        try:
            value = float(number) if percent else int(number)
        except ValueError:
            value = -1
        if rest or not 0 <= value < math.inf or (percent and value > 100):
            raise InputError("sample", f"= {text!r} is not a sample", "a share like 5%, or a number like 20")
        return cls(value / 100, None) if percent else cls(None, int(value))

    def of(self, total: int) -> int:
        """Return how many of `total` runs are in the sample."""
        return math.ceil(self.share * total) if self.share is not None else min(total, self.number or 0)


class _Recorded(NamedTuple):
    """A case of the default world from its row, which has the plan but not the scenario."""

    plan_json: str
    spec: str
    seed: int

    @property
    def scenario(self) -> Scenario:
        """Not available: the plan is enough to repeat the run."""
        raise AssertionError("a row has no scenario")


class _Reported(Archive):
    """An archive that collects damaged files."""

    def __init__(self, directory: Path) -> None:
        self.damaged: dict[Path, str] = {}
        super().__init__(directory)

    def _damaged(self, path: Path, reason: str) -> None:
        self.damaged[path] = reason


def verify(
    directory: str | os.PathLike[str],
    sample: str = "5%",
    seed: int = 1,
    workers: int | None = None,
    measure: Reduce | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Recompute every hash of a results directory and repeat a sample of its runs.

    Parameters
    ----------
    directory : path
        A directory of `run`, `compare`, `compare_worlds`, `sweep`, `tune`, `reproduce` or `evaluate`.
    sample : str
        Share or number of the runs to repeat: ``5%``, ``100%``, ``20``.
    seed : int
        Seed that selects them.
    workers : int, optional
        Threads; all cores if None.
    measure : callable, optional
        Computes the further metrics of a paper, the same as for the original runs.
    progress : callable, optional
        Called with (share, done, total).

    Raises
    ------
    InputError
        If it is not a results directory.
    Unreadable
        If a file cannot be read.
    """
    wanted = Sample.parse(sample)
    folder = Path(directory)
    found = Verification()
    jobs = [job for one in with_runs(folder, found) for job in _verify_folder(one, found)]
    if manifest_of(folder).get(PARTS):
        found.id = None  # each part has one
    found.eligible = len(jobs)
    jobs.sort(key=lambda job: hashlib.sha256(f"{seed} {job[1].run_id}".encode()).digest())
    chosen = jobs[: wanted.of(len(jobs))]
    groups: dict[Any, list[Job]] = {}
    for job in chosen:
        versions = tuple(sorted((name, code.identity) for name, code in job[3].items()))
        groups.setdefault((job[1].world, versions), []).append(job)
    for (world, _), group in groups.items():
        codes = group[0][3]
        found.code |= {name: code.sha256 for name, code in codes.items()}
        found.environment += [one for one in differences_here(codes) if one not in found.environment]
        with executing(codes):
            for owner, stored, made in _repeat(world, group, measure, workers, progress, found, len(chosen)):
                found.differences += _compare(owner, stored, made, measure, found)
    return found


def with_runs(folder: Path, found: Verification | None = None) -> list[Path]:
    """Return the folders with runs: a folder itself, or its parts. A part that is missing is a difference.

    Parts of a study that is not complete may not have begun.

    Raises
    ------
    InputError
        If no folder has runs.
    """
    facts = manifest_of(folder)
    every = [folder / name for name in facts.get(PARTS, ())] or [folder]
    runs = [one for one in every if files.names(one / "runs")]
    if not runs:
        raise InputError(str(folder), "is not a results folder: it has no finished runs")
    if found is not None and facts.get("status") == "complete":
        missing = [one for one in every if one not in runs]
        found.differences += [Difference(str(one), "content", "-", "it has no runs") for one in missing]
    return runs


def _verify_folder(folder: Path, found: Verification) -> list[Job]:
    """Recompute every hash of a folder with runs; return the runs that can be repeated."""
    folders = [one for one in (folder, folder / CONFIRM) if files.is_folder(one / "runs")]
    archives = [_Reported(one) for one in folders]
    hashes = {}
    for archive in archives:
        hashes.update(_verify_rows(archive, found))
        _verify_traces(archive, found)
        found.unsealed += len(archive.unsealed)
        found.files += len(archive.files) - len(archive.unsealed) + len(listed(archive.directory))
        for where, (stated, digest) in damaged_data(archive.directory).items():
            found.differences.append(Difference(where, "content", stated, digest))
        for path, reason in archive.damaged.items():
            found.differences.append(Difference(str(path), "content", reason, "-"))
    _verify_tables(folders, found)
    _verify_id(folder, hashes, found)
    return [job for archive in archives for job in _jobs(archive, found)]


#: A run to repeat: its folder, the run, its case, and the stored code of its classes.
Job = tuple[Archive, Stored, Any, Mapping[str, Code]]


def _verify_rows(archive: Archive, found: Verification) -> dict[str, str]:
    """Recompute the hash of every row; return them by run id."""
    hashes = {}
    for run_id in sorted(archive.run_ids, key=lambda one: (archive.path(one), one)):
        try:
            hashes[run_id] = archive.computed_hash(run_id)
        except RunFailed as error:
            found.differences.append(Difference(run_id, "row", str(error), "-"))
            continue
        stored = archive.stored_hash(run_id)
        if stored is None:
            continue
        found.rows += 1
        if stored != hashes[run_id]:
            found.differences.append(Difference(run_id, "hash", stored, hashes[run_id]))
    for run_id, paths in archive.conflicts().items():
        found.differences.append(Difference(run_id, "row", *map(str, paths)))
    return hashes


def _verify_traces(archive: _Reported, found: Verification) -> None:
    for run_id in archive.run_ids:
        for name in archive.trace_tables(run_id) or ():
            path = archive.trace_path(run_id, name)
            try:
                archive.trace(run_id, name)
                found.files += 1
            except RunFailed as error:
                archive.damaged[path] = str(error).partition("cannot be read: ")[2].partition(";")[0]


def _verify_tables(folders: Sequence[Path], found: Verification) -> None:
    for path in (folder / name for folder in folders for name in TABLES):
        content = files.read(path)
        try:
            if content is not None:
                is_sealed = table(content, path.name).is_sealed
                found.files += is_sealed
                found.unsealed += not is_sealed
        except Damaged as error:
            found.differences.append(Difference(str(path), "content", str(error), "-"))


def _verify_id(folder: Path, hashes: Mapping[str, str], found: Verification) -> None:
    """Compare the leaves with the rows, and the id of the manifest with the root of the tree."""
    name = tune_directory.MANIFEST if files.exists(folder / tune_directory.MANIFEST) else MANIFEST
    found.id = manifest_of(folder, name).get("id")
    try:
        leaves = read_rows(folder)
    except Damaged:  # reported with the tables
        return
    if leaves is None:
        if found.id is not None:
            found.differences.append(Difference(str(folder / ROWS), "content", "-", "the file is missing"))
        return
    for run_id, leaf in leaves.items():
        if hashes.get(run_id) != leaf:
            found.differences.append(
                Difference(run_id, "hash", leaf, hashes.get(run_id, "the run is missing"))
            )
    now = identifier({one: hashes.get(one, "") for one in leaves})
    if found.id is not None and now != found.id:
        found.differences.append(Difference(str(folder / name), "id", found.id, now))


def _jobs(archive: Archive, found: Verification) -> Iterator[Job]:
    """Yield the runs of a directory that can be repeated here; count the others by reason."""
    points = _points(archive.directory)
    codes, problems = kept(archive.directory)
    found.differences += [Difference(problem, "code", "-", "-") for problem in problems]
    for run_id in archive.run_ids:
        stored = archive.read(run_id)
        if stored is None:
            continue
        if stored.core_version != _core.CORE_VERSION:
            found.skipped[f"of core {stored.core_version}; this is core {_core.CORE_VERSION}"] += 1
        elif worlds.find(stored.world).real_time:
            found.skipped[f"of the {stored.world} world, which is not deterministic"] += 1
        elif (code := code_for(stored, codes)) and not every_file_is_permitted():
            hashes = ", ".join(f"{name} (SHA-256 {one.sha256})" for name, one in code.items())
            found.skipped[f"of Python code, {hashes}, which runs with --allow-code only"] += 1
        elif code is None and not all(map(may_execute, names_in(stored.plan))):
            found.skipped["of Python code that is not stored; its file runs with --allow-code only"] += 1
        else:
            case = _case(stored, points, code is not None or not names_in(stored.plan))
            if case is None:
                found.skipped["whose inputs are not in the folder, or have changed"] += 1
            else:
                yield archive, stored, case, code or {}


def differences_here(codes: Mapping[str, Code]) -> list[str]:
    """Return how the versions of Python and packages here differ from those of stored code."""
    there = {name: text for code in codes.values() for name, text in code.environment.items()}
    now = {name: version_of(name) for name in there if not name.startswith("$")}
    now["python"] = platform.python_version()
    return [
        f"{name} {there[name]} then, {now[name] or 'none'} now"
        for name in now
        if name in there and there[name] != now[name]
    ]


def _case(
    stored: Stored, points: Callable[[Stored], Iterable[Point]], has_code: bool
) -> Point | _Recorded | None:
    """Return the case that repeats a run; None if its inputs are missing."""
    if stored.world == worlds.DEFAULT and has_code:
        return _Recorded(stored.plan, stored.spec, stored.seed)
    return next((one for one in points(stored) if one.run_id == stored.run_id), None)


def _points(directory: Path) -> Callable[[Stored], Iterable[Point]]:
    """Return a function from a stored run to the points that it may be, by the scenarios of a directory."""
    try:
        if files.exists(directory / sweep_directory.PLAN):
            every = {
                one.run_id: one for one in read_plan(directory / sweep_directory.PLAN, is_stored=True).points
            }
            return lambda stored: filter(None, [every.get(stored.run_id)])
        scenario = load(directory / SCENARIO, is_stored=True) if files.exists(directory / SCENARIO) else None
    except SojournError:
        scenario = None
    if scenario is None:
        return lambda _stored: ()
    return lambda stored: [Point(scenario, stored.spec, stored.seed, stored.world)]


def _repeat(
    world: str,
    jobs: Sequence[Job],
    measure: Reduce | None,
    workers: int | None,
    progress: Progress | None,
    found: Verification,
    total: int,
) -> Iterator[tuple[Archive, Stored, Made]]:
    """Repeat runs of one world; yield them as they finish."""
    before = found.repeated
    running = worlds.find(world).run(iter([job[2] for job in jobs]), measure, True, workers, None)
    try:
        while found.repeated - before < len(jobs):
            for index, made in running.poll(0.1):
                found.repeated += 1
                archive, stored = jobs[index][:2]
                if isinstance(made, Made):
                    yield archive, stored, made
                else:
                    found.differences.append(Difference(stored.run_id, "run", "finished", f"failed: {made}"))
            if progress is not None:
                progress((before + running.progress()) / total, found.repeated, total)
    except BaseException:
        running.cancel()
        raise


def _compare(
    archive: Archive, stored: Stored, made: Made, measure: Reduce | None, found: Verification
) -> Iterator[Difference]:
    """Yield the columns in which a repeated run differs from the stored one."""
    same_formulas = stored.metrics_version == metrics_version()
    if not same_formulas:
        found.skipped["in their metrics, whose formulas have changed (their counters are compared)"] += 1
    if same_formulas and stored.reduced in (None, getattr(measure, "version", None)):
        names = list(dict.fromkeys([*stored.metrics, *made.metrics]))
    else:
        names = [name for name in stored.metrics if name in made.metrics and same_formulas]
    for name in names:
        old, new = stored.metrics.get(name), made.metrics.get(name)
        if _bits(old) != _bits(new):
            yield Difference(stored.run_id, name, repr(old), repr(new))
    counters = archive.counters(stored.run_id)
    for name in RECORD_COLUMNS:
        before, after = (_hash(name, one.get(name)) for one in (counters, made.data))
        if before != after:
            yield Difference(stored.run_id, name, before, after)
    tables = archive.trace_tables(stored.run_id)
    frames = dict(trace_frames(made.data))
    for name in frames if tables is not None else ():
        column = f"traces, {name or 'samples'}"
        if name not in (tables or ()):
            yield Difference(stored.run_id, column, "nothing", f"{frames[name].height} rows")
        elif not (old_frame := archive.trace(stored.run_id, name)).equals(frames[name]):  # type: ignore[union-attr]
            yield Difference(stored.run_id, column, _shape(old_frame), _shape(frames[name]))


def _bits(value: float | None) -> bytes | None:
    return None if value is None else struct.pack("<d", value)


def _hash(name: str, value: object) -> str:
    """Return the hash of one column of a record."""
    return row_hash(dict.fromkeys(STATED), {}, {name: value})[:16]


def _shape(frame: Any) -> str:
    return f"{frame.height} rows, {hashlib.sha256(json.dumps(frame.to_dicts()).encode()).hexdigest()[:16]}"
