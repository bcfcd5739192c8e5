"""Stops processes for a while, as if their processors had been taken away: ``hold.py PID...``

Prints the time in nanoseconds for which all of their threads were stopped. After SIGSTOP a thread runs
until it gets a processor to stop on, so the time starts when all have stopped.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: How long, s.
TIME = 0.3


def hold(*pids: int) -> int:
    """Stop these processes, of which one may be our own; return for how many nanoseconds at least."""
    command = [sys.executable, __file__, *map(str, pids)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def has_stopped(pid: int) -> bool:
    """Return whether all threads of a process have stopped."""
    stats = (task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat"))
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def main() -> None:
    """Stop, wait, continue."""
    pids = [int(word) for word in sys.argv[1:]]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    while not all(map(has_stopped, pids)):
        time.sleep(0.001)
    start = time.monotonic_ns()
    time.sleep(TIME)
    held = time.monotonic_ns() - start
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    print(held)


if __name__ == "__main__":
    main()
