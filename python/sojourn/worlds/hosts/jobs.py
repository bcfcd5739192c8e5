"""The jobs of the namespaces of a testbed, one per namespace, in the JSON that ``agent.py`` reads.

``support.check`` rejects what the hosts cannot run. Starts, sizes and gaps are drawn here from the seed, so
that every algorithm gets the same traffic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count as counted
from typing import Any

from sojourn.spec.scenario import Scenario
from sojourn.worlds.hosts import random_streams
from sojourn.worlds.hosts.kernel import VARIANTS, controls_here, tcps
from sojourn.worlds.hosts.support import check
from sojourn.worlds.hosts.testbed import LEFT, PORT, RIGHT, SOURCE, Host, Layout

#: Limit of open files of a server.
FILES = 20000


def layout(
    scenario: Scenario,
    spec: str,
    seed: int,
    controls: Collection[str] | None = None,
    world: str = "the real world",
) -> Layout:
    """Return the testbed of a scenario under an algorithm.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    spec : str
        The algorithm at its measured queue.
    seed : int
        Of starts, sizes and gaps.
    controls : collection of str, optional
        Congestion controls of the hosts' kernel; those of this machine if None.
    world : str
        For messages.

    Raises
    ------
    InputError
        If Linux hosts cannot run the scenario.
    """
    check(scenario, controls_here() if controls is None else controls, world)
    found = Layout(scenario, spec, seed)
    _Builder(found).build()
    return found


class _Builder:
    """Fills a testbed: creates hosts on first use, and one job per namespace."""

    def __init__(self, found: Layout) -> None:
        self.found, self.plan, self.dumbbell = found, found.plan, found.dumbbell
        self.known: dict[tuple[str, str, int], Host] = {}
        self.numbers = {LEFT: counted(), RIGHT: counted()}

    def build(self) -> None:
        """Add the hosts and jobs of every traffic."""
        for i, one in enumerate(self.plan["traffic"]):
            ((kind, what),) = one["kind"].items()
            {"tcp": self.endless, "tcp_short": self.short, "udp_cbr": self.stream, "web": self.web}[kind](
                i, one, what
            )

    # Hosts.

    def host(self, side: str, group: str, number: int, links: dict[str, Any]) -> Host:
        """Return a host of a group; create it on first use."""
        key = (side, group, number)
        if key not in self.known:
            delays = links["delays"]
            made = Host(side, next(self.numbers[side]), links["rate"], delays[number % len(delays)])
            self.known[key] = made
            self.found.hosts.append(made)
            self.job(made)
        return self.known[key]

    def clients(self, one: dict[str, Any]) -> tuple[dict[str, Any], str, int]:
        """Return the access links of a traffic's clients, the group of its hosts, and their number."""
        links = one["access"] or self.dumbbell["access"]
        shared = not one["access"] and links["nodes"] is not None and links["nodes"] != "flow"
        return links, "" if shared else one["name"], links["nodes"] if shared else self._own(links, one)

    @staticmethod
    def _own(links: dict[str, Any], one: dict[str, Any]) -> int:
        nodes = links["nodes"]
        return one["count"] if nodes in (None, "flow") else int(nodes)

    def servers(self, one: dict[str, Any]) -> int:
        """Return the number of server-side hosts of a traffic."""
        nodes = self.dumbbell["server"]["nodes"]
        return one["count"] if nodes == "flow" else int(nodes or 1)

    def pair(self, one: dict[str, Any], index: int) -> tuple[Host, Host]:
        """Return source and destination of flow `index` of a traffic."""
        links, group, hosts = self.clients(one)
        client = self.host(LEFT, group, index % hosts, links)
        server = self.host(RIGHT, "", index % self.servers(one), self.dumbbell["server"])
        return (server, client) if one["reverse"] else (client, server)

    # Jobs.

    def job(self, host: Host) -> dict[str, Any]:
        """Return the job of the host's namespace."""
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
        """Return the TCP sysctls of every namespace."""
        options = [one["options"] for one in tcps(self.plan)]
        first: dict[str, Any] = options[0] if options else {"variant": "reno", "ecn": False}
        return {
            "net.ipv4.tcp_no_metrics_save": 1,
            "net.ipv4.tcp_timestamps": int(self.found.timestamps),
            "net.ipv4.tcp_sack": int(VARIANTS[first["variant"]][1]),
            "net.ipv4.tcp_ecn": int(_on(first["ecn"])),
            "net.ipv4.tcp_ecn_fallback": 0,  # the loss of a SYN must not disable ECN
            "net.ipv4.tcp_tw_reuse": 1,
            "net.ipv4.ip_local_port_range": "1024 19999",
        }

    def sink(
        self, host: Host, protocol: str, number: int, congestion: str | None = None, echo: bool = False
    ) -> list[Any]:
        """Add a sink to a host; return its address."""
        sinks = self.job(host)["sinks"]
        if [protocol, PORT + number, congestion, echo] not in sinks:
            sinks.append([protocol, PORT + number, congestion, echo])
        return [host.address, PORT + number]

    def starts(self, one: dict[str, Any]) -> Iterator[int]:
        """Yield the start of each source (ns), the ramp included."""
        step = 0.0
        for index in range(one["count"]):
            stagger = one["stagger"]
            if stagger and index and index % stagger["by"] == 0:
                rng = random_streams.stream(self.found.seed, one["name"], index, "stagger")
                step += random_streams.draw(stagger["every"], rng)
            rng = random_streams.stream(self.found.seed, one["name"], index, "start")
            yield round(step + random_streams.draw(one["start"], rng))

    def connection(self, number: int, one: dict[str, Any], index: int, tcp: dict[str, Any]) -> dict[str, Any]:
        """Return one TCP flow; add its sink and its 5-tuple."""
        source, target = self.pair(one, index)
        start = [source.address, SOURCE + index % 40000]
        congestion = VARIANTS[tcp["options"]["variant"]][0]
        end = self.sink(target, "tcp", number, congestion)
        self.found.tuples[("tcp", *start, *end)] = (number, index)
        return {
            "flow": [number, index],
            "from": start,
            "to": end,
            "mss": tcp["payload"] + (12 if self.found.timestamps else 0),
            "congestion": congestion,
            "max_rate": tcp["max_rate"],
            "stop": one["stop"],
            "host": source,
        }

    def _add(self, flow: dict[str, Any], kind: str) -> None:
        host = flow.pop("host")
        self.job(host)[kind].append(flow)

    def endless(self, number: int, one: dict[str, Any], tcp: dict[str, Any]) -> None:
        """Add connections with unlimited data."""
        for index, start in enumerate(self.starts(one)):
            self._add({**self.connection(number, one, index, tcp), "start": start}, "tcp")

    def short(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add flows that arrive as a Poisson process."""
        seed, name = self.found.seed, one["name"]
        time = random_streams.draw(one["start"], random_streams.stream(seed, name, "start"))
        last = min(self.plan["duration"], one["stop"] or self.plan["duration"])
        for index in counted():
            rng = random_streams.stream(seed, name, index, "flow")
            time += random_streams.draw({"exponential": 1e9 / what["arrivals"]}, rng)
            if time >= last:
                return
            flow = {**self.connection(number, one, index, what["tcp"]), "start": round(time), "stop": None}
            if what.get("size") is not None:
                flow["bytes"] = max(1, round(random_streams.draw(what["size"], rng)))
            else:
                flow["lifetime"] = round(random_streams.draw(what["lifetime"], rng))
                flow["stop"] = flow["start"] + flow["lifetime"]
            self._add(flow, "tcp")

    def stream(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add datagrams at a constant rate."""
        ecn = {"off": 0, "ect1": 1, "ect0": 2}[one["ecn"]]
        for index, start in enumerate(self.starts(one)):
            source, target = self.pair(one, index)
            echo = bool(one.get("echo"))
            begin, end = [source.address, SOURCE + index], self.sink(target, "udp", number, echo=echo)
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
                "echo": echo,
                "host": source,
            }
            self._add(flow, "udp")

    def web(self, number: int, one: dict[str, Any], what: dict[str, Any]) -> None:
        """Add web sessions: servers at the sending side, clients at the other."""
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
            rng = random_streams.stream(self.found.seed, one["name"], index, "client")
            host = people[rng.randrange(len(people))]
            mine = self.job(host)["web"]
            if not mine or mine[-1]["traffic"] != number:
                mine.append({**job, "sessions": []})
            mine[-1]["sessions"].append([index, host.address, start])


def _on(word: object) -> bool:
    return word in (True, "on")
