"""Prevents idle states of the processors of a virtual machine while packets move.

The hypervisor gives an idle virtual processor to other guests and may schedule it again only after a tenth of
a second. Hosts and gateway stall in that time, and the link is idle although its senders have data. A thread
of the lowest priority on each processor prevents that; it should start before the hosts. Physical processors
leave their idle states within a fraction of a millisecond, so they are not kept busy.
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
def prevent_cpu_idle() -> Iterator[None]:
    """Keep the processors that this process may use busy, if they are virtual and have no quota."""
    is_wanted = is_virtual() and not has_quota()
    kept = _core.IdleGuard(sorted(os.sched_getaffinity(0)) if is_wanted else [])
    try:
        yield
    finally:
        kept.close()


def is_virtual(cpuinfo: Path = CPUINFO) -> bool:
    """Return whether the processors are virtual, according to their CPU flags (x86 only)."""
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.startswith("flags") and "hypervisor" in line.split() for line in lines)


def has_quota(own: Path = OWN_GROUPS, groups: Path = GROUPS) -> bool:
    """Return whether a quota limits processor time, as in most containers: a busy loop would use it up."""
    lines = (
        own.read_text(encoding="utf-8").splitlines() if own.exists() else ()
    )  # the kernel may lack control groups
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
