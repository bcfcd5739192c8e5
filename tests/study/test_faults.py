"""Fault simulation of the study layer: thousands of seeded histories on a disk in memory that fails.

A history is a sweep or a run in which one call of the file layer fails (`simulated_disk.FAULTS`: errors, a
lack of memory, torn writes, kills, power cuts, jumps of the clock, a second process at this point), or after
which a bit of a file flips. After the fault the same command is called again. Each history ends in the same
state:

- the call with the fault returned the undisturbed table, raised a `SojournError` or the MemoryError of the
  fault, or was killed;
- a run that was stored is not lost, even by a power failure;
- the next call completes with the undisturbed table, the undisturbed traces, and the same id;
- a reading command changes nothing under any fault.

Runs are simulated once and replayed; Parquet is encoded and decoded once for each content. All other code is
the real one. `OLD` has the earlier behaviour, by the number of the finding; the histories detect each of
them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sojourn
from simulated_disk import FAULTS, Killed, Medium, Process
from sojourn import SojournError, files, worlds
from sojourn.record.columns import trace_frames
from sojourn.results import Results
from sojourn.runner import archive, execute, leases, ownership, run_index, sealed, store
from sojourn.runner.archive import Archive
from sojourn.runner.leases import Leases
from sojourn.runner.owner import Owner
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from sojourn.study.axes import Axis
from sojourn.study.sweep import directory
from sojourn.study.sweep.model import Sweep, Swept
from sojourn.study.sweep.run import sweep
from sojourn.worlds import Made
from support import SMALL

OUT = Path("/results/study")
#: Histories of each kind of study and fault.
HISTORIES = 100
BASE = sojourn.Scenario.from_toml(
    SMALL.replace('"6s"', '"0.4s"').replace('warmup = "2s"', 'warmup = "0.2s"'), "small.toml"
).with_(trace={"interval": "100ms", "drops": True})
PLAN = Sweep(BASE, ["droptail"], [Axis("queue.limit", ("10p", "20p"))], seeds=2)
#: Another study, which must not enter the directory of `PLAN`.
OTHER = Sweep(BASE.with_(duration="0.5s"), PLAN.aqms, PLAN.axes, seeds=2)


class Replay:
    """The simulated world with finished runs, which arrive in a random order, `together` at a time."""

    #: Runs that arrive together share a file, so a second process has file names of its own.
    together = 1

    def __init__(self, made: Mapping[tuple[str, int], Made], jobs: Sequence[tuple[str, int]]) -> None:
        self.waiting = [(i, made[job]) for i, job in enumerate(jobs)]

    def poll(self, timeout: float) -> list[tuple[int, Made]]:
        return [self.waiting.pop() for _ in range(min(Replay.together, len(self.waiting)))]

    def progress(self) -> float:
        return 0.5

    def cancel(self) -> None:
        self.waiting.clear()


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, int], Made]:
    """Every run of the histories, simulated once."""
    points = [*PLAN.points, *(Point(BASE, "droptail", seed) for seed in (1, 2))]
    return {
        (one.point.plan_json, one.point.seed): Made(one.record.data, one.metrics)
        for one in execute.execute(points)
    }


@pytest.fixture
def replayed(made: dict[tuple[str, int], Made], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the simulator by `made`; compute pure functions once for each of their arguments."""
    world = type(worlds.find(worlds.DEFAULT))
    monkeypatch.setattr(
        world, "run", lambda _self, cases, *_: Replay(made, [(one.plan_json, one.seed) for one in cases])
    )
    monkeypatch.setattr(world, "warnings", lambda _self, _record: [])
    monkeypatch.setattr(execute, "FLUSH_S", 0.0)
    # Data from the user's files, not from the study's.
    monkeypatch.setattr(directory, "read", lambda path: (files.read(path), PLAN)[1])
    monkeypatch.setattr("sojourn.results.load", lambda path: (files.read(path), BASE)[1])

    def once(module: Any, name: str, key: Callable[..., Any]) -> None:
        """Call a function of a module once for each key of its arguments."""
        known: dict[Any, Any] = {}
        function = getattr(module, name)

        def call(*words: Any, **more: Any) -> Any:
            at = key(*words, **more)
            if at not in known:
                known[at] = (
                    words,
                    function(*words, **more),
                )  # a key may be the id of an argument
            return known[at][1]

        monkeypatch.setattr(module, name, call)

    def ids(found: Sequence[Any], traces: Sequence[Any], *rest: Any) -> Any:
        return tuple(one.point.run_id for one in found), str(traces), rest

    once(store, "_rows", ids)
    monkeypatch.setattr(store, "trace_frames", lambda data: list(trace_frames(data)))
    once(store, "trace_frames", id)
    once(store, "seal", lambda frame, name="": (id(frame), name))
    once(directory, "seal", lambda frame, name="": (id(frame), name))
    for module in (archive, run_index):
        once(module, "table", lambda content, name="", wanted=None: (content, name, wanted is None))
    once(Swept, "runs", lambda self: frozenset(self.metrics))
    once(Swept, "summary", lambda self: frozenset(self.metrics))
    once(Sweep, "to_toml", id)
    once(sojourn.Scenario, "to_toml", id)
    once(ownership.tomllib, "loads", lambda text: text)
    _simulate_processes(monkeypatch)
    logging.getLogger("sojourn").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("sojourn").setLevel(logging.NOTSET)


#: The identities of simulated processes that have ended, and the processes, so that each keeps its own.
ENDED: set[int] = set()
KEPT: list[Process] = []
#: Polls after which a simulated process stops waiting for another one, which does not run concurrently.
MOST_LOOKS = 8


def _simulate_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make leases belong to simulated processes, and time advance only when a process polls or waits."""
    clock, looks = itertools.count(0.0, leases.STALE_S), Counter[int]()

    def here(_cls: type[Owner]) -> Owner:
        return Owner("host", "boot", "namespace", id(files._disk), "start", uuid.uuid4().hex)

    def wait(_seconds: float) -> None:
        looks[id(files._disk)] += 1
        if looks[id(files._disk)] > MOST_LOOKS:
            raise SojournError("another process has not finished")

    time = SimpleNamespace(monotonic=lambda: next(clock), sleep=wait)
    monkeypatch.setattr(Owner, "here", classmethod(here))
    monkeypatch.setattr(Owner, "is_dead", lambda self: self.pid in ENDED)
    monkeypatch.setattr(leases, "time", time)
    monkeypatch.setattr(execute, "time", time)
    monkeypatch.setattr(Leases, "_beat", lambda _self: None)


@contextlib.contextmanager
def _ending(process: Process) -> Iterator[None]:
    """End a process with the block, however it ends."""
    ENDED.discard(id(process))
    try:
        yield
    finally:
        ENDED.add(id(process))


class Study:
    """A command on a medium, with its result and the state that it leaves."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.medium = Medium()
        #: Runs that the store has accepted.
        self.accepted: set[str] = set()

    def call(self, process: Process) -> Any:
        """Run the command in a process; return its table, traces and id."""
        accepted = self.accepted

        def write(self: Store, finished: Sequence[Any], *rest: Any) -> None:
            WRITE(self, finished, *rest)
            accepted.update(one.point.run_id for one in finished)

        KEPT.append(process)
        with files.using(process), pytest.MonkeyPatch.context() as patch, _ending(process):
            patch.setattr(Store, "write", write)
            if self.kind == "sweep":
                swept = sweep(PLAN, out=OUT)
                return {one.run_id: found for one, found in swept.metrics.items()}, swept.id
            results = sojourn.run(BASE, ["droptail"], seeds=2, out=OUT)
            return [measured(one) for one in results.outcomes], results.id

    def read(self, process: Process) -> None:
        """Run the commands that only read."""
        with files.using(process):
            if self.kind == "sweep":
                directory.status(OUT)
                directory.reopen(OUT)
            else:
                for one in Results.open(OUT).outcomes:
                    measured(one)

    def missing(self) -> set[str]:
        """Return the accepted runs that are missing."""
        with files.using(Process(self.medium, random.Random(0))):
            return self.accepted - set(Archive(OUT).run_ids)


WRITE = Store.write


def measured(outcome: execute.Outcome) -> Any:
    """Return all data of a run: id, metrics, counters, samples and drops."""
    data = outcome.record.data
    return (
        outcome.point.run_id,
        outcome.metrics,
        *(data[name] for name in ("queues", "flows", "series", "drops")),
    )


@functools.cache
def undisturbed(kind: str) -> tuple[Any, int, int]:
    """Return the result of an undisturbed command, and its calls with new and with stored runs."""
    study, process = Study(kind), Process(Medium(), random.Random(0))
    process.medium = study.medium
    result, first = study.call(process), process.calls
    again = Process(study.medium, random.Random(0))
    assert study.call(again) == result
    return result, first, again.calls


def history(kind: str, fault: str, seed: int) -> str:
    """Execute one history; return the error at its end, or an empty text."""
    draw = random.Random(f"{kind} {fault} {seed}")
    expected, calls, _ = undisturbed(kind)
    study = Study(kind)
    whole = Process(study.medium, draw)

    def other() -> None:
        with contextlib.suppress(SojournError), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Replay, "together", 2)
            study.call(Process(study.medium, draw, name="host-2"))

    process = Process(study.medium, draw, draw.randrange(calls), fault, other)
    with contextlib.suppress(SojournError, Killed, MemoryError):
        try:
            if study.call(process) != expected:
                return "another result"
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            return f"{type(error).__name__} instead of a clear error: {error}"
    if missing := study.missing():
        return f"{len(missing)} stored runs are lost"
    if wrong := _reading(study, draw, fault):
        return wrong
    if fault == "rot":
        _rot(study.medium, draw)
    try:
        if study.call(whole) != expected:
            return "another result after the fault"
    except (Exception, Killed) as error:  # noqa: BLE001 - any is a failure
        return f"the next call fails: {type(error).__name__}: {error}"
    return _once(study.medium)


def _reading(study: Study, draw: random.Random, fault: str) -> str:
    """Read with a fault; return the files that were written."""
    before = dict(study.medium.files())
    reader = Process(study.medium, draw, draw.randrange(40), fault if fault.startswith("E") else "EACCES")
    with contextlib.suppress(SojournError):
        try:
            study.read(reader)
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            return f"{type(error).__name__} on reading instead of a clear error: {error}"
    return "" if dict(study.medium.files()) == before else "a reading command has written"


def _rot(medium: Medium, draw: random.Random) -> None:
    """Flip a bit in a file of runs or traces, if there is one."""
    paths = [path for path, _ in medium.files() if path.parent.name in ("runs", "traces")]
    if paths:
        node: Any = medium.find(draw.choice(paths))
        place = draw.randrange(len(node.content))
        node.content = (
            node.content[:place]
            + bytes([node.content[place] ^ 1 << draw.randrange(8)])
            + node.content[place + 1 :]
        )


def _once(medium: Medium) -> str:
    """Return an error if a run is in two files."""
    with files.using(Process(medium, random.Random(0))):
        found = Archive(OUT)
        counts = Counter(run_id for frame in found._index._frames.values() for run_id in frame["run_id"])
    return "a run is stored twice" if max(counts.values()) > 1 else ""


KINDS = [*FAULTS, "rot"]


@pytest.mark.parametrize("kind", ["sweep", "run"])
@pytest.mark.parametrize("fault", KINDS)
def test_every_history_ends_well(replayed: None, kind: str, fault: str) -> None:
    wrong = {seed: found for seed in range(HISTORIES) if (found := history(kind, fault, seed))}
    assert not wrong


def damaged_if_unreadable(self: Any, path: Path) -> None:
    """Finding 2: an unreadable file is treated as damaged."""
    try:
        READ(self, path)
    except SojournError as error:
        self._damaged(path, str(error))


def renamed_by_all(self: Archive, path: Path, reason: str) -> None:
    """Finding 2: reading commands also rename it."""
    if files.exists(path):
        files.rename(path, path.with_name(f"{path.name}.damaged"))


class NoLeases(Leases):
    """Finding 8: every process executes every run that is not stored."""

    def survey(self) -> dict[str, leases.Lease]:
        return {}

    def take(self, run_id: str, after: leases.Lease | None = None) -> bool:
        return True

    def holds(self, run_id: str) -> bool:
        return True


READ = run_index.RunIndex._read
#: Old behaviour, by the finding of the review, with a kind of history that shows it, and its replacement.
OLD: dict[str, tuple[str, str, list[tuple[Any, str, Any]]]] = {
    "1: every file that decodes is used": (
        "sweep",
        "rot",
        [(module, "verify", lambda _content, _name="": True) for module in (sealed, archive)],
    ),
    "2: unreadable is damaged": (
        "sweep",
        "EACCES",
        [(run_index.RunIndex, "_read", damaged_if_unreadable), (Archive, "_damaged", renamed_by_all)],
    ),
    "7: traces are not verified": (
        "run",
        "rot",
        [(Archive, "has_traces", lambda self, run_id: self.trace_tables(run_id) is not None)],
    ),
    "8: runs have no leases": ("sweep", "other", [(execute, "Leases", NoLeases)]),
    "9: folders are not synchronized": (
        "sweep",
        "power",
        [(Process, "sync_folder", lambda _self, _path: None)],
    ),
    "files are not synchronized": ("sweep", "power", [(Process, "sync", lambda _self, _path: None)]),
}


def entered(number: int) -> list[str]:
    """Let another study enter a new directory at a call of the first one; return those that are accepted."""
    medium, accepted = Medium(), list[str]()

    def enter(name: str, plan: Sweep, process: Process) -> None:
        KEPT.append(process)
        with files.using(process), _ending(process), contextlib.suppress(SojournError):
            directory.prepare(plan, OUT, ())
            accepted.append(name)

    def other() -> None:
        enter("second", OTHER, Process(medium, random.Random(0), name="host-2"))

    enter("first", PLAN, Process(medium, random.Random(0), number, "other", other))
    return accepted


def test_one_of_two_studies_enters_a_directory(replayed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding 8: without exclusion, both studies enter between the check and the description."""
    process = Process(Medium(), random.Random(0))
    with files.using(process):
        directory.prepare(PLAN, OUT, ())
    found = [entered(number) for number in range(process.calls)]
    assert sorted({len(one) for one in found}) == [1]
    assert {one[0] for one in found} == {"first", "second"}
    monkeypatch.setattr(ownership, "describing", lambda _path: contextlib.nullcontext())
    assert any(len(entered(number)) == 2 for number in range(process.calls))


@pytest.mark.parametrize("old", OLD)
def test_old_behaviour_is_found(replayed: None, monkeypatch: pytest.MonkeyPatch, old: str) -> None:
    """With the old behaviour of each finding, a history fails."""
    kind, fault, changes = OLD[old]
    undisturbed(kind)
    for of, name, value in changes:
        monkeypatch.setattr(of, name, value)
    assert any(history(kind, fault, seed) for seed in range(3 * HISTORIES))
