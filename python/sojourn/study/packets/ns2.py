"""The trace format of ns-2 (The ns Manual, section "Trace and Monitoring Support", "Trace File Format").

One line per event at the measured queue: ``+`` arrival, ``-`` departure, ``d`` drop; then time, the nodes of
the link, type, size, flags, flow, source, destination, packet number, and a number that is unique in the run.
Flags: ``C`` ECN echo, ``A`` window reduced, ``E`` congestion experienced, ``N`` ECN-capable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.record import Record

SUFFIX = ".tr"
SIGNS = {"enqueue": "+", "dequeue": "-", "drop": "d"}
TYPES = {"data": "tcp", "ack": "ack", "datagram": "cbr", "echo": "ping"}


def head(_record: Record) -> bytes:
    """Return nothing: the format has no header."""
    return b""


def packets(record: Record) -> Iterator[bytes]:
    """Yield the lines of each event; a packet that is dropped as it arrives has two, as in ns-2."""
    for row in record.packets.iter_rows(named=True):
        if row["event"] not in SIGNS:
            continue
        found = _line(row, SIGNS[row["event"]])
        if row["event"] == "drop" and row["delay_s"] is None:
            found = _line(row, "+") + found
        yield found


def _line(row: Mapping[str, Any], sign: str) -> bytes:
    is_ack = row["kind"] == "ack"
    ends = [f"{2 + 2 * row['connection']}.0", f"{3 + 2 * row['connection']}.0"]
    source, target = reversed(ends) if row["kind"] in ("ack", "echo") else ends
    flags = "".join(
        (
            "C" if row["flag"] and is_ack else "-",
            "--",
            "A" if row["flag"] and not is_ack and row["ecn"] != "not-ect" else "-",
            "E" if row["ecn"] == "ce" else "-",
            "-",
            "N" if row["ecn"] != "not-ect" else "-",
        )
    )
    words = (
        f"{sign} {row['time_s']:.9f} 0 1 {TYPES[row['kind']]} {row['bytes']} {flags} {row['flow']} "
        f"{source} {target} {row['sequence']} {row['arrival']}\n"
    )
    return words.encode()
