"""A testbed's layout as namespaces, devices and queue disciplines of one kernel: the job of ``guest.py``.

    left hosts -- R1 [htb, prio, the algorithm] -- wire -- R2 -- right hosts

Each host has a veth pair of its own. A netem on each of its ends is the access link (rate, delay). ``htb``
with a burst of a microsecond serves the measured queue at the rate of the bottleneck: a packet leaves when
the one before it is transmitted. Behind it the namespace ``wire`` adds the packet's own transmission time and
the propagation delay, by a netem with the same rate.

An ``htb`` class without packets is not served, so a RED below it would never see its queue empty, and its
average would not decay in idle times, as it does behind a network card, which asks until the queue is empty.
Therefore a ``prio`` between them holds one packet in a second band, which a netem never releases.

Both ends of a veth pair have one address (no ARP), and segments leave hosts one by one. Sizes are those on
the wire of the scenario: ``stab`` and netem's overhead correct the kernel's, which counts 14 bytes of
Ethernet.
"""

from __future__ import annotations

from typing import Any

from sojourn.algorithms.tc import Line, Place, supported, tc_line
from sojourn.errors import InputError
from sojourn.worlds.hosts.testbed import LEFT, Host, Layout

#: Bytes of the link-layer header that the kernel counts.
ETHERNET = 14
#: Packets that a netem holds; it must never drop one.
HELD = 1_000_000
#: The time that a shaper may catch up with, ns: more than the resolution of the kernel's clock (256 ns).
CATCH_UP = 1000
#: The routers with the measured queue and that of the other direction, and the devices with these queues.
QUEUES = {"R1": "q0", "R2": "q1"}
#: Bytes, at one a second, that delay the packet which keeps the shaper's class active; and its priority.
FOREVER, HELD_PRIORITY = 1_000_000_000, 15
#: Trace events and the filters of their devices.
TRACED = {
    "net/net_dev_queue": 'name ~ "h*" || name ~ "q*"',
    "net/net_dev_start_xmit": 'name ~ "q*"',
    "net/netif_receive_skb": 'name ~ "h*"',
    "skb/kfree_skb": "",
}


def job(found: Layout) -> dict[str, Any]:
    """Return the job of a layout, without the agents' jobs.

    Raises
    ------
    InputError
        If the kernel's ``tc`` has no such queue.
    """
    return _Builder(found).job()


def lines(found: Layout) -> list[Line]:
    """Return the arguments of ``tc`` for the measured queue, and for that of the other direction if any.

    Raises
    ------
    InputError
        If ``tc`` has no such queue.
    """
    dumbbell = found.dumbbell
    queues = [(dumbbell["queue"], dumbbell["rate"]), (dumbbell["reverse_queue"], reverse_rate(found))]
    return [_line(found, queue, rate) for queue, rate in queues if queue is not None]


def reverse_rate(found: Layout) -> int:
    """Return the rate of the bottleneck in the other direction, bit/s."""
    return int(found.dumbbell.get("reverse_rate") or found.dumbbell["rate"])


def place(found: Layout, queue: dict[str, Any], rate: int) -> Place:
    """Return the place of a queue."""
    return Place(rate, queue["limit"], float(found.mean_packet), bool(queue["ecn"]))


def _line(found: Layout, queue: dict[str, Any], rate: int) -> Line:
    line = tc_line(queue["aqm"], place(found, queue, rate))
    if line is None:
        names = ", ".join(sorted(supported()))
        raise InputError(f"{found.scenario.where}: queue.aqm", f"= {queue['aqm']!r} is not in Linux", names)
    return line


class _Builder:
    def __init__(self, found: Layout) -> None:
        self.found, self.overhead = found, found.overhead - ETHERNET
        names = [f"{side}{number}" for side, number in found.jobs]
        self.names = [*names, "R1", "wire", "R2"]
        self.links: list[str] = []
        self.ip: dict[str, list[str]] = {name: [] for name in self.names}
        self.tc: dict[str, list[str]] = {name: [] for name in self.names}
        self.macs = 0
        self.held: dict[str, str] = {}

    def job(self) -> dict[str, Any]:
        dumbbell = self.found.dumbbell
        self.pair("R1", "q0", "wire", "w0")
        self.pair("wire", "w1", "R2", "q1")
        for number, host in enumerate(self.found.hosts):
            self.host(number, host)
        for name, routes in (
            ("R1", ["addr add 10.67.0.1/32 dev lo", "route add default dev q0"]),
            ("R2", ["addr add 10.67.0.2/32 dev lo", "route add default dev q1"]),
            ("wire", ["route add 10.64.0.0/16 dev w0", "route add 10.65.0.0/16 dev w1"]),
        ):
            self.ip[name] += routes
        forward, *backward = lines(self.found)
        back = reverse_rate(self.found)
        self.shaped("R1", "q0", dumbbell["rate"], forward.words)
        self.delayed("wire", "w1", dumbbell["rate"], dumbbell["delay"])
        if not backward:
            self.delayed("R2", "q1", back, dumbbell["delay"])
        else:
            self.shaped("R2", "q1", back, backward[0].words)
            self.delayed("wire", "w0", back, dumbbell["delay"])
        return {
            "namespaces": self.names,
            "routers": ["R1", "wire", "R2"],
            "links": self.links,
            "ip": self.ip,
            "tc": {name: words for name, words in self.tc.items() if words},
            "queues": QUEUES,
            "devices": TRACED,
            "held": self.held,
            "held_priority": HELD_PRIORITY,
            "jobs": [f"{side}{number}" for side, number in self.found.jobs],
            "duration": self.found.plan["duration"],
        }

    def pair(self, left: str, one: str, right: str, other: str) -> None:
        """Connect two namespaces by a veth pair, both ends up."""
        self.macs += 1
        mac = f"02:00:00:00:{self.macs >> 8:02x}:{self.macs & 255:02x}"
        mtu = self.found.mtu
        self.links.append(
            f"link add {one} address {mac} mtu {mtu} netns {{{left}}} type veth "
            f"peer name {other} address {mac} mtu {mtu} netns {{{right}}}"
        )
        self.ip[left].append(f"link set {one} gso_max_segs 1 arp off up")
        self.ip[right].append(f"link set {other} gso_max_segs 1 arp off up")

    def host(self, number: int, host: Host) -> None:
        """Add a host with its access link; packets from its address take its own device."""
        side, router = "{}{}".format(*host.namespace), "R1" if host.side == LEFT else "R2"
        device, other, table = f"h{number}", f"r{number}", 1000 + number
        self.pair(side, device, router, other)
        self.ip[side] += [
            f"addr add {host.address}/32 dev {device}",
            f"route add {self.found.route} dev {device} table {table}",
            f"rule add from {host.address} table {table}",
        ]
        self.ip[router].append(f"route add {host.address}/32 dev {other}")
        self.delayed(side, device, host.rate, host.delay)
        self.delayed(router, other, host.rate, host.delay)

    def delayed(self, name: str, device: str, rate: int, delay: int) -> None:
        """Make a device a link that never drops a packet."""
        words = f"netem limit {HELD} delay {delay / 1000:.3f}us rate {rate}bit {self.overhead}"
        self.tc[name].append(f"qdisc add dev {device} root {words}")

    def shaped(self, name: str, device: str, rate: int, words: list[str]) -> None:
        """Make a device a queue in front of a link."""
        burst = max(1, -(-rate * CATCH_UP // 8_000_000_000))
        table = f"stab overhead {self.overhead} linklayer ethernet " if self.overhead else ""
        self.held[name] = device
        self.tc[name] += [
            f"qdisc add dev {device} root handle 1: {table}htb default 1",
            f"class add dev {device} parent 1: classid 1:1 htb rate {rate}bit burst {burst}b cburst {burst}b "
            f"quantum {self.found.mtu + ETHERNET}",
            f"qdisc add dev {device} parent 1:1 handle 2: prio bands 2 priomap {' '.join('0' * 15)} 1",
            f"qdisc add dev {device} parent 2:1 handle 10: {' '.join(words)}",
            f"qdisc add dev {device} parent 2:2 handle 3: netem limit 1 rate 8bit {FOREVER}",
        ]
