"""Runs the gateway at full speed and checks that its memory does not grow: ``soak.py SECONDS``.

Four TCP flows fill a link of 1 Gbit/s, and a second sender sends small datagrams in the other direction. The
resident memory of this process, which contains the gateway, is read twice a second. Its slope after the first
`SETTLED` seconds (a line fitted by least squares) must be at most `BOUND`, otherwise the exit code is 1. The
sampling interval is 1 ms, so that each queue has its 100,000 samples, after which they are merged, within the
first two minutes instead of after 1000 s.

Seen to fail: the sampling interval of 10 ms, with which samples still accumulate (``--interval 10ms``).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from real import FLOOD, LEFT, RIGHT, between
from sojourn.errors import SojournError
from sojourn.worlds.hosts.namespace import missing
from sojourn.worlds.real.gateway import Link

#: Seconds before the slope counts: allocator, buffers and samples reach their full size.
SETTLED = 120.0
#: Largest slope of the resident memory, B/s: 7 MB in an hour. One byte per packet is 50,000 or more.
BOUND = 2000.0
#: Time between two readings, s, and readings per line of the table.
STEP, LINE = 0.5, 20
MERGED = "1ms"


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def slope(readings: list[tuple[float, int]]) -> float:
    """Return the slope in B/s of the readings (seconds, bytes) after `SETTLED`."""
    late = [(second, memory) for second, memory in readings if second >= SETTLED]
    return float(np.polyfit(*zip(*late, strict=True), 1)[0])


def soak(seconds: float, interval: str | None) -> list[tuple[float, int]]:
    """Run the gateway, print the table, return the readings."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    readings: list[tuple[float, int]] = []
    print(f"{'s':>6}{'Mbit/s':>9}{'packets/s':>11}{'resident MB':>13}{'peak MB':>9}", flush=True)
    with between(Link("1Gbit/s", "1ms", "1000p", "codel"), interval=interval) as (left, right, gateway):
        programs = [right.popen(["iperf3", "-s", "-1"], **quiet)]
        try:
            while ":5201" not in right.run(["ss", "-Hltn"]).stdout:
                time.sleep(0.02)
            programs.append(left.popen(["iperf3", "-c", RIGHT, "-t", str(seconds + 60), "-P", "4"], **quiet))
            programs.append(right.popen([sys.executable, "-c", FLOOD, LEFT, "0.001", "64"], **quiet))
            start, before = time.monotonic(), gateway.live()
            while (now := time.monotonic() - start) < seconds:
                readings.append((now, resident()))
                if len(readings) % LINE == 0:
                    live = gateway.live()
                    assert live is not None
                    assert before is not None
                    took = live.seconds - before.seconds
                    moved = live.queues[0]["departed_bytes"] - before.queues[0]["departed_bytes"]
                    packets = live.tally["read"] - before.tally["read"]
                    peak = max(memory for _, memory in readings[-LINE:])
                    print(
                        f"{now:6.0f}{8e-6 * moved / took:9.0f}{packets / took:11.0f}"
                        f"{readings[-1][1] / 1e6:13.2f}{peak / 1e6:9.2f}",
                        flush=True,
                    )
                    if programs[1].poll() is not None or not moved:
                        raise SystemExit("soak: the sender ended before the run")
                    before = live
                time.sleep(STEP)
        finally:
            for program in programs:
                program.kill()
                program.wait()
        gateway.finish()  # raises RunFailed if packets were not conserved
    return readings


def main() -> None:
    """Measure, print the slope, and end with an error if it exceeds the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, help=f"duration, more than {SETTLED + 60:g}")
    parser.add_argument("--interval", default=MERGED, help=f"sampling interval ({MERGED})")
    given = parser.parse_args()
    if given.seconds < SETTLED + 60:
        sys.exit(f"soak: {given.seconds:g} s; allowed: {SETTLED + 60:g} s or more (DURATION=...)")
    problem = missing() or ("" if shutil.which("iperf3") else "the program iperf3 is not installed")
    if problem:
        sys.exit(f"soak: {problem}")
    found = slope(soak(given.seconds, given.interval))
    good = found <= BOUND
    word = "flat" if good else "NOT FLAT"
    print(f"slope after {SETTLED:g} s: {found:+.0f} B/s, bound {BOUND:.0f} B/s: {word}")
    sys.exit(not good)


if __name__ == "__main__":
    try:
        main()
    except SojournError as error:
        sys.exit(f"soak: {error}")
