"""The simulators as programs: packets, drops, CPU time, instructions and memory of a run of a case."""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cases import HERE, Case

ROOT = HERE.parent
#: Our simulator as a program without Python.
PLAN = ROOT / "target/release/examples/plan"
NS3_SOURCE = HERE / "dumbbell_ns3.cc"
NS3 = ROOT / "target/bench/dumbbell_ns3"
NS3_LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control", "applications", "stats")
#: ns-3 takes seconds of CPU for each simulated one.
NS3_SECONDS = "20"
#: Seeds of measurements of memory: the C library's part varies by tens of bytes per flow between seeds.
MEMORY_SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Count:
    """Packets offered to every queue of the record in the whole run, and how many of them were dropped."""

    offered: int
    dropped: int


@contextmanager
def plan(case: Case, duration: str | None = None, part: int = 1, times: int = 1) -> Iterator[str]:
    """Write the plan of a case into a temporary file."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(case.scenario(duration, part, times).plan(case.spec), file)
        file.flush()
        yield file.name


def ours(file: str, seed: int = 1) -> list[str]:
    """Return the command that runs a plan."""
    return [str(PLAN), file, str(seed)]


def ns2(case: Case, counts: bool, seed: int = 1) -> list[str] | None:
    """Return the command of the twin in ns-2, if there is one, with or without its statistics."""
    if case.ns2 is None or not shutil.which("ns"):
        return None
    statistics = ["-warm", "0"] if counts else ["-warm", "100", "-stats", "0"]
    return ["ns", *case.ns2, "-end", f"{case.seconds:g}", "-seed", str(seed), *statistics]


def ns3(case: Case, seed: int = 1) -> list[str] | None:
    """Return the command of the twin in ns-3, if there is one; it always counts."""
    if case.ns3 is None or not NS3.exists():
        return None
    return [str(NS3), f"--end={NS3_SECONDS}", f"--RngRun={seed}", *case.ns3]


def run(command: list[str]) -> tuple[str, float]:
    """Run a command; return its standard output and its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def count(command: list[str]) -> Count:
    """Run a command and return the counts that it prints."""
    text = run(command)[0]
    if text.startswith("{"):
        found = json.loads(text)
        return Count(found["arrivals"], found["drops"])
    return Count(*(int(re.search(rf"{key}=(\d+)", text)[1]) for key in ("offered", "dropped")))


def instructions(case: Case, duration: str | None) -> str:
    """Return instructions per packet by callgrind, or `-` without valgrind."""
    if not shutil.which("valgrind"):
        return "-"
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    with plan(case, duration) as file:
        packets = count(ours(file)).offered
        done = subprocess.run([*tool, *ours(file)], check=True, capture_output=True, text=True)
    total = int(re.search(r"refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))
    return f"{total / packets:.0f}"


def memory(case: Case) -> tuple[int, int]:
    """Return the increment of peak resident memory per flow in bytes, as means over seeds.

    The first is at the same rate: twice the flows minus the case. The second includes packets: the case minus
    a tenth of the flows at a tenth of the rate.
    """
    all_, tenth, twice = (peak(case, part, times) for part, times in ((1, 1), (10, 1), (1, 2)))
    return round((twice - all_) / case.flows), round((all_ - tenth) / (case.flows * 0.9))


def peak(case: Case, part: int, times: int) -> float:
    """Return the peak resident memory of a run in bytes, the mean over seeds."""
    with plan(case, part=part, times=times) as file:
        runs = [run(ours(file, seed))[0] for seed in MEMORY_SEEDS]
    return statistics.mean(int(re.search(r"peak_bytes=(\d+)", text)[1]) for text in runs)


def build_ns3() -> None:
    """Compile the twin for ns-3, if ns-3 is installed."""
    if NS3.exists() and NS3.stat().st_mtime > NS3_SOURCE.stat().st_mtime:
        return
    if shutil.which("g++") and Path("/usr/include/ns3").exists():
        NS3.parent.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
        subprocess.run(["g++", "-O2", "-std=c++17", str(NS3_SOURCE), "-o", str(NS3), *libraries], check=True)


def missing() -> list[str]:
    """Return notes on missing programs and the figures that are therefore `-`."""
    absent = []
    if not shutil.which("ns"):
        absent.append("ns-2 is not installed (Debian: ns2): ratio_ns2 is -")
    if not NS3.exists():
        absent.append("ns-3 is not installed (Debian: libns3-dev, g++): ratio_ns3 is -")
    if not shutil.which("valgrind"):
        absent.append("valgrind is not installed: instructions_per_packet is -")
    return absent
