"""What this kernel's TCP can be told, and what a scenario's TCP is for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Bytes of headers on the wire that a TCP of the kernel can have: timestamps or not, Ethernet's or not.
HEADERS = {40: (False, 0), 52: (True, 0), 54: (False, 14), 66: (True, 14)}
#: How each variant is made: the kernel's congestion control, selective acknowledgements.
VARIANTS = {
    "reno": ("reno", True),
    "newreno": ("reno", False),
    "sack": ("reno", True),
    "cubic": ("cubic", True),
    "dctcp": ("dctcp", True),
}
#: Options of TCP that the kernel is told; all others are the kernel's own.
OPTIONS = ("variant", "ecn", "initial_window", "min_rto")
#: Least segment that the kernel agrees to (TCP_MIN_MSS).
LEAST_SEGMENT = 88


def tcps(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the TCP of every traffic that has one."""
    kinds = (one["kind"] for one in plan["traffic"])
    found = (kind.get("tcp") or next(iter(kind.values())).get("tcp") for kind in kinds)
    return [one for one in found if one is not None]


def datagrams(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the constant streams."""
    return [one["kind"]["udp_cbr"] for one in plan["traffic"] if "udp_cbr" in one["kind"]]


def controls_here() -> list[str]:
    """Return the congestion controls that this kernel has."""
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return path.read_text(encoding="ascii").split() if path.exists() else ["reno"]
