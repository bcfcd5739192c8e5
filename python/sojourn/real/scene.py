"""A scenario as a testbed: hosts with addresses, what each of them does, and what the gateway is told.

Only what real hosts can do is taken; everything else is refused here, before anything starts. A host is
an address with an access link of its own; up to eight hosts a side have a namespace, and so a TCP, each;
more of them share these eight. Sender k of traffic t uses port 20000 + k mod 40000 towards port 2000 + t, so
that the gateway's counters of 5-tuples are counters of flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count as counted
from pathlib import Path
from typing import Any, NoReturn

from sojourn.errors import InputError
from sojourn.real import draws
from sojourn.resolve import is_tcp
from sojourn.scenario import Scenario
from sojourn.units import number

#: Namespaces a side.
NAMESPACES = 8
#: Bytes of headers on the wire that a TCP of the kernel can have: timestamps or not, Ethernet's or not.
HEADERS = {40: (False, 0), 52: (True, 0), 54: (False, 14), 66: (True, 14)}
#: How each variant is made: the kernel's congestion control, selective acknowledgements.
VARIANTS = {
    "reno": ("reno", True),
    "newreno": ("reno", False),
    "sack": ("reno", True),
    "cubic": ("cubic", True),
    "dctcp": ("dctcp", True),
}
#: Options of TCP that the kernel is told; all others are the kernel's own.
OPTIONS = ("variant", "ecn", "initial_window", "min_rto")
KINDS = ("tcp", "tcp-short", "web", "udp-cbr")
LEFT, RIGHT = "left", "right"
SOURCE, PORT = 20000, 2000
#: Least segment that the kernel agrees to (TCP_MIN_MSS).
LEAST_SEGMENT = 88
FILES = 20000


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


def tcps(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the TCP of every traffic that has one."""
    kinds = (one["kind"] for one in plan["traffic"])
    found = (kind.get("tcp") or next(iter(kind.values())).get("tcp") for kind in kinds)
    return [one for one in found if one is not None]


def datagrams(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the constant streams."""
    return [one["kind"]["udp_cbr"] for one in plan["traffic"] if "udp_cbr" in one["kind"]]


def check(scenario: Scenario) -> None:
    """Refuse what real hosts cannot do.

    Raises
    ------
    InputError
        With the key, and what is allowed in this world.
    """

    def refuse(key: str, problem: str, allowed: str) -> NoReturn:
        raise InputError(f"{scenario.where}: {key}", f"{problem} in the real world", allowed)

    if scenario.dumbbell is None:
        refuse("link", "is not possible", "[dumbbell]")
    if scenario.conventions.startswith("ns2"):
        refuse("conventions", f"= {scenario.conventions!r} is not possible", "default, linux")
    if scenario.trace.cwnd:
        refuse("trace.cwnd", "is not possible: the kernel does not report each change", "false")
    _check_tcp("tcp", scenario.tcp, refuse)
    headers: set[int] = set()
    controls: set[tuple[object, ...]] = set()
    for i, (one, planned) in enumerate(zip(scenario.traffic, scenario.plan()["traffic"], strict=True)):
        place = f"traffic[{i + 1}]"
        if one.kind not in KINDS:
            refuse(f"{place}.kind", f"= {one.kind!r} is not possible", ", ".join(KINDS))
        if one.marker is not None:
            refuse(f"{place}.marker", "is not possible", "class = N")
        if not is_tcp(one):
            if planned["sizes"] is not None:
                refuse(f"{place}.size", f"= {one.size!r} is not possible", "one size")  # type: ignore[union-attr]
            continue
        _check_tcp(f"{place}.tcp", one.tcp, refuse)  # type: ignore[union-attr]
        tcp = tcps({"traffic": [planned]})[0]
        headers.add(tcp["header"])
        if tcp["header"] not in HEADERS or len(headers) > 1:
            words = ", ".join(f"{n}B" for n in HEADERS)
            problem = f"= {one.header!r} is not possible"  # type: ignore[union-attr]
            refuse(f"{place}.header", problem, f"one of {words}, the same in all TCP traffic")
        least = LEAST_SEGMENT - (12 if HEADERS[tcp["header"]][0] else 0)
        if not least <= tcp["payload"] <= 65000:
            problem = f"= {one.payload!r} is not possible"  # type: ignore[union-attr]
            refuse(f"{place}.payload", problem, f"{least}B to 65000B")
        if tcp.get("payloads") is not None:
            refuse(f"{place}.payload", f"= {one.payload!r} is not possible", "one size")  # type: ignore[union-attr]
        variant = tcp["options"]["variant"]
        if variant not in VARIANTS or VARIANTS[variant][0] not in controls_here():
            known = [name for name, (control, _) in VARIANTS.items() if control in controls_here()]
            refuse(f"{place}.variant", f"= {variant!r} is not possible on this kernel", ", ".join(known))
        options = tcp["options"]
        mine = (str(options["ecn"]), VARIANTS[variant][1], options["initial_window"], options["min_rto"])
        controls.add(mine)
        if len(controls) > 1:
            words = "the same in all TCP traffic"
            refuse(place, "differs in ecn, initial_window, min_rto or selective acknowledgements", words)
    _check_size(scenario, refuse)


def _check_tcp(place: str, options: dict[str, Any], refuse: Callable[[str, str, str], NoReturn]) -> None:
    for key in options:
        if key not in OPTIONS:
            refuse(f"{place}.{key}", "is the kernel's own affair", ", ".join(OPTIONS))


def _check_size(scenario: Scenario, refuse: Callable[[str, str, str], NoReturn]) -> None:
    found = Layout(scenario, scenario.queue.aqm if scenario.queue else "droptail", 0)
    least = 28 + found.overhead
    for i, (one, planned) in enumerate(zip(scenario.traffic, found.plan["traffic"], strict=True)):
        if one.count > 16000:
            refuse(f"traffic[{i + 1}].count", f"= {one.count} is too many", "at most 16000")
        size = planned["kind"].get("udp_cbr", {}).get("size", least)
        if size < least:
            refuse(f"traffic[{i + 1}].size", f"= {size} B is too small", f"at least {least}B")


def controls_here() -> list[str]:
    """Return the congestion controls that this kernel has."""
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return path.read_text(encoding="ascii").split() if path.exists() else ["reno"]


def layout(scenario: Scenario, spec: str, seed: int) -> Layout:
    """Return the testbed of a scenario under an algorithm.

    Raises
    ------
    InputError
        If real hosts cannot do what it says.
    """
    check(scenario)
    found = Layout(scenario, spec, seed)
    _Builder(found).build()
    return found


class _Builder:
    """Fills a testbed: hosts as they are met, one job a namespace."""

    def __init__(self, found: Layout) -> None:
        self.found, self.plan, self.dumbbell = found, found.plan, found.dumbbell
        self.known: dict[tuple[str, str, int], Host] = {}
        self.numbers = {LEFT: counted(), RIGHT: counted()}

    def build(self) -> None:
        """Add every traffic."""
        for i, one in enumerate(self.plan["traffic"]):
            ((kind, what),) = one["kind"].items()
            {"tcp": self.endless, "tcp_short": self.short, "udp_cbr": self.stream, "web": self.web}[kind](
                i, one, what
            )

    # Hosts.

    def host(self, side: str, group: str, number: int, links: dict[str, Any]) -> Host:
        """Return a host of a group, made when first met."""
        key = (side, group, number)
        if key not in self.known:
            delays = links["delays"]
            made = Host(side, next(self.numbers[side]), links["rate"], delays[number % len(delays)])
            self.known[key] = made
            self.found.hosts.append(made)
            self.job(made)
        return self.known[key]

    def clients(self, one: dict[str, Any]) -> tuple[dict[str, Any], str, int]:
        """Return the links of a traffic's client side, the group of its hosts, and how many there are."""
        links = one["access"] or self.dumbbell["access"]
        shared = not one["access"] and links["nodes"] is not None and links["nodes"] != "flow"
        return links, "" if shared else one["name"], links["nodes"] if shared else self._own(links, one)

    @staticmethod
    def _own(links: dict[str, Any], one: dict[str, Any]) -> int:
        nodes = links["nodes"]
        return one["count"] if nodes in (None, "flow") else int(nodes)

    def servers(self, one: dict[str, Any]) -> int:
        """Return how many hosts the server side has for a traffic."""
        nodes = self.dumbbell["server"]["nodes"]
        return one["count"] if nodes == "flow" else int(nodes or 1)

    def pair(self, one: dict[str, Any], index: int) -> tuple[Host, Host]:
        """Return where flow `index` of a traffic starts and ends."""
        links, group, hosts = self.clients(one)
        client = self.host(LEFT, group, index % hosts, links)
        server = self.host(RIGHT, "", index % self.servers(one), self.dumbbell["server"])
        return (server, client) if one["reverse"] else (client, server)

    # Jobs.

    def job(self, host: Host) -> dict[str, Any]:
        """Return what the host's namespace does."""
        found = self.found
        fresh = {
            "sysctl": self.sysctl(),
            "seed": found.seed,
            "window": [self.plan["warmup"], self.plan["duration"]],
            "sinks": [],
            "tcp": [],
            "udp": [],
            "web": [],
            "nginx": [],
            "files": FILES,
        }
        return found.jobs.setdefault(host.namespace, fresh)

    def sysctl(self) -> dict[str, object]:
        """Return the settings of TCP in every namespace."""
        options = [one["options"] for one in tcps(self.plan)]
        first: dict[str, Any] = options[0] if options else {"variant": "reno", "ecn": False}
        return {
            "net.ipv4.tcp_no_metrics_save": 1,
            "net.ipv4.tcp_timestamps": int(self.found.timestamps),
            "net.ipv4.tcp_sack": int(VARIANTS[first["variant"]][1]),
            "net.ipv4.tcp_ecn": int(_on(first["ecn"])),
            "net.ipv4.tcp_tw_reuse": 1,
            "net.ipv4.ip_local_port_range": "1024 19999",
        }

    def sink(self, host: Host, protocol: str, number: int) -> list[Any]:
        """Open a sink at a host; return its address."""
        sinks = self.job(host)["sinks"]
        if [protocol, PORT + number] not in sinks:
            sinks.append([protocol, PORT + number])
        return [host.address, PORT + number]

    def starts(self, one: dict[str, Any]) -> Iterator[int]:
        """Yield the start of each source (ns), the ramp included."""
        step = 0.0
        for index in range(one["count"]):
            stagger = one["stagger"]
            if stagger and index and index % stagger["by"] == 0:
                rng = draws.stream(self.found.seed, one["name"], index, "stagger")
                step += draws.value(stagger["every"], rng)
            rng = draws.stream(self.found.seed, one["name"], index, "start")
            yield round(step + draws.value(one["start"], rng))

    def connection(self, number: int, one: dict[str, Any], index: int, tcp: dict[str, Any]) -> dict[str, Any]:
        """Return one TCP flow, with its sink opened and its 5-tuple known."""
        source, target = self.pair(one, index)
        start = [source.address, SOURCE + index % 40000]
        end = self.sink(target, "tcp", number)
        self.found.tuples[("tcp", *start, *end)] = (number, index)
        return {
            "flow": [number, index],
            "from": start,
            "to": end,
            "mss": tcp["payload"] + (12 if self.found.timestamps else 0),
            "congestion": VARIANTS[tcp["options"]["variant"]][0],
            "max_rate": tcp["max_rate"],
            "stop": one["stop"],
            "host": source,
        }

    def _add(self, flow: dict[str, Any], kind: str) -> None:
        host = flow.pop("host")
        self.job(host)[kind].append(flow)

    def endless(self, number: int, one: dict[str, Any], tcp: dict[str, Any]) -> None:
        """Add connections with endless data."""
        for index, start in enumerate(self.starts(one)):
            self._add({**self.connection(number, one, index, tcp), "start": start}, "tcp")

    def short(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add flows that arrive as a Poisson process."""
        seed, name = self.found.seed, one["name"]
        time = draws.value(one["start"], draws.stream(seed, name, "start"))
        last = min(self.plan["duration"], one["stop"] or self.plan["duration"])
        for index in counted():
            rng = draws.stream(seed, name, index, "flow")
            time += draws.value({"exponential": 1e9 / what["arrivals"]}, rng)
            if time >= last:
                return
            flow = {**self.connection(number, one, index, what["tcp"]), "start": round(time), "stop": None}
            if what.get("size") is not None:
                flow["bytes"] = max(1, round(draws.value(what["size"], rng)))
            else:
                flow["lifetime"] = round(draws.value(what["lifetime"], rng))
                flow["stop"] = flow["start"] + flow["lifetime"]
            self._add(flow, "tcp")

    def stream(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add datagrams at a constant rate."""
        ecn = {"off": 0, "ect1": 1, "ect0": 2}[one["ecn"]]
        for index, start in enumerate(self.starts(one)):
            source, target = self.pair(one, index)
            begin, end = [source.address, SOURCE + index], self.sink(target, "udp", number)
            self.found.tuples[("udp", *begin, *end)] = (number, index)
            flow = {
                "flow": [number, index],
                "from": begin,
                "to": end,
                "start": start,
                "stop": one["stop"],
                "payload": what["size"] - self.found.overhead - 28,
                "gap": what["size"] * 8e9 / what["rate"],
                "jitter": what["jitter"],
                "tos": ecn,
                "host": source,
            }
            self._add(flow, "udp")

    def web(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add sessions: servers at the sending side, people at the other."""
        links, group, hosts = self.clients(one)
        left = [self.host(LEFT, group, j, links) for j in range(hosts)]
        right = [self.host(RIGHT, "", j, self.dumbbell["server"]) for j in range(self.servers(one))]
        servers, people = (right, left) if one["reverse"] else (left, right)
        for host in servers:
            ports = self.job(host)["nginx"]
            if PORT + number not in ports:
                ports.append(PORT + number)
        tcp = what["tcp"]
        rate = tcp["max_rate"]
        job = {
            **{key: what[key] for key in ("pages", "page_gap", "from_start", "objects", "object_gap")},
            **{key: what[key] for key in ("size", "patience")},
            "traffic": number,
            "name": one["name"],
            "port": PORT + number,
            "servers": [host.address for host in servers],
            "mss": tcp["payload"] + (12 if self.found.timestamps else 0),
            "read_rate": rate and rate / 8 * tcp["payload"] / (tcp["payload"] + tcp["header"]),
            "stop": one["stop"],
        }
        for index, start in enumerate(self.starts(one)):
            rng = draws.stream(self.found.seed, one["name"], index, "client")
            host = people[rng.randrange(len(people))]
            mine = self.job(host)["web"]
            if not mine or mine[-1]["traffic"] != number:
                mine.append({**job, "sessions": []})
            mine[-1]["sessions"].append([index, host.address, start])


def _on(word: object) -> bool:
    return word in (True, "on")
