"""Writes the log of packets of a run to a file of at most a given size, and estimates that size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from sojourn import _core, files
from sojourn.errors import InputError
from sojourn.record import Record
from sojourn.study.packets import ns2, pcapng

#: Events from which the size of a file is estimated.
SAMPLE = 2000


class Format(Protocol):
    """A format: the suffix of its files, what precedes the packets, and the packets."""

    SUFFIX: str

    def head(self, record: Record, /) -> bytes:
        """Return what precedes the packets."""

    def packets(self, record: Record, /) -> Iterator[bytes]:
        """Yield the bytes of each event."""


FORMATS: Final[dict[str, Format]] = {one.SUFFIX: one for one in (pcapng, ns2)}


class Written(NamedTuple):
    """What a file holds: events, of how many, bytes, and the time of the first one that is left out (s)."""

    events: int
    total: int
    bytes: int
    until: float | None


def format_of(file: Path) -> Format:
    """Return the format of a file; raise ``InputError`` if its suffix is of none."""
    suffix = file.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            str(file),
            f"has the suffix {suffix!r}, which is not a format" if suffix else "has no suffix",
            ".pcapng (Wireshark, tcpdump), .tr (ns-2)",
            _core.nearest(suffix, list(FORMATS)) if suffix else None,
        )
    return FORMATS[suffix]


def estimate(record: Record, file: Path) -> int:
    """Return the estimated bytes of a file with every event, from the first events of the log."""
    form, total = format_of(file), _events(record)
    sample = [len(one) for one in itertools.islice(form.packets(record), SAMPLE)]
    return len(form.head(record)) + round(sum(sample) / len(sample) * total) if sample else 0


def write(record: Record, file: Path, most: int) -> Written:
    """Write the events of a record, as many as fit into `most` bytes.

    Raises
    ------
    InputError
        If the suffix of the file is of no format, or the record has no log of packets.
    """
    form, total = format_of(file), _events(record)
    parts, size, until = [form.head(record)], len(form.head(record)), None
    events = 0
    for content in form.packets(record):
        if size + len(content) > most:
            until = record.packets.filter(record.packets["event"] != "mark")["time_s"][events]
            break
        parts.append(content)
        size += len(content)
        events += 1
    files.write(file, b"".join(parts))
    return Written(events, total, size, until)


def _events(record: Record) -> int:
    """Return the number of events that files have; marks are in the ECN field of the packets."""
    log = record.packets
    found = int((log["event"] != "mark").sum())
    if not found:
        raise InputError("the run", "has no log of packets", "a scenario with [trace] packets = true")
    return found
