"""Converts a scenario to the core's plan: all defaults filled in, units as plain numbers.

The plan has the JSON shape of ``crates/sim/src/plan/mod.rs``.
"""

from __future__ import annotations

from typing import Any

from sojourn import _core
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.impairment import impairment
from sojourn.spec.link_trace import capacity
from sojourn.spec.schema import (
    Dumbbell,
    HostLinks,
    Medium,
    Queue,
    ScenarioFields,
    TcpOnOff,
    TcpTraffic,
    Traffic,
    UdpOnOff,
    Video,
    Web,
)
from sojourn.spec.units import Wrong, draw, frequency, mean, number, sized

#: The longest drain of ``drain = true``, in durations.
MOST_DRAIN = 10
FORWARD, BACKWARD = "R1-R2", "R2-R1"
GIGABIT = 1_000_000_000
#: Packets of a call in a second, and in a talkspurt: a second of speech (ITU-T P.59: 1.004 s on average).
PACKETS_PER_SECOND = TALKSPURT = 50
#: What the jitter buffer adds to the delay of the first packet in the first talkspurt: two packets, ns.
PLAYOUT_MARGIN = 40_000_000
#: Payload of a packet of 20 ms of each codec, bytes.
CODECS = {"g711": 160, "g711-no-plc": 160, "g729a": 20}
#: An aggregate with contention: the packets of a block ACK and the usual limit of a transmission in IEEE
#: 802.11n and 802.11ac; and the time before it, an assumption.
AGGREGATE_PACKETS, AGGREGATE_TIME, CONTENTION = 64, "4ms", "uniform 50us 250us"
#: Bytes of the IPv4, UDP and RTP headers of a packet of a call.
CALL_HEADERS = 40


def queues(scenario: ScenarioFields) -> dict[str, Queue]:
    """Return every queue with a limit by its name, in the order of the file."""
    found: dict[str, Queue | None] = {}
    if scenario.dumbbell is not None:
        found = {FORWARD: scenario.queue, BACKWARD: scenario.dumbbell.reverse_queue}
    for link in scenario.link:
        found[f"{link.from_}-{link.to}"] = link.queue
        if link.duplex:
            found[f"{link.to}-{link.from_}"] = link.reverse_queue
    return {name: queue for name, queue in found.items() if queue is not None}


def measured(scenario: ScenarioFields) -> str:
    """Return the name of the measured queue."""
    if scenario.measure is not None:
        return scenario.measure.queue
    return FORWARD if scenario.dumbbell is not None else next(iter(queues(scenario)))


def interval(scenario: ScenarioFields) -> int | None:
    """Return the sampling interval in ns; the default is 10 ms, longer to limit a run to 100,000 samples."""
    wanted = scenario.trace.interval
    if wanted == "off":
        return None
    if wanted is not None:
        return int(number("span", wanted))
    tenth, duration = 10_000_000, number("span", scenario.duration)
    return int(max(1, -(-duration // (100_000 * tenth))) * tenth)


def is_tcp(traffic: Traffic) -> bool:
    """Return whether `traffic` uses TCP."""
    return traffic.kind in ("tcp", "tcp-short", "tcp-onoff", "web", "video")


def transport(traffic: Traffic) -> str:
    """Return ``tcp`` or ``udp``."""
    return "tcp" if is_tcp(traffic) else "udp"


def listed(names: str | list[str] | None) -> list[str]:
    """Return the nodes of a key as a list."""
    return [names] if isinstance(names, str) else names or []


def tcp_options(
    scenario: ScenarioFields, traffic: TcpTraffic, place: str = "traffic", ecn: bool = False
) -> dict[str, Any]:
    """Return the resolved options of one TCP: preset, then [tcp], then the traffic's own."""
    words = {"ecn": "on"} if ecn else {}
    sources = {}
    for source, options in (("tcp", scenario.tcp), (f"{place}.tcp", traffic.tcp)):
        for key, value in options.items():
            words[key] = _word(value)
            sources[key] = f"{source}.{key}"
    if traffic.variant is not None:
        words["variant"] = traffic.variant
        sources["variant"] = f"{place}.variant"
    try:
        return _core.tcp_options(scenario.conventions, words)
    except _core.SpecError as error:
        key = error.key.rpartition(".")[2]
        raise Wrong(
            error.problem, error.allowed, sources.get(key, f"{place}.tcp.{key}"), error.nearest
        ) from None


def _word(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def plan(scenario: ScenarioFields, spec: str | None = None) -> dict[str, Any]:
    """Return the plan; `spec` replaces the algorithm at the measured queue."""
    name = measured(scenario)
    specs = {key: Spec(queue.aqm) for key, queue in queues(scenario).items()}
    if spec is not None:
        everywhere = scenario.measure is not None and scenario.measure.aqms == "everywhere"
        specs.update(dict.fromkeys(specs if everywhere else [name], Spec(spec)))
    ecn = any(queue.ecn for queue in queues(scenario).values())
    ecn = ecn or any(one.ecn for one in specs.values())
    rates = _rates(scenario)
    resolved = {key: _queue(queue, specs[key], rates[key]) for key, queue in queues(scenario).items()}
    return {
        "duration": number("span", scenario.duration),
        "warmup": number("span", scenario.warmup),
        "topology": _dumbbell(scenario, resolved) if scenario.dumbbell else _graph(scenario, resolved),
        "traffic": [_traffic(scenario, one, f"traffic.{one.name}", ecn) for one in scenario.senders],
        "measure": name,
        "trace": _trace(scenario),
        "conventions": scenario.conventions,
        **_drain(scenario),
        **({"phases": _phases(scenario)} if scenario.phase else {}),
    }


def _trace(scenario: ScenarioFields) -> dict[str, Any]:
    wanted = scenario.trace
    return {
        "interval": interval(scenario),
        "drops": wanted.drops,
        "cwnd": wanted.cwnd,
        **({"packets": True} if wanted.packets else {}),
        **({"delays": True} if wanted.delays else {}),
        **({"flows": number("span", wanted.flows)} if wanted.flows is not None else {}),
    }


def _phases(scenario: ScenarioFields) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "from": number("span", one.from_), "to": number("span", one.to)}
        for one in scenario.phase
    ]


def _drain(scenario: ScenarioFields) -> dict[str, int]:
    """Return how long a run may continue after its end; nothing if it ends."""
    if scenario.drain is False:
        return {}
    if scenario.drain is True:
        return {"drain": MOST_DRAIN * number("span", scenario.duration)}
    return {"drain": number("span", scenario.drain)}


def _rates(scenario: ScenarioFields) -> dict[str, int]:
    """Return the rate in bit/s of every link by its name."""
    found = {}
    if (dumbbell := scenario.dumbbell) is not None:
        found[FORWARD] = number("rate", dumbbell.rate)
        found[BACKWARD] = number("rate", dumbbell.reverse_rate or dumbbell.rate)
    for link in scenario.link:
        found[f"{link.from_}-{link.to}"] = number("rate", link.rate)
        if link.duplex:
            found[f"{link.to}-{link.from_}"] = number("rate", link.rate)
    return found


def _queue(queue: Queue, spec: Spec, rate: int) -> dict[str, Any]:
    return {"limit": sized(queue.limit, rate), "aqm": spec, "ecn": queue.ecn}


def _hosts(links: HostLinks, nodes: int | None, rate: int) -> dict[str, Any]:
    """Return the links of hosts; those without a rate are ten times as fast as the bottleneck's `rate`."""
    delays = links.delays or [links.delay or "0s"]
    wanted = nodes if links.nodes is None else None if links.nodes == "flow" else links.nodes
    return {
        "rate": max(GIGABIT, 10 * rate) if links.rate is None else number("rate", links.rate),
        "delays": [number("span", one) for one in delays],
        "nodes": wanted,
    }


def _dumbbell(scenario: ScenarioFields, resolved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    dumbbell = scenario.dumbbell
    assert dumbbell is not None
    table = {
        "rate": number("rate", dumbbell.rate),
        "delay": delay_of(dumbbell),
        "capacity": capacity(dumbbell.capacity, scenario.where, "dumbbell.capacity"),
        "access": _hosts(dumbbell.access, None, fastest(dumbbell)),
        "server": _hosts(dumbbell.server, 1, fastest(dumbbell)),
        "queue": resolved[FORWARD],
        "reverse_queue": resolved.get(BACKWARD),
    }
    for key in ("impairment", "reverse_impairment"):
        if (found := getattr(dumbbell, key)) is not None:
            table[key] = impairment(found, scenario.where, f"dumbbell.{key}")
    _add_medium(resolved[FORWARD], dumbbell.medium)
    _add_medium(resolved.get(BACKWARD), dumbbell.reverse_medium)
    if dumbbell.reverse_rate is not None:
        table["reverse_rate"] = number("rate", dumbbell.reverse_rate)
    return {"dumbbell": table}


def delay_of(dumbbell: Dumbbell) -> int:
    """Return the delay of the bottleneck in one direction, ns."""
    if dumbbell.delay is not None:
        return int(number("span", dumbbell.delay))
    return int(number("span", dumbbell.rtt or "0s")) // 2


def fastest(dumbbell: Dumbbell) -> int:
    """Return the rate of the bottleneck's faster direction, bit/s."""
    return int(max(number("rate", one or dumbbell.rate) for one in (dumbbell.rate, dumbbell.reverse_rate)))


def _graph(scenario: ScenarioFields, resolved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    links = []
    for i, link in enumerate(scenario.link):
        varying = capacity(link.capacity, scenario.where, f"link[{i + 1}].capacity")
        pairs = [
            (link.from_, link.to, varying, "impairment"),
            (link.to, link.from_, None, "reverse_impairment"),
        ]
        for a, b, changing, key in pairs[: 2 if link.duplex else 1]:
            one = {"from": a, "to": b, "rate": number("rate", link.rate), "delay": number("span", link.delay)}
            one["capacity"] = changing
            if (found := getattr(link, key)) is not None:
                one["impairment"] = impairment(found, scenario.where, f"link[{i + 1}].{key}")
            _add_medium(resolved.get(f"{a}-{b}"), link.medium if key == "impairment" else link.reverse_medium)
            links.append({**one, "queue": resolved.get(f"{a}-{b}")})
    return {"graph": links}


def _add_medium(queue: dict[str, Any] | None, found: Medium | None) -> None:
    """Add the medium of a link to its queue, where the core expects it."""
    if queue is None or found is None:
        return
    if found.access == "grants":
        cycle, delay = (number("span", one or "0s") for one in (found.cycle, found.delay))
        queue["medium"] = {"grants": {"cycle": cycle, "delay": delay}}
        return
    queue["medium"] = {
        "contention": {
            "packets": found.packets or AGGREGATE_PACKETS,
            "time": number("span", found.time or AGGREGATE_TIME),
            "overhead": draw(found.overhead or CONTENTION, "jitter"),
        }
    }


def _traffic(scenario: ScenarioFields, traffic: Traffic, place: str, ecn: bool) -> dict[str, Any]:
    return {
        "name": traffic.name,
        "kind": _kind(scenario, traffic, place, ecn),
        "count": traffic.count,
        "reverse": traffic.direction == "reverse",
        "access": _hosts(traffic.access, None, fastest(scenario.dumbbell))
        if traffic.access and scenario.dumbbell
        else None,
        "from": listed(traffic.from_),
        "to": listed(traffic.to),
        "start": draw(traffic.start, "span"),
        "stagger": _stagger(traffic),
        "pareto": getattr(traffic, "pareto", None),
        "sizes": _sizes(traffic),
        "stop": number("span", traffic.stop) if traffic.stop is not None else None,
        "class": traffic.class_,
        "marker": traffic.marker,
        "ecn": getattr(traffic, "ecn", "off"),
        **_use(traffic),
    }


def _use(traffic: Traffic) -> dict[str, Any]:
    """Return what the receiver does with datagrams: when it uses those of a call or a game; probes return."""
    if traffic.kind == "game":
        return {"sink": {"deadline": number("span", traffic.deadline)}}
    if traffic.kind == "probe":
        return {"echo": True}
    if traffic.kind != "call":
        return {}
    if traffic.playout != "adaptive":
        return {"sink": {"deadline": number("span", traffic.playout)}, "codec": traffic.codec}
    adaptive = {"talkspurt": TALKSPURT, "margin": PLAYOUT_MARGIN}
    return {"sink": {"jitter_buffer": adaptive}, "codec": traffic.codec}


def _stagger(traffic: Traffic) -> dict[str, Any] | None:
    if traffic.stagger is None:
        return None
    return {"every": draw(traffic.stagger.every, "span"), "by": traffic.stagger.by}


def _kind(scenario: ScenarioFields, traffic: Traffic, place: str, ecn: bool) -> dict[str, Any]:
    if traffic.kind == "udp-cbr":
        return {"udp_cbr": {**_datagrams(traffic.rate, traffic.size), "jitter": traffic.jitter}}
    if traffic.kind == "call":
        size = CODECS[traffic.codec] + CALL_HEADERS
        return {"udp_cbr": {"rate": size * 8 * PACKETS_PER_SECOND, "size": size, "jitter": 0.0}}
    if traffic.kind == "game" or traffic.kind == "probe":
        size = _whole(traffic.size)
        rate = max(1, round(size * 8e9 / number("span", traffic.interval)))
        return {"udp_cbr": {"rate": rate, "size": size, "jitter": 0.0}}
    if traffic.kind == "udp-poisson":
        return {"udp_poisson": _datagrams(traffic.rate, traffic.size)}
    if traffic.kind == "udp-onoff":
        return {"udp_onoff": {**_datagrams(traffic.rate, traffic.size), **_on_off(traffic)}}
    tcp = {
        "payload": _whole(traffic.payload),
        "payloads": _drawn(traffic.payload),
        "header": int(number("bytes", traffic.header)),
        "ack": int(number("bytes", traffic.ack)),
        "max_rate": None if traffic.max_rate is None else number("rate", traffic.max_rate),
        "options": tcp_options(scenario, traffic, place, ecn),
    }
    if traffic.kind == "tcp":
        return {"tcp": tcp}
    if traffic.kind == "tcp-onoff":
        return {"tcp_onoff": {"rate": number("rate", traffic.rate), **_on_off(traffic), "tcp": tcp}}
    if traffic.kind == "web":
        return {"web": {**_web(traffic), "tcp": tcp}}
    if traffic.kind == "video":
        return {"video": {**_video(traffic), "tcp": tcp}}
    short: dict[str, Any] = {"arrivals": frequency(traffic.arrivals), "tcp": tcp}
    if traffic.size is not None:
        short["size"] = draw(traffic.size, "bytes")
    if traffic.lifetime is not None:
        short["lifetime"] = draw(traffic.lifetime, "span")
    return {"tcp_short": short}


def _on_off(traffic: TcpOnOff | UdpOnOff) -> dict[str, int]:
    return {"on": number("span", traffic.on), "off": number("span", traffic.off)}


def _web(web: Web) -> dict[str, Any]:
    return {
        "pages": web.pages,
        "page_gap": draw(web.page_gap, "span"),
        "from_start": web.page_gap_from == "start",
        "objects": draw(web.objects, "howmany"),
        "object_gap": draw(web.object_gap, "span"),
        "size": draw(web.size, "bytes"),
        "patience": None if web.patience is None else draw(web.patience, "span"),
        "request": _whole(web.request or web.payload),
        "respond_late": web.respond == "acknowledged",
    }


def _video(video: Video) -> dict[str, Any]:
    spans = ("segment", "buffer", "reservoir", "cushion")
    return {
        "ladder": [number("rate", one) for one in video.ladder],
        **{key: number("span", getattr(video, key)) for key in spans},
        "startup": number("span", video.startup or video.segment),
        "request": _whole(video.request or video.payload),
    }


def _sizes(traffic: Traffic) -> dict[str, Any] | None:
    """Return the distribution of the sizes of datagrams; None if they are constant."""
    return _drawn(traffic.size) if traffic.kind in ("udp-cbr", "udp-poisson", "udp-onoff") else None


def _drawn(size: str) -> dict[str, Any] | None:
    drawn = draw(size, "bytes")
    return None if "constant" in drawn else drawn


def _whole(size: str) -> int:
    return max(1, round(mean(draw(size, "bytes"))))


def _datagrams(rate: str, size: str) -> dict[str, int]:
    return {"rate": number("rate", rate), "size": _whole(size)}
