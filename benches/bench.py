"""Bottleneck packets per CPU second, instructions per packet, and the ratio to ns-2 (see README.md)."""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sojourn

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAN = ROOT / "target/release/examples/plan"
ORACLE = ROOT / "validation/ns2/oracle.tcl"
RUNS = 5
COMMON = ["-N", "40", "-accdelays", "10,10,10,10,10", "-buf", "100", "-end", "200"]


@dataclass(frozen=True)
class Case:
    """A scenario, an algorithm, and what ns-2 is told for the same (None: it cannot do that)."""

    name: str
    scenario: str
    spec: str
    ns2: list[str] | None


RED = "red min_th 15 max_th 45 max_p 0.1 w_q 0.002"
CASES = [
    Case("dumbbell40-red", "dumbbell40.toml", RED, [*COMMON, "-aqm", "RED"]),
    Case("dumbbell40-droptail", "dumbbell40.toml", "droptail", [*COMMON, "-aqm", "DropTail"]),
    Case("dumbbell40-pi", "dumbbell40.toml", "pi", [*COMMON, "-aqm", "PI"]),
    Case("dumbbell40-sack-red", "dumbbell40-sack.toml", RED, [*COMMON, "-tcp", "Sack1", "-aqm", "RED"]),
    Case("two-way-red", "two-way.toml", RED, None),
]


def main() -> None:
    """Measure every case, or those named on the command line."""
    wanted = sys.argv[1:]
    unknown = [name for name in wanted if name not in {case.name for case in CASES}]
    if unknown:
        sys.exit(f"bench: no case {unknown[0]}; there are {', '.join(case.name for case in CASES)}")
    if not PLAN.exists():
        sys.exit("bench: build first: cargo build --release -p sojourn-sim --examples")
    for case in CASES:
        if not wanted or case.name in wanted:
            print(measure(case), flush=True)


def measure(case: Case) -> str:
    """One line of results."""
    scenario = sojourn.load(HERE / case.scenario).with_(warmup="0s")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario.plan(case.spec), file)
        file.flush()
        ours = [str(PLAN), file.name, "1"]
        packets = int(re.search(r"arrivals=(\d+)", run(ours)[0])[1])
        oracle = ["ns", str(ORACLE), *case.ns2] if case.ns2 and shutil.which("ns") else None
        theirs = [*oracle, "-warm", "100", "-stats", "0"] if oracle else None
        own, peer = [], []
        for _ in range(RUNS):
            own.append(run(ours)[1])
            if theirs:
                peer.append(run(theirs)[1])
        speed = packets / statistics.median(own)
        ratio = "-"
        if oracle:
            peer_packets = json.loads(run([*oracle, "-warm", "0"])[0])["arrivals"]
            ratio = f"{speed / (peer_packets / statistics.median(peer)):.1f}"
        return (
            f"{case.name} packets_per_cpu_s={speed:.0f} "
            f"instructions_per_packet={instructions(ours, packets)} ratio_ns2={ratio}"
        )


def run(command: list[str]) -> tuple[str, float]:
    """Run a command; return its standard output and its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def instructions(command: list[str], packets: int) -> str:
    """Instructions per packet, or `-` without valgrind."""
    if not shutil.which("valgrind"):
        return "-"
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*tool, *command], check=True, capture_output=True, text=True)
    total = int(re.search(r"refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))
    return f"{total / packets:.0f}"


if __name__ == "__main__":
    main()
