"""The kernel's counters: TCP_INFO of a socket and the SNMP counters of a namespace.

A counter that this kernel does not have is None, never 0.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from pathlib import Path

#: Name in ``struct tcp_info`` (include/uapi/linux/tcp.h), its offset and format.
_TCP_INFO = {
    "rtt_us": (68, "I"),
    "ssthresh": (76, "I"),
    "cwnd": (80, "I"),
    "total_retrans": (100, "I"),
    "bytes_acked": (120, "Q"),
    "segs_out": (136, "I"),
    "min_rtt_us": (148, "I"),
    "data_segs_out": (156, "I"),
    "delivered_ce": (196, "I"),
    "total_rto": (240, "H"),  # since Linux 6.7
}
_LENGTH = 256
#: Fields that hold a current value; the others are counters.
STATES = ("rtt_us", "ssthresh", "cwnd", "min_rtt_us")


Info = Mapping[str, int | None]


def tcp_info(connection: socket.socket) -> dict[str, int | None]:
    """Return counters since the connection was opened and its current state, as ``ss -ti`` does."""
    data = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
    return {
        name: struct.unpack_from(f"={kind}", data, offset)[0]
        if offset + struct.calcsize(kind) <= len(data)
        else None
        for name, (offset, kind) in _TCP_INFO.items()
    }


def over(before: Info | None, after: Info) -> dict[str, int]:
    """Return the increments between two snapshots (or since the connection was opened) and the last state."""
    earlier = before or {}
    return {
        name: value if name in STATES else value - (earlier.get(name) or 0)
        for name, value in after.items()
        if value is not None
    }


def namespace() -> dict[str, int]:
    """Return every counter of this network namespace with the names of ``nstat -a``: ``TcpRetransSegs``."""
    found: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        lines = Path(f"/proc/thread-self/net/{name}").read_text(encoding="ascii").splitlines()
        for heads, values in zip(lines[::2], lines[1::2], strict=True):
            prefix, _, words = heads.partition(":")
            numbers = values.partition(":")[2].split()
            found |= {f"{prefix}{w}": int(n) for w, n in zip(words.split(), numbers, strict=True)}
    return found


def difference(later: dict[str, int], earlier: dict[str, int]) -> dict[str, int]:
    """Return the increments of the counters that grew."""
    return {
        name: value - earlier.get(name, 0) for name, value in later.items() if value > earlier.get(name, 0)
    }
