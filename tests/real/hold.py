"""Stop processes temporarily, as if they had lost their processors: ``hold.py PID...``

It prints the time in nanoseconds during which all of their threads were stopped. SIGSTOP takes effect when a
thread is next scheduled, so the time starts when all have stopped.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Duration, s.
TIME = 0.3


def hold(*pids: int) -> int:
    """Stop these processes, possibly including this one; return the minimum duration in nanoseconds."""
    command = [sys.executable, __file__, *map(str, pids)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def has_stopped(pid: int) -> bool:
    """Return whether all threads of a process have stopped."""
    try:
        stats = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
        return False
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
