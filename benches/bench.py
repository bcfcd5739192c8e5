"""Packets per CPU second, instructions per packet, ratios to ns-2 and ns-3: one line a case (see README.md).

``bench.py [CASE]...`` measures; ``bench.py --twins [CASE]...`` compares the packets of twins in ns-2 and ns-3
with ours; ``bench.py --check`` counts instructions of short runs and compares them with ``bounds.json``;
``bench.py --bound`` writes that file again.
"""

from __future__ import annotations

import json
import os
import statistics
import sys

from cases import CASES, HERE, Case
from programs import (
    NS3_SECONDS,
    PLAN,
    Count,
    build_ns3,
    count,
    instructions,
    memory,
    missing,
    ns2,
    ns3,
    ours,
    plan,
    run,
)
from whole import RUNS, seeds, start_up

#: CPU seconds of a turn: a short program runs repeatedly until it reaches them.
TURN = 0.4
BOUNDS = HERE / "bounds.json"
#: Tolerance: a count of instructions may exceed its bound by this factor.
SLACK = 1.1
#: Seeds of each twin that are counted.
TWIN_SEEDS = 3
#: Measurements of the whole package.
WHOLE = {"seeds-2-cores": seeds, "start-up": start_up}


def main() -> None:
    """Run the command line."""
    wanted = sys.argv[1:]
    if not PLAN.exists():
        sys.exit("bench: build first: cargo build --release -p sojourn-sim --examples")
    if wanted == ["--bound"]:
        BOUNDS.write_text(json.dumps(short_counts(), indent=2) + "\n")
    elif wanted == ["--check"]:
        sys.exit("\n".join(too_many()) or 0)
    elif wanted[:1] == ["--twins"]:
        build_ns3()
        for case in chosen(wanted[1:], {}):
            for line in twins(case):
                print(line, flush=True)
    else:
        some = chosen(wanted, WHOLE)
        build_ns3()
        for line in missing():
            print(f"bench: {line}", file=sys.stderr)
        for one in some:
            print(measure(one) if isinstance(one, Case) else WHOLE[one](), flush=True)


def chosen(wanted: list[str], more: dict) -> list[Case | str]:
    """Return the cases and whole-package measurements of these names, or all of them."""
    found = {**{case.name: case for case in CASES}, **{name: name for name in more}}
    if unknown := [name for name in wanted if name not in found]:
        sys.exit(f"bench: no case {unknown[0]}; there are {', '.join(found)}")
    return [one for name, one in found.items() if not wanted or name in wanted]


def repeats(command: list[str]) -> int:
    """Return the number of runs per turn: the kernel measures user and system time in ticks of 4 ms."""
    return max(1, round(TURN / max(run(command)[1], 0.01)))


def measure(case: Case) -> str:
    """Return a line of results; programs take turns, so that a busy machine slows down all of them."""
    with plan(case) as file:
        commands = {"ours": ours(file), "ns2": ns2(case, counts=False), "ns3": ns3(case)}
        counting = {"ours": ours(file), "ns2": ns2(case, counts=True), "ns3": ns3(case)}
        programs = [name for name, command in commands.items() if command]
        packets = {name: count(counting[name]).offered for name in programs}
        often = {name: repeats(commands[name]) for name in programs}
        seconds = {name: [] for name in programs}
        for _ in range(RUNS):
            for name in programs:
                turn = [run(commands[name])[1] for _ in range(often[name])]
                seconds[name].append(statistics.mean(turn))
    speed = {name: packets[name] / statistics.median(seconds[name]) for name in programs}
    ratio = {name: f"{speed['ours'] / speed[name]:.1f}" if name in speed else "-" for name in ("ns2", "ns3")}
    line = (
        f"{case.name} packets_per_cpu_s={speed['ours']:.0f} "
        f"instructions_per_packet={instructions(case, case.counted)} "
        f"ratio_ns2={ratio['ns2']} ratio_ns3={ratio['ns3']}"
    )
    if not case.memory:
        return line
    alone, with_packets = memory(case)
    return f"{line} bytes_per_flow={alone} bytes_per_flow_with_packets={with_packets}"


def twins(case: Case) -> list[str]:
    """Compare the packets and drops that we count with those of a twin, as means over seeds."""
    lines, numbers = [], range(1, TWIN_SEEDS + 1)
    theirs = {}
    if ns2(case, counts=True):
        theirs["ns2"] = [count(ns2(case, counts=True, seed=seed)) for seed in numbers], None
    if ns3(case):
        theirs["ns3"] = [count(ns3(case, seed=seed)) for seed in numbers], f"{NS3_SECONDS}s"
    for name, (counted, duration) in theirs.items():
        with plan(case, duration) as file:
            own = mean([count(ours(file, seed)) for seed in numbers])
        other = mean(counted)
        lines.append(
            f"{case.name} {name} packets={other.offered} ours={own.offered} "
            f"({other.offered / own.offered - 1:+.1%}) drop_ratio={other.dropped / other.offered:.4f} "
            f"ours={own.dropped / own.offered:.4f}"
        )
    return lines


def mean(counts: list[Count]) -> Count:
    """Return the mean of counts, rounded to whole packets."""
    return Count(
        round(statistics.mean(one.offered for one in counts)),
        round(statistics.mean(one.dropped for one in counts)),
    )


def short_counts() -> dict[str, int]:
    """Return instructions per packet of the bounded cases, in their first 20 s or the case's own duration."""
    return {case.name: int(instructions(case, case.counted or "20s")) for case in CASES if case.bounded}


def too_many() -> list[str]:
    """Print the cases that exceed their bound of instructions."""
    bounds = json.loads(BOUNDS.read_text())
    return [
        f"{name}: {count} instructions per packet; the bound is {bounds[name]} plus 10 %"
        for name, count in short_counts().items()
        if count > SLACK * bounds[name]
    ]


if __name__ == "__main__":
    os.environ.setdefault("SOJOURN_DEBUG", "1")
    main()
