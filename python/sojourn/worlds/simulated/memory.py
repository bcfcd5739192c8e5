"""The memory of runs: what this process may still take, and which runs may start.

A run whose bound (`memory_bound`) without traces exceeds its share of the available memory is not started: it
fails with a reason. Traces of congestion windows and drops grow with the packets of a run, and the bound on
them is loose, so the core asks for their memory before it writes, and stops a run whose traces exceed
`trace_limit`. So neither the allocator nor the kernel ends the process.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from sojourn.errors import InputError
from sojourn.spec.units import Wrong, number
from sojourn.worlds.simulated.memory_bound import COPIES, Bound, bound

#: The environment variable with the bytes that runs may take instead, or ``off``.
MEMORY = "SOJOURN_MEMORY"
#: The share of the available memory that runs may use.
SHARE = 0.8
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Return the bytes that this process may still allocate; None if unknown.

    The minimum of: the free memory of the machine, the limit of the control group, the limits of the process
    on its address space and data (``ulimit -v``, ``ulimit -d``).
    """
    found = []
    with contextlib.suppress(OSError, ValueError, KeyError):
        found.append(1024 * _kib(Path("/proc/meminfo"))["MemAvailable"])
    with contextlib.suppress(OSError, ValueError):
        found.append(int((CGROUP / "memory.max").read_text()) - int((CGROUP / "memory.current").read_text()))
    with contextlib.suppress(OSError, ValueError, KeyError):
        used = _kib(Path("/proc/self/status"))
        for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
            most = resource.getrlimit(limit)[0]
            if most != resource.RLIM_INFINITY:
                found.append(most - 1024 * used[name])
    return max(0, min(found)) if found else None


def _kib(path: Path) -> dict[str, int]:
    """Return the values of the lines ``Name: NUMBER kB`` in a file of the kernel, by name."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines if words[-1:] == ["kB"]}


def allowed() -> int | None:
    """Return the bytes that all runs together may take; None: no limit.

    Raises
    ------
    InputError
        If the environment variable is neither a size nor ``off``.
    """
    text = os.environ.get(MEMORY, "")
    if text == "off":
        return None
    if not text:
        free = available()
        return None if free is None else int(SHARE * free)
    try:
        return int(number("bytes", text))
    except Wrong as error:
        raise InputError(MEMORY, error.problem, "a size like 8GB, or off") from None


def run_limit(workers: int) -> int | None:
    """Return the bytes that each of `workers` runs at a time may take; None: no limit."""
    together = allowed()
    return None if together is None else together // workers


def trace_limit(limit: int | None) -> int | None:
    """Return the bytes that the core's traces of a run may take that has `limit`."""
    return None if limit is None else limit // COPIES


def refusal(plan_json: str, limit: int | None) -> MemoryError | None:
    """Return why a run is not started: without its traces it may need more than `limit`; None if it is."""
    found = bound(plan_json)
    if limit is None or found.untraced <= limit:
        return None
    return MemoryError(
        f"it may need {found}; {limit / 1e6:,.0f} MB are available for it: use fewer workers, or "
        f"set {MEMORY} (a size like 8GB, or off)"
    )


def excess(plans: Iterable[str], workers: int) -> str:
    """Return a sentence if some of the plans may exceed the limit; empty if none may."""
    limit = run_limit(workers)
    most = largest(plans)
    if limit is None or most is None or most.total <= limit:
        return ""
    what = "fails" if most.untraced <= limit else "is not started and fails"
    return (
        f"a run may need {most}; {limit / 1e6:,.0f} MB are available for each of {workers} at a time: a run "
        f"that exceeds them {what}; trace less, use fewer workers, or set {MEMORY}"
    )


def largest(plans: Iterable[str]) -> Bound | None:
    """Return the largest bound of some plans; None if there are none."""
    return max(map(bound, set(plans)), key=lambda one: one.total, default=None)
