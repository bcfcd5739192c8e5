"""The ``tc`` command for a queue, for algorithms that exist in Linux.

Units are Linux's own: RED counts bytes, PIE's gains are sixteenths, SFB's times are milliseconds, and RED's
weight follows from the allowed burst (``w_q`` = 2^-n). Options that tc does not support are listed, never
dropped silently. `accepted` returns the spec of the queue that the command really configures. Source: the
usage texts and parsers of iproute2's ``tc``, and the schema's names for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from sojourn import _core
from sojourn.algorithms.builtin import parameters
from sojourn.spec.aqm_spec import Spec, canonical


@dataclass(frozen=True)
class Place:
    """The link and the buffer of the queue.

    Parameters
    ----------
    rate : int
        Rate of the link, bit/s.
    limit : str
        Limit of the queue: ``100p`` or ``120000B``.
    packet : float
        Mean packet size on the wire, bytes.
    ecn : bool
        Whether the queue marks if the algorithm's ``ecn`` is not set.
    """

    rate: int
    limit: str
    packet: float
    ecn: bool = False


@dataclass
class Line:
    """The arguments of ``tc``, and notes on options that it does not support."""

    words: list[str]
    notes: list[str] = field(default_factory=list)
    #: The parameters that it sets, with the values that ``tc`` accepts.
    values: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(["tc qdisc replace dev DEV root", *self.words])


def tc_line(spec: str, place: Place) -> Line | None:
    """Return the arguments of ``tc``, or None if Linux has no such queue.

    Parameters
    ----------
    spec : str
        An algorithm or scheduler.
    place : Place
        Its link and buffer; a limit in the spec takes precedence.

    Examples
    --------
    >>> place = Place(10_000_000, "100p", 1000.0)
    >>> print(tc_line("pie target 12ms", place))
    tc qdisc replace dev DEV root pie limit 100 target 12ms tupdate 15ms alpha 2 beta 20 noecn
    >>> tc_line("raqm", place) is None
    True
    """
    parsed = Spec(spec)
    writer = _WRITERS.get(parsed.name)
    if writer is None:
        return None
    setting = _Setting(parsed, place)
    line = writer(setting)
    line.notes += setting.unsupported()
    line.values = setting.rounded
    return line


def accepted(spec: str, place: Place) -> str:
    """Return the spec with the values that ``tc`` accepts.

    Parameters that the spec does not set keep their defaults, and those that ``tc`` lacks keep their values;
    the notes of `tc_line` name both. If Linux has no such queue, the spec is unchanged.

    Examples
    --------
    >>> accepted("pie target 12.3456ms alpha 0.0777", Place(10_000_000, "100p", 1000.0))
    'pie target 12345.6us alpha 0.0625'
    """
    parsed, line = Spec(spec), tc_line(spec, place)
    if line is None:
        return parsed
    words = [parsed.name]
    for name, value in parsed.values.items():
        own = ("on" if value else "off") if isinstance(value, bool) else str(value)
        words += [name, line.values.get(name, own)]
    if parsed.limit is not None:
        words += ["limit", line.values.get("limit", parsed.limit)]
    if parsed.overflow is not None:
        words += ["overflow", parsed.overflow]
    return canonical(" ".join(words))


def settable(name: str) -> set[str] | None:
    """Return the parameters of an algorithm that ``tc`` can set, or None if Linux has no such queue.

    Examples
    --------
    >>> sorted(settable("codel"))
    ['ce_threshold', 'ecn', 'interval', 'target']
    """
    writer = _WRITERS.get(name)
    if writer is None:
        return None
    setting = _Setting(Spec(name), Place(10_000_000, "100p", 1000.0))
    writer(setting)
    return setting.used


def supported() -> list[str]:
    """Return the algorithms that Linux has.

    Examples
    --------
    >>> "codel" in supported(), "raqm" in supported()
    (True, False)
    """
    return list(_WRITERS)


class _Setting:
    """The parameters of a spec with the schema's defaults; records which ones were used."""

    def __init__(self, spec: Spec, place: Place) -> None:
        self.name, self.given, self.place = spec.name, spec.values, place
        self.limit = spec.limit or place.limit
        self.schema = {one["name"]: one for one in parameters(self.name)}
        self.used: set[str] = set()
        self.rounded: dict[str, str] = {}

    def word(self, name: str) -> str | None:
        """Return a parameter as text; None if it is derived."""
        self.used.add(name)
        if name in self.given:
            return str(self.given[name])
        return None if self.schema[name]["derived"] else str(self.schema[name]["default"])

    def number(self, name: str) -> float:
        return float(self.word(name) or "nan")

    def milliseconds(self, name: str) -> float:
        return _core.parse_unit("span", self.word(name) or "0s") / 1e6

    def time(self, name: str) -> str:
        ns = _core.parse_unit("span", self.word(name) or "0s")
        text = f"{ns / 1e6:g}ms" if ns % 1_000_000 == 0 or ns >= 10_000_000 else f"{ns / 1e3:.0f}us"
        return self.accept(name, text)

    def accept(self, name: str, written: str, value: str | None = None) -> str:
        """Record the value that ``tc`` accepts for a parameter; return the word for ``tc``."""
        self.used.add(name)
        self.rounded[name] = written if value is None else value
        return written

    def size(self, name: str, otherwise: float = math.nan) -> float:
        """Return a queue length in bytes; `otherwise` if it is derived."""
        word = self.word(name)
        return otherwise if word is None else self.bytes(word)

    def bytes(self, word: str) -> float:
        value, unit = _core.parse_unit("size", word)
        return float(value) * (self.place.packet if unit == "p" else 1.0)

    def packets(self, word: str) -> int:
        value, unit = _core.parse_unit("size", word)
        return max(1, round(float(value) / (1.0 if unit == "p" else self.place.packet)))

    def limit_packets(self) -> str:
        """Return the limit in packets."""
        count = self.packets(self.limit)
        self.rounded["limit"] = f"{count}p"
        return str(count)

    @property
    def ecn(self) -> bool:
        self.used.add("ecn")
        default = self.schema["ecn"]["default"] == "on" if "ecn" in self.schema else False
        return bool(self.given.get("ecn", default or self.place.ecn))

    def unsupported(self) -> list[str]:
        return [
            f"Linux's {self.name} has no {name} (here: {value})"
            for name, value in self.given.items()
            if name not in self.used
        ]


def _red_words(s: _Setting, counted: Callable[[float], int]) -> tuple[list[str], list[str]]:
    """Return thresholds, weight and probability of RED and CHOKe; `counted` turns bytes into tc's unit."""
    packet = round(s.size("mean_packet", s.place.packet))
    low = s.size("min_th")
    high = s.size("max_th", 3 * low)
    s.used.add("max_packet")
    weight = s.number("w_q")
    burst, shift = burst_for(weight, low / packet)
    s.accept("w_q", f"{2.0**-shift:.12g}")
    notes = []
    if weight != 2.0**-shift:
        notes = [f"w_q {weight:g} becomes 2^-{shift} = {2.0**-shift:.3g}, the nearest value that tc accepts"]
    words = ["min", str(counted(low)), "max", str(counted(high)), "avpkt", str(packet), "burst", str(burst)]
    words += ["bandwidth", f"{s.place.rate}bit"]
    words += ["probability", s.accept("max_p", f"{s.number('max_p'):g}")]
    return words + (["ecn"] if s.ecn else []), notes


def burst_for(weight: float, min_packets: float) -> tuple[int, int]:
    """Return the burst that makes ``tc`` choose the weight 2^-n nearest to `weight`, and n.

    A burst of L packets into an empty queue raises the average to L + 1 + ((1 - w)^(L + 1) - 1) / w (Floyd
    and Jacobson 1993, section 4), which must stay below ``min``; ``tc`` takes the largest 2^-n with (L + 1 -
    min) <= (1 - (1 - w)^L) / w.

    Examples
    --------
    >>> burst_for(0.002, 5.0)
    (48, 9)
    """
    wanted = min(31, max(1, round(-math.log2(weight))))
    best: tuple[int, int] | None = None
    burst = max(1, math.ceil(min_packets))
    while burst < 2**24:
        found = _shift(burst, min_packets)
        if best is None or abs(found - wanted) < abs(best[1] - wanted):
            best = burst, found
        if found >= wanted:
            break
        burst += max(1, burst // 64)
    assert best is not None
    return best


def _shift(burst: int, min_packets: float) -> int:
    need = burst + 1 - min_packets
    return next((n for n in range(1, 32) if need <= (1 - (1 - 2.0**-n) ** burst) * 2.0**n), 31)


def _red(s: _Setting) -> Line:
    words, notes = _red_words(s, lambda size: max(1, round(size)))
    if s.word("ecn_forced") == "drop" and "ecn" in words:
        words.append("harddrop")
    return Line(["red", "limit", str(round(s.bytes(s.limit))), *words], notes)


def _choke(s: _Setting) -> Line:
    words, notes = _red_words(s, lambda size: max(1, round(size / s.place.packet)))
    s.used.add("ecn_forced")
    return Line(["choke", "limit", s.limit_packets(), *words], notes)


def _pie(s: _Setting) -> Line:
    words = ["pie", "limit", s.limit_packets(), *_pie_words(s), "ecn" if s.ecn else "noecn"]
    return Line(words + _estimator(s), _gains(s))


def _pie_words(s: _Setting) -> list[str]:
    gains = []
    for name in ("alpha", "beta"):
        count = _sixteenths(s.number(name))
        gains.append(s.accept(name, str(count), f"{count / 16:g}"))
    return ["target", s.time("target"), "tupdate", s.time("t_update"), "alpha", gains[0], "beta", gains[1]]


def _sixteenths(gain: float) -> int:
    return min(32, max(0, round(16 * gain)))


def _gains(s: _Setting) -> list[str]:
    return [
        f"{name} {s.number(name):g} becomes {_sixteenths(s.number(name)) / 16:g} (sixteenths, 2 at most)"
        for name in ("alpha", "beta")
        if _sixteenths(s.number(name)) / 16 != s.number(name)
    ]


def _estimator(s: _Setting) -> list[str]:
    return ["dq_rate_estimator"] if s.word("delay") == "rate" else []


def _codel(s: _Setting) -> Line:
    words = ["limit", s.limit_packets(), "target", s.time("target"), "interval", s.time("interval")]
    return Line(["codel", *words, *_ce_threshold(s), "ecn" if s.ecn else "noecn"])


def _ce_threshold(s: _Setting) -> list[str]:
    return [] if s.word("ce_threshold") is None else ["ce_threshold", s.time("ce_threshold")]


def _fair(s: _Setting) -> list[str]:
    sizes = {name: str(round(s.size(name))) for name in ("quantum", "memory")}
    quantum, memory = (s.accept(name, size, f"{size}B") for name, size in sizes.items())
    limit = s.limit_packets()
    return ["limit", limit, "flows", s.word("flows") or "", "quantum", quantum, "memory_limit", memory]


def _fq_codel(s: _Setting) -> Line:
    words = ["target", s.time("target"), "interval", s.time("interval")]
    batch = ["drop_batch", s.word("drop_batch") or ""]
    marking = _ce_threshold(s)
    if s.word("ce_select") == "ect1" and marking:  # ECT(1) is 01 of the two bits of the ECN field
        marking += ["ce_threshold_selector", "0x1/0x3"]
    return Line(["fq_codel", *_fair(s), *batch, *words, *marking, "ecn" if s.ecn else "noecn"])


def _fq_pie(s: _Setting) -> Line:
    percent = round(100 * s.number("mark_ecnth"))
    probability = ["ecn_prob", s.accept("mark_ecnth", str(percent), f"{percent / 100:g}")]
    words = [*_fair(s), *_pie_words(s), *probability, "ecn" if s.ecn else "noecn", *_estimator(s)]
    return Line(["fq_pie", *words], _gains(s))


def _fq(s: _Setting) -> Line:
    """Return the arguments for ``sch_fq``, which hashes forwarded packets to a power of two of queues."""
    flows = int(s.word("flows") or 0)
    power = 1 << (flows - 1).bit_length()
    words = ["fq", "limit", s.limit_packets(), "flow_limit", s.word("flow_limit") or ""]
    for name in ("quantum", "initial_quantum"):
        size = str(round(s.size(name)))
        words += [name, s.accept(name, size, f"{size}B")]
    if (rate := s.word("maxrate")) is not None:
        words += ["maxrate", _bits(rate)]
    words += ["low_rate_threshold", _bits(s.word("low_rate_threshold") or "0bit/s")]
    words += ["refill_delay", s.time("refill_delay"), "orphan_mask", str(power - 1), *_ce_threshold(s)]
    s.accept("flows", str(power))
    notes = [] if power == flows else [f"flows {flows} becomes {power} (a power of two)"]
    notes += [] if s.ecn or s.word("ce_threshold") is None else ["Linux's fq marks without ecn, too"]
    return Line(words, notes)


def _sfq(s: _Setting) -> Line:
    """Return the arguments for ``sch_sfq``, whose number of queues is a power of two."""
    divisor, quantum = int(s.word("divisor") or 0), str(round(s.size("quantum")))
    power = max(1 << (divisor - 1).bit_length(), 2)
    depth = s.accept("depth", str(min(127, int(s.word("depth") or 0))))
    words = ["limit", s.limit_packets(), "depth", depth, "flows", s.word("flows") or ""]
    words += [
        "divisor",
        s.accept("divisor", str(power)),
        "quantum",
        s.accept("quantum", quantum, f"{quantum}B"),
    ]
    notes = [] if power == divisor else [f"divisor {divisor} becomes {power} (a power of two)"]
    notes += [] if depth == s.word("depth") else [f"depth {s.word('depth')} becomes {depth}, the largest"]
    return Line(["sfq", *words, *(["headdrop"] if s.word("headdrop") in ("True", "on") else [])], notes)


def _cake(s: _Setting) -> Line:
    """Return the arguments for CAKE, whose own limit follows from its memory."""
    rate = s.word("bandwidth")
    words = ["cake", *(["unlimited"] if rate is None else ["bandwidth", _bits(rate)])]
    words += [s.word(name) or "" for name in ("tins", "isolation", "framing")]
    words += ["rtt", s.time("rtt"), "overhead", f"{s.number('overhead'):g}", "mpu", str(round(s.size("mpu")))]
    words.append("ingress" if s.word("ingress") in ("True", "on") else "egress")
    if s.word("memory") is not None:
        words += ["memlimit", str(round(s.size("memory")))]
    s.used |= {"ack_filter"}
    notes = [] if s.ecn else ["Linux's cake always marks ECN-capable packets"]
    if s.word("target") is not None:
        notes.append("tc sets the target of cake to rtt / 20")
    return Line(words, notes)


def _bits(rate: str) -> str:
    return f"{_core.parse_unit('rate', rate)}bit"


def _sfb(s: _Setting) -> Line:
    s.used.add("ecn")

    def packets(name: str) -> str:
        count = s.packets(s.word(name) or "")
        return s.accept(name, str(count), f"{count}p")

    def milliseconds(name: str) -> str:
        count = round(s.milliseconds(name))
        return s.accept(name, str(count), f"{count}ms")

    words = ["limit", s.limit_packets(), "target", packets("bin_size"), "max", packets("max")]
    for option, name in (("increment", "d1"), ("decrement", "d2")):
        words += [option, s.accept(name, f"{s.number(name):.6g}")]
    words += ["rehash", milliseconds("rehash"), "db", milliseconds("warmup")]
    words += ["penalty_rate", s.accept("penalty_rate", f"{s.number('penalty_rate'):.0f}")]
    return Line(["sfb", *words, "penalty_burst", packets("penalty_burst")])


def _dualpi2(s: _Setting) -> Line:
    """Return the arguments for ``sch_dualpi2``: gains in 256ths, the share of C in per cent, a step for L."""
    period = s.time("t_update") if s.word("t_update") else s.accept("t_update", _period(s))
    words = ["dualpi2", "limit", s.limit_packets(), "target", s.time("target"), "tupdate", period]
    rtt, seconds = s.milliseconds("rtt_max") / 1e3, _core.parse_unit("span", period) / 1e9
    derived = {"alpha": 0.1 * seconds / rtt**2, "beta": 0.3 / rtt}
    notes = []
    for name, value in derived.items():
        wanted = float(s.word(name) or value)
        gain = min(255.0, round(256 * wanted) / 256)
        words += [name, s.accept(name, f"{gain:.10g}")]
        if not math.isclose(gain, wanted, rel_tol=1e-3):
            notes.append(f"{name} {wanted:g} becomes {gain:g} (256ths, 255 at most)")
    factor, share = s.number("k"), s.number("w_c")
    words += ["coupling_factor", s.accept("k", str(round(factor)))]
    words += ["step_thresh", s.time("min_th")]
    percent = max(1, round(100 * share))
    words += ["classic_protection", s.accept("w_c", str(percent), f"{percent / 100:g}")]
    words.append("overflow" if s.word("overload") == "cap" else "drop_on_overload")
    if factor != round(factor):
        notes.append(f"k {factor:g} becomes {round(factor)} (a whole number)")
    if 100 * share != percent:
        notes.append(f"w_c {share:g} becomes {percent / 100:g} (per cent)")
    if (span := s.word("range")) and _core.parse_unit("span", span) > 0:
        notes.append(f"range {span} becomes 0s: Linux marks L by a step")
    s.accept("range", "0s")
    s.used.add("rtt_max")
    return Line(words, [*notes, "dualpi2 needs Linux 6.17 and iproute2 6.17, or newer"])


def _period(s: _Setting) -> str:
    """Return the default ``t_update``: the smaller of target and rtt_max / 3 (RFC 9332, appendix A.1)."""
    milliseconds = min(s.milliseconds("target"), s.milliseconds("rtt_max") / 3)
    return f"{1e3 * milliseconds:.0f}us"


def _droptail(s: _Setting) -> Line:
    if s.limit.endswith("B"):
        return Line(["bfifo", "limit", str(round(s.bytes(s.limit)))])
    return Line(["pfifo", "limit", s.limit_packets()])


_WRITERS: dict[str, Callable[[_Setting], Line]] = {
    "droptail": _droptail,
    "red": _red,
    "choke": _choke,
    "pie": _pie,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "fq_pie": _fq_pie,
    "fq": _fq,
    "sfq": _sfq,
    "cake": _cake,
    "sfb": _sfb,
    "dualpi2": _dualpi2,
}
