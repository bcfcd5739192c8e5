"""The tables do not depend on the executor: serial, all cores, a Dask cluster, shards.

Seen to fail: results of a chunk in another order than its jobs; the record of a chunk's first job for all;
the first suspected run not repeated; shards that begin at the second run; a job array that begins at 0; no
check of versions, at the start or on the worker; a connection closed by the garbage collector; waiting for a
cluster without workers.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn import _core
from sojourn.algorithms import permitting
from sojourn.errors import InputError, RunFailed
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from sojourn.spec.scenario import Scenario
from sojourn.study.axes import listed
from sojourn.study.sweep.directory import status
from sojourn.study.sweep.model import Shard, Sweep
from sojourn.study.sweep.run import sweep
from sojourn.study.sweep.slurm import write_script
from sojourn.worlds import Executor
from sojourn.worlds.simulated import dask as cluster
from sojourn.worlds.simulated.dask import Dask
from sojourn.worlds.simulated.executors import Local, Serial

distributed = pytest.importorskip("distributed")


@pytest.fixture
def plan(small: Scenario) -> Sweep:
    short = small.with_(duration="2s", warmup="1s", trace={"interval": "off"})
    return Sweep(short, ["droptail", "red"], [listed("queue.limit", "10p,30p")], seeds=6)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[distributed.LocalCluster]:
    """Two worker processes without retries: a run that kills one fails immediately."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as found,
    ):
        yield found


def tables(directory: Path) -> list[pl.DataFrame]:
    """Return runs and summary; a run's row does not depend on the executor."""
    return [
        pl.read_parquet(directory / "runs.parquet").sort("run_id"),
        pl.read_parquet(directory / "summary.parquet"),
    ]


def test_the_same_tables_on_every_executor(
    plan: Sweep, tmp_path: Path, two_workers: distributed.LocalCluster
) -> None:
    address = two_workers.scheduler_address
    executors: list[Executor] = [Serial(), Local(2), Local(1), Dask(address)]
    found = []
    for i, executor in enumerate(executors):
        with contextlib.closing(executor):
            sweep(plan, out=tmp_path / str(i), executor=executor)
        found.append(tables(tmp_path / str(i)))
    for shard in range(1, 4):
        part = sweep(plan, out=tmp_path / "shards", shard=Shard(shard, 3))
        assert part.complete == (shard == 3)
        assert status(tmp_path / "shards")["done"] == 8 * shard
    found.append(tables(tmp_path / "shards"))
    assert found[0][0].height == 24
    for other in found[1:]:
        assert all(a.equals(b) for a, b in zip(found[0], other, strict=True))


def test_a_killed_worker_loses_no_run(
    plan: Sweep, tmp_path: Path, two_workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WORK", 0.0)  # one run per chunk, so that there is a middle
    victim = two_workers.workers[0]
    killed: list[int] = []

    def kill(_share: float, done: int, _total: int) -> None:
        if not killed and 0 < done < 20:
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    with Dask(two_workers.scheduler_address) as executor:
        sweep(plan, out=tmp_path / "dask", executor=executor, progress=kill)
    assert killed, "the kill came too late"
    sweep(plan, out=tmp_path / "serial", executor=Serial())
    for ours, theirs in zip(tables(tmp_path / "dask"), tables(tmp_path / "serial"), strict=True):
        assert ours.equals(theirs)
    assert pl.read_parquet(tmp_path / "dask/runs/*.parquet")["run_id"].n_unique() == 24
    assert not (tmp_path / "dask/failures.jsonl").exists()


def test_a_cluster_without_workers_is_an_error(
    plan: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WORK", 0.0)  # one run per chunk, so that there is a middle
    monkeypatch.setattr(cluster, "NO_WORKERS_S", 0.2)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as found:

        def dismiss(_share: float, done: int, _total: int) -> None:
            if done:
                found.scale(0)

        with (
            Dask(found.scheduler_address) as executor,
            pytest.raises(RunFailed, match=r"no worker for 0\.2 s; finished runs are kept"),
        ):
            sweep(plan, out=tmp_path, executor=executor, progress=dismiss)
    assert 0 < status(tmp_path)["done"] < 24
    assert sweep(plan, out=tmp_path, executor=Serial()).complete
    assert status(tmp_path)["done"] == 24


def test_a_run_that_kills_its_workers_fails_alone(
    small: Scenario, tmp_path: Path, two_workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dask, "_connect", lambda self: distributed.Client(self.address))
    (tmp_path / "deadly.py").write_text(
        "import os\nimport sojourn\n\n\nclass Deadly(sojourn.Aqm):\n"
        '    """Ends its process, if asked to."""\n\n'
        '    deadly = sojourn.Param(0, doc="Whether it does.", source="a test")\n\n'
        "    def on_offered(self, now, packet, queue):\n"
        "        if self.deadly:\n            os._exit(1)\n"
    )
    spec = f"{tmp_path}/deadly.py:Deadly"
    short = small.with_(duration="1s", warmup="0s")
    with permitting(True):
        wanted = points(short, [spec], range(1, 5))
        # The fourth of five: in one chunk with the third, after two chunks of one run.
        wanted[3:3] = points(short, [f"{spec} deadly 1"], [7])
    found = []
    with (
        Dask(two_workers.scheduler_address) as executor,
        pytest.raises(RunFailed, match=r"1 of 5 runs failed.*seed 7: every worker that executed it died"),
    ):
        found.extend(execute(wanted, executor=executor))
    assert {outcome.point for outcome in found} == {*wanted} - {wanted[3]}


def test_a_worker_with_another_core_is_refused(
    small: Scenario, two_workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = points(small, ["red"], [1])
    monkeypatch.setattr(_core, "CORE_VERSION", "0.0.0+another")
    with pytest.raises(InputError, match=r"worker tcp://.* has another core, .*allowed: core 0.0.0.another"):
        list(execute(wanted, executor=Dask(two_workers.scheduler_address)))
    assert cluster._other("No module named sojourn").startswith("has no working sojourn")
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="another version of the metrics"):
        cluster.work([], {**cluster.version(), "metrics": "older"}, [], None, False)


def test_an_unreachable_cluster_is_an_error(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.3)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(
            InputError, match=r"dask = .*no scheduler answers.*allowed: tcp://HOST:PORT, or local"
        ):
            list(execute(points(small, ["red"], [1]), executor=Dask(address)))


def test_chunks_take_seconds_and_get_smaller_at_the_end() -> None:
    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"a": 1, "b": 1}

    chunks = object.__new__(cluster._Chunks)
    chunks._seconds, chunks._client, chunks._in_flight = None, Client(), {}
    chunks._suspects = cluster.deque()
    assert chunks._size() == 1, "a trial"
    chunks._update_seconds(0.01)
    assert chunks._size() == 300
    chunks._update_seconds(5.0)
    assert chunks._size() == 1, "slow runs have their own chunk"
    sent: list[list[int]] = []
    chunks._send = lambda indices: sent.append(indices) or chunks._in_flight.update({len(sent): indices})  # type: ignore[assignment, method-assign, func-returns-value, call-overload]
    chunks._seconds = 0.01
    chunks._source, chunks._jobs, chunks._taken = iter([("plan", 1)] * 100), {}, 0
    chunks._feed()
    assert [len(one) for one in sent] == [50, 25, 13, 6]
    assert sorted(index for one in sent for index in one) == list(range(94))
    chunks._in_flight = {}  # nothing to cancel


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"])
def test_invalid_shards_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="shard = "):
        Shard.parse(text)


def test_shards_are_a_partition() -> None:
    parts = [Shard(i, 3).of(range(10)) for i in (1, 2, 3)]
    assert sorted(x for part in parts for x in part) == list(range(10))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_job_script_runs_the_sweep(plan: Sweep, tmp_path: Path) -> None:
    """Without SLURM, bash starts the tasks of the array, the last one first."""
    folder = tmp_path / "a folder"
    script = write_script(plan, folder, 3, command=["sojourn", "sweep", "plan.toml"])
    assert "#SBATCH --array=1-3" in script.read_text()
    assert f'#SBATCH --output="{folder}/slurm-%A_%a.log"' in script.read_text()
    for task in ("3", "1", "2"):
        done = subprocess.run(
            ["bash", script], env={**os.environ, "SLURM_ARRAY_TASK_ID": task}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    sweep(plan, out=tmp_path / "here")
    for ours, theirs in zip(tables(folder), tables(tmp_path / "here"), strict=True):
        assert ours.equals(theirs)
    with pytest.raises(InputError, match="sbatch = 99 is out of range"):
        write_script(plan, folder, 99)
    for name in ("new\nline", 'a"quote', "back\\slash"):
        with pytest.raises(InputError, match="has a character that sbatch cannot take"):
            write_script(plan, tmp_path / name, 3)
        assert not (tmp_path / name).exists()


def test_the_command_line_reaches_every_executor(tmp_path: Path, small_file: Path) -> None:
    words = [sys.executable, "-m", "sojourn", "sweep", str(small_file), "--seeds", "4", "--json"]
    said = [
        subprocess.run([*words, "--out", f"o{i}", *more], cwd=tmp_path, capture_output=True, text=True)
        for i, more in enumerate((["--serial"], ["--workers", "2"], ["--dask", "local", "--workers", "2"]))
    ]
    assert [one.returncode for one in said] == [0, 0, 0], [one.stderr for one in said]
    assert said[0].stdout == said[1].stdout == said[2].stdout
    folder, report, identity = said[2].stderr.splitlines()[-3:]
    assert (folder, report) == ("folder: o2", "report: o2/report.html")
    assert identity == said[0].stderr.splitlines()[-1]
    assert identity.startswith("id: sojourn:")
    both = subprocess.run(
        [*words, "--serial", "--workers", "2"], cwd=tmp_path, capture_output=True, text=True
    )
    assert both.returncode == 2
    assert "serial has no workers" in both.stderr


def test_an_interrupted_cluster_keeps_finished_runs(
    plan: Sweep, tmp_path: Path, two_workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WORK", 0.0)

    def interrupt(_share: float, done: int, _total: int) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    with Dask(two_workers.scheduler_address) as executor, pytest.raises(KeyboardInterrupt):
        sweep(plan, out=tmp_path, executor=executor, progress=interrupt)
    assert 4 <= status(tmp_path)["done"] < 24
    assert sojourn.CORE_VERSION == _core.CORE_VERSION


@pytest.mark.parametrize("has_connected", [True, False], ids=["open", "never made"])
def test_garbage_collection_of_a_connection_stops_no_other(
    two_workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch, has_connected: bool
) -> None:
    """The garbage collector finds an unclosed connection while the thread of the next one starts."""
    forgotten = Dask(two_workers.scheduler_address if has_connected else "nonsense://x")
    try:
        forgotten._client = forgotten._connect()
    except InputError as error:
        error.circle = error  # type: ignore[attr-defined]
    left = weakref.WeakSet([] if forgotten._client is None else [forgotten._client])
    forgotten.circle = forgotten  # type: ignore[attr-defined]
    del forgotten
    make = distributed.utils.get_loop_factory
    collected: list[int] = []

    def collect() -> object:
        collected.append(gc.collect())
        return make()

    monkeypatch.setattr(distributed.utils, "get_loop_factory", collect)
    with Dask(two_workers.scheduler_address) as executor:
        executor._client = executor._connect()
        assert collected
    for client in left:
        cluster._leave(client)
