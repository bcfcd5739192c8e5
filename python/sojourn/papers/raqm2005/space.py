"""The space of readings of the paper: each of its 18 assumptions, the period T, and marks instead of drops.

What RAQM counts, how long its period is, and how much a sender may have in flight were each varied alone in
the readings of ``readings``; here every value can be combined with every other.
"""

from __future__ import annotations

from sojourn.papers.changes import Data, each, of_kind, only, reading, within
from sojourn.papers.experiment import Reading
from sojourn.papers.raqm2005.experiments import FIGURES
from sojourn.papers.raqm2005.readings import readings
from sojourn.papers.search.space import Factor, Space, Value, fixed

TARGETS, HYBRID = "raqm-fig8", "raqm-fig9"
RUN = (*FIGURES, TARGETS, HYBRID)
NS2 = "ns-2, the simulator of the paper"


def space() -> Space:
    """Return the space."""
    return Space(
        (*_raqm(), *_others(), *_tcp(), *_network(), *_hybrid(), *_judging()),
        RUN,
        starts={"admitted bytes, several round trips": ADMITTED},
    )


#: The joint reading that counts what RAQM admits, over several round trips, with ns-2's default window.
ADMITTED = {"counts": "admitted", "T": "0.2 s", "window": "20 p"}


def _raqm() -> list[Factor]:
    known = {one.id: one for one in readings()}
    printed = "T is printed: 1.0 s"
    return [
        Factor("counts", "A-RAQM-5", "bytes in the input rate", (
            Value("arrived", "listing of Fig. 2: counted before the decision"),
            Value("admitted", "bytes that RAQM's own test lets pass: what a test ahead of the queue sees",
                  known["admitted-bytes"]),
            Value("accepted", "bytes that enter the queue", known["accepted-bytes"]),
            Value("loss-corrected", "r_0 as goodput: C / (1 - loss ratio)", known["loss-corrected"]),
        )),
        Factor("T", "", "measuring period", (
            Value("1 s", "section 3: T = 1.0 s"),
            Value("0.2 s", "section 2.4: several round trips, which are 60 ms in case 1",
                  _raqm_with("a period of 0.2 s", period="0.2s"), printed),
            Value("0.5 s", "section 2.4: several round trips, which are up to 440 ms in case 3",
                  _raqm_with("a period of 0.5 s", period="0.5s"), printed),
        )),
        Factor("r_0", "A-RAQM-18", "expected rate", (
            Value("C", "section 3: the link capacity"),
            Value("0.98 C", "section 2.1: gamma C with gamma up to 1", known["r_0=0.98C"],
                  "r_0 is printed: the link capacity"),
            Value("0.95 C", "section 2.1: gamma C with gamma up to 1", known["r_0=0.95C"],
                  "r_0 is printed: the link capacity"),
        )),
        Factor("eps", "A-RAQM-3", "adaptive gain as a share of its bound", (
            Value("0.9", "the text: smaller than 1 but close to 1"),
            Value("0.99", "the same words", known["eps=0.99"]),
            Value("0.5", "half of the bound, the fastest of Theorem 1's map", known["eps=0.5"]),
        )),
        Factor("guard", "A-RAQM-4", "where alpha_hat is undefined", (
            Value("0.05", "x kept in [0.05, 1.95]"),
            Value("0.001", "x kept in [0.001, 1.999]: the gain may be five times as large",
                  _raqm_with("x kept in [0.001, 1.999]", x_min="0.001", x_max="1.999")),
        )),
        Factor("floor", "A-RAQM-13", "least drop probability", (
            Value("1e-5", "a twentieth of the first value"),
            Value("1e-6", "smaller",
                  _raqm_with("p_k above 1e-6", p_min="0.000001")),
            Value("none", "the listing of Fig. 2 has none", known["no floor"]),
        )),
    ]  # fmt: skip


def _others() -> list[Factor]:
    known = {one.id: one for one in readings()}
    return [
        Factor("REM packet", "A-RAQM-6", "mean packet that REM assumes", (
            Value("500 B", "the true size"),
            Value("1000 B", f"default of {NS2}", known["REM 1000 B"]),
        )),
        fixed("unit", "A-RAQM-9", "unit of PI's and REM's queue", "packets",
              "all packets have one size: bytes are 500 times packets"),
        Factor("signal", "", "what RAQM, PI and REM do to a packet", (
            Value("drop", "section 3 plots drops"),
            Value("mark", "footnote 1: drop or mark, for which one word is used",
                  reading("packets are marked, not dropped", within("queue", ecn=True))),
        )),
    ]  # fmt: skip


def _tcp() -> list[Factor]:
    known = {one.id: one for one in readings()}

    def window(packets: int) -> Reading:
        change = within("tcp", receiver_window=packets)
        return reading(f"receiver window of {packets} packets", change)

    return [
        Factor("variant", "A-RAQM-2", "TCP variant", (
            Value("Reno", f"Agent/TCP/Reno of {NS2}"),
            Value("NewReno", f"Agent/TCP/Newreno of {NS2}", known["newreno"]),
            Value("SACK", f"Agent/TCP/Sack1 of {NS2}", known["sack"]),
        )),
        Factor("window", "A-RAQM-2", "receiver window", (
            Value("1000 p", "never limits"),
            Value("20 p", f"window_ of {NS2}", window(20)),
            Value("64 p", "32 kB: half of what TCP's header can say without scaling", window(64)),
        )),
        Factor("timer", "A-RAQM-17", "retransmission timer and details of TCP", (
            Value("1 s", "ns-2 of 2004: floor of 1 s"),
            Value("0.2 s", "later ns-2", known["ns2"]),
            Value("RFCs", "conventions rfc", known["library TCP"]),
        )),
        Factor("header", "A-RAQM-8", "bytes on the wire", (
            Value("500 B", "goodput of 0.96 is printed, which 40 B more would not leave"),
            Value("540 B", f"packetSize_ of {NS2} is the payload",
                  reading("40 B of header more", each(_has_variant, header="40B"))),
        )),
    ]  # fmt: skip


def _network() -> list[Factor]:
    known = {one.id: one for one in readings()}
    return [
        Factor("core", "A-RAQM-1", "delay of R1-R2 and R2-s(i)", (
            Value("10 ms", "as the nearest clients"),
            Value("1 ms", "the usual local link", known["core 1ms"]),
            Value("5 ms", "usual in scripts of ns-2", known["core 5ms"]),
            Value("20 ms", "usual in scripts of ns-2", known["core 20ms"]),
        )),
        Factor("starts", "A-RAQM-7", "when the long flows start", (
            Value("0 to 1 s", "usual"),
            Value("at 0 s", "section 3.4: active from 0 s",
                  reading("all long flows start at 0 s", each(of_kind("tcp"), start="0s"))),
            Value("0 to 10 s", "usual in scripts of ns-2",
                  reading("long flows start within 10 s", each(of_kind("tcp"), start="uniform 0s 10s"))),
        )),
    ]  # fmt: skip


def _hybrid() -> list[Factor]:
    known = {one.id: one for one in readings()}

    def udp(title: str, **changes: str) -> Reading:
        return reading(title, each(of_kind("udp-onoff"), **changes), HYBRID)

    return [
        Factor("long flows", "A-RAQM-10", "long flows of Fig. 9", (
            Value("100", "section 3.3, its last value"),
            Value("40", "section 3.3, its first value", known["40 long flows"]),
            Value("400", "section 3.3, its second value", known["400 long flows"]),
        )),
        Factor("on rate", "A-RAQM-11", "rate of an on/off source while on", (
            Value("80 kbit/s", "the text: average rate 40 kbit/s"),
            Value("40 kbit/s", f"rate_ of {NS2} is that while on", udp("40 kbit/s while on",
                                                                     rate="40kbit/s")),
        )),
        fixed("short flow", "A-RAQM-12", "what a short flow sends", "greedy",
              "the text gives nothing but a duration: a source that sends for it is the only reading"),
        Factor("UDP packet", "A-RAQM-16", "size of UDP packets", (
            Value("500 B", "as TCP's"),
            Value("210 B", f"default of {NS2}", udp("UDP packets of 210 B", size="210B")),
            Value("1000 B", f"usual in scripts of {NS2}", udp("UDP packets of 1000 B",
                                                             size="1000B")),
        )),
    ]  # fmt: skip


def _judging() -> list[Factor]:
    known = {one.id: one for one in readings()}
    return [
        Factor("Fig. 8 from", "A-RAQM-14", "window of the mean queue in Fig. 8", (
            Value("0 s", "the whole run"),
            Value("20 s", "without the start", known["mean from 20 s"]),
        )),
        fixed("repetitions", "A-RAQM-15", "repetitions", "seeds", "seeds repeat a run without changing it"),
    ]  # fmt: skip


def _raqm_with(title: str, **parameters: str) -> Reading:
    return Reading(title, title, only("raqm", **parameters), experiments=frozenset(RUN))


def _has_variant(source: Data) -> bool:
    return "variant" in source
