"""The space of readings of the paper: its 20 assumptions, of RED, marks, TCP, sources and DiffServ.

Cases 1 and 2 require different responses of TCP to a mark at a window of one packet. The search shows which
combinations of this response, of RED's pause after a mark and of its region above max_th fit.
"""

from __future__ import annotations

from sojourn.papers.bio2002 import diffserv
from sojourn.papers.bio2002.experiments import CASES
from sojourn.papers.bio2002.readings import readings
from sojourn.papers.changes import Data, only, reading
from sojourn.papers.experiment import Reading
from sojourn.papers.search.space import Factor, Space, Value, fixed


def space() -> Space:
    """Return the space."""
    return Space(
        (*_red(), *_tcp(), *_sources(), *_diffserv(), *_judging(), *_stated()), (*CASES, diffserv.ID)
    )


def _known() -> dict[str, Reading]:
    return {one.id: one for one in readings()}


def _red() -> list[Factor]:
    known = _known()
    return [
        Factor("wait", "A-BIO-20", "whether RED and RIO pause after a mark", (
            Value("on", "ns-2 of the year"),
            Value("off", "RED's own paper", known["wait off"]),
        )),
        Factor("above max_th", "A-BIO-5", "RED with ECN above max_th", (
            Value("marks", "listing of Fig. 1"),
            Value("drops", "later ns-2; RFC 3168", known["drop at max_th"]),
        )),
        Factor("gentle", "A-BIO-7", "gentle RED", (
            Value("off", "Fig. 2"),
            Value("on", "default of ns-2 from 2001",
                  Reading("gentle", "gentle RED", only("red", gentle="on")), "Fig. 2 jumps to 1"),
        )),
    ]  # fmt: skip


def _tcp() -> list[Factor]:
    known = _known()
    return [
        Factor("TCP", "A-BIO-19", "TCP of the simulator", (
            Value("ns-2 of 2001", "the year of the paper"),
            Value("ns-2.35", "the last version", known["ns2"]),
            Value("RFCs", "conventions rfc", known["library"]),
        )),
        Factor("marks", "A-BIO-19", "how TCP answers a mark", (
            Value("ns-2", "also after a time-out"),
            Value("RFC 3168", "once a window, not after a time-out", known["marks as RFC 3168"]),
        )),
        Factor("window", "A-BIO-10", "receiver window", (
            Value("20 p", "default of ns-2"),
            Value("1000 p", "never limits", known["window 1000"]),
        )),
        Factor("header", "A-BIO-10", "bytes on the wire", (
            Value("1000 B", "as for other papers with ns-2"),
            Value("1040 B", "packetSize_ of ns-2 is the payload", known["header 40 B"]),
        )),
    ]  # fmt: skip


def _sources() -> list[Factor]:
    known = _known()

    def far(delay: str) -> Reading:
        def change(data: Data) -> None:
            data["dumbbell"]["server"] = {**data["dumbbell"]["server"], "delay": delay}

        return reading(f"destination links of {delay}", change, *CASES)

    return [
        Factor("delays", "A-BIO-1", "source links of cases 1 and 3", (
            Value("(20i + 10) ms", "the form of case 2's (2i + 5) ms"),
            Value("(10i + 10) ms", "the string is overprinted", known["(10i + 10) ms"]),
        )),
        Factor("destinations", "A-BIO-2", "delay of the destination links", (
            Value("5 ms", "not stated"),
            Value("1 ms", "a local link", far("1ms")),
            Value("20 ms", "as far as the bottleneck is long", far("20ms")),
        )),
        Factor("on and off", "A-BIO-3", "times on and off", (
            Value("2 s, 3 s", "the BLUE paper, which the section repeats"),
            Value("2 ms, 3 ms", "as printed", known["2 ms on, 3 ms off"]),
        )),
        Factor("rate", "A-BIO-4", "rate while on", (
            Value("64 kbit/s", "default of ns-2"),
            Value("100 kbit/s", "a round number", known["100 kbit/s"]),
        )),
    ]  # fmt: skip


def _diffserv() -> list[Factor]:
    known, here = _known(), frozenset({diffserv.ID})

    def held(name: str) -> Reading:
        change = only("bio", in_hold=name, out_hold=name)
        return Reading(f"hold {name}", f"hold times of {name}", change, experiments=here)

    return [
        Factor("flows", "A-BIO-12", "flows of the DiffServ runs", (
            Value("1000", "only so 90 % of the link are in profile"),
            Value("100", "the number in the text", known["100 flows"]),
        )),
        Factor("hold", "A-BIO-14", "hold times of BIO", (
            Value("10 ms", "freeze_time of section 3"),
            Value("100 ms", "freeze_time of the BLUE paper", held("100ms")),
        )),
        Factor("BIO drops", "A-BIO-15", "where BIO drops", (
            Value("at max", "the text"),
            Value("overflow", "the listing", known["BIO overflows only"]),
        )),
        Factor("RIO above max", "A-BIO-16", "RIO above its upper thresholds", (
            Value("drops", "marks alone would leave no loss near 0.2"),
            Value("marks", "as RED in Fig. 1", known["RIO marks"]),
        )),
    ]  # fmt: skip


def _judging() -> list[Factor]:
    return [
        Factor("forced", "A-BIO-8", "what a forced drop is", (
            Value("overflow", "the text"),
            Value("as ns-2", "RED's certain region too", _known()["forced as ns-2"]),
        )),
    ]  # fmt: skip


def _stated() -> list[Factor]:
    """Return the factors with one value: stated, or without effect on packets."""
    judges = "judges runs, does not change them"
    return [
        fixed("sizes", "A-BIO-6", "queue sizes", "20 to 300 p", "the points of a curve, not its height"),
        fixed("throughput", "A-BIO-9", "throughput", "bits sent / time", judges),
        fixed("repetitions", "A-BIO-11", "repetitions", "seeds", judges),
        fixed("times", "A-BIO-13", "times of the DiffServ runs", "seconds", "66 ms are one round trip"),
        fixed("averages", "A-BIO-17", "averages of RIO", "all, in", "the paper that defines RIO is cited"),
        fixed("Fig. 22", "A-BIO-18", "bandwidths of Fig. 22", "90 to 190 s", "the text has the window"),
    ]
