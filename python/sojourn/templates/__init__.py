"""Scenarios to begin with: files to copy, and a home link made to measure.

A template is a file of this folder; its first comment is its description. `home` writes a scenario for a
given rate, round-trip time and demand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from sojourn._core import canonical_unit
from sojourn.errors import InputError, unknown
from sojourn.spec import toml

#: The template that options describe.
HOME = "home"


def names() -> list[str]:
    """Return the names of all templates, the home link first."""
    found = sorted(
        one.name.removesuffix(".toml") for one in _folder().iterdir() if one.name.endswith(".toml")
    )
    return [HOME, *found]


def title(name: str) -> str:
    """Return the first sentence of a template's comment."""
    if name == HOME:
        return (
            "A home link of a given rate and round-trip time: downloads, uploads, web pages, a call, a game"
        )
    lines = []
    for line in _text(name).splitlines():
        if not line.startswith("#") or line.strip() == "#":
            break
        lines.append(line.removeprefix("#").strip())
    sentence = re.split(r"(?<=[.?])\s", " ".join(lines), maxsplit=1)[0]
    return sentence.removesuffix(".")


def text(name: str, file: str) -> str:
    """Return a template as the content of `file`, which its comments name.

    Raises
    ------
    InputError
        If there is no such template.
    """
    if name not in names():
        raise unknown(name, "a template", names())
    if name == HOME:
        return home(Home(), file)
    return _text(name).replace(f"examples/{name}.toml", file)


def _folder() -> resources.abc.Traversable:
    return resources.files(__name__)


def _text(name: str) -> str:
    return _folder().joinpath(f"{name}.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Home:
    """What shares a home link; quantities are text with units, as in a scenario.

    Attributes
    ----------
    rate, reverse_rate : str
        Of the link towards the home, and from it.
    rtt : str
        Base round-trip time.
    downloads, uploads : int
        Number of bulk TCP transfers in each direction.
    web, call, game : bool
        Whether there are web pages, a voice call, and an online game.
    aqm : str
        The algorithm in both directions.
    reverse_aqm : str
        The algorithm from the home, if it is another.
    limit : str
        Size of the buffer in both directions.
    ecn : bool
        Whether it marks packets.
    variant : str
        Congestion control of all TCP.
    """

    rate: str = "100Mbit/s"
    reverse_rate: str = "20Mbit/s"
    rtt: str = "30ms"
    downloads: int = 4
    uploads: int = 1
    web: bool = True
    call: bool = True
    game: bool = True
    aqm: str = "fq_codel"
    ecn: bool = False
    variant: str = "cubic"
    reverse_aqm: str = ""
    limit: str = "200ms"


def home(wanted: Home, file: str) -> str:
    """Return the scenario of a home link, with comments, as the content of `file`.

    Raises
    ------
    InputError
        If no traffic is wanted.
    ValueError
        If a rate or the time is not a quantity.
    """
    if not (wanted.downloads or wanted.uploads or wanted.web or wanted.call or wanted.game):
        raise InputError("traffic", "is missing", "--flows, --uploads, --web, --call or --game")
    rate, reverse_rate = (canonical_unit("rate", one) for one in (wanted.rate, wanted.reverse_rate))
    rtt, aqm, ecn = canonical_unit("span", wanted.rtt), toml.value(wanted.aqm), toml.value(wanted.ecn)
    reverse_aqm, limit = toml.value(wanted.reverse_aqm or wanted.aqm), toml.value(wanted.limit)
    parts = [
        f"""\
# A home link: {rate} down, {reverse_rate} up, base round-trip time {rtt}.
#
#   sojourn compare {file}                                   # drop tail, CoDel, FQ-CoDel
#   sojourn run {file} --seeds 10
#   sojourn tune {file} --aqm codel
#
# Quantities have a unit: 10Mbit/s, 10ms, 1500B, 100p (packets). `sojourn explain tcp` has options of TCP.

name = "home"
duration = "40s"
warmup = "10s"                     # statistics cover [warmup, duration]
conventions = "linux"              # TCP as in Linux: SACK, RACK-TLP, PRR, delayed acknowledgements

[dumbbell]                         # servers - R1 - the link - R2 - home
rate = "{rate}"
reverse_rate = "{reverse_rate}"
rtt = "{rtt}"
access = {{ delays = ["0ms", "1ms", "2ms", "3ms"] }}     # of the servers, one way: round trips differ
reverse_queue = {{ limit = {limit}, aqm = {reverse_aqm}, ecn = {ecn} }}

[queue]                            # of the link towards the home; this queue is measured
limit = {limit}                    # at the link's rate; or packets (100p), or bytes (120kB)
aqm = {aqm}
ecn = {ecn:5}                        # whether packets are marked instead of dropped
"""
    ]
    if wanted.downloads:
        parts.append(_bulk("download", wanted.downloads, "", wanted.variant))
    if wanted.uploads:
        parts.append(_bulk("upload", wanted.uploads, 'direction = "reverse"\n', wanted.variant))
    if wanted.web:
        parts.append(
            f"""
[[traffic]]                        # pages of 12 objects and 360 kB on average: an assumption, like the gaps
name = "web"
kind = "web"
variant = {toml.value(wanted.variant)}
count = 3                          # people who browse
page_gap = "exponential 4s"        # from a page to the next one
objects = "exponential 12"         # of a page; each has its own connection
size = "lomax 30kB 1.5"
start = "uniform 0s 4s"
"""
        )
    if wanted.call:
        for name, direction in (("call", ""), ("call-up", 'direction = "reverse"\n')):
            parts.append(
                f"""
[[traffic]]                        # G.711: 160 bytes each 20 ms, and 40 bytes of IP, UDP and RTP headers
name = "{name}"
kind = "call"
{direction}"""
            )
    if wanted.game:
        parts.append(
            """
[[traffic]]                        # updates of an online game; those that take longer are of no use
name = "game"
kind = "game"
interval = "16ms"
size = "200B"
deadline = "50ms"                  # one way; half the round-trip time is propagation
"""
        )
    return "".join(parts)


def _bulk(name: str, count: int, direction: str, variant: str) -> str:
    return f"""
[[traffic]]
name = "{name}"
kind = "tcp"                       # endless data
{direction}variant = {toml.value(variant)}
count = {count}
start = "uniform 0s 1s"
"""
