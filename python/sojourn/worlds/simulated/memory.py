"""The memory of runs: the memory that is available to this process, and the share for the traces of a run.

A trace of congestion windows or drops grows with the packets of a run. The core reserves memory before it
writes, and stops a run whose traces exceed `trace_limit`. Such a run fails with a reason, instead of the
allocator or the kernel ending the process.
"""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sojourn.worlds.base import parsed

#: Bytes in memory for each byte of a trace: the growing columns of the core, their copy in Python, the table
#: and the content of the file.
COPIES = 5
#: The share of the available memory that runs may use.
SHARE = 0.8
#: Bytes of a row in each trace.
CWND_ROW, DROP_ROW = 28, 29
#: Minimum number of rows that the core reserves.
LEAST_ROWS = 8192
#: Bytes of a packet if the traffic does not determine them.
PACKET = 500
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


def trace_limit(workers: int) -> int | None:
    """Return the limit of the bytes of a run's traces with `workers` runs in progress; None: no limit."""
    free = available()
    return None if free is None else int(SHARE * free / (workers * COPIES))


def trace_bytes(plan_json: str) -> int:
    """Return an upper bound of the bytes of a run's traces: one row per packet of a busy link.

    Examples
    --------
    A link of 1 Gbit/s carries 75 million packets of 1000 bytes in 10 minutes.

    >>> plan = {"trace": {"cwnd": True, "drops": False}, "duration": 600 * 10**9,
    ...     "topology": {"dumbbell": {"rate": 10**9}}, "traffic": [{"kind": {"tcp": {"payload": 960,
    ...     "header": 40}}}]}
    >>> import json
    >>> trace_bytes(json.dumps(plan))
    2100000000
    """
    plan = parsed(plan_json)
    row = CWND_ROW * bool(plan["trace"]["cwnd"]) + DROP_ROW * bool(plan["trace"]["drops"])
    if not row:
        return 0
    size = min(map(_packet, plan["traffic"]), default=PACKET)
    packets = plan["duration"] / 1e9 * _rate(plan["topology"]) / 8 / size
    return row * max(LEAST_ROWS, int(packets))


def _packet(traffic: dict[str, Any]) -> int:
    """Return the size of the packets of a traffic in bytes; `PACKET` if it has no fixed size."""
    ((_, what),) = traffic["kind"].items()
    tcp = what.get("tcp", what)
    size = tcp["payload"] + tcp["header"] if "payload" in tcp else what.get("size")
    return int(size) if isinstance(size, int | float) and size >= 1 else PACKET


def _rate(topology: dict[str, Any]) -> float:
    """Return the rate of the fastest link with a queue, in bit/s."""
    ((_, links),) = topology.items()
    rates = [links["rate"]] if isinstance(links, dict) else [one["rate"] for one in links if one["queue"]]
    return max((float(rate or 0) for rate in rates), default=0.0)


def excess(plans: Iterable[str], workers: int) -> str:
    """Return a sentence if traces of some of the plans may exceed the limit; empty if none may."""
    limit = trace_limit(workers)
    most = max(map(trace_bytes, set(plans)), default=0)
    if limit is None or most <= limit:
        return ""
    return (
        f"the traces of a run may need {most / 1e6:,.0f} MB; {limit / 1e6:,.0f} MB are available for each of "
        f"{workers} runs at a time, and a run that needs more fails; trace less, or use fewer workers"
    )
