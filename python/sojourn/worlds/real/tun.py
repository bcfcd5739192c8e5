"""TUN devices: the links between a namespace and the gateway.

A device carries whole IP packets, and GSO super-packets of up to 64 kB (``IFF_VNET_HDR``), which the gateway
splits. The device is not persistent: the kernel removes it when its last file descriptor is closed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from sojourn.errors import RunFailed
from sojourn.worlds.hosts.namespace import Namespace

_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
#: Checksums, TCP segmentation for IPv4 and IPv6, also of packets with CWR.
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
#: Longer than any burst: the kernel must not drop packets before the algorithm handles them.
TXQUEUELEN = 10_000


@dataclass(frozen=True)
class Tun:
    """An open device.

    Attributes
    ----------
    fd : int
        The file descriptor from which packets are read and to which they are written.
    name : str
        Its name in ``ip link``.
    namespace : Namespace
        The namespace that contains it.
    tap : socket.socket, optional
        A packet socket of the namespace, for the arrival times of packets; None if it is not permitted.
    index : int
        The number of the device in its namespace.
    """

    fd: int
    name: str
    namespace: Namespace
    tap: socket.socket | None
    index: int

    def kernel_drops(self) -> int:
        """Return the number of packets that the kernel dropped before the gateway could read them."""
        for line in self.namespace.read("/proc/net/dev").splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == self.name:
                return int(numbers.split()[11])
        return 0

    def close(self) -> None:
        """Close the file; the kernel removes the device unless a gateway still has it open."""
        os.close(self.fd)
        if self.tap is not None:
            self.tap.close()


def open_tun(
    namespace: Namespace,
    name: str,
    addresses: Iterable[str] = (),
    routes: Iterable[str] = (),
    mtu: int = 1500,
) -> Tun:
    """Create a device in a namespace, with addresses and routes.

    Parameters
    ----------
    namespace : Namespace
        The namespace of the device.
    name : str
        At most 15 characters; ``%d`` in it becomes the first free number.
    addresses : iterable of str
        With prefix length: ``10.0.0.1/24``, ``fd00::1/64``.
    routes : iterable of str
        Arguments of ``ip route add`` without the device: ``default``, ``10.1.0.0/16 congctl reno``.
    mtu : int
        Maximum packet size, bytes.
    """

    def make() -> tuple[int, str, socket.socket | None, int]:
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            wanted = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR)
            given = fcntl.ioctl(fd, _TUNSETIFF, wanted)
            fcntl.ioctl(fd, _TUNSETOFFLOAD, _OFFLOADS)
            chosen = given[:16].split(b"\0")[0].decode()
            index = socket.if_nametoindex(chosen)
            tap = None
            with contextlib.suppress(PermissionError):
                tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        except BaseException:
            os.close(fd)
            raise
        return fd, chosen, tap, index

    try:
        fd, given, tap, index = namespace.within(make)
    except OSError as error:
        remedy = "; run it as root, or: sudo chmod 666 /dev/net/tun" if error.filename else ""
        raise RunFailed(f"{namespace.name}: device {name} cannot be created: {error}{remedy}") from None
    tun = Tun(fd, given, namespace, tap, index)
    try:
        family = {address: "-6" if ":" in address else "-4" for address in addresses}
        namespace.ip(
            f"link set {given} mtu {mtu} txqueuelen {TXQUEUELEN} up",
            *(f"addr add {one} dev {given}{' nodad' if family[one] == '-6' else ''}" for one in family),
            *(f"route add {one} dev {given}" for one in routes),
        )
    except BaseException:
        tun.close()
        raise
    return tun
