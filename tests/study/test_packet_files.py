"""pcapng files and traces of ns-2, read by readers that are written from the specifications.

The reader of pcapng follows draft-ietf-opsawg-pcapng, sections 3 and 4; headers follow RFC 791, RFC 9293 and
RFC 768. Mutants seen to fail: block lengths without padding; microseconds; a checksum over the wrong bytes;
the length of the headers as that of the packet; drops at arrival that are no arrivals; sender and receiver
of acknowledgements exchanged; sequence numbers that count packets; a limit that is exceeded.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario
from sojourn.study.packets.write import estimate, write
from support import Cli

MOST = 10**9


class Captured(NamedTuple):
    interface: int
    time_ns: int
    content: bytes
    length: int
    comment: str


def blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Section 3.1: type, total length, body, total length."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from("<II", content, at)
        assert size % 4 == 0
        assert size >= 12
        assert struct.unpack_from("<I", content, at + size - 4) == (size,)
        yield kind, content[at + 8 : at + size - 4]
        at += size
    assert at == len(content)


def options(body: bytes) -> dict[int, bytes]:
    """Section 3.5: code, length, value padded to 32 bits; code 0 ends the list."""
    found, at = {}, 0
    while at < len(body):
        code, size = struct.unpack_from("<HH", body, at)
        if code == 0:
            assert (size, at + 4) == (0, len(body))
            return found
        found[code] = body[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4
    assert not body, "options end with opt_endofopt"
    return found


def pcapng(content: bytes) -> tuple[list[str], list[Captured]]:
    """Return the names of the interfaces and the packets."""
    names: list[str] = []
    packets: list[Captured] = []
    for number, (kind, body) in enumerate(blocks(content)):
        if number == 0:
            assert kind == 0x0A0D0D0A
            assert struct.unpack_from("<IHH", body) == (0x1A2B3C4D, 1, 0)
            options(body[16:])
        elif kind == 1:
            link, _, snaplen = struct.unpack_from("<HHI", body)
            assert (link, snaplen) == (228, 128), "LINKTYPE_IPV4"
            known = options(body[8:])
            assert known[9] == b"\x09", "nanoseconds"
            names.append(known[2].decode())
        else:
            assert kind == 6
            interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
            end = 20 + kept + -kept % 4
            comment = options(body[end:]).get(1, b"").decode()
            packets.append(Captured(interface, high << 32 | low, body[20 : 20 + kept], length, comment))
    return names, packets


class Parsed(NamedTuple):
    ends: tuple[int, int]
    ecn: int
    length: int
    protocol: int
    sequence: int
    acknowledged: int
    flags: int
    payload: int


def headers(content: bytes) -> Parsed:
    """RFC 791, section 3.1, and RFC 9293, section 3.1; of UDP (RFC 768) the payload only."""
    first, tos, length, _, fragment, _, protocol = struct.unpack_from("!BBHHHBB", content)
    source, target = struct.unpack_from("!II", content, 12)
    assert (first, fragment) == (0x45, 0x4000)
    total = sum(struct.unpack("!10H", content[:20]))
    assert total % 0xFFFF == 0, "the checksum"
    if protocol == 17:
        size = struct.unpack_from("!H", content, 24)[0]
        assert size == length - 20
        return Parsed((source, target), tos & 3, length, protocol, 0, 0, 0, size - 8)
    assert protocol == 6
    sequence, acknowledged, offset, flags = struct.unpack_from("!IIBB", content, 24)
    own = 4 * (offset >> 4)
    assert len(content) == 20 + own, "headers only"
    return Parsed(
        (source, target), tos & 3, length, protocol, sequence, acknowledged, flags, length - 20 - own
    )


@pytest.fixture
def results(small: Scenario) -> sojourn.Results:
    trace = {"packets": True, "interval": "off"}
    traced = small.with_(duration="5s", warmup="0s", trace=trace)
    return sojourn.run(traced, ["red min_th 2p max_th 8p max_p 0.3"], 1)


def test_a_capture_has_every_event_with_its_headers(results: sojourn.Results, tmp_path: Path) -> None:
    (record,) = results.records
    log = record.packets
    written = write(record, tmp_path / "a.pcapng", MOST)
    names, packets = pcapng((tmp_path / "a.pcapng").read_bytes())
    assert names == ["arrivals", "departures", "drops"]
    assert written.until is None
    assert written.bytes == (tmp_path / "a.pcapng").stat().st_size
    counts = Counter(one.interface for one in packets)
    metrics = results.runs.row(0, named=True)
    assert counts == {0: metrics["arrivals"], 1: metrics["arrivals"] - metrics["drops"] - waiting(log),
                      2: metrics["drops"]}  # fmt: skip
    assert sorted({one.comment for one in packets if one.interface == 2}) == sorted(
        f"{reason} drop" for reason in set(log.filter(event="drop")["reason"])
    )
    departures = log.filter(event="dequeue")
    left = [one for one in packets if one.interface == 1]
    for one, row in zip(left, departures.iter_rows(named=True), strict=True):
        parsed = headers(one.content)
        assert one.time_ns == round(row["time_s"] * 1e9)
        assert one.length == parsed.length == row["bytes"]
        assert parsed.ends == ((10 << 24) + row["connection"], (10 << 24) + (1 << 23) + row["connection"])
        if row["kind"] == "datagram":
            assert (parsed.protocol, parsed.payload) == (17, row["bytes"] - 28)
        else:
            assert (parsed.protocol, parsed.ecn) == (6, {"not-ect": 0, "ce": 3, "ect0": 2}[row["ecn"]])
            assert parsed.payload in (0, 500)
            # The SYN is packet 0; packet n begins with byte 1 + (n - 1) 500.
            number = row["sequence"]
            assert parsed.sequence == (1 + (number - 1) * 500 if number else 0)
            assert parsed.flags & 0x02 == (0x02 if number == 0 else 0)


def waiting(log: pl.DataFrame) -> int:
    """Return the number of packets that wait at the end."""
    return int(log.filter(log["event"] != "mark")["queue_packets"][-1])


def test_acknowledgements_go_back_and_marks_are_seen(small: Scenario, tmp_path: Path) -> None:
    """With traffic in both directions, a queue carries data of one and acknowledgements of the other."""
    traffic = [
        {"name": "there", "kind": "tcp", "count": 3, "payload": "960B", "header": "40B"},
        {"name": "back", "kind": "tcp", "payload": "960B", "header": "40B", "direction": "reverse"},
    ]
    traced = small.with_(duration="5s", warmup="0s", trace={"packets": True}, traffic=traffic)
    (record,) = sojourn.run(traced, ["red min_th 2p max_th 8p ecn"], 1).records
    write(record, tmp_path / "a.pcapng", MOST)
    _, packets = pcapng((tmp_path / "a.pcapng").read_bytes())
    parsed = [headers(one.content) for one in packets if one.interface == 1]
    acks = [one for one in parsed if one.ends[0] > one.ends[1]]
    assert acks
    assert all((one.payload, one.sequence, one.flags & 0x10) == (0, 1, 0x10) for one in acks)
    assert {(one.acknowledged - 1) % 960 for one in acks if one.acknowledged > 1} == {0}
    rows = record.packets.filter(event="dequeue")
    assert sum(one.ecn == 3 for one in parsed) == (rows["ecn"] == "ce").sum() > 0
    data = [one for one in parsed if one.ends[0] < one.ends[1] and one.payload]
    assert sum(bool(one.flags & 0x80) for one in data) == rows.filter(kind="data")["flag"].sum() > 0


def test_a_trace_has_the_lines_of_ns2(results: sojourn.Results, tmp_path: Path) -> None:
    (record,) = results.records
    write(record, tmp_path / "a.tr", MOST)
    lines = [line.split(" ") for line in (tmp_path / "a.tr").read_text().splitlines()]
    assert {len(line) for line in lines} == {12}
    signs = Counter(line[0] for line in lines)
    metrics = results.runs.row(0, named=True)
    assert (signs["+"], signs["d"]) == (metrics["arrivals"], metrics["drops"])
    assert signs["+"] == signs["-"] + signs["d"] + waiting(record.packets)
    times = [float(line[1]) for line in lines]
    assert times == sorted(times)
    assert {(line[2], line[3]) for line in lines} == {("0", "1")}
    assert {line[4] for line in lines} == {"tcp", "cbr"}
    assert {line[6] for line in lines} == {"-------"}
    lives: dict[str, str] = {}
    for line in lines:
        lives[line[11]] = lives.get(line[11], "") + line[0]
    assert set(lives.values()) <= {"+", "+-", "+d"}


def test_a_file_is_bounded_and_says_what_is_left_out(
    cli: Cli, small_file: Path, tmp_path: Path, results: sojourn.Results
) -> None:
    text = small_file.read_text() + "\n[trace]\npackets = true\n"
    small_file.write_text(text)
    assert (
        cli("run", small_file, "--aqm", "red", "--aqm", "pie", "--seeds", 2, "--out", "out").returncode == 0
    )
    done = cli("export", "out", "a.pcapng", "--aqm", "pie", "--seed", 2, "--most", "50kB")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.pcapng").stat().st_size <= 50_000
    _, packets = pcapng((tmp_path / "a.pcapng").read_bytes())
    last = max(one.time_ns for one in packets) / 1e9
    words = done.stderr.split()
    total, left = int(words[words.index("of") + 1]), int(words[2])
    until = float(words[words.index("from") + 1])
    assert left < total
    assert last <= until < last + 0.1
    for suffix in (".pcapng", ".tr"):
        expected = estimate(results.records[0], Path(f"x{suffix}"))
        size = write(results.records[0], tmp_path / f"x{suffix}", MOST).bytes
        assert size / 2 <= expected <= 2 * size
    whole = cli("export", "out", "b.tr", "--aqm", "pie", "--dry-run")
    assert whole.stdout.startswith("about ")
    assert not (tmp_path / "b.tr").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["out", "a.pcap"], "a.pcap has the suffix '.pcap', which is not a format (did you mean .pcapng?)"),
        (["out", "a"], "has no suffix; allowed: .pcapng"),
        (["out", "a.tr"], "has runs of several algorithms; allowed: --aqm 'red'; --aqm 'pie'"),
        (["out", "a.tr", "--aqm", "codel"], "has no such run"),
        (["out", "a.tr", "--aqm", "red", "--seed", "9"], "has no such run"),
        (["out", "a.tr", "--aqm", "red", "--most", "big"], "most = 'big'"),
        (["out", "a.tr", "--aqm", "red"], "has no log of packets; allowed: a scenario with [trace] packets"),
        (["absent", "a.tr"], "absent does not exist"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    cli: Cli, small: Scenario, tmp_path: Path, words: list[str], expected: str
) -> None:
    sojourn.run(small.with_(duration="2s", warmup="1s"), ["red", "pie"], 1, out=tmp_path / "out")
    done = cli("export", *words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert not list(tmp_path.glob("a*"))


def test_a_file_of_no_format_is_refused(results: sojourn.Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a format"):
        write(results.records[0], tmp_path / "a.txt", MOST)
