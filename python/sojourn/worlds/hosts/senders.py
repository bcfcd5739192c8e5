"""Traffic sources (long and short TCP flows, constant-rate datagrams) and their sinks.

A datagram begins with its number and the time of sending. Sinks keep these and the time at which the kernel
received it; sources of probes do so for datagrams that the sink has returned.
"""

from __future__ import annotations

import base64
import contextlib
import resource
import socket
import struct
import time
from array import array
from typing import Any

from sojourn.worlds.hosts import random_streams
from sojourn.worlds.hosts.counters import tcp_info
from sojourn.worlds.hosts.faults import Faults
from sojourn.worlds.hosts.loop import READ, WRITE, Loop

CHUNK = bytes(65536)
#: Limit of unsent bytes in the kernel: enough to fill the window, few enough not to delay the end.
UNSENT = 131072
TCP_NOTSENT_LOWAT, SO_MAX_PACING_RATE, SO_TIMESTAMPNS = 25, 47, 35
#: The head of a datagram: number, time of sending in ns of the monotonic clock.
HEAD = struct.Struct("<IQ")
#: The interface, the local address, and the destination of a received datagram (ip(7)).
IP_PKTINFO, PKTINFO = 8, struct.Struct("@I4s4s")
#: The kernel's time of reception: seconds and nanoseconds of the real-time clock.
STAMP = struct.Struct("qq")
Address = tuple[str, int]


def client(flow: dict[str, Any]) -> socket.socket:
    """Return an unconnected TCP socket with a flow's address, segment size and congestion control."""
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, flow["mss"])
    one.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT)
    if flow.get("congestion"):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["congestion"].encode())
    if flow.get("max_rate"):
        one.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", flow["max_rate"] // 8))
    one.bind(tuple(flow["from"]))
    return one


def abort(one: socket.socket) -> None:
    """Close with RST: unsent data is discarded."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


class Sender:
    """One TCP connection that sends `bytes`, or for a lifetime, or until it is stopped.

    A finite one is complete when the receiver has closed after the last byte.
    """

    def __init__(self, loop: Loop, flow: dict[str, Any], faults: Faults) -> None:
        self.flow, self.loop, self.faults = flow, loop, faults
        self.left: int | None = flow.get("bytes")
        self.socket: socket.socket | None = None
        self.before: dict[str, int | None] | None = None
        self.after: dict[str, int | None] | None = None
        self.began = self.ended = None  # type: int | None

    def start(self, now: int) -> None:
        """Connect."""
        self.began = now
        self.socket = client(self.flow)
        self.socket.connect_ex(tuple(self.flow["to"]))
        self.loop.watch(self.socket.fileno(), WRITE, self._write)

    def stop(self) -> None:
        """Stop sending: a flow with a lifetime delivers the data already written, a long flow is aborted."""
        if self.socket is None:
            return
        if self.flow.get("lifetime") is not None:
            self.left = 0
            self._finish(self.socket)
        else:
            self.close()

    def close(self) -> None:
        """Abort the connection."""
        if self.socket is not None:
            self.snapshot("after")
            self.loop.forget(self.socket.fileno())
            abort(self.socket)
            self.socket = None

    def snapshot(self, when: str) -> None:
        """Read the connection's counters if it is open."""
        if self.socket is not None:
            setattr(self, when, tcp_info(self.socket))

    def _write(self, _events: int) -> None:
        assert self.socket is not None
        try:
            for _ in range(4):
                if self.left is not None and self.left <= 0:
                    self._finish(self.socket)
                    return
                sent = self.socket.send(CHUNK if self.left is None else CHUNK[: self.left])
                if self.left is not None:
                    self.left -= sent
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)

    def _finish(self, connection: socket.socket) -> None:
        try:
            connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._fail(error)
            return
        self.loop.watch(connection.fileno(), READ, self._ended)

    def _ended(self, _events: int) -> None:
        assert self.socket is not None
        try:
            if self.socket.recv(1):
                return
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        self.ended = self.loop.now()
        self.close()

    def _fail(self, error: OSError) -> None:
        self.faults.add(f"flow to {self.flow['to'][0]}:{self.flow['to'][1]}", error)
        self.close()


class Clock:
    """Converts the kernel's time stamps to the monotonic clock."""

    def __init__(self) -> None:
        self.offset = time.time_ns() - time.monotonic_ns()

    def received(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        """Return when the kernel received a datagram; the present if it does not report that."""
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = STAMP.unpack(data)
                return int(seconds * 1_000_000_000 + nanoseconds - self.offset)
        return time.monotonic_ns()


class Arrivals:
    """Numbers of datagrams, when they were sent, and when they arrived, in ns of the monotonic clock."""

    def __init__(self) -> None:
        self.numbers, self.sent, self.received = array("I"), array("Q"), array("Q")

    def add(self, datagram: memoryview, received: int) -> None:
        """Add a datagram."""
        if len(datagram) >= HEAD.size:
            number, sent = HEAD.unpack_from(datagram)
            self.numbers.append(number)
            self.sent.append(sent)
            self.received.append(max(received, sent))

    def packed(self, start: int) -> list[str]:
        """Return the three columns as base64, times since `start`."""
        times = [array("Q", [max(0, one - start) for one in column]) for column in (self.sent, self.received)]
        return [base64.b64encode(column.tobytes()).decode() for column in (self.numbers, *times)]


class Datagrams:
    """A source of datagrams of one size at a constant rate."""

    def __init__(self, loop: Loop, flow: dict[str, Any], seed: int, faults: Faults) -> None:
        self.flow, self.loop, self.faults = flow, loop, faults
        self.random = random_streams.stream(seed, "gap", *flow["flow"])
        self.payload = bytearray(flow["payload"])
        self.number = 0
        self.clock, self.echoes = Clock(), Arrivals()
        self.buffer = bytearray(65536)
        self.due = 0.0
        self.sent = 0
        self.counting = False
        self.stopped = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["tos"])
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        # Sources of one host with the same number have one port; their destinations differ.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(tuple(flow["from"]))
        self.socket.connect(tuple(flow["to"]))
        if flow["echo"]:
            loop.watch(self.socket.fileno(), READ, self._echo)

    def start(self, now: int) -> None:
        """Send the first datagram."""
        self.due = now
        self._send()

    def _send(self) -> None:
        if self.stopped:
            return
        HEAD.pack_into(self.payload, 0, self.number & 0xFFFFFFFF, self.loop.now())
        self.number += 1
        try:
            self.socket.send(self.payload)
            self.sent += self.counting
        except (BlockingIOError, ConnectionRefusedError):
            pass
        except OSError as error:
            self.faults.add(f"datagrams to {self.flow['to'][0]}", error)
            return
        jitter = self.flow["jitter"]
        self.due += self.flow["gap"] * (1 + jitter * (2 * self.random.random() - 1) if jitter else 1)
        self.loop.at(round(self.due), self._send)

    def _echo(self, _events: int) -> None:
        try:
            for _ in range(64):
                count, ancillary, *_ = self.socket.recvmsg_into([self.buffer], 128)
                self.echoes.add(memoryview(self.buffer)[:count], self.clock.received(ancillary))
        except (BlockingIOError, ConnectionRefusedError):
            pass


class Sink:
    """Receives and discards; counts bytes and packets (TCP: bytes only) per peer.

    With `echo` it returns datagrams.
    """

    def __init__(
        self, loop: Loop, protocol: str, port: int, congestion: str | None = None, echo: bool = False
    ) -> None:
        self.loop, self.port, self.protocol, self.echo = loop, port, protocol, echo
        self.clock = Clock()
        self.arrivals: dict[Address, Arrivals] = {}
        self.bytes: dict[Address, int] = {}
        self.packets: dict[Address, int] = {}
        self.before: dict[Address, int] = {}
        self.before_packets: dict[Address, int] = {}
        self.after: dict[Address, int] = {}
        self.after_packets: dict[Address, int] = {}
        self.buffer = bytearray(262144)
        kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
        self.socket = socket.socket(socket.AF_INET, kind | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if protocol == "udp":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, int(echo))
        if congestion is not None:  # DCTCP uses ECN only if both ends have it
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        self.socket.bind(("0.0.0.0", port))  # this namespace has no other interface
        if protocol == "tcp":
            self.socket.listen(4096)
        loop.watch(self.socket.fileno(), READ, self._accept if protocol == "tcp" else self._datagram)

    def snapshot(self, when: str) -> None:
        """Store the counts."""
        setattr(self, when, dict(self.bytes))
        setattr(self, f"{when}_packets", dict(self.packets))

    def counts(self) -> list[list[Any]]:
        """Return [protocol, port, peer, peer's port, bytes, packets] over the window."""
        return [
            [
                self.protocol,
                self.port,
                *peer,
                count - self.before.get(peer, 0),
                self.after_packets.get(peer, 0) - self.before_packets.get(peer, 0),
            ]
            for peer, count in self.after.items()
        ]

    def _datagram(self, _events: int) -> None:
        try:
            for _ in range(64):
                count, ancillary, _, peer = self.socket.recvmsg_into([self.buffer], 128)
                received = self.clock.received(ancillary)
                if self.echo:
                    self._return(count, peer, ancillary)
                self.bytes[peer] = self.bytes.get(peer, 0) + count
                self.packets[peer] = self.packets.get(peer, 0) + 1
                if peer not in self.arrivals:
                    self.arrivals[peer] = Arrivals()
                self.arrivals[peer].add(memoryview(self.buffer)[:count], received)
        except BlockingIOError:
            pass

    def _return(self, count: int, peer: Address, ancillary: list[tuple[int, int, bytes]]) -> None:
        """Return a datagram from the address to which it was sent: several hosts may share the namespace."""
        source = [
            (level, kind, PKTINFO.pack(0, PKTINFO.unpack(data)[2], bytes(4)))
            for level, kind, data in ancillary
            if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO)
        ]
        with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
            self.socket.sendmsg([memoryview(self.buffer)[:count]], source, 0, peer)

    def delivered(self, start: int) -> list[list[Any]]:
        """Return [port, peer, peer's port, arrivals] for each source of datagrams, times since `start`."""
        return [[self.port, *peer, one.packed(start)] for peer, one in self.arrivals.items()]

    def _accept(self, _events: int) -> None:
        try:
            while True:
                connection, peer = self.socket.accept()
                connection.setblocking(False)
                self.bytes.setdefault(peer, 0)
                self.loop.watch(connection.fileno(), READ, self._reader(connection, peer))
        except BlockingIOError:
            pass

    def _reader(self, connection: socket.socket, peer: Address) -> Any:
        def read(_events: int) -> None:
            try:
                count = connection.recv_into(self.buffer)
            except BlockingIOError:
                return
            except OSError:
                count = 0
            self.bytes[peer] += count
            if not count:
                self.loop.forget(connection.fileno())
                connection.close()

        return read


def raise_limits() -> None:
    """Raise this process's limit of open files to the hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
