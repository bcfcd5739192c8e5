"""Checks that involve several fields of a scenario.

Examples are a flow without a route and a warm-up after the end. Parameters of algorithms (``min_th >=
max_th``) are checked by the core's ``check`` before anything runs.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator

from sojourn import _core
from sojourn.spec.plan import interval, is_tcp, listed, queues, tcp_options, transport
from sojourn.spec.schema import ScenarioFields, Traffic, Video, Web
from sojourn.spec.units import Wrong, draw, ends, frequency, number

RESERVED = ("tcp", "udp")
#: Prefixes of the metrics of one queue or class: reserved, so not allowed as names of traffic.
GROUPS = ("queues", "classes", "phases")
MOST_FLOWS = 1_000_000
MOST_SAMPLES = 10_000_000


def problems(scenario: ScenarioFields) -> Iterator[Wrong]:
    """Yield the contradictions between the fields of a scenario."""
    warmup, duration = number("span", scenario.warmup), number("span", scenario.duration)
    if warmup >= duration:
        yield Wrong(
            f"= {scenario.warmup!r} is not before the end",
            f"less than duration = {scenario.duration}",
            "warmup",
        )
    if scenario.drain is not False and all(one.kind not in ("tcp-short", "web") for one in scenario.traffic):
        yield Wrong("has no effect: no traffic has transfers that end", "tcp-short or web traffic", "drain")
    yield from _check_phases(scenario, duration)
    if not scenario.senders:
        yield Wrong("has no sources: every count is 0", "a count of 1 or more", "traffic")
    topology = [*_check_topology(scenario), *_check_measure(scenario)]
    yield from topology
    step = interval(scenario)
    sampled = duration * len(queues(scenario))
    if step is not None and sampled / step > MOST_SAMPLES:
        least = -(-sampled // MOST_SAMPLES)
        yield Wrong(
            f"= {scenario.trace.interval!r} gives too many samples", f"at least {least}ns", "trace.interval"
        )
    flows, names = 0, set()
    for i, traffic in enumerate(scenario.traffic):
        place = f"traffic[{i + 1}]"
        if traffic.name in names:
            yield Wrong(f"= {traffic.name!r} is also the name of another traffic", "", f"{place}.name")
        names.add(traffic.name)
        others = {"tcp" if is_tcp(t) else "udp" for t in scenario.senders if t is not traffic}
        if traffic.name in RESERVED and (traffic.name in others or traffic.name != transport(traffic)):
            yield Wrong(
                f"= {traffic.name!r} is reserved: metrics of all {traffic.name.upper()} traffic use it",
                "another word",
                f"{place}.name",
            )
        if traffic.name in GROUPS:
            yield Wrong(
                f"= {traffic.name!r} is reserved: metrics begin with it", "another word", f"{place}.name"
            )
        flows += traffic.count
        if flows > MOST_FLOWS:
            yield Wrong(
                f"= {traffic.count} makes {flows} flows", f"at most {MOST_FLOWS} flows", f"{place}.count"
            )
        yield from _check_traffic(scenario, traffic, place, duration)
        if not topology:
            yield from _check_places(scenario, traffic, place)


def _check_phases(scenario: ScenarioFields, duration: int) -> Iterator[Wrong]:
    names = set()
    for i, phase in enumerate(scenario.phase):
        place = f"phase[{i + 1}]"
        if phase.name in names or "." in phase.name:
            problem = "has a dot" if "." in phase.name else "is also the name of another phase"
            yield Wrong(f"= {phase.name!r} {problem}", "another word", f"{place}.name")
        names.add(phase.name)
        begin, end = number("span", phase.from_), number("span", phase.to)
        if end > duration:
            allowed = f"at most duration = {scenario.duration}"
            yield Wrong(f"= {phase.to!r} is after the end of the run", allowed, f"{place}.to")
        elif begin >= end:
            yield Wrong(f"= {phase.from_!r} is not before the end of the phase", phase.to, f"{place}.from")


def _check_topology(scenario: ScenarioFields) -> Iterator[Wrong]:
    if scenario.dumbbell is not None:
        if scenario.link:
            yield Wrong("is given beside [dumbbell]", "one topology", "link")
        if scenario.queue is None:
            yield Wrong("is missing: the bottleneck needs a limit", '[queue] limit = "100p"', "queue")
        return
    if not scenario.link:
        yield Wrong("is missing", "[dumbbell], or [[link]] tables", "dumbbell")
    if scenario.queue is not None:
        yield Wrong("belongs to a dumbbell", "queue = { ... } in a [[link]]", "queue")
    seen = set()
    for i, link in enumerate(scenario.link):
        for pair in [(link.from_, link.to), (link.to, link.from_)][: 2 if link.duplex else 1]:
            if pair in seen:
                yield Wrong(
                    f"is a second link from {pair[0]} to {pair[1]}", "duplex = false", f"link[{i + 1}]"
                )
                break
            seen.add(pair)


def _check_measure(scenario: ScenarioFields) -> Iterator[Wrong]:
    names = list(queues(scenario))
    if not names:
        if scenario.link:
            yield Wrong("has no queue: nothing to measure", "queue = { limit = ... } in a [[link]]", "link")
        return
    if scenario.measure is None:
        if scenario.dumbbell is None and len(names) > 1:
            yield Wrong("is missing: there are several queues", ", ".join(names), "measure.queue")
    elif scenario.measure.queue not in names:
        name = scenario.measure.queue
        near = _core.nearest(name, names)
        yield Wrong(f"= {name!r} is not a queue", ", ".join(names), "measure.queue", near)


def _check_traffic(scenario: ScenarioFields, traffic: Traffic, place: str, duration: int) -> Iterator[Wrong]:
    for key, least in (("payload", 1), ("header", 0), ("ack", 1), ("size", 1), ("request", 1)):
        word = getattr(traffic, key, None)
        if word is None or (is_tcp(traffic) and key == "size"):
            continue
        sizes = draw(word, "bytes")
        least = least if "constant" in sizes else 0
        for value in ends(sizes):
            if ("constant" in sizes and value != int(value)) or not least <= value <= 65535:
                yield Wrong(
                    f"= {word!r} is not a packet size", f"{least} to 65535 whole bytes", f"{place}.{key}"
                )
    size = getattr(traffic, "size", None)
    if is_tcp(traffic) and size is not None and max(ends(draw(size, "bytes"))) < 1:
        yield Wrong(f"= {size!r} has nothing to send", "at least 1B", f"{place}.size")
    if traffic.kind == "web":
        yield from _check_web(traffic, place)
    if traffic.kind == "video":
        yield from _check_video(traffic, place)
    if traffic.kind == "tcp-short" and traffic.stagger is not None:
        yield Wrong(
            "is for a fixed number of sources", "arrivals, which set when flows start", f"{place}.stagger"
        )
    start = min(ends(draw(traffic.start, "span")), default=0)
    if start >= duration:
        yield Wrong(
            f"= {traffic.start!r} is not before the end", f"before {scenario.duration}", f"{place}.start"
        )
    if traffic.stop is not None and number("span", traffic.stop) <= start:
        yield Wrong(f"= {traffic.stop!r} is not after start", f"after {traffic.start}", f"{place}.stop")
    if traffic.kind == "tcp-short" and frequency(traffic.arrivals) * duration / 1e9 > 10 * MOST_FLOWS:
        yield Wrong(f"= {traffic.arrivals!r} makes too many flows", "at most 10 million", f"{place}.arrivals")
    if is_tcp(traffic):
        try:
            tcp_options(scenario, traffic, place)  # type: ignore[arg-type]
        except Wrong as wrong:
            yield wrong


def _check_places(scenario: ScenarioFields, traffic: Traffic, place: str) -> Iterator[Wrong]:
    """Yield what is wrong with the place of a traffic in the topology."""
    if scenario.dumbbell is not None:
        for key in ("from", "to"):
            if getattr(traffic, "from_" if key == "from" else key) is not None:
                yield Wrong(
                    "is for graphs", 'direction = "forward" or "reverse" in a dumbbell', f"{place}.{key}"
                )
    else:
        yield from _check_route(scenario, traffic, place)


def _check_web(web: Web, place: str) -> Iterator[Wrong]:
    if max(ends(draw(web.objects, "howmany"))) <= 0:
        yield Wrong(f"= {web.objects!r} is not a page", "1 or more", f"{place}.objects")
    if web.page_gap_from == "start" and max(ends(draw(web.page_gap, "span"))) <= 0:
        yield Wrong(f"= {web.page_gap!r} requests all pages at once", "a gap", f"{place}.page_gap")


def _check_video(video: Video, place: str) -> Iterator[Wrong]:
    rates = [number("rate", one) for one in video.ladder]
    if any(high <= low for low, high in itertools.pairwise(rates)):
        problem = f"= [{', '.join(video.ladder)}] does not ascend"
        yield Wrong(problem, "each bitrate above the one before", f"{place}.ladder")
    if "constant" not in draw(video.payload, "bytes"):
        yield Wrong(
            f"= {video.payload!r} is drawn, but segments have full packets", "one size", f"{place}.payload"
        )
    segment, buffer = number("span", video.segment), number("span", video.buffer)
    if buffer < segment:
        yield Wrong(
            f"= {video.buffer!r} does not hold a segment", f"at least {video.segment}", f"{place}.buffer"
        )
    elif segment * -(-number("span", video.startup or video.segment) // segment) > buffer:
        yield Wrong(
            f"= {video.startup!r} is more than whole segments in the buffer",
            f"at most {buffer // segment} segments of {video.segment}",
            f"{place}.startup",
        )
    if number("span", video.reservoir) + number("span", video.cushion) > buffer:
        yield Wrong(
            f"= {video.reservoir!r}: with cushion = {video.cushion} more than the buffer",
            f"reservoir + cushion at most buffer = {video.buffer}",
            f"{place}.reservoir",
        )


def _check_route(scenario: ScenarioFields, traffic: Traffic, place: str) -> Iterator[Wrong]:
    if traffic.access is not None:
        yield Wrong("belongs to a dumbbell", "separate links in the graph", f"{place}.access")
    if traffic.direction != "forward":
        yield Wrong("belongs to a dumbbell", "from and to, exchanged", f"{place}.direction")
    nodes = sorted({node for link in scenario.link for node in (link.from_, link.to)})
    ends_of = {"from": listed(traffic.from_), "to": listed(traffic.to)}
    for key, names in ends_of.items():
        if not names:
            yield Wrong("is missing", ", ".join(nodes), f"{place}.{key}")
        for name in names:
            if name not in nodes:
                near = _core.nearest(name, nodes)
                yield Wrong(f"= {name!r} is not a node", ", ".join(nodes), f"{place}.{key}", near)
    if not all(names and set(names) <= set(nodes) for names in ends_of.values()):
        return
    every = traffic.kind == "web"
    for source, target in _pairs(ends_of["from"], ends_of["to"], traffic.count, every):
        if source == target:
            yield Wrong(f"= {target!r} is its source, too", "another node", f"{place}.to")
        for a, b, what in [(source, target, "packets"), (target, source, "acknowledgements")]:
            if (what == "packets" or is_tcp(traffic)) and b not in _reachable(scenario, a):
                yield Wrong(
                    f"= {target!r}: no route for {what} from {a} to {b}", "linked nodes", f"{place}.to"
                )


def _pairs(sources: list[str], targets: list[str], count: int, every: bool) -> Iterator[tuple[str, str]]:
    """Yield the (sender, receiver) pairs that occur, each once."""
    if every:
        return iter(sorted({(a, b) for a in sources for b in targets}))
    seen = {(sources[i % len(sources)], targets[i % len(targets)]) for i in range(min(count, 100_000))}
    return iter(sorted(seen))


def _reachable(scenario: ScenarioFields, start: str) -> set[str]:
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
