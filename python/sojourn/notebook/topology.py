"""Draws the topology of a scenario as SVG: hosts, routers, links with rates and delays, and the queues.

Routers are in a row; a host is above its router, or beside it at the ends of the row. A dumbbell is drawn as
a graph with one host for all sources and one for all servers.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import NamedTuple

from sojourn.spec import plan
from sojourn.spec.scenario import Scenario
from sojourn.spec.schema import HostLinks

STEP, TOP, WIDE, HIGH = 210, 46, 92, 34
STYLE = (
    "text{font:12px sans-serif;fill:#1a1a1a}.s{font-size:11px;fill:#444}.l{stroke:#555;stroke-width:1.5}"
    ".h{fill:#eef3f8;stroke:#456}.r{fill:#fff;stroke:#1a1a1a;stroke-width:1.5}.q{fill:#c0392b}"
)


class Link(NamedTuple):
    """A link, with the words beside it, and whether it has a queue of finite size in a direction."""

    ends: tuple[str, str]
    words: tuple[str, str]
    queued: bool


def links(scenario: Scenario) -> list[Link]:
    """Return every link of a scenario once."""
    if scenario.dumbbell is None:
        return [
            Link(
                (one.from_, one.to),
                (str(one.rate), str(one.delay)),
                one.queue is not None or one.reverse_queue is not None,
            )
            for one in scenario.link
        ]
    bell = scenario.dumbbell
    rate = f"{bell.rate} / {bell.reverse_rate}" if bell.reverse_rate else str(bell.rate)
    rate += ", varies" if bell.capacity else ""
    delay = plan.delay_of(bell) / 1e6
    return [
        Link(("sources", plan.FORWARD.split("-")[0]), _access(bell.access), False),
        Link(("R1", "R2"), (rate, f"{delay:g} ms"), True),
        Link(("R2", "servers" if not bell.reverse_rate else "receivers"), _access(bell.server), False),
    ]


def _access(hosts: HostLinks) -> tuple[str, str]:
    """Return rate and delays of the links of hosts."""
    delays = [str(one) for one in hosts.delays or ([hosts.delay] if hosts.delay else [])]
    shown = delays[0] if len(set(delays)) == 1 else f"{delays[0]} to {delays[-1]}" if delays else ""
    return str(hosts.rate or ""), shown


def svg(scenario: Scenario) -> str:
    """Return the picture."""
    every = links(scenario)
    near: dict[str, list[str]] = defaultdict(list)
    for link in every:
        first, second = link.ends
        near[first].append(second)
        near[second].append(first)
    row = [name for name in near if len(set(near[name])) > 1]
    hosts: dict[str, list[str]] = defaultdict(list)
    for name, others in near.items():
        if name not in row:
            hosts[others[0]].append(name)
    at: dict[str, tuple[int, int]] = {}
    above = max((len(hosts[name]) - (name in (row[0], row[-1])) for name in row), default=0)
    level = TOP + max(above, 0) * 70
    for place, name in enumerate(row):
        x = 70 + (place + bool(hosts[row[0]])) * STEP
        at[name] = x, level
        beside = hosts[name][:1] if name in (row[0], row[-1]) else []
        for host in beside:
            at[host] = x + (STEP if name == row[-1] else -STEP), level
        for up, host in enumerate(hosts[name][len(beside) :], 1):
            at[host] = x, level - 70 * up
    width, height = max(x for x, _ in at.values()) + 70, level + 62
    drawn = [_line(link, at) for link in every]
    drawn += [_node(name, *at[name], name in row) for name in at]
    title = escape(f"Topology of {scenario.name}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
        f'<title>{title}</title>\n<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _node(name: str, x: int, y: int, is_router: bool) -> str:
    shape = f'x="{x - WIDE // 2}" y="{y - HIGH // 2}" width="{WIDE}" height="{HIGH}"'
    kind, round_ = ("r", 3) if is_router else ("h", 16)
    return (
        f'<rect class="{kind}" {shape} rx="{round_}"/><text x="{x}" y="{y + 4}" text-anchor="middle">'
        f"{escape(name)}</text>"
    )


def _line(link: Link, at: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = (at[end] for end in link.ends)
    x, y = (x1 + x2) // 2, (y1 + y2) // 2
    drawn = f'<line class="l" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
    places = [(x + 8, y - 2), (x + 8, y + 12)] if x1 == x2 else [(x, y - 8), (x, y + 16)]
    anchor = "start" if x1 == x2 else "middle"
    for (left, base), words in zip(places, link.words, strict=True):
        drawn += f'<text class="s" x="{left}" y="{base}" text-anchor="{anchor}">{escape(words)}</text>'
    if link.queued:
        begin = x1 + (WIDE // 2 + 4 if x2 > x1 else -WIDE // 2 - 16)
        drawn += "".join(
            f'<rect class="q" x="{begin + 4 * i}" y="{y1 - 7}" width="3" height="14"/>' for i in range(4)
        )
    return drawn


def traffic(scenario: Scenario) -> list[list[str]]:
    """Return a row for each traffic: name, kind, number of sources, direction."""
    rows = []
    for one in scenario.traffic:
        ends = [", ".join(plan.listed(getattr(one, key, None))) for key in ("from_", "to")]
        way = " to ".join(filter(None, ends)) or getattr(one, "direction", "")
        variant = getattr(one, "variant", None)
        rows.append([one.name, one.kind + (f", {variant}" if variant else ""), str(one.count), way])
    return rows
