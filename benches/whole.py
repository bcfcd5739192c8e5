"""Measurements of the whole package: seeds on two cores, and the start-up of `sojourn run`."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import HERE, RED

import sojourn

RUNS = 5
SEEDS = 64
#: Load of other processes, in cores, above which the machine counts as busy: two threads then share a core.
QUIET = 0.1


def seeds() -> str:
    """Return a line with the speed-up of two threads over one on the same seeds, and the other load."""
    scenario, seconds = sojourn.load(HERE / "dumbbell-40.toml"), {1: [], 2: []}
    sojourn.run(scenario, [RED], 1)
    before = _busy(), _own(), time.monotonic()
    for _ in range(RUNS):
        for workers in seconds:
            begun = time.monotonic()
            sojourn.run(scenario, [RED], SEEDS, workers=workers)
            seconds[workers].append(time.monotonic() - begun)
    wall = time.monotonic() - before[2]
    others = max(0.0, (_busy() - before[0] - (_own() - before[1])) / wall)
    speedup = statistics.median(seconds[1]) / statistics.median(seconds[2])
    line = f"seeds-2-cores speedup={speedup:.2f} others_cores={others:.2f}"
    return f"{line} void=busy" if others > QUIET else line


def start_up() -> str:
    """Return a line with the time of `sojourn run` until it calls the core."""
    stop = (
        "import os, sojourn._core as core; core.Batch = lambda *jobs: os._exit(0); "
        "from sojourn.cli import main; main()"
    )
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", stop, "run", str(HERE / "dumbbell-40.toml"), "--out", f"{out}/run"]
        # The first start writes the byte code, as for an installed package.
        cached = {**os.environ, "PYTHONPYCACHEPREFIX": f"{out}/cache"}
        cached.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, check=True, capture_output=True, env=cached)
        for _ in range(2 * RUNS):
            begun, used = time.monotonic(), _own(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, capture_output=True, env=cached)
            cpu.append(_own(resource.RUSAGE_CHILDREN) - used)
            wall.append(time.monotonic() - begun)
    return f"start-up seconds={min(wall):.2f} cpu_seconds={statistics.median(cpu):.2f}"


def _busy() -> float:
    """Return the CPU seconds since boot in which cores were busy or used by another guest."""
    words = Path("/proc/stat").read_text().split(maxsplit=9)
    user, nice, system, _, _, irq, soft, steal = (int(word) for word in words[1:9])
    return (user + nice + system + irq + soft + steal) / 100


def _own(whose: int = resource.RUSAGE_SELF) -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime
