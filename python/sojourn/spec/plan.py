"""From a scenario to the plan that the core runs: defaults filled in, every unit a plain number.

``check`` refuses what single fields cannot see (a flow to nowhere, a warm-up after the end); ``plan``
builds the JSON shape of ``crates/sim/src/plan/mod.rs``. What only the core can judge (``min_th >= max_th``)
is refused by the core's own ``check`` before anything runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.spec.link_trace import capacity
from sojourn.spec.units import Wrong, draw, ends, frequency, mean, number

if TYPE_CHECKING:
    from sojourn.spec.scenario import HostLinks, Queue, Scenario, TcpOnOff, TcpTraffic, Traffic, UdpOnOff, Web

FORWARD, BACKWARD = "R1-R2", "R2-R1"
RESERVED = ("tcp", "udp")
#: What metrics of one queue or class begin with: no traffic may have it.
GROUPS = ("queues", "classes")
MOST_FLOWS = 1_000_000
MOST_SAMPLES = 10_000_000


def queues(scenario: Scenario) -> dict[str, Queue]:
    """Return every queue with a limit by its name, in the order of the file."""
    found: dict[str, Queue | None] = {}
    if scenario.dumbbell is not None:
        found = {FORWARD: scenario.queue, BACKWARD: scenario.dumbbell.reverse_queue}
    for link in scenario.link:
        found[f"{link.from_}-{link.to}"] = link.queue
        if link.duplex:
            found[f"{link.to}-{link.from_}"] = link.reverse_queue
    return {name: queue for name, queue in found.items() if queue is not None}


def measured(scenario: Scenario) -> str:
    """Return the name of the measured queue."""
    if scenario.measure is not None:
        return scenario.measure.queue
    return FORWARD if scenario.dumbbell is not None else next(iter(queues(scenario)))


def interval(scenario: Scenario) -> int | None:
    """Return the distance of samples in ns: 10 ms, and at most 100,000 samples unless told otherwise."""
    wanted = scenario.trace.interval
    if wanted == "off":
        return None
    if wanted is not None:
        return int(number("span", wanted))
    tenth, duration = 10_000_000, number("span", scenario.duration)
    return int(max(1, -(-duration // (100_000 * tenth))) * tenth)


def check(scenario: Scenario) -> None:
    """Refuse a scenario whose parts do not fit together."""
    warmup, duration = number("span", scenario.warmup), number("span", scenario.duration)
    if warmup >= duration:
        raise Wrong(
            f"= {scenario.warmup!r} is not before the end",
            f"less than duration = {scenario.duration}",
            "warmup",
        )
    _check_topology(scenario)
    _check_measure(scenario)
    step = interval(scenario)
    sampled = duration * len(queues(scenario))
    if step is not None and sampled / step > MOST_SAMPLES:
        least = -(-sampled // MOST_SAMPLES)
        raise Wrong(
            f"= {scenario.trace.interval!r} gives too many samples", f"at least {least}ns", "trace.interval"
        )
    flows, names = 0, set()
    for i, traffic in enumerate(scenario.traffic):
        place = f"traffic[{i + 1}]"
        if traffic.name in names:
            raise Wrong(f"= {traffic.name!r} is the name of another traffic too", "", f"{place}.name")
        names.add(traffic.name)
        others = {"tcp" if is_tcp(t) else "udp" for t in scenario.traffic if t is not traffic}
        if traffic.name in RESERVED and (traffic.name in others or traffic.name != transport(traffic)):
            raise Wrong(
                f"= {traffic.name!r} is reserved: metrics of all {traffic.name.upper()} traffic have it",
                "another word",
                f"{place}.name",
            )
        if traffic.name in GROUPS:
            raise Wrong(
                f"= {traffic.name!r} is reserved: metrics begin with it", "another word", f"{place}.name"
            )
        flows += traffic.count
        if flows > MOST_FLOWS:
            raise Wrong(
                f"= {traffic.count} makes {flows} flows", f"at most {MOST_FLOWS} flows", f"{place}.count"
            )
        _check_traffic(scenario, traffic, place, duration)


def is_tcp(traffic: Traffic) -> bool:
    """Tell whether `traffic` is carried by TCP."""
    return traffic.kind in ("tcp", "tcp-short", "tcp-onoff", "web")


def transport(traffic: Traffic) -> str:
    """Return ``tcp`` or ``udp``."""
    return "tcp" if is_tcp(traffic) else "udp"


def _check_topology(scenario: Scenario) -> None:
    if scenario.dumbbell is not None:
        if scenario.link:
            raise Wrong("is given beside [dumbbell]", "one topology", "link")
        if scenario.queue is None:
            raise Wrong("is missing: the bottleneck needs a limit", '[queue] limit = "100p"', "queue")
        return
    if not scenario.link:
        raise Wrong("is missing", "[dumbbell], or [[link]] tables", "dumbbell")
    if scenario.queue is not None:
        raise Wrong("belongs to a dumbbell", "queue = { ... } in a [[link]]", "queue")
    seen = set()
    for i, link in enumerate(scenario.link):
        for pair in [(link.from_, link.to), (link.to, link.from_)][: 2 if link.duplex else 1]:
            if pair in seen:
                raise Wrong(
                    f"is a second link from {pair[0]} to {pair[1]}", "duplex = false", f"link[{i + 1}]"
                )
            seen.add(pair)


def _check_measure(scenario: Scenario) -> None:
    names = list(queues(scenario))
    if not names:
        raise Wrong("has no queue: nothing to measure", "queue = { limit = ... } in a [[link]]", "link")
    if scenario.measure is None:
        if scenario.dumbbell is None and len(names) > 1:
            raise Wrong("is missing: there are several queues", ", ".join(names), "measure.queue")
    elif scenario.measure.queue not in names:
        name = scenario.measure.queue
        near = _core.nearest(name, names)
        raise Wrong(f"= {name!r} is not a queue", ", ".join(names), "measure.queue", near)


def _check_traffic(scenario: Scenario, traffic: Traffic, place: str, duration: int) -> None:
    for key, least in (("payload", 1), ("header", 0), ("ack", 1), ("size", 1), ("request", 1)):
        word = getattr(traffic, key, None)
        if word is None or (is_tcp(traffic) and key == "size"):
            continue
        sizes = draw(word, "bytes")
        least = least if "constant" in sizes else 0
        for value in ends(sizes):
            if ("constant" in sizes and value != int(value)) or not least <= value <= 65535:
                raise Wrong(
                    f"= {word!r} is no packet size", f"{least} to 65535 whole bytes", f"{place}.{key}"
                )
    size = getattr(traffic, "size", None)
    if is_tcp(traffic) and size is not None and max(ends(draw(size, "bytes"))) < 1:
        raise Wrong(f"= {size!r} has nothing to send", "at least 1B", f"{place}.size")
    if traffic.kind == "web":
        _check_web(traffic, place)
    if traffic.kind == "tcp-short" and traffic.stagger is not None:
        raise Wrong("is for sources that are there", "arrivals say when flows come", f"{place}.stagger")
    start = min(ends(draw(traffic.start, "span")), default=0)
    if start >= duration:
        raise Wrong(
            f"= {traffic.start!r} is not before the end", f"before {scenario.duration}", f"{place}.start"
        )
    if traffic.stop is not None and number("span", traffic.stop) <= start:
        raise Wrong(f"= {traffic.stop!r} is not after start", f"after {traffic.start}", f"{place}.stop")
    if traffic.kind == "tcp-short" and frequency(traffic.arrivals) * duration / 1e9 > 10 * MOST_FLOWS:
        raise Wrong(f"= {traffic.arrivals!r} makes too many flows", "at most 10 million", f"{place}.arrivals")
    if is_tcp(traffic):
        tcp_options(scenario, traffic, place)  # type: ignore[arg-type]
    if scenario.dumbbell is not None:
        for key in ("from", "to"):
            if getattr(traffic, "from_" if key == "from" else key) is not None:
                raise Wrong(
                    "is for graphs", 'direction = "forward" or "reverse" in a dumbbell', f"{place}.{key}"
                )
    else:
        _check_route(scenario, traffic, place)


def _check_web(web: Web, place: str) -> None:
    if max(ends(draw(web.objects, "howmany"))) <= 0:
        raise Wrong(f"= {web.objects!r} is no page", "1 or more", f"{place}.objects")
    if web.page_gap_from == "start" and max(ends(draw(web.page_gap, "span"))) <= 0:
        raise Wrong(f"= {web.page_gap!r} asks for all pages at once", "a gap", f"{place}.page_gap")


def _check_route(scenario: Scenario, traffic: Traffic, place: str) -> None:
    if traffic.access is not None:
        raise Wrong("belongs to a dumbbell", "links of its own in the graph", f"{place}.access")
    if traffic.direction != "forward":
        raise Wrong("belongs to a dumbbell", "from and to, the other way round", f"{place}.direction")
    nodes = sorted({node for link in scenario.link for node in (link.from_, link.to)})
    listed = {"from": _listed(traffic.from_), "to": _listed(traffic.to)}
    for key, names in listed.items():
        if not names:
            raise Wrong("is missing", ", ".join(nodes), f"{place}.{key}")
        for name in names:
            if name not in nodes:
                near = _core.nearest(name, nodes)
                raise Wrong(f"= {name!r} is not a node", ", ".join(nodes), f"{place}.{key}", near)
    every = traffic.kind == "web"
    for source, target in _pairs(listed["from"], listed["to"], traffic.count, every):
        if source == target:
            raise Wrong(f"= {target!r} is where it comes from", "another node", f"{place}.to")
        for a, b, what in [(source, target, "packets"), (target, source, "acknowledgements")]:
            if (what == "packets" or is_tcp(traffic)) and b not in _reachable(scenario, a):
                raise Wrong(f"= {target!r}: no way for {what} from {a} to {b}", "linked nodes", f"{place}.to")


def _listed(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else names or []


def _pairs(sources: list[str], targets: list[str], count: int, every: bool) -> Iterator[tuple[str, str]]:
    """Yield the (sender, receiver) pairs that occur, each once."""
    if every:
        return iter(sorted({(a, b) for a in sources for b in targets}))
    seen = {(sources[i % len(sources)], targets[i % len(targets)]) for i in range(min(count, 100_000))}
    return iter(sorted(seen))


def _reachable(scenario: Scenario, start: str) -> set[str]:
    onward: dict[str, list[str]] = {}
    for link in scenario.link:
        onward.setdefault(link.from_, []).append(link.to)
        if link.duplex:
            onward.setdefault(link.to, []).append(link.from_)
    found, todo = {start}, deque([start])
    while todo:
        for node in onward.get(todo.popleft(), []):
            if node not in found:
                found.add(node)
                todo.append(node)
    return found


def tcp_options(
    scenario: Scenario, traffic: TcpTraffic, place: str = "traffic", ecn: bool = False
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


def plan(scenario: Scenario, spec: str | None = None) -> dict[str, Any]:
    """Return the plan; `spec` replaces the algorithm at the measured queue."""
    name = measured(scenario)
    specs = {key: queue.aqm for key, queue in queues(scenario).items()}
    if spec is not None:
        everywhere = scenario.measure is not None and scenario.measure.aqms == "everywhere"
        specs.update(dict.fromkeys(specs if everywhere else [name], spec))
    ecn = any(queue.ecn for queue in queues(scenario).values())
    ecn = ecn or any(_core.spec_info(one)["ecn"] for one in specs.values())
    resolved = {key: _queue(queue, specs[key]) for key, queue in queues(scenario).items()}
    return {
        "duration": number("span", scenario.duration),
        "warmup": number("span", scenario.warmup),
        "topology": _dumbbell(scenario, resolved) if scenario.dumbbell else _graph(scenario, resolved),
        "traffic": [
            _traffic(scenario, one, f"traffic[{i + 1}]", ecn) for i, one in enumerate(scenario.traffic)
        ],
        "measure": name,
        "trace": {"interval": interval(scenario), "drops": scenario.trace.drops, "cwnd": scenario.trace.cwnd},
        "conventions": scenario.conventions,
    }


def _queue(queue: Queue, spec: str) -> dict[str, Any]:
    return {"limit": queue.limit, "aqm": _core.canonical(spec), "ecn": queue.ecn}


def _hosts(links: HostLinks, nodes: int | None) -> dict[str, Any]:
    delays = links.delays or [links.delay or "0s"]
    wanted = nodes if links.nodes is None else None if links.nodes == "flow" else links.nodes
    return {
        "rate": number("rate", links.rate),
        "delays": [number("span", one) for one in delays],
        "nodes": wanted,
    }


def _dumbbell(scenario: Scenario, resolved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    dumbbell = scenario.dumbbell
    assert dumbbell is not None
    table = {
        "rate": number("rate", dumbbell.rate),
        "delay": number("span", dumbbell.delay),
        "capacity": capacity(dumbbell.capacity, scenario.where, "dumbbell.capacity"),
        "access": _hosts(dumbbell.access, None),
        "server": _hosts(dumbbell.server, 1),
        "queue": resolved[FORWARD],
        "reverse_queue": resolved.get(BACKWARD),
    }
    return {"dumbbell": table}


def _graph(scenario: Scenario, resolved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    links = []
    for i, link in enumerate(scenario.link):
        varying = capacity(link.capacity, scenario.where, f"link[{i + 1}].capacity")
        pairs = [(link.from_, link.to, varying), (link.to, link.from_, None)]
        for a, b, changing in pairs[: 2 if link.duplex else 1]:
            one = {"from": a, "to": b, "rate": number("rate", link.rate), "delay": number("span", link.delay)}
            one["capacity"] = changing
            links.append({**one, "queue": resolved.get(f"{a}-{b}")})
    return {"graph": links}


def _traffic(scenario: Scenario, traffic: Traffic, place: str, ecn: bool) -> dict[str, Any]:
    return {
        "name": traffic.name,
        "kind": _kind(scenario, traffic, place, ecn),
        "count": traffic.count,
        "reverse": traffic.direction == "reverse",
        "access": _hosts(traffic.access, None) if traffic.access else None,
        "from": _listed(traffic.from_),
        "to": _listed(traffic.to),
        "start": draw(traffic.start, "span"),
        "stagger": _stagger(traffic),
        "pareto": getattr(traffic, "pareto", None),
        "sizes": _sizes(traffic),
        "stop": number("span", traffic.stop) if traffic.stop is not None else None,
        "class": traffic.class_,
        "marker": traffic.marker,
        "ecn": getattr(traffic, "ecn", "off"),
    }


def _stagger(traffic: Traffic) -> dict[str, Any] | None:
    if traffic.stagger is None:
        return None
    return {"every": draw(traffic.stagger.every, "span"), "by": traffic.stagger.by}


def _kind(scenario: Scenario, traffic: Traffic, place: str, ecn: bool) -> dict[str, Any]:
    if traffic.kind == "udp-cbr":
        return {"udp_cbr": {**_datagrams(traffic.rate, traffic.size), "jitter": traffic.jitter}}
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


def _sizes(traffic: Traffic) -> dict[str, Any] | None:
    """Return what the sizes of datagrams are drawn from, if they differ."""
    return None if is_tcp(traffic) else _drawn(traffic.size)  # type: ignore[union-attr,arg-type]


def _drawn(size: str) -> dict[str, Any] | None:
    drawn = draw(size, "bytes")
    return None if "constant" in drawn else drawn


def _whole(size: str) -> int:
    return max(1, round(mean(draw(size, "bytes"))))


def _datagrams(rate: str, size: str) -> dict[str, int]:
    return {"rate": number("rate", rate), "size": _whole(size)}
