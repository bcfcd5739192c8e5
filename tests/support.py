"""Constants and processes of several tests."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parent.parent

SMALL = """
name = "small"
duration = "6s"
warmup = "2s"
conventions = "rfc"

[dumbbell]
rate = "2Mbit/s"
delay = "5ms"
access = { rate = "10Mbit/s", delays = ["5ms", "20ms"] }
server = { rate = "10Mbit/s", delay = "5ms" }

[queue]
limit = "30p"
aqm = "red min_th 5 max_th 15"

[[traffic]]
name = "ftp"
kind = "tcp"
count = 6
payload = "500B"
header = "40B"
start = "uniform 0s 1s"

[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "200kbit/s"
size = "500B"
"""


def until(done: Callable[[], object]) -> None:
    """Wait until `done` returns a true value; fail after a time limit."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.01)


def read_process(path: Path) -> str:
    """Return a file of /proc, or nothing if its process, thread or descriptor no longer exists."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def threads(pid: int | str = "self") -> dict[int, str]:
    """Return the names of the threads of a process by thread id, without those that end meanwhile."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    names = {int(task.name): read_process(task / "comm").strip() for task in tasks}
    return {task: name for task, name in names.items() if name}


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    stat = read_process(Path(f"/proc/{pid}/stat"))
    return stat.rpartition(")")[2].split()[:1] not in ([], ["Z"])
