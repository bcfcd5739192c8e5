"""The TCP options that the kernel supports, and their mapping from a scenario's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Header bytes on the wire that the kernel's TCP can have: (timestamps, bytes of Ethernet framing).
HEADERS = {40: (False, 0), 52: (True, 0), 54: (False, 14), 66: (True, 14)}
#: The kernel's congestion control of each variant, and whether selective acknowledgements are on.
VARIANTS = {
    "reno": ("reno", True),
    "newreno": ("reno", False),
    "sack": ("reno", True),
    "cubic": ("cubic", True),
    "dctcp": ("dctcp", True),
    "bbr": ("bbr", True),
    "vegas": ("vegas", True),
    "westwood": ("westwood", True),
}
#: TCP options that can be set; the kernel decides all others.
OPTIONS = ("variant", "ecn", "initial_window", "min_rto")
#: The smallest segment size that the kernel accepts (TCP_MIN_MSS).
LEAST_SEGMENT = 88


def tcps(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the TCP parameters of every TCP traffic."""
    kinds = (one["kind"] for one in plan["traffic"])
    found = (kind.get("tcp") or next(iter(kind.values())).get("tcp") for kind in kinds)
    return [one for one in found if one is not None]


def datagrams(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of every constant-rate traffic."""
    return [one["kind"]["udp_cbr"] for one in plan["traffic"] if "udp_cbr" in one["kind"]]


def controls_here() -> list[str]:
    """Return the available congestion controls of this kernel."""
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return path.read_text(encoding="ascii").split() if path.exists() else ["reno"]
