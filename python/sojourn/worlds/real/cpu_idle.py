"""Processors are kept awake while packets move: all of them in a virtual machine, else none.

A processor of a virtual machine that falls asleep is lent to others and may come back a tenth of a second
late. Everybody stands still meanwhile, and the link is idle as if its senders had nothing to send. One that
is kept busy, by something that gives way to everything else, stays; the sooner that begins, the better. A
machine's own processors wake within a fraction of a millisecond, and are left to sleep.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sojourn import _core

CPUINFO = Path("/proc/cpuinfo")
OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """Keep the processors that this process may use awake, where that helps."""
    is_wanted = is_virtual() and not has_quota()
    kept = _core.IdleGuard(sorted(os.sched_getaffinity(0)) if is_wanted else [])
    try:
        yield
    finally:
        kept.close()


def is_virtual(cpuinfo: Path = CPUINFO) -> bool:
    """Return whether the processors say that they are a virtual machine's; only those of x86 do."""
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.startswith("flags") and "hypervisor" in line.split() for line in lines)


def has_quota(own: Path = OWN_GROUPS, groups: Path = GROUPS) -> bool:
    """Return whether processor time is rationed, as in most containers: idling would use the ration up."""
    lines = (
        own.read_text(encoding="utf-8").splitlines() if own.exists() else ()
    )  # a kernel may have no groups
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        name = "cpu.cfs_quota_us" if controllers else "cpu.max"
        place = Path(path.lstrip("/"))
        for root in (groups, groups / (controllers or "unified")):
            for group in (place, *place.parents):
                if _quota(root / group / name):
                    return True
    return False


def _quota(file: Path) -> bool:
    try:
        word = file.read_text(encoding="ascii").split()[0]
    except (OSError, IndexError):
        return False
    return word not in ("max", "-1")
