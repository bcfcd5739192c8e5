"""An upper bound on the memory of a simulated run, computed from its plan before the run.

The bound has six parts: flows, finite transfers, routes, packets in the network, samples over time, and
traces (of congestion windows and drops). Each is a count that follows from the plan, times the bytes that one
item takes at the peak, in the core and in Python together. These bytes were measured, with a margin for
vectors that double when they are full. ``tests/study/test_memory.py`` measures runs of several shapes, and
requires that the bound is at least what a run takes and at most four times as much. A random count enters
with its mean and six standard deviations.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any, NamedTuple

from sojourn import _core
from sojourn.spec.units import Wrong, ends, mean, number
from sojourn.worlds.base import parsed

#: Bytes in memory for each byte of a row over time: the columns of the core while they grow, their copy in
#: Python, and the table and the file that are made of it.
COPIES = 5
#: Bytes of a row in the traces, and of a sample without and per probe.
CWND_ROW, DROP_ROW = 28, 29
#: Bytes of a row in the log of packets, and of a sample of a flow.
PACKET_ROW, FLOW_ROW = 41, 48
#: Bytes of these rows on disk (measured: 7.8 to 9.7, and 6.8 to 7.0).
PACKET_STORED, FLOW_STORED = 10, 7.5
#: Rows of a packet in the log: it arrives and leaves; marks are few, and `COPIES` has a margin for them.
PACKET_ROWS = 2
SAMPLE, PROBE = 44, 8
#: Bytes of a flow, and of a transfer, a web object (with its two connections), a page and a segment of a
#: video in addition.
FLOW, TRANSFER, OBJECT, PAGE, SEGMENT = 2200, 600, 1500, 900, 300
#: Bytes of a route, and in addition of the first routes to a host, one for each delay on the other side.
ROUTE, FIRST_ROUTE = 240, 2000
#: Bytes of a packet on a link or in a queue.
PACKET = 200
#: Bytes of any run.
LEAST = 4_000_000
#: Rows of a trace that the core reserves at least.
LEAST_ROWS = 8192
#: Bytes of a packet on the wire where the traffic does not fix them.
USUAL_SIZE = 500
#: Packets of the initial window (RFC 5681, section 3.1).
FIRST_WINDOW = 4
#: Probes of an algorithm that is not built in.
OWN_PROBES = 8


class Bound(NamedTuple):
    """Bytes that a run takes at most, by part. During the run, the core itself limits the traces."""

    flows: int
    transfers: int
    routes: int
    packets: int
    samples: int
    traces: int

    @property
    def total(self) -> int:
        """All parts, and what any run takes."""
        return LEAST + sum(self)

    @property
    def untraced(self) -> int:
        """All but the traces."""
        return self.total - self.traces

    def __str__(self) -> str:
        """Return the total and the parts that matter, in MB.

        Examples
        --------
        >>> str(Bound(2_000_000_000, 0, 0, 30_000_000, 400, 0))
        '2,034 MB (flows 2,000, packets 30)'
        """
        parts = [f"{name} {size / 1e6:,.0f}" for name, size in self._asdict().items() if size >= 5e5]
        return f"{self.total / 1e6:,.0f} MB" + (f" ({', '.join(parts)})" if parts else "")


@functools.lru_cache(maxsize=256)
def bound(plan_json: str) -> Bound:
    """Return the bound for a run of a plan.

    Examples
    --------
    A link of 1 Gbit/s carries 75 million packets of 1000 bytes in 10 minutes.

    >>> import json
    >>> dumbbell = {"rate": 10**9, "delay": 0, "access": {"rate": 10**9, "delays": [0], "nodes": None},
    ...     "server": {"rate": 10**9, "delays": [0], "nodes": 1}, "queue": {"limit": "100p", "aqm": "red"}}
    >>> options = {"receiver_window": 100, "initial_window": 10}
    >>> tcp = {"payload": 960, "header": 40, "max_rate": None, "options": options}
    >>> plan = {"trace": {"cwnd": True, "drops": False, "interval": None}, "duration": 600 * 10**9,
    ...     "topology": {"dumbbell": dumbbell}, "traffic": [{"kind": {"tcp": tcp}, "count": 1, "stop": None}]}
    >>> bound(json.dumps(plan)).traces == 5 * 28 * 75_000_000
    True
    """
    plan = parsed(plan_json)
    links = _Links(plan["topology"])
    seconds = plan["duration"] / 1e9
    lasts = seconds + plan.get("drain", 0) / 1e9
    flows = transfers = 0.0
    for one in plan["traffic"]:
        more_flows, more_transfers = _demand(one, lasts, links)
        flows, transfers = flows + more_flows, transfers + more_transfers
    return Bound(
        math.ceil(flows),
        math.ceil(transfers),
        sum(_routes(one, plan["topology"]) for one in plan["traffic"]),
        math.ceil(PACKET * _packets(plan["traffic"], links, lasts)),
        _samples(plan, links, seconds),
        _traces(plan, links, seconds),
    )


class _Links:
    """What the bound needs of a topology: rates in bit/s, times in s."""

    def __init__(self, topology: dict[str, Any]) -> None:
        ((kind, found),) = topology.items()
        if kind == "dumbbell":
            self.queues = [one for one in (found["queue"], found.get("reverse_queue")) if one]
            self.rates = [_fastest(found)]
            #: What the transfers of one traffic can share.
            self.all_rates = max(_fastest(found), float(found.get("reverse_rate", found["rate"])))
            sides = [found["access"], found["server"]]
            #: The slowest link of a host.
            self.host = min(float(one["rate"]) for one in sides)
            self.round_trip = 2e-9 * (found["delay"] + sum(max(one["delays"], default=0) for one in sides))
        else:
            self.queues = [one["queue"] for one in found if one["queue"]]
            self.rates = [_fastest(one) for one in found if one["queue"]]
            self.all_rates = sum(_fastest(one) for one in found)
            self.host = min((_fastest(one) for one in found if not one["queue"]), default=math.inf)
            self.round_trip = 1e-9 * sum(one["delay"] for one in found)

    @property
    def fastest(self) -> float:
        """The rate of the fastest link with a queue."""
        return max(self.rates, default=0.0)

    @property
    def slowest(self) -> float:
        """The rate of the slowest link with a queue."""
        return min(self.rates, default=math.inf)


def _fastest(link: dict[str, Any]) -> float:
    """Return the highest rate of a link."""
    rates = [float(link["rate"])]
    ((kind, varying),) = (link.get("capacity") or {"": {}}).items()
    if kind == "steps":
        rates = [float(rate) for _, rate in varying["steps"]]
    elif kind == "redraw":
        rates = [max(ends(varying["rate"]))]
    return max(rates)


def _demand(traffic: dict[str, Any], seconds: float, links: _Links) -> tuple[float, float]:
    """Return the bytes of the flows and of the transfers of a traffic.

    A session has as many pages as its gaps allow, but all sessions together have no more objects than the
    links carry and patience aborts.
    """
    ((kind, what),) = traffic["kind"].items()
    count, stop = traffic["count"], traffic["stop"]
    lasts = seconds if stop is None else min(seconds, stop / 1e9)
    if kind == "tcp_short":
        arrivals = _poisson(what["arrivals"] * lasts)
        return FLOW * arrivals, TRANSFER * arrivals
    if kind == "video":
        segments = count * (1 + (lasts * 1e9 + what["buffer"]) / what["segment"])
        return 2 * FLOW * count, SEGMENT * segments
    if kind != "web":
        return FLOW * count, 0
    objects = max(1.0, mean(what["objects"]))
    gap = _usual(what["page_gap"]) / 1e9
    if not what["from_start"]:
        gap += links.round_trip + (objects - 1) * _usual(what["object_gap"]) / 1e9
    pages = count * min(what["pages"] or math.inf, lasts / max(gap, 1e-6) + 1)
    carried = links.all_rates * lasts / 8 / max(_usual(what["size"]), 1.0)
    aborted = count * lasts / (_usual(what["patience"]) / 1e9) if what["patience"] else 0.0
    found = min(pages * objects, carried + aborted + count * objects)
    return FLOW * count, PAGE * _poisson(min(pages, found)) + OBJECT * _poisson(found)


def _routes(traffic: dict[str, Any], topology: dict[str, Any]) -> int:
    """Return the bytes of the routes of transfers that come and go; those of other flows belong to `FLOW`.

    Web traffic has a route for each pair of a client and a server, short transfers for each pair that occurs
    if both are taken in turn.
    """
    kind = next(iter(traffic["kind"]))
    if kind not in ("web", "tcp_short"):
        return 0
    if "dumbbell" in topology:
        sides = [traffic.get("access") or topology["dumbbell"]["access"], topology["dumbbell"]["server"]]
        clients, servers = (one["nodes"] or len(one["delays"]) or 1 for one in sides)
        first = servers * min(clients, len(set(sides[0]["delays"])))
    else:
        clients, servers = len(traffic["from"]), len(traffic["to"])
        first = clients * servers
    pairs = clients * servers if kind == "web" else math.lcm(clients, servers)
    return ROUTE * pairs + FIRST_ROUTE * min(first, pairs)


def _packets(traffic: list[dict[str, Any]], links: _Links, seconds: float) -> float:
    """Return how many packets are in the network at a time.

    There are no more than the windows of all connections and the datagrams in flight. If a queue is the
    bottleneck, it drops what it does not hold, and slow start doubles the windows before that. The links of
    hosts have no limit: datagrams above the rate of such a link wait there.
    """
    smallest = min(map(_size, traffic), default=USUAL_SIZE)
    places = sum(_places(one["limit"], one["aqm"], smallest) for one in links.queues)
    windows = first = waiting = offered = sent = 0.0
    for one in traffic:
        ((kind, what),) = one["kind"].items()
        size, count = 8 * _size(one), one["count"]
        own = float((one.get("access") or {}).get("rate", links.host))
        if kind.startswith("udp"):
            offered += count * what["rate"]
            sent += count * what["rate"] * seconds / size
            waiting += count * max(0.0, what["rate"] - own) * seconds / size
            continue
        tcp = what.get("tcp", what)
        rate, least = min(own, tcp["max_rate"] or math.inf), tcp["options"]["initial_window"] or FIRST_WINDOW
        offered += count * rate
        windows += count * min(tcp["options"]["receiver_window"], least + 2 * rate * seconds / size)
        first += count * least
    in_flight = links.fastest * links.round_trip / 8 / smallest
    outstanding = windows + min(sent, places + in_flight)
    if offered > links.slowest:
        outstanding = min(outstanding, first + 2 * (places + in_flight))
    total: float = outstanding + waiting
    return total


def _places(limit: str, aqm: str, size: float) -> float:
    """Return the packets of `size` bytes that fit into a queue."""
    own = re.search(r"\blimit (\d\S*[a-zA-Z])", aqm)
    try:
        value, unit = number("limit", own[1] if own else limit)
    except Wrong:
        return 0.0  # the core refuses it
    return float(value if unit == "p" else value / size)


def _samples(plan: dict[str, Any], links: _Links, seconds: float) -> int:
    interval = plan["trace"]["interval"]
    if not interval:
        return 0
    probes = sum(_probes(one["aqm"]) for one in links.queues)
    return int(COPIES * (SAMPLE * len(links.queues) + PROBE * probes) * (1e9 * seconds / interval + 1))


def _probes(aqm: str) -> int:
    """Return the number of probes of a queue."""
    known = _builtin_probes()
    found = [known[word] for word in re.findall(r"[\w.]+", aqm) if word in known]
    return sum(found) if found else OWN_PROBES


@functools.cache
def _builtin_probes() -> dict[str, int]:
    every = [*_core.algorithms(), *_core.schedulers()]
    return {one["name"]: len(one.get("probes", ())) for one in every}


def _traces(plan: dict[str, Any], links: _Links, seconds: float) -> int:
    """Return the bytes of traces with rows for each packet that arrives at the fastest queue, and of samples.

    Several queues may carry packets, but one is traced. A flow has a sample whenever it is active.
    """
    trace = plan["trace"]
    row = CWND_ROW * bool(trace["cwnd"]) + DROP_ROW * bool(trace["drops"])
    row += PACKET_ROWS * PACKET_ROW * bool(trace.get("packets"))
    sampled = _flow_samples(plan, links, seconds)
    logged = row * max(LEAST_ROWS, math.ceil(_arrivals(plan, links, seconds))) if row else 0
    return int(COPIES * (logged + FLOW_ROW * sampled))


@functools.lru_cache(maxsize=256)
def on_disk(plan_json: str) -> int:
    """Return how many bytes the log of packets and the samples of flows of a run take on disk, at most.

    The links are full, and the packets small; 0 if the plan records neither.
    """
    plan = parsed(plan_json)
    links, seconds = _Links(plan["topology"]), plan["duration"] / 1e9
    rows = PACKET_ROWS * _arrivals(plan, links, seconds) if plan["trace"].get("packets") else 0
    return math.ceil(PACKET_STORED * rows + FLOW_STORED * _flow_samples(plan, links, seconds))


def _arrivals(plan: dict[str, Any], links: _Links, seconds: float) -> float:
    """Return the packets that arrive at the fastest queue, at most."""
    trace = plan["trace"]
    kinds = [next(iter(one["kind"].items())) for one in plan["traffic"]]
    # A queue drops at most what arrives: TCP adapts to the link, datagrams do not.
    sent = sum(
        one["count"] * what["rate"]
        for one, (kind, what) in zip(plan["traffic"], kinds, strict=True)
        if kind.startswith("udp")
    )
    size = min(map(_size, plan["traffic"]), default=USUAL_SIZE)
    more = sent if trace["drops"] or trace.get("packets") else 0
    return float(seconds * (links.fastest + more) / 8 / size)


def _flow_samples(plan: dict[str, Any], links: _Links, seconds: float) -> int:
    """Return the number of samples of flows."""
    interval = plan["trace"].get("flows")
    if not interval:
        return 0
    flows = sum(_demand(one, seconds, links)[0] for one in plan["traffic"]) / FLOW
    return math.ceil(float(flows * (1e9 * seconds / interval + 1)))


def _size(traffic: dict[str, Any]) -> float:
    """Return the size of the packets of a traffic in bytes; the usual one if they have none of their own."""
    ((_, what),) = traffic["kind"].items()
    tcp = what.get("tcp", what)
    size = tcp["payload"] + tcp["header"] if "payload" in tcp else what.get("size")
    return float(size) if size and size >= 1 else USUAL_SIZE


def _poisson(expected: float) -> float:
    """Return a number that a random count with this mean hardly exceeds."""
    return expected + 6 * math.sqrt(expected)


def _usual(draw: dict[str, Any]) -> float:
    """Return the mean, or of a distribution with a heavy tail, whose mean few values exceed, less.

    Examples
    --------
    >>> _usual({"exponential": 3.0}), _usual({"pareto": [3.0, 1.5]})
    (3.0, 1.0)
    """
    ((kind, value),) = draw.items()
    if kind == "pareto":
        average, shape = value
        return float(average * (shape - 1) / shape)
    if kind == "lomax":
        average, shape = value
        return float(average * (shape - 1) * (2 ** (1 / shape) - 1))
    return mean(draw)
