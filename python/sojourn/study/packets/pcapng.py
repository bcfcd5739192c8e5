"""pcapng (draft-ietf-opsawg-pcapng): packets that arrive at, leave, or are dropped by the measured queue.

Each of the three is an interface of the capture, because Wireshark and tcpdump can select those. The reason
of a drop is the comment of its packet. Times are nanoseconds from the start of the run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.record import Record
from sojourn.study.packets.headers import Headers

SUFFIX = ".pcapng"
#: Block types and the link type of packets that begin with an IPv4 header.
SECTION, INTERFACE, PACKET, LINKTYPE_IPV4 = 0x0A0D0D0A, 1, 6, 228
#: Codes of options.
COMMENT, NAME, RESOLUTION, END = 1, 2, 9, 0
#: Bytes of a packet that are kept, at most: its headers.
SNAPLEN = 128
#: Interfaces, in order, and the event of each.
INTERFACES = {"arrivals": "enqueue", "departures": "dequeue", "drops": "drop"}


def head(record: Record) -> bytes:
    """Return the blocks before the first packet."""
    queue = record.queues[0]
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    comment = f"Sojourn: queue {queue['name']}, {queue['spec']}; headers are made from packet numbers"
    found = _block(SECTION, section + _option(COMMENT, comment.encode()) + _option(END))
    for name in INTERFACES:
        options = _option(NAME, name.encode()) + _option(RESOLUTION, b"\x09") + _option(END)
        found += _block(INTERFACE, struct.pack("<HHI", LINKTYPE_IPV4, 0, SNAPLEN) + options)
    return found


def packets(record: Record) -> Iterator[bytes]:
    """Yield the blocks of each event; a packet that is dropped as it arrives is an arrival and a drop."""
    headers = Headers(record)
    numbers = {event: number for number, event in enumerate(INTERFACES.values())}
    for row in record.packets.iter_rows(named=True):
        event = row["event"]
        found = b""
        if event == "drop" and row["delay_s"] is None:
            found = _packet(headers, row, 0)
        if event in numbers:
            comment = f"{row['reason']} drop" if event == "drop" else ""
            found += _packet(headers, row, numbers[event], comment)
        if found:
            yield found


def _packet(headers: Headers, row: Mapping[str, Any], interface: int, comment: str = "") -> bytes:
    content, length = headers.of(row)
    time = round(row["time_s"] * 1e9)
    body = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(content), length)
    options = _option(COMMENT, comment.encode()) + _option(END) if comment else b""
    return _block(PACKET, body + _padded(content) + options)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _option(code: int, value: bytes = b"") -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)
