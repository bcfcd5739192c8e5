"""The process that holds a lease; ``/proc`` shows whether it still runs."""

from __future__ import annotations

import contextlib
import os
import platform
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process: host, boot of the kernel, PID namespace, PID, start in clock ticks, and a random name."""

    host: str
    boot: str
    namespace: str
    pid: int
    start: str
    name: str

    @classmethod
    def here(cls) -> Owner:
        """Return this process, under a new name."""
        boot, namespace = _kernel()
        return cls(platform.node(), boot, namespace, os.getpid(), _start(os.getpid()), uuid.uuid4().hex)

    def is_dead(self) -> bool | None:
        """Return whether the process has ended; None if that cannot be seen from here."""
        boot, namespace = _kernel()
        if not boot or (self.boot, self.namespace) != (boot, namespace):
            return None
        return _start(self.pid) != self.start


def boot() -> str:
    """Return the id of this boot of the kernel; an empty text if the system has none."""
    return _kernel()[0]


def _kernel() -> tuple[str, str]:
    """Return the id of this boot and the PID namespace; empty texts if the system has none."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - the target is not a path
    return "", ""


def _start(pid: int) -> str:
    """Return the start time of a process; empty if it has ended, even if its parent has not waited for it."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in (b"Z", b"X") else words[19].decode()
