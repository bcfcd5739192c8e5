"""Processes share the work of a directory: each run is executed once, those of a dead process are taken over.

Mutants seen to fail: a lease ignored; the store not checked again after a lease was taken; a takeover under
the same number; deaths not counted; a lease of another machine judged by its PID, or at the first poll;
results kept after a takeover; suspects first, or not isolated; the lease of the description omitted;
batches of one run, of any size, or after a death.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from sojourn import InputError, RunFailed, Scenario, files
from sojourn.algorithms import permitting
from sojourn.runner import execute as execution
from sojourn.runner import leases as module
from sojourn.runner.execute import execute
from sojourn.runner.leases import STALE_S, Lease, Leases, Owner, State, retry
from sojourn.runner.ownership import entering
from sojourn.runner.point import points
from sojourn.runner.store import Store
from sojourn.worlds.simulated import executors, memory, processes
from sojourn.worlds.simulated.executors import Serial
from support import ROOT, Cli, until

RUN = "0123456789abcdef"


@pytest.fixture
def short(small: Scenario) -> Scenario:
    return small.with_(duration="1s", warmup="0s", trace={"interval": "off"})


def abandon(directory: Path, *run_ids: str) -> None:
    """Create the leases of a process that has ended."""
    script = (
        "import sys, os; from pathlib import Path; from sojourn.runner.leases import Leases\n"
        "leases = Leases(Path(sys.argv[1]))\n"
        "for one in sys.argv[2:]: leases.take(one, leases.survey().get(one))\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, directory, *run_ids], check=True)


def rows(directory: Path) -> list[str]:
    """Return the ids of all stored rows."""
    return pl.read_parquet(directory / "runs/*.parquet", columns=["run_id"])["run_id"].to_list()


def at_once(calls: list[Callable[[], object]]) -> list[BaseException | None]:
    """Call functions in threads that start together; return the exception of each."""
    gate, raised = threading.Barrier(len(calls)), dict.fromkeys(range(len(calls)))

    def work(number: int) -> None:
        gate.wait()
        try:
            calls[number]()
        except BaseException as error:  # noqa: BLE001 - the caller compares it
            raised[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in raised]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(raised.values())


def test_exactly_one_of_several_leases_takes_a_run(tmp_path: Path) -> None:
    def take(one: Leases, run_id: str, taken: list[bool]) -> None:
        taken.append(one.take(run_id))

    several = [Leases(tmp_path) for _ in range(8)]
    for run_id in ("a", "b"):
        taken: list[bool] = []
        at_once([partial(take, one, run_id, taken) for one in several])
        assert sorted(taken) == [False] * 7 + [True]
    for one in several:
        one.close()
    assert not (tmp_path / module.FOLDER).exists()


def test_a_dead_process_is_followed_by_one_and_after_two_deaths_by_none(tmp_path: Path) -> None:
    abandon(tmp_path, RUN)
    first, second = Leases(tmp_path), Leases(tmp_path)
    stale = first.survey()[RUN]
    assert stale == second.survey()[RUN] == Lease(0, State.STALE, 1)
    assert [second.take(RUN, stale), first.take(RUN, stale)] == [True, False]
    assert first.survey()[RUN] == Lease(1, State.HELD, 1)
    second.release([RUN])
    assert first.survey() == {}
    abandon(tmp_path, RUN)
    abandon(tmp_path, RUN)
    ended = first.survey()[RUN]
    assert (ended.state, ended.deaths) == (State.ENDED, 2)
    assert "ended, 2 times" in ended.reason
    retry(tmp_path)
    assert first.survey() == {}
    assert first.take(RUN)


def test_an_owner_elsewhere_is_dead_when_its_lease_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    there = Leases(tmp_path)
    there._owner = replace(Owner.here(), boot="another", host="another", pid=os.getpid())
    assert there.take(RUN)
    here, name = Leases(tmp_path), tmp_path / module.FOLDER / f"{RUN}.0.lease"
    for stamp in (1, 2):  # a change counts, not the value of the stamp
        os.utime(name, (stamp, stamp))
        for step in (0.0, STALE_S / 2, STALE_S / 2):
            now[0] += step
            assert here.survey()[RUN].state is State.HELD
    now[0] += 1.0
    assert here.survey()[RUN] == Lease(0, State.STALE, 1)
    assert there.holds(RUN)
    assert here.take(RUN, here.survey()[RUN])
    assert not there.holds(RUN)
    assert here.holds(RUN)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"owner": 3}', '{"owner": {"host": "x"}}'])
def test_an_incomplete_lease_has_no_owner(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    files.make_folder(tmp_path / module.FOLDER)
    files.write(tmp_path / module.FOLDER / f"{RUN}.0.lease", content)
    leases = Leases(tmp_path)
    assert leases.survey()[RUN].state is State.HELD
    now[0] = STALE_S + 1
    assert leases.survey()[RUN].state is State.STALE


def test_ten_concurrent_executions_make_each_run_once(short: Scenario, tmp_path: Path) -> None:
    wanted = points(short, ["droptail", "red"], range(1, 21))
    abandon(tmp_path, wanted[0].run_id, wanted[7].run_id)
    found: list[int] = []

    def work() -> None:
        found.append(len(list(execute(wanted, Store(tmp_path, traces=False), executor=Serial()))))

    assert at_once([work] * 10) == [None] * 10
    assert found == [40] * 10
    assert sorted(rows(tmp_path)) == sorted(point.run_id for point in wanted)
    assert not (tmp_path / module.FOLDER).exists()


def test_short_runs_are_leased_in_batches(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second of work at a time; first, and after the death of a process, one run at a time."""
    now = [0.0]
    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=lambda: now[0]))
    wanted = points(short, ["droptail"], range(1, 401))
    study = execution._Study(
        {one.run_id: one for one in wanted}, 400, Store(tmp_path, traces=False), None, None
    )
    assert study.leases is not None
    with study.leases:
        other = Leases(tmp_path)

        def after(source: execution._Source, finished: int) -> int:
            source.finished = finished
            next(source)
            return len(other.survey())

        source = execution._Source(wanted, study, {})
        assert after(source, 0) == 1
        now[0] = 1.0
        assert [after(source, 100) for _ in range(50)] == [51] * 50
        assert other.take(wanted[51].run_id)
        assert after(source, 10_000) == 51 + execution.MOST_LEASED
        assert source.taken[-1] == wanted[52]
        suspect = execution._Source(wanted[390:], study, {wanted[390].run_id: Lease(0, State.STALE, 1)})
        assert [after(suspect, 10_000) - 51 - execution.MOST_LEASED for _ in range(2)] == [1, 2]
        other.close()
    assert not (tmp_path / module.FOLDER).exists()


def test_a_result_that_another_process_took_over_is_not_stored_twice(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a suspension of this process: another one considered it dead, and finished first."""
    point, other = *points(short, ["droptail"], [1]), Leases(tmp_path)
    store, elsewhere = Store(tmp_path, traces=False), Store(tmp_path / "elsewhere", traces=False)
    real = Leases.holds

    def holds(self: Leases, run_id: str) -> bool:
        monkeypatch.setattr(Leases, "holds", real)
        assert other.take(run_id, Lease(0, State.STALE, 1))
        list(execute([point], elsewhere))
        files.write(tmp_path / "runs/chunk-theirs.parquet", elsewhere.path(run_id).read_bytes())
        held = real(self, run_id)
        other.close()
        return held

    monkeypatch.setattr(Leases, "holds", holds)
    (outcome,) = execute([point], store)
    assert not outcome.fresh
    assert rows(tmp_path) == [point.run_id]


def test_suspect_runs_come_last_and_in_processes_of_their_own(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = points(short, ["droptail"], [1, 2, 3])
    abandon(tmp_path, wanted[0].run_id)
    added: list[int] = []
    add = processes.Processes.add

    def watched(self: processes.Processes, index: int, job: tuple[str, int]) -> None:
        added.append(job[1])
        add(self, index, job)

    monkeypatch.setattr(processes.Processes, "add", watched)
    isolated = list(execute(wanted, Store(tmp_path, traces=False)))
    assert added == [2, 3, 1]
    assert not (tmp_path / module.FOLDER).exists()
    plain = {one.point: one.metrics for one in execute(wanted)}
    assert {one.point: one.metrics for one in isolated} == plain
    assert added == [2, 3, 1], "without a death there is no process"


DEADLY = """
import os, signal
from pathlib import Path
import sojourn

class Deadly(sojourn.Aqm):
    \"\"\"Ends its process, or stops it the first time.\"\"\"

    how = sojourn.Param("die", choices=("die", "stop"), doc="What it does.", source="a test")

    def on_idle(self, now):
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        mark = Path(__file__).with_name("stopped")
        if not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_run_that_ends_its_process_twice_is_not_executed_again(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY)
    with permitting(True):
        wanted = points(short, [f"{tmp_path}/deadly.py:Deadly", "droptail"], [1])
    store = Store(tmp_path / "out", traces=False)
    with pytest.raises(RunFailed, match=r"1 of 2 runs failed.*was ended by SIGKILL, 2 times"):
        list(execute(wanted, store, 1))
    assert len(rows(tmp_path / "out")) == 1
    with monkeypatch.context() as patch:
        patch.setattr(executors._LocalRuns, "_fill", lambda _: pytest.fail("it is executed again"))
        with pytest.raises(RunFailed, match="2 times; --retry-failed executes it again"):
            list(execute(wanted, store, 1))
    retry(tmp_path / "out")
    with pytest.raises(RunFailed, match=r"was ended by SIGKILL, 2 times$"):
        list(execute(wanted, store, 1))


def test_a_worker_that_makes_no_progress_is_killed_and_its_run_repeated(
    short: Scenario, tmp_path: Path
) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY)
    with permitting(True):
        (point,) = points(short, [f"{tmp_path}/deadly.py:Deadly how stop"], [1])
    running, mark = processes.Processes(1, None), tmp_path / "stopped"
    running.add(0, (point.plan_json, 1))
    until(lambda: running.poll(0.01) or (mark.exists() and mark.read_text()))
    (worker,) = running._workers
    until(lambda: Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    worker.waited = processes.STALL_S + 1
    assert running.poll(0.0) == []
    assert worker.process.returncode == -signal.SIGKILL
    found: list[tuple[int, Any]] = []
    until(lambda: found.extend(running.poll(0.1)) or found)
    ((_, (made, *_)),) = found
    assert made["events"] > 0
    (late,) = running._workers
    running.add(1, (point.plan_json, 2))
    running._deaths[1], late.waited = 1, processes.STALL_S + 1
    ((index, error),) = running.poll(0.0)
    assert index == 1
    assert "made no progress for 600 s and was killed, 2 times" in str(error)


def test_the_time_without_progress_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processes.STALL, "30")
    assert processes.stall_seconds() == 30.0
    monkeypatch.setenv(processes.STALL, "soon")
    with pytest.raises(InputError, match="SOJOURN_STALL_S = 'soon' is not a time in s"):
        processes.stall_seconds()


def test_a_trace_that_is_too_large_fails_its_run_alone(
    short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "trace_limit", lambda _workers: 300_000)
    wanted = points(short.with_(duration="20s", trace={"cwnd": True}), ["droptail"], [1])
    wanted += points(short, ["droptail"], [1])
    with pytest.raises(RunFailed, match=r"1 of 2 runs failed.*its traces .* need more than 0 MB of memory"):
        list(execute(wanted, Store(tmp_path)))
    assert len(rows(tmp_path)) == 1
    assert not (tmp_path / module.FOLDER).exists()


def test_a_warning_precedes_runs_that_may_lack_memory(
    cli: Cli, short: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available", lambda: 6_000_000)
    (tmp_path / "large.toml").write_text(short.with_(trace={"cwnd": True, "drops": True}).to_toml())
    (tmp_path / "small.toml").write_text(short.to_toml())
    said = cli("sweep", "large.toml", "--seeds", "1", "--workers", "1", "--out", "large").stderr
    assert "warning: a run may need" in said
    assert "warning" not in cli("sweep", "small.toml", "--seeds", "1", "--out", "small").stderr


def test_the_available_memory_is_the_least_of_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    free = memory.available()
    assert free is not None
    assert free > 0
    limits = {memory.resource.RLIMIT_AS: 2**40, memory.resource.RLIMIT_DATA: 1}
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (limits[which], limits[which]))
    assert memory.available() == 0
    monkeypatch.setattr(memory, "available", lambda: 800)
    assert memory.trace_limit(memory.run_limit(2)) == 64


def test_of_two_studies_that_enter_a_folder_at_once_one_is_refused(short: Scenario, tmp_path: Path) -> None:
    def enter(directory: Path, scenario: Scenario) -> None:
        with entering(directory, "run", scenario.name, scenario.to_toml()):
            files.make_folder(directory)
            files.write(
                directory / "manifest.json", json.dumps({"name": scenario.name, "world": "simulated"})
            )
            files.write(directory / "scenario.toml", scenario.to_toml())

    other = short.with_(queue={"limit": "40p"})
    for number in range(10):
        out = tmp_path / str(number)
        raised = at_once([partial(enter, out, one) for one in (short, other)])
        assert sorted(type(error) is InputError for error in raised) == [False, True]
        assert raised.count(None) == 1


def test_processes_that_are_killed_leave_their_work_to_the_others(short: Scenario, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(short.to_toml())
    words = ["sweep", "small.toml", "--seeds", "12", "--aqm", "droptail", "--aqm", "red", "--out", "out"]
    doomed = [sys.executable, str(ROOT / "tests/cli/doomed.py"), "SIGKILL"]
    begun = [subprocess.Popen([*doomed, str(whole), *words, "--serial"], cwd=tmp_path) for whole in (2, 4)]
    assert [one.wait(100) for one in begun] == [-signal.SIGKILL] * 2
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "out")) == len(set(rows(tmp_path / "out"))) == 24
    assert not (tmp_path / "out" / module.FOLDER).exists()
