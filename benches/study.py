"""The overhead of a study in milliseconds per run: ``python benches/study.py [RUNS]``.

A study of 4,000 short runs (2 s of a 1 Mbit/s link) is executed on every executor; in a first folder it is
killed with SIGKILL twice and resumed. All tables must be equal. The overhead is the CPU time of all processes
of a command, start-up and tables included, minus that of the core alone on the same jobs, divided by the
number of runs. The wall time is shown too. On a busy machine both are upper bounds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.runner.archive import Archive
from sojourn.study.sweep.plan_file import read
from sojourn.worlds.simulated.executors import cores

#: Number of jobs that the core gets at a time, since each contains its plan.
AT_ONCE = 256

PLAN = """
aqms = ["droptail", "red", "pie", "codel"]
seeds = SEEDS

[vary]
"queue.limit" = ["10p", "20p", "30p", "50p", "100p"]

[scenario]
name = "short"
duration = "2s"
warmup = "1s"
trace = { interval = "off" }

[scenario.dumbbell]
rate = "1Mbit/s"
delay = "5ms"
access = { rate = "10Mbit/s", delays = ["5ms", "20ms"] }
server = { rate = "10Mbit/s", delay = "5ms" }

[scenario.queue]
limit = "30p"
aqm = "droptail"

[[scenario.traffic]]
name = "ftp"
kind = "tcp"
count = 4
payload = "500B"
header = "40B"
start = "uniform 0s 1s"
"""


def core_alone(plan: Path, threads: int) -> float:
    """Return the CPU time of the core on every job of the plan."""
    jobs = [(point.plan_json, point.seed) for point in read(plan).points]
    begun = time.process_time()
    for begin in range(0, len(jobs), AT_ONCE):
        batch = _core.Batch(jobs[begin : begin + AT_ONCE], threads)
        left = len(jobs[begin : begin + AT_ONCE])
        while left:
            left -= len(batch.poll(1.0))
    return time.process_time() - begun


def killed(words: list[str], folder: Path, done: int) -> int:
    """Start a study, kill it when more than `done` runs are stored, and return their number."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runs = folder / "runs"
    files = len(list(runs.glob("*.parquet"))) if runs.exists() else 0
    while process.poll() is None and len(list(runs.glob("*.parquet"))) <= files:
        time.sleep(0.01)
    process.kill()
    process.wait()
    index = Archive(folder)
    kept = sum(point.run_id in index for point in read(folder / "sweep.toml").points)
    assert process.returncode == -9, "the study finished before it was killed"
    assert kept > done
    return kept


def tables(folder: Path) -> list[pl.DataFrame]:
    """Return runs and summary of a study."""
    rows = pl.read_parquet(folder / "runs/*.parquet", columns=["run_id"])
    assert rows["run_id"].n_unique() == rows.height, "a run is stored twice"
    return [
        pl.read_parquet(folder / "runs.parquet").sort("run_id"),
        pl.read_parquet(folder / "summary.parquet"),
    ]


def quiet(words: list[str]) -> tuple[float, float]:
    """Run a command and return its wall time and the CPU time of all its processes."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begun, used


def main(runs: int) -> None:
    """Print a line per executor."""
    with tempfile.TemporaryDirectory() as place:
        plan = Path(place) / "plan.toml"
        plan.write_text(PLAN.replace("SEEDS", str(runs // 20)))
        start = [sys.executable, "-m", "sojourn", "sweep", str(plan), "--json", "--out"]
        resumed = Path(place) / "resumed"
        kept = 0
        for _ in range(2):
            kept = killed([*start, str(resumed)], resumed, kept)
            print(f"killed with {kept} of {runs} runs done")
        subprocess.run(
            [*start, str(resumed)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        first = tables(resumed)
        assert first[0].height == runs
        for name, options, threads in (
            ("serial", ["--serial"], 1),
            ("local", [], cores()),
            ("dask", ["--dask", "local"], cores()),
        ):
            folder = Path(place) / name
            words = [*start, str(folder), *options]
            wall, used = quiet(words)
            alone = core_alone(plan, threads)
            same = all(a.equals(b) for a, b in zip(tables(folder), first, strict=True))
            print(
                f"{name:7} {wall:5.1f} s, CPU {used:5.2f} s, of the core alone {alone:4.2f} s: "
                f"{1e3 * (used - alone) / runs:.2f} ms of overhead per run; "
                f"tables {'equal' if same else 'DIFFER'}"
            )
            wall, used = quiet(words)
            print(f"        again, nothing to run: {wall:.1f} s, CPU {used:.2f} s")
        shards = Path(place) / "shards"
        for shard in (4, 2, 1, 3):
            quiet([*start, str(shards), "--shard", f"{shard}/4"])
        same = all(a.equals(b) for a, b in zip(tables(shards), first, strict=True))
        print(f"shards  four, one after the other: tables {'equal' if same else 'DIFFER'}")
        size = sum(path.stat().st_size for path in (shards / "runs").iterdir())
        print(f"disk    {size / runs:.0f} bytes per run")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
