"""Bottleneck packets per CPU second, instructions per packet, ratios to ns-2 and ns-3 (see README.md).

``bench.py [CASE]...`` measures; ``bench.py --check`` counts instructions of short runs and holds them against
``bounds.json``; ``bench.py --bound`` writes that file anew.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sojourn

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAN = ROOT / "target/release/examples/plan"
ORACLE = ROOT / "validation/ns2/oracle.tcl"
NS3_SOURCE = HERE / "dumbbell_ns3.cc"
NS3 = ROOT / "target/bench/dumbbell_ns3"
NS3_LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control", "applications", "stats")
BOUNDS = HERE / "bounds.json"
RUNS = 5
#: A count of instructions may lie so much above its bound.
SLACK = 1.1


@dataclass(frozen=True)
class Case:
    """A scenario, an algorithm, and the commands for the same in ns-2 and ns-3 (None: not written for it)."""

    name: str
    file: str
    spec: str
    ns2: list[str] | None = None
    ns3: list[str] | None = None
    #: Changes of the scenario.
    rate: str | None = None
    flows: int | None = None
    duration: str | None = None
    #: Seconds of the run whose instructions are counted; callgrind is fifty times slower.
    counted: str | None = None
    #: Whether memory is measured.
    memory: bool = False
    #: Whether `--check` holds it.
    bounded: bool = False

    def scenario(self, duration: str | None = None, part: int = 1) -> sojourn.Scenario:
        """Return the scenario, or a `part`-th of its flows and rate."""
        scenario = sojourn.load(HERE / self.file).with_(warmup="0s")
        if duration := duration or self.duration:
            scenario = scenario.with_(duration=duration)
        if self.flows is not None and self.rate is not None:
            data = scenario.model_dump(by_alias=True, exclude_none=True)
            number, unit = re.fullmatch(r"(\d+)(.*)", self.rate).groups()
            dumbbell = {**data["dumbbell"], "rate": f"{int(number) * 1000 // part}{unit}".replace("G", "M")}
            traffic = [{**data["traffic"][0], "count": self.flows // part}]
            scenario = scenario.with_(dumbbell=dumbbell, traffic=traffic)
        return scenario


def oracle(*more: str) -> list[str]:
    """Return the command of the ns-2 dumbbell."""
    return [
        "ns",
        str(ORACLE),
        "-N",
        "40",
        "-accdelays",
        "10,10,10,10,10",
        "-buf",
        "100",
        "-end",
        "200",
        *more,
    ]


RED = "red min_th 15 max_th 45 max_p 0.1 w_q 0.002"
MANY = "red min_th 1500p max_th 4500p max_p 0.1 w_q 0.0001"
CASES = [
    Case("dumbbell-40-red", "dumbbell-40.toml", RED, oracle("-aqm", "RED"), ["--aqm=red"], bounded=True),
    Case(
        "dumbbell-40-droptail",
        "dumbbell-40.toml",
        "droptail",
        oracle("-aqm", "DropTail"),
        ["--aqm=droptail"],
        bounded=True,
    ),
    Case("dumbbell-40-codel", "dumbbell-40.toml", "codel", None, ["--aqm=codel"], bounded=True),
    Case(
        "dumbbell-40-sack-red",
        "dumbbell-40-sack.toml",
        RED,
        oracle("-tcp", "Sack1", "-aqm", "RED"),
        ["--aqm=red", "--sack=1"],
        bounded=True,
    ),
    Case("dumbbell-40-pi", "dumbbell-40.toml", "pi", oracle("-aqm", "PI")),
    Case("flows-10000-1g", "many.toml", MANY, rate="1Gbit/s", flows=10_000, counted="1s", memory=True),
    Case(
        "flows-10000-10g",
        "many.toml",
        MANY,
        rate="10Gbit/s",
        flows=10_000,
        duration="3s",
        counted="500ms",
        memory=True,
    ),
    Case(
        "flows-100000-10g",
        "many.toml",
        MANY,
        rate="10Gbit/s",
        flows=100_000,
        duration="3s",
        counted="500ms",
        memory=True,
    ),
    Case("two-way", "two-way.toml", RED, ["ns", str(HERE / "two-way.tcl")], bounded=True),
    Case("gfc2", "../examples/gfc2.toml", "droptail"),
    Case("web", "../examples/web.toml", "red min_th 35p max_th 150p max_p 0.1 w_q 0.002"),
]


def main() -> None:
    """Measure every case, or those named on the command line."""
    wanted = sys.argv[1:]
    if not PLAN.exists():
        sys.exit("bench: build first: cargo build --release -p sojourn-sim --examples")
    if wanted == ["--bound"]:
        BOUNDS.write_text(json.dumps(short_counts(), indent=2) + "\n")
        return
    if wanted == ["--check"]:
        sys.exit("\n".join(too_many()) or 0)
    others = {"seeds-2-cores": seeds, "start-up": start_up}
    names = [*(case.name for case in CASES), *others]
    if unknown := [name for name in wanted if name not in names]:
        sys.exit(f"bench: no case {unknown[0]}; there are {', '.join(names)}")
    build_ns3()
    for case in CASES:
        if not wanted or case.name in wanted:
            print(measure(case), flush=True)
    for name, line in others.items():
        if not wanted or name in wanted:
            print(line(), flush=True)


@dataclass
class Run:
    """Some runs of one program: packets of the whole run, user CPU seconds of each."""

    packets: int
    seconds: list[float] = field(default_factory=list)

    def speed(self) -> float:
        """Return packets per CPU second."""
        return self.packets / statistics.median(self.seconds)


def measure(case: Case) -> str:
    """One line of results."""
    with plan(case.scenario(), case.spec) as file:
        commands = {"ours": [str(PLAN), file, "1"]}
        packets = {"ours": ours(commands["ours"])["arrivals"]}
        if case.ns2 and shutil.which("ns"):
            commands["ns2"] = [*case.ns2, "-warm", "100", "-stats", "0"]
            packets["ns2"] = json.loads(run([*case.ns2, "-warm", "0"])[0])["arrivals"]
        if case.ns3 and NS3.exists():
            commands["ns3"] = [str(NS3), "--end=20", *case.ns3]
            packets["ns3"] = json.loads(run(commands["ns3"])[0])["arrivals"]
        runs = {name: Run(packets[name]) for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                runs[name].seconds.append(run(command)[1])
    speed = runs["ours"].speed()
    ratio = {name: f"{speed / runs[name].speed():.1f}" if name in runs else "-" for name in ("ns2", "ns3")}
    line = (
        f"{case.name} packets_per_cpu_s={speed:.0f} instructions_per_packet={count(case, case.counted)} "
        f"ratio_ns2={ratio['ns2']} ratio_ns3={ratio['ns3']}"
    )
    return line + (f" bytes_per_flow={memory(case)}" if case.memory else "")


@contextmanager
def plan(scenario: sojourn.Scenario, spec: str) -> Iterator[str]:
    """Write what the core is asked to do into a file, for a while."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario.plan(spec), file)
        file.flush()
        yield file.name


def ours(command: list[str]) -> dict[str, int]:
    """Run a plan: packets offered to the bottleneck, and the largest resident memory in bytes."""
    text = run(command)[0]
    return {key: int(value) for key, value in re.findall(r"(arrivals|peak_bytes)=(\d+)", text)}


def run(command: list[str]) -> tuple[str, float]:
    """Run a command; return its standard output and its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def count(case: Case, duration: str | None) -> str:
    """Instructions per packet, or `-` without valgrind."""
    if not shutil.which("valgrind"):
        return "-"
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    with plan(case.scenario(duration), case.spec) as file:
        command = [str(PLAN), file, "1"]
        packets = ours(command)["arrivals"]
        done = subprocess.run([*tool, *command], check=True, capture_output=True, text=True)
    total = int(re.search(r"refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))
    return f"{total / packets:.0f}"


def memory(case: Case) -> int:
    """Bytes that a flow costs: what all take more than a tenth of them on a tenth of the rate."""
    with plan(case.scenario(), case.spec) as whole, plan(case.scenario(part=10), case.spec) as part:
        more = ours([str(PLAN), whole, "1"])["peak_bytes"] - ours([str(PLAN), part, "1"])["peak_bytes"]
    return round(more / (case.flows * 0.9))


def seeds() -> str:
    """How much faster two cores run eight seeds than one."""
    scenario, seconds = sojourn.load(HERE / "dumbbell-40.toml"), {1: [], 2: []}
    for _ in range(RUNS):
        for workers in seconds:
            begun = time.monotonic()
            sojourn.run(scenario, [RED], 8, workers=workers)
            seconds[workers].append(time.monotonic() - begun)
    return f"seeds-2-cores speedup={statistics.median(seconds[1]) / statistics.median(seconds[2]):.2f}"


def start_up() -> str:
    """How long `sojourn run` takes before the first packet: until it calls the core."""
    stop = (
        "import os, sojourn._core as core; core.Batch = lambda *jobs: os._exit(0); "
        "from sojourn.cli import main; main()"
    )
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", stop, "run", str(HERE / "dumbbell-40.toml"), "--out", f"{out}/run"]
        for _ in range(2 * RUNS):
            begun = time.monotonic()
            cpu.append(run(command)[1])
            wall.append(time.monotonic() - begun)
    return f"start-up seconds={min(wall):.2f} cpu_seconds={statistics.median(cpu):.2f}"


def short_counts() -> dict[str, int]:
    """Instructions per packet of the first 20 s of the bounded cases."""
    return {case.name: int(count(case, "20s")) for case in CASES if case.bounded}


def too_many() -> list[str]:
    """Say which cases take more instructions than their bound allows."""
    bounds = json.loads(BOUNDS.read_text())
    return [
        f"{name}: {count} instructions a packet, the bound is {bounds[name]} and a tenth"
        for name, count in short_counts().items()
        if count > SLACK * bounds[name]
    ]


def build_ns3() -> None:
    """Compile the same dumbbell for ns-3, where that is installed."""
    if NS3.exists() and NS3.stat().st_mtime > NS3_SOURCE.stat().st_mtime:
        return
    if shutil.which("g++") and Path("/usr/include/ns3").exists():
        NS3.parent.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
        command = ["g++", "-O2", "-std=c++17", str(NS3_SOURCE), "-o", str(NS3), *libraries]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    os.environ.setdefault("SOJOURN_DEBUG", "1")
    main()
