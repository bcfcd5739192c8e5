"""Published rules that compute an algorithm's parameters from the network.

Each returns a `Rule`: a spec for ``sojourn.run`` or ``--aqm``, with its numbers, their source, and whether
they are printed in the paper or computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Self

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.units import HINTS


class Rule(str):
    """A canonical spec with its source.

    Attributes
    ----------
    values : mapping
        Parameters and intermediate results, by name.
    source : str
        Paper and section.
    printed : bool
        Whether the values are printed in the paper.
    note : str
        Caveats; empty if there are none.
    """

    values: MappingProxyType[str, float]
    source: str
    printed: bool
    note: str

    def __new__(  # noqa: D102 - described by its class
        cls, spec: str, values: dict[str, float], source: str, printed: bool = False, note: str = ""
    ) -> Self:
        rule = super().__new__(cls, _core.canonical(spec))
        rule.values, rule.source = MappingProxyType(values), source
        rule.printed, rule.note = printed, note
        return rule


#: Ziegler, Brandauer, Fdida: "REDopt" in the tables of figures 3(a) (FTP flows) and 4(a) (Web sessions):
#: min_th, max_th and buffer in packets, max_p, w_q. The paper prints 74.
_FLOWS = {
    16: (41, 165, 247, 0.00513, 0.00068),
    32: (42, 168, 252, 0.0185, 0.0011),
    64: (43, 172, 258, 0.0571, 0.0016),
    128: (45, 181, 272, 0.133, 0.002),
    256: (50, 200, 300, 0.233, 0.0018),
}
_SESSIONS = {
    800: (38, 151, 226, 0.00178, 0.00008),
    1000: (38, 153, 230, 0.00472, 0.00011),
    1200: (41, 164, 246, 0.02, 0.00021),
    1300: (49, 196, 294, 0.109, 0.00039),
    1400: (74, 299, 449, 0.333, 0.00044),
}
_TAILDROP = "A Comparison of Tail Drop and Active Queue Management (2001)"
#: The reconstruction, fitted to figure 3(a): max_th - min_th = _SLOPE flows + _BASE packets, and the weight
#: times the packets between two losses of a flow. _AGGRESSIVE is the paper's factor for its UDP traffic.
_SLOPE, _BASE, _MEMORY, _AGGRESSIVE = 0.1075, 122.35, 5.36, 1.1
#: Packets acknowledged by one acknowledgement, and the timeout in round-trip times.
_DELAYED, _TIMEOUT = 2, 4


def redopt(
    flows: int | None = None,
    *,
    sessions: int | None = None,
    rate: str = "10Mbit/s",
    packet: str = "1514B",
    rtts: Sequence[str] = ("220ms", "240ms", "260ms", "280ms"),
    tcp_share: float = 0.9,
    reconstructed: bool = False,
) -> Rule:
    """Return RED with the parameters that should hold the average queue midway between its thresholds.

    For the loads of the paper's two tables on its own network, these are the printed values. For any other
    number of flows or network they are a **reconstruction**: the model that the paper used (Ziegler,
    Brandauer and Fdida, IWQoS 2001) is not available to us, so a published formula of TCP's throughput
    (Padhye et al. 1998) replaces it. Its three constants and its round-trip times were fitted to the table
    for FTP flows, from which it differs by at most one packet, 2.4 % (max_p) and 5.6 % (w_q). It does not
    reproduce the table for Web sessions.

    Parameters
    ----------
    flows : int
        TCP flows; printed for 16, 32, 64, 128, 256.
    sessions : int
        Web sessions instead: 800, 1000, 1200, 1300 or 1400, the rows of the paper's table.
    rate, packet, rtts, tcp_share
        The link, the mean packet on the wire, round-trip times without queueing (flows are spread evenly),
        and the share of the link available to TCP.
    reconstructed : bool
        Compute the values even if the paper prints them.

    Examples
    --------
    >>> redopt(16)
    'red min_th 41p max_th 165p max_p 0.00513 w_q 0.00068 limit 247p'
    >>> redopt(16).printed, redopt(17).printed
    (True, False)
    """
    if (flows is None) == (sessions is None):
        raise InputError(
            "redopt", "needs flows or sessions, and not both", "redopt(64) or redopt(sessions=1200)"
        )
    if sessions is not None:
        if sessions not in _SESSIONS:
            near = min(_SESSIONS, key=lambda known: abs(known - sessions))
            known = ", ".join(map(str, _SESSIONS))
            raise InputError("redopt.sessions", f"= {sessions} is not in the paper's table", known, str(near))
        return _red(_SESSIONS[sessions], f"{_TAILDROP}, Fig. 4(a), {sessions} sessions", True)
    assert flows is not None
    if flows < 1:
        raise InputError("redopt.flows", f"= {flows} is too few", "at least 1")
    own_network = (rate, packet, tuple(rtts), tcp_share) != ("10Mbit/s", "1514B", _RTTS, 0.9)
    if flows in _FLOWS and not own_network and not reconstructed:
        return _red(_FLOWS[flows], f"{_TAILDROP}, Fig. 3(a), {flows} flows", True)
    if not 0 < tcp_share <= 1:
        raise InputError("redopt.tcp_share", f"= {tcp_share} is out of range", "a number in (0, 1]")
    capacity = _rate(rate) / (8 * _bytes(packet))
    return _reconstruct(flows, capacity, [_seconds("redopt.rtts", rtt) for rtt in rtts], tcp_share)


_RTTS = ("220ms", "240ms", "260ms", "280ms")


def _red(row: tuple[float, float, float, float, float], source: str, printed: bool, note: str = "") -> Rule:
    minimum, maximum, buffer, max_p, w_q = row
    spec = f"red min_th {minimum}p max_th {maximum}p max_p {max_p!r} w_q {w_q!r} limit {buffer}p"
    names = ("min_th", "max_th", "limit", "max_p", "w_q")
    return Rule(spec, dict(zip(names, row, strict=True)), source, printed, note)


def _reconstruct(flows: int, capacity: float, base: Sequence[float], tcp_share: float) -> Rule:
    distance = _SLOPE * flows + _BASE
    queue = 5 / 6 * distance  # midway between the thresholds
    trips = [rtt + queue / capacity for rtt in base]
    low, high = 1e-7, 0.999
    for _ in range(200):  # throughput falls with p
        p = math.sqrt(low * high)
        offered = flows / len(trips) * sum(_throughput(p, trip) for trip in trips)
        low, high = (p, high) if offered > tcp_share * capacity else (low, p)
    between = _time_between_losses(p, sum(trips) / len(trips))
    max_p = min(1.0, 2 * _AGGRESSIVE * p)
    w_q = min(1.0, _MEMORY / (capacity * between))
    row = (round(distance / 3), round(4 / 3 * distance), round(2 * distance), max_p, w_q)
    rule = _red(
        row, "reconstruction after Ziegler, Brandauer and Fdida (IWQoS 2001)", False, "not the paper's model"
    )
    rule.values = MappingProxyType({**rule.values, "p": p, "loss_period_s": between})
    return rule


def _throughput(p: float, trip: float) -> float:
    """Return packets per second of one flow: Padhye et al. 1998, the short form."""
    timeouts = min(1.0, 3 * math.sqrt(3 * _DELAYED * p / 8)) * p * (1 + 32 * p * p)
    return 1 / (trip * math.sqrt(2 * _DELAYED * p / 3) + _TIMEOUT * trip * timeouts)


def _time_between_losses(p: float, trip: float) -> float:
    """Return the mean time between two losses of a flow, with the timeout that may follow (the same)."""
    b = _DELAYED
    k = (2 + b) / 6
    rounds = k + math.sqrt(2 * b * (1 - p) / (3 * p) + k * k)
    k = (2 + b) / (3 * b)
    window = k + math.sqrt(8 * (1 - p) / (3 * b * p) + k * k)
    backoff = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    return trip * (rounds + 1) + min(1.0, 3 / window) * _TIMEOUT * trip * backoff / (1 - p)


def pi(
    flows: float,
    capacity: float,
    rtt: float | str,
    *,
    f_s: float = 160.0,
    q_ref: str = "200p",
    lag: bool = True,
) -> Rule:
    """Return PI with the gains of its authors' design rule.

    The controller's zero cancels TCP's slow pole z = 2 N / (R^2 C), where the loop then crosses gain one; K =
    z |1 + j z R| (2 N)^2 / (R C)^3, and by the bilinear transform a, b = K/z +- K/(2 f_s). It is stable for
    more flows and shorter round-trip times, too.

    Parameters
    ----------
    flows : float
        N, the minimum number of flows.
    capacity : float
        C, in packets per second.
    rtt : float or str
        R, the longest round-trip time with queueing: seconds, or text with a unit.
    f_s : float
        Samples per second; the paper has 160.
    q_ref : str
        Reference queue length.
    lag : bool
        Include the queue's lag at the crossover, |1 + j z R|. The authors' published gains (1.822e-5 and
        1.816e-5 at 160 Hz, for 60 flows, 3750 packets/s and R = 0.2 s + 175/3750 s) omit this factor, 1.008.

    Examples
    --------
    >>> published = pi(60, 3750, 0.2 + 175 / 3750, lag=False)
    >>> f"{published.values['a']:.3e} {published.values['b']:.3e}"
    '1.822e-05 1.816e-05'
    """
    seconds = _seconds("pi.rtt", rtt)
    for key, value in (("flows", flows), ("capacity", capacity), ("f_s", f_s)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"pi.{key}", f"= {value} is out of range", "a positive number")
    z = 2 * flows / (seconds**2 * capacity)
    gain = z * (2 * flows) ** 2 / (seconds * capacity) ** 3 * (math.hypot(1, z * seconds) if lag else 1.0)
    a, b = gain / z + gain / (2 * f_s), gain / z - gain / (2 * f_s)
    if b <= 0:
        raise InputError(
            "pi.f_s", f"= {f_s} is too slow for this network", f"above {z / 2:g}, better {10 * z:g}"
        )
    values = {"a": a, "b": b, "f_s": f_s, "z": z, "K": gain}
    source = (
        "Hollot, Misra, Towsley and Gong, On Designing Improved Controllers for AQM Routers (INFOCOM 2001)"
    )
    return Rule(f"pi a {a:.9g} b {b:.9g} f_s {f_s:g} q_ref {q_ref}", values, source)


def _seconds(key: str, value: float | str) -> float:
    seconds = _read(key, "span", value) * 1e-9 if isinstance(value, str) else value
    if not (seconds > 0 and math.isfinite(seconds)):
        raise InputError(key, f"= {value} is not a round-trip time", "more than 0s, like 250ms")
    return seconds


def _rate(word: str) -> float:
    return float(_read("redopt.rate", "rate", word))


def _bytes(word: str) -> float:
    return float(_read("redopt.packet", "bytes", word))


def _read(key: str, kind: str, word: str) -> Any:

    try:
        value = _core.parse_unit(kind, word)
    except ValueError as error:
        raise InputError(key, f"= {word!r} {error}", HINTS[kind]) from None
    if value <= 0:
        raise InputError(key, f"= {word!r} is zero", HINTS[kind])
    return value
