"""A home link, the setups that Linux's ``tc`` can configure for it, and what counts for its uses.

Every setup but today's shapes both directions to a fraction of the link's rate, so that the queue forms in
the own router, and has one algorithm in both. Its parameters are those that ``tc`` accepts: they are
simulated and written to the script.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn import templates
from sojourn.algorithms.tc import Line, Place, accepted, tc_line
from sojourn.errors import InputError, unknown
from sojourn.spec.scenario import Scenario
from sojourn.spec.units import Wrong, number
from sojourn.study.significance import Aim

#: Rate of the shapers, as a fraction of the link's.
SHAPED = 0.95
#: Size of a packet on the wire, bytes.
PACKET = 1514
#: Default limits of Linux's queues, packets.
LIMIT, FAIR_LIMIT = 1000, 10240
#: Name of the setup without a shaper.
TODAY = "today"
#: What counts for each use.
USES: Mapping[str, Sequence[str]] = {
    "calls": ("call_delay", "call_loss"),
    "games": ("longest_delay",),
    "web": ("page_time",),
    "downloads": ("down_use", "up_use"),
}
AIMS = {
    "call_delay": Aim("call_delay", False),
    "call_loss": Aim("call_loss", False, is_share=True),
    "longest_delay": Aim("longest_delay", False),
    "page_time": Aim("page_time", False),
    "down_use": Aim("down_use", True, is_share=True),
    "up_use": Aim("up_use", True, is_share=True),
}
#: Label, displayed unit and factor of each measure.
LABELS = {
    "call_delay": ("one-way delay of calls", "ms", 1e3),
    "call_loss": ("loss of calls", "%", 100.0),
    "longest_delay": ("longest delay of a small packet", "ms", 1e3),
    "page_time": ("mean page time", "ms", 1e3),
    "down_use": ("use of the downlink", "%", 100.0),
    "up_use": ("use of the uplink", "%", 100.0),
}


@dataclass(frozen=True)
class Link:
    """A home link, its buffers today and its uses.

    Parameters
    ----------
    down, up : str
        Rates towards the home and from it.
    rtt : str
        Base round-trip time.
    buffer : str
        Size of today's buffers as a time at the link's rate; an assumption.
    uses : sequence of str
        What the link is used for, of `USES`.
    """

    down: str
    up: str
    rtt: str = "30ms"
    buffer: str = "200ms"
    uses: Sequence[str] = tuple(USES)

    def __post_init__(self) -> None:
        quantities = (("down", "rate"), ("up", "rate"), ("rtt", "span"), ("buffer", "span"))
        for name, kind in quantities:
            word = getattr(self, name)
            try:
                value = number(kind, word)
            except Wrong as wrong:
                raise InputError(f"--{name}", wrong.problem, wrong.allowed, wrong.nearest) from None
            if kind == "rate" and not 100_000 <= value <= 10_000_000_000:
                raise InputError(f"--{name}", f"= {word} is out of range", "100kbit/s to 10Gbit/s")
            if kind == "span" and not 1_000_000 <= value <= 10_000_000_000:
                raise InputError(f"--{name}", f"= {word} is out of range", "1ms to 10s")
        if not self.uses:
            raise InputError("--use", "is empty", ",".join(USES))
        for use in self.uses:
            if use not in USES:
                raise unknown(use, "a use", USES, "--use")

    @property
    def down_rate(self) -> int:
        """Rate towards the home, bit/s."""
        return int(number("rate", self.down))

    @property
    def up_rate(self) -> int:
        """Rate from the home, bit/s."""
        return int(number("rate", self.up))

    @property
    def seconds(self) -> float:
        """Base round-trip time, s."""
        return int(number("span", self.rtt)) / 1e9

    @property
    def aims(self) -> list[Aim]:
        """What counts; the weights of a use sum to 1."""
        return [
            AIMS[name]._replace(weight=1 / len(names))
            for use, names in USES.items()
            if use in self.uses
            for name in names
        ]


@dataclass(frozen=True)
class Direction:
    """The queue of one direction.

    Parameters
    ----------
    rate : int
        Rate of its shaper, or of the link if there is none; bit/s.
    spec : str
        Its algorithm, with its limit.
    """

    rate: int
    spec: str

    def line(self) -> Line:
        """Return the arguments of ``tc``."""
        line = tc_line(self.spec, self.place)
        assert line is not None
        return line

    @property
    def place(self) -> Place:
        """The link of the queue, for ``tc``."""
        return Place(self.rate, f"{LIMIT}p", PACKET)


@dataclass(frozen=True)
class Setup:
    """A queue in each direction."""

    name: str
    down: Direction
    up: Direction

    def scenario(self, link: Link) -> Scenario:
        """Return the home scenario with this setup."""
        wanted = templates.Home(
            rate=f"{self.down.rate}bit/s",
            reverse_rate=f"{self.up.rate}bit/s",
            rtt=link.rtt,
            aqm=self.down.spec,
            reverse_aqm=self.up.spec,
            limit=link.buffer,
            game=False,
        )
        return Scenario.from_toml(templates.home(wanted, "home.toml"), "home.toml").with_(
            trace={"interval": "off"}
        )


def setups(link: Link) -> list[Setup]:
    """Return today's setup and the candidates."""
    today = Setup(TODAY, Direction(link.down_rate, "droptail"), Direction(link.up_rate, "droptail"))
    names = ["pfifo", "codel", "pie", "fq_codel", "fq_pie"]
    found = [today, *(_setup(name, name, link, 0.1) for name in names)]
    if link.seconds < 0.1:
        found.append(_setup(f"fq_codel, interval {link.rtt}", "fq_codel", link, 0.0))
    return found


def _setup(name: str, algorithm: str, link: Link, least: float) -> Setup:
    return Setup(
        name,
        *(_direction(algorithm, rate, max(link.seconds, least)) for rate in (link.down_rate, link.up_rate)),
    )


def _direction(algorithm: str, rate: int, interval: float) -> Direction:
    """Return the queue of a direction by the rules of RFC 8289 and RFC 8033.

    CoDel's interval is the largest round trip, its target a twentieth of that; no target is below the time
    of one and a half packets. A plain FIFO has one bandwidth-delay product.
    """
    shaped = int(SHAPED * rate) // 1000 * 1000
    least = 1.5 * 8 * PACKET / shaped
    if algorithm == "pfifo":
        spec = f"droptail limit {max(10, math.ceil(shaped * interval / 8 / PACKET))}p"
    elif algorithm in ("pie", "fq_pie"):
        spec = f"{algorithm} target {_span(max(0.015, least))} limit {_limit(algorithm)}p"
    else:
        target = max(interval / 20, least)
        times = f"target {_span(target)} interval {_span(max(interval, target))}"
        spec = f"{algorithm} {times} limit {_limit(algorithm)}p"
    return Direction(shaped, accepted(spec, Place(shaped, f"{LIMIT}p", PACKET)))


def _limit(algorithm: str) -> int:
    return FAIR_LIMIT if algorithm.startswith("fq_") else LIMIT


def _span(seconds: float) -> str:
    return f"{1e6 * seconds:.0f}us"
