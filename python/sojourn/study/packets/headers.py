"""Headers of IPv4, TCP and UDP for the packets of a run, which has sizes and packet numbers only.

Sender and receiver of a connection are 10.0.0.0 and 10.128.0.0 plus the number of the connection. A TCP
header is as long as the scenario's header allows (20 bytes are of IP), filled with NOP options; TCP counts
bytes from its packet numbers. Payload is not stored, and its checksums are 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from sojourn.record import Record

IP_HEADER, TCP_HEADER, UDP_HEADER, MOST_TCP_HEADER = 20, 20, 8, 60
TCP, UDP = 6, 17
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
#: ECN field by word (RFC 3168, section 5).
ECN = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
NOP = b"\x01"


class Sizes(NamedTuple):
    """Payload and header of the full packets of a traffic, and whether its connections begin with a SYN."""

    payload: int
    header: int
    syn: bool


class Headers:
    """Makes the headers of the packets of one run."""

    def __init__(self, record: Record) -> None:
        self._sizes = [_sizes(one["kind"]) for one in record.plan["traffic"]]
        self._traffic = record.column("flows", "traffic")

    def of(self, row: Mapping[str, Any]) -> tuple[bytes, int]:
        """Return the headers of a packet, and its length from the IP header on.

        Parameters
        ----------
        row : mapping
            A row of ``Record.packets``.
        """
        sizes = self._sizes[self._traffic[row["flow"]]]
        is_udp, is_backward = row["kind"] in ("datagram", "echo"), row["kind"] in ("ack", "echo")
        if is_udp:
            own, length = self._udp(row), max(int(row["bytes"]), IP_HEADER + UDP_HEADER)
        else:
            own, payload = self._tcp(row, sizes)
            length = IP_HEADER + len(own) + payload
        ends = (10 << 24) + row["connection"], (10 << 24) + (128 << 16) + row["connection"]
        source, target = reversed(ends) if is_backward else ends
        protocol = UDP if is_udp else TCP
        identification = row["arrival"] & 0xFFFF
        first = struct.pack(
            "!BBHHHBBHII",
            0x45,
            ECN[row["ecn"]],
            min(length, 0xFFFF),
            identification,
            0x4000,
            64,
            protocol,
            0,
            source,
            target,
        )
        return first[:10] + struct.pack("!H", checksum(first)) + first[12:] + own, length

    def _tcp(self, row: Mapping[str, Any], sizes: Sizes) -> tuple[bytes, int]:
        is_ack = row["kind"] == "ack"
        number, other = _sequence(sizes, row["sequence"]), 1
        flags: int = ACK
        if is_ack:
            number, other, payload = other, number, 0
            flags |= ECE * bool(row["flag"])
            room = row["bytes"] - IP_HEADER
        else:
            payload = max(0, row["bytes"] - sizes.header)
            flags |= CWR * bool(row["flag"] and row["ecn"] != "not-ect")
            room = sizes.header - IP_HEADER
            if sizes.syn and row["sequence"] == 0:
                flags, other, payload, room = SYN, 0, 0, row["bytes"] - IP_HEADER
        size = max(TCP_HEADER, min(MOST_TCP_HEADER, int(room) // 4 * 4))
        ports = _ports(row["connection"], 80, is_ack)
        head = struct.pack("!HHIIBBHHH", *ports, number, other, size // 4 << 4, flags, 0xFFFF, 0, 0)
        return head + NOP * (size - TCP_HEADER), payload

    def _udp(self, row: Mapping[str, Any]) -> bytes:
        length = max(row["bytes"] - IP_HEADER, UDP_HEADER)
        ports = _ports(row["connection"], 5001, row["kind"] == "echo")
        return struct.pack("!HHHH", *ports, min(length, 0xFFFF), 0)


def checksum(header: bytes) -> int:
    """Return the checksum of an IPv4 header whose own checksum is 0 (RFC 791, section 3.1)."""
    total = int(sum(struct.unpack(f"!{len(header) // 2}H", header)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _ports(connection: int, server: int, is_backward: bool) -> tuple[int, int]:
    client = 49152 + connection % 16384
    return (server, client) if is_backward else (client, server)


def _sequence(sizes: Sizes, number: int) -> int:
    """Return the first byte of packet `number`; the SYN, if there is one, is packet 0 and byte 0."""
    if sizes.syn:
        return 0 if number == 0 else (1 + (number - 1) * sizes.payload) & 0xFFFFFFFF
    return (1 + number * sizes.payload) & 0xFFFFFFFF


def _sizes(kind: Mapping[str, Any]) -> Sizes:
    ((_, what),) = kind.items()
    tcp = what.get("tcp", what)
    if "payload" not in tcp:
        return Sizes(0, 0, False)
    return Sizes(int(tcp["payload"]), int(tcp["header"]), bool(tcp["options"]["syn"]))
