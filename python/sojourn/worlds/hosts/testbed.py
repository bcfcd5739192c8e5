"""A scenario as a testbed: hosts with addresses, and the configuration of their kernels and the gateway.

A host is an address with its own access link. Each side has up to eight namespaces, and so TCP stacks, which
its hosts share if there are more. Sender k of traffic t uses source port 20000 + k mod 40000 and destination
port 2000 + t, so that the gateway can map connections to the scenario's flows. `jobs` defines what each host
does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sojourn.spec.scenario import Scenario
from sojourn.spec.units import number
from sojourn.worlds.hosts.kernel import HEADERS, VARIANTS, datagrams, tcps

#: Namespaces per side.
NAMESPACES = 8
LEFT, RIGHT = "left", "right"
SOURCE, PORT = 20000, 2000


@dataclass(frozen=True)
class Host:
    """An address with its own access link to the bottleneck."""

    side: str
    number: int
    rate: int
    delay: int

    @property
    def address(self) -> str:
        """The IPv4 address."""
        number = self.number + 1
        return f"10.{64 if self.side == LEFT else 65}.{number >> 8}.{number & 255}"

    @property
    def namespace(self) -> tuple[str, int]:
        """Key of the host's namespace."""
        return self.side, self.number % NAMESPACES


#: Protocol, source, its port, destination, its port, in the direction of the data.
Tuple5 = tuple[str, str, int, str, int]


@dataclass
class Layout:
    """A scenario, an algorithm and a seed as hosts and jobs.

    Attributes
    ----------
    hosts : list of Host
        Every address.
    jobs : dict
        The job of each namespace; the JSON that ``agent.py`` reads.
    tuples : dict
        Flow (traffic, index) of each 5-tuple; web traffic is added after the run.
    """

    scenario: Scenario
    spec: str
    seed: int
    hosts: list[Host] = field(default_factory=list)
    jobs: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    tuples: dict[Tuple5, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan, as for the core."""
        return self.scenario.plan(self.spec)

    @cached_property
    def dumbbell(self) -> dict[str, Any]:
        """The topology."""
        return dict(self.plan["topology"]["dumbbell"])

    @cached_property
    def route(self) -> str:
        """The route of every host, with its TCP attributes."""
        every = {**self.scenario.tcp}
        for one in self.scenario.senders:
            every |= getattr(one, "tcp", {})
        words = ["default"]
        web = [one["kind"]["web"]["tcp"] for one in self.plan["traffic"] if "web" in one["kind"]]
        if web:  # other senders set it per socket
            words += ["congctl", VARIANTS[web[0]["options"]["variant"]][0]]
        if "initial_window" in every:
            words += ["initcwnd", str(every["initial_window"])]
        if "min_rto" in every:
            words += ["rto_min", f"{max(1, round(number('span', str(every['min_rto'])) / 1e6))}ms"]
        return " ".join(words)

    @cached_property
    def header(self) -> int:
        """Bytes of headers on the wire of every TCP packet."""
        return next((int(one["header"]) for one in tcps(self.plan)), 40)

    @property
    def timestamps(self) -> bool:
        """Whether TCP has timestamps."""
        return HEADERS[self.header][0]

    @property
    def overhead(self) -> int:
        """Bytes on the wire beyond the IP packet."""
        return HEADERS[self.header][1]

    @property
    def mean_packet(self) -> int:
        """Mean packet size for algorithms, on the wire: that of the first TCP traffic, else of datagrams."""
        sizes = [one["payload"] + one["header"] for one in tcps(self.plan)]
        return int([*sizes, *(one["size"] for one in datagrams(self.plan)), 1000][0])

    @cached_property
    def mtu(self) -> int:
        """The maximum size of an IP packet."""
        of_tcp = [one["payload"] + self.header - self.overhead for one in tcps(self.plan)]
        of_udp = [kind["size"] - self.overhead for kind in datagrams(self.plan)]
        return int(max(576, *of_tcp, *of_udp))
