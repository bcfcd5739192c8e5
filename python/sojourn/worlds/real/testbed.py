"""A scenario as a testbed: hosts with addresses, and what their kernels and the gateway are told.

A host is an address with an access link of its own; up to eight hosts a side have a namespace, and so a TCP,
each; more of them share these eight. Sender k of traffic t uses port 20000 + k mod 40000 towards port
2000 + t: the gateway's connections are the scenario's flows. `jobs` says what each host does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sojourn.spec.scenario import Scenario
from sojourn.spec.units import number
from sojourn.worlds.real.kernel import HEADERS, VARIANTS, datagrams, tcps

#: Namespaces a side.
NAMESPACES = 8
LEFT, RIGHT = "left", "right"
SOURCE, PORT = 20000, 2000


@dataclass(frozen=True)
class Host:
    """An address with its own link to the bottleneck."""

    side: str
    number: int
    rate: int
    delay: int

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        number = self.number + 1
        return f"10.{64 if self.side == LEFT else 65}.{number >> 8}.{number & 255}"

    @property
    def namespace(self) -> tuple[str, int]:
        """The namespace that it lives in."""
        return self.side, self.number % NAMESPACES


#: Protocol, source, its port, destination, its port: of the packets that carry data.
Tuple5 = tuple[str, str, int, str, int]


@dataclass
class Layout:
    """A scenario, an algorithm and a seed as hosts and jobs.

    Attributes
    ----------
    hosts : list of Host
        Every address.
    jobs : dict
        What each namespace does, by its name; the JSON of ``agent.py``.
    tuples : dict
        Flow (traffic, index) of each 5-tuple; of web traffic it is known afterwards.
    """

    scenario: Scenario
    spec: str
    seed: int
    hosts: list[Host] = field(default_factory=list)
    jobs: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    tuples: dict[Tuple5, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def plan(self) -> dict[str, Any]:
        """What the core would run."""
        return self.scenario.plan(self.spec)

    @cached_property
    def dumbbell(self) -> dict[str, Any]:
        """The topology."""
        return dict(self.plan["topology"]["dumbbell"])

    @cached_property
    def route(self) -> str:
        """The route of every host, with what it says of TCP."""
        every = {**self.scenario.tcp}
        for one in self.scenario.traffic:
            every |= getattr(one, "tcp", {})
        words = ["default"]
        web = [one["kind"]["web"]["tcp"] for one in self.plan["traffic"] if "web" in one["kind"]]
        if web:  # other senders say it for each socket
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
        """Size on the wire that algorithms count in: of the first TCP, else of the first datagrams."""
        sizes = [one["payload"] + one["header"] for one in tcps(self.plan)]
        return int([*sizes, *(one["size"] for one in datagrams(self.plan)), 1000][0])

    @cached_property
    def mtu(self) -> int:
        """The largest IP packet."""
        of_tcp = [one["payload"] + self.header - self.overhead for one in tcps(self.plan)]
        of_udp = [kind["size"] - self.overhead for kind in datagrams(self.plan)]
        return int(max(576, *of_tcp, *of_udp))
