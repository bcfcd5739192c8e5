"""Two namespaces with a gateway between them, and small senders and receivers inside."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn.worlds.hosts.namespace import Namespace
from sojourn.worlds.real.gateway import Gateway, Host, Link, Match
from sojourn.worlds.real.tun import Tun, open_tun
from support import until

LEFT, RIGHT = ("10.0.1.1", "fd01::1"), ("10.0.2.1", "fd02::1")
PORT = 5000
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
#: Possible outcomes of a packet that was read.
FATES = ("delivered", "dropped", "lost", "malformed", "unroutable", "undelivered")


@dataclass
class Wire:
    """Namespaces and devices for a test."""

    left: Namespace
    right: Namespace
    devices: tuple[Tun, Tun]

    def gateway(self, forward: Link, **options: Any) -> Gateway:
        """Insert a gateway, with the same link in both directions."""
        hosts = [
            Host("left", "left", self.devices[0], LEFT),
            Host("right", "right", self.devices[1], RIGHT),
        ]
        back = Link(forward.rate, forward.delay)
        return Gateway(
            hosts, forward, back, [Match("ftp", ports=[(PORT, PORT + 9)])], measured="left-right", **options
        )

    def transfer(self, count: int, six: bool = False, port: int = PORT) -> int:
        """Send `count` bytes over TCP from left to right; return how many arrived.

        The kernel's buffers on both sides hold all of them, even if this process runs late.
        """
        family = socket.AF_INET6 if six else socket.AF_INET
        listener = self.right.within(lambda: socket.create_server((RIGHT[six], port), family=family))
        sender = self.left.within(lambda: socket.socket(family))
        listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 2 * count)
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 2 * count)
        listener.settimeout(60)
        sender.settimeout(60)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")

        def send() -> None:
            sender.connect((RIGHT[six], port))
            sender.sendall(bytes(count))
            sender.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        with listener, listener.accept()[0] as connection:
            connection.settimeout(60)
            came = 0
            while part := connection.recv(1 << 16):
                came += len(part)
        thread.join()
        sender.close()
        return came

    def datagrams(self) -> tuple[socket.socket, socket.socket]:
        """Return a connected sender on the left, and its receiver on the right."""
        receiver = self.right.within(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind((RIGHT[0], PORT))
        receiver.settimeout(60)
        sender = self.left.within(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sender.connect((RIGHT[0], PORT))
        return sender, receiver

    def counter(self, name: str) -> int:
        """Return one of the right host's counters of received packets (``InCEPkts``), IPv4 and IPv6."""
        lines = [line.split() for line in self.right.read("/proc/net/netstat").splitlines()]
        heads, values = (line for line in lines if line[0] == "IpExt:")
        found = int(values[heads.index(name)])
        six = [line.split() for line in self.right.read("/proc/net/snmp6").splitlines()]
        return found + sum(int(value) for key, value in six if key == f"Ip6{name}")


@contextlib.contextmanager
def wire(mtu: int = 1500) -> Iterator[Wire]:
    """Make the two namespaces and their devices."""
    left, right = Namespace("left"), Namespace("right")
    for one in (left, right):
        one.sysctl("net.ipv4.tcp_ecn", 1)
        # The first SYN is lost if an IPv6 address is not yet usable; the second one asks for ECN, too.
        one.sysctl("net.ipv4.tcp_ecn_fallback", 0)
    devices = (
        open_tun(left, "left", [f"{LEFT[0]}/32", f"{LEFT[1]}/128"], ["10.0.0.0/8", "fd00::/8"], mtu),
        open_tun(right, "right", [f"{RIGHT[0]}/32", f"{RIGHT[1]}/128"], ["10.0.0.0/8", "fd00::/8"], mtu),
    )
    try:
        yield Wire(left, right, devices)
    finally:
        for device in devices:
            device.close()
        for one in (left, right):
            one.close()


def settle(gateway: Gateway) -> None:
    """Wait until the gateway has read all packets from its devices and is empty.

    It reads from all devices between two of its reports. If it reads no packet between two reports after this
    call, its devices are empty.
    """
    reports = [gateway.live()]

    def is_quiet() -> bool:
        now = gateway.live()
        assert now is not None
        if now != reports[-1]:
            reports.append(now)
        if len(reports) < 3:
            return False
        before = reports[-2]
        assert before is not None
        inside = now.tally["read"] - sum(now.tally[fate] for fate in FATES)
        return now.tally["read"] == before.tally["read"] and inside == 0

    until(is_quiet)
