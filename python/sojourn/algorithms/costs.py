"""Measures the cost of a decision of each algorithm and scheduler (``sojourn bench aqm``).

The load is 9/8 of a link of 20 Mbit/s: 500-byte packets of 10, 1,000 and 100,000 flows in turn into a buffer
of 100 packets, after a run to steady state (``crates/aqm/src/inspect.rs``). Nanoseconds are the minimum of
several runs, since a busy machine only increases them, and include the queue around an algorithm: the row of
DropTail is the cost of the queue alone. Instructions are those of the decision alone; callgrind counts them
in a program built from a clone, which also reports the memory.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core

RATE = 20_000_000
FLOWS = (10, 1_000, 100_000)
PACKETS = 45_000
REPEATS = 7
COUNTED = 18_000  # number of packets when callgrind counts
EVENTS = ("arrival", "departure", "timer")
PROGRAM = Path(__file__).resolve().parents[3] / "target/release/examples/cost"
BUILD = "cargo build --release -p sojourn-aqm --examples"


def subjects() -> list[dict[str, Any]]:
    """Every algorithm, then every scheduler, in the order of the registry."""
    return [*_core.algorithms(), *_core.schedulers()]


def missing() -> str | None:
    """Return the reason why instructions cannot be counted here, or an empty text."""
    if not PROGRAM.exists():
        return f"instructions and memory need a clone of the project, and there: {BUILD}"
    return None if shutil.which("valgrind") else "instructions need valgrind"


def measure(
    specs: Sequence[str], progress: Callable[[float, int, int], None] | None = None
) -> dict[str, Any]:
    """Measure each of ``specs``; return the machine, missing measurements with reasons, one entry per spec.

    ``progress`` is called with the completed share, the number of finished specs, and their total.
    """
    costs = []
    for done, spec in enumerate(specs):
        if progress is not None:
            progress(done / len(specs), done, len(specs))
        costs.append(_cost(spec))
    return {"machine": machine(), "core": _core.CORE_VERSION, "missing": missing(), "costs": costs}


def machine() -> str:
    """Describe this machine: processor, cores, operating system."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    name = model[1] if model else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def _cost(spec: str) -> dict[str, Any]:
    counts = _core.inspect(spec, RATE, FLOWS[1], PACKETS)
    packets, timers = counts["packets"], counts["timers"]
    times = {flows: _times(spec, flows) for flows in FLOWS}
    counted = {flows: _instructions(spec, flows) for flows in FLOWS} if missing() is None else None
    return {
        "spec": spec,
        "instance_bytes": counts["state_bytes"],
        "state_bytes": {str(flows): _state(spec, flows) for flows in FLOWS} if PROGRAM.exists() else None,
        "draws_per_packet": counts["draws"] / packets,
        "looks_per_packet": counts["looks"] / packets,
        "moves_per_packet": counts["moves"] / packets,
        "departures_per_packet": counts["departures"] / packets,
        "timers_per_packet": timers / packets,
        "timer_period_s": counts["elapsed_ns"] * 1e-9 / timers if timers else None,
        "nanoseconds": {str(flows): time for flows, time in times.items()},
        "instructions": counted and {str(flows): count for flows, count in counted.items()},
    }


def _times(spec: str, flows: int) -> dict[str, float | None]:
    runs = [_core.stopwatch(spec, RATE, flows, PACKETS) for _ in range(REPEATS)]
    best = (
        min((time for time in event if time is not None), default=None) for event in zip(*runs, strict=True)
    )
    return dict(zip(EVENTS, best, strict=True))


def _state(spec: str, flows: int) -> int:
    """Bytes of a copy of the instance after the run."""
    return int(_run([str(PROGRAM), spec, str(flows), str(COUNTED)]))


def _instructions(spec: str, flows: int) -> dict[str, float | None]:
    with tempfile.NamedTemporaryFile("r") as file:
        tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={file.name}"]
        _run([*tool, str(PROGRAM), spec, str(flows), str(COUNTED)])
        return _inclusive(file.read())


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _inclusive(profile: str) -> dict[str, float | None]:
    r"""Count instructions per call of the functions that execute decisions, from callgrind's file.

    Examples
    --------
    >>> _inclusive("fn=(7) x::arrival_at_queue\n0 3\ncfn=(7)\ncalls=4 1\n+3 80\n\ncfn=(7)\ncalls=1 1\n* 20\n")
    {'arrival': 20.0, 'departure': None, 'timer': None}
    """
    names = dict(re.findall(r"^c?fn=\((\d+)\) (.+)$", profile, re.MULTILINE))
    calls, spent = dict.fromkeys(EVENTS, 0), dict.fromkeys(EVENTS, 0)
    for number, times, cost in re.findall(
        r"^cfn=\((\d+)\).*\ncalls=(\d+).*\n\S+ (\d+)", profile, re.MULTILINE
    ):
        event = re.search(r"(arrival|departure|timer)_at_(?:queue|scheduler)", names.get(number, ""))
        if event:
            calls[event[1]] += int(times)
            spent[event[1]] += int(cost)
    return {event: spent[event] / calls[event] if calls[event] else None for event in EVENTS}


def per_packet(cost: dict[str, Any], unit: str, flows: int) -> float | None:
    """Return `unit` (nanoseconds, instructions) per packet: arrival, departure, its share of the timers."""
    part = (cost[unit] or {}).get(str(flows))
    if part is None:
        return None
    departure = (part["departure"] or 0) * cost["departures_per_packet"]
    return float(part["arrival"] + departure + (part["timer"] or 0) * cost["timers_per_packet"])


HEAD = [
    "algorithm",
    *(f"{event} instr." for event in EVENTS),
    *(f"{event} ns" for event in EVENTS),
    "timer every",
    "state moves per packet",
    "random numbers per packet",
    "looks per packet",
    "bytes at 10 flows",
    "bytes at 100,000",
    "{unit} per packet at 10 flows",
    "at 1,000",
    "at 100,000",
]


def table(measured: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the measurements as a table with a header; `-` is a missing value."""
    unit = "nanoseconds" if measured["missing"] else "instructions"
    rows = []
    for cost in measured["costs"]:
        counted = (cost["instructions"] or {}).get(str(FLOWS[1]), {})
        times = cost["nanoseconds"][str(FLOWS[1])]
        state = cost["state_bytes"] or {}
        period = cost["timer_period_s"]
        rows.append(
            [
                cost["spec"],
                *(_number(counted.get(event)) for event in EVENTS),
                *(_number(times[event]) for event in EVENTS),
                "-" if period is None else f"{period * 1e3:,.4g} ms",
                f"{cost['moves_per_packet']:.2g}",
                f"{cost['draws_per_packet']:.2g}",
                f"{cost['looks_per_packet']:.2g}",
                *(_number(state.get(str(flows))) for flows in (FLOWS[0], FLOWS[-1])),
                *(_number(per_packet(cost, unit, flows)) for flows in FLOWS),
            ]
        )
    return [head.format(unit="ns" if measured["missing"] else "instr.") for head in HEAD], rows


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
