"""The space of readings of the testbed: its 29 assumptions, ten of which are about the model without packets.

The gateway is a thread that the scheduler suspends at times. If its capacity then falls below the rate that a
virtual queue admits, the real queue behind AVQ and GKVQ fills. The text also mentions a desired link
utilisation, without a number.
"""

from __future__ import annotations

from sojourn.papers.avqred2007.experiments import TWIN
from sojourn.papers.avqred2007.readings import readings
from sojourn.papers.changes import Data, each, of_kind, only, reading, within
from sojourn.papers.experiment import Reading
from sojourn.papers.search.space import Factor, Space, Value, fixed

HERE = frozenset({TWIN})


def space() -> Space:
    """Return the space."""
    return Space(
        (*_gateway(), *_traffic(), *_algorithms(), *_judging(), *_elsewhere()),
        (TWIN,),
        quick=True,
        shorter="runs of 150 s in place of 900 s",
        starts={
            "scheduled gateway": {
                "capacity": "0.5-37.5/20 ms",
                "windows": "1 s, drops 100 ms",
                "least RTO": "1 s",
            },
            "scheduled gateway, gamma 0.99": {
                "capacity": "0.5-37.5/20 ms",
                "windows": "1 s, drops 100 ms",
                "least RTO": "1 s",
                "gamma": "0.99",
                "clamps": "open",
            },
        },
    )


def _known() -> dict[str, Reading]:
    return {one.id: one for one in readings()}


def _gateway() -> list[Factor]:
    def capacity(every: str, low: str, high: str) -> Reading:
        def change(data: Data) -> None:
            data["dumbbell"]["capacity"] = {"every": every, "rate": f"uniform {low}Mbit/s {high}Mbit/s"}
            data["dumbbell"]["rate"] = f"{high}Mbit/s"

        return reading(f"{low} to {high} Mbit/s, drawn every {every}", change, TWIN)

    def room(limit: str) -> Reading:
        return reading(f"room for {limit}", within("queue", limit=limit), TWIN)

    thread = "section 4: one thread that dequeues, on a processor that is shared"
    printed = "section 4.1 prints 13 to 25 Mbit/s, section 6 80 to 100 % of the maximum"
    return [
        Factor("capacity", "A-AVQ-1", "capacity of the gateway in Mbit/s, and how often it is drawn", (
            Value("16.8-21/33 ms", "section 6: 80 to 100 %; deviation of BLUE 2"),
            Value("13-25/4 ms", "section 4.1", capacity("4ms", "13", "25")),
            Value("0.5-37.5/20 ms", thread, capacity("20ms", "0.5", "37.5"), printed),
            Value("0.5-37.5/16 ms", thread, capacity("16ms", "0.5", "37.5"), printed),
            Value("5-33/20 ms", thread, capacity("20ms", "5", "33"), printed),
        )),
        Factor("room", "A-AVQ-4", "room in the gateway", (
            Value("500 p", "mean delay and two deviations of BLUE 1"),
            Value("100 p", "txqueuelen of Linux then", room("100p")),
            Value("1000 p", "txqueuelen of Linux since", room("1000p")),
        )),
    ]  # fmt: skip


def _traffic() -> list[Factor]:
    known = _known()

    def http(name: str, **changes: str | None) -> Reading:
        return reading(name, each(of_kind("web"), **changes), TWIN)

    def tcp(name: str, **changes: str) -> Reading:
        def change(data: Data) -> None:
            one = data["traffic"][0]
            data["traffic"] = [{**one, "tcp": {**one["tcp"], **changes}}]

        return reading(name, change, TWIN)

    return [
        Factor("RTT", "A-AVQ-2", "round-trip times", (
            Value("104 to 204 ms", "printed"),
            Value("64 to 124 ms", "the printed legs add up to it", known["RTT 64 to 124 ms"]),
        )),
        Factor("life", "A-AVQ-3", "life of a connection", (
            Value("20 s", "4000 connections, 200 new ones a second"),
            Value("page", "connections end with their page", http("no aborts", patience=None)),
            Value("11 kB", "the size that 200 a second and 18 Mbit/s leave",
                  http("11 kB objects", size="11kB", patience=None), "pages of 250 to 550 kB are printed"),
        )),
        Factor("least RTO", "A-AVQ-8", "least time-out", (
            Value("200 ms", "Linux"),
            Value("1 s", "RFC 2988", tcp("least time-out 1 s", min_rto="1s")),
        )),
        Factor("first RTO", "A-AVQ-26", "first time-out", (
            Value("3 s", "RFC 2988"),
            Value("1 s", "RFC 6298", tcp("first time-out 1 s", initial_rto="1s")),
        )),
    ]  # fmt: skip


def _algorithms() -> list[Factor]:
    known = _known()

    def ours(name: str, **changes: str) -> Reading:
        return Reading(name, name, only("avqred", **changes), experiments=HERE)

    text = "the text: desired link utilisation, without a number"
    return [
        Factor("ARED n", "A-AVQ-9", "half seconds that ARED waits", (
            Value("10", "not given"), Value("3", "not given", known["ARED n 3"]),
        )),
        Factor("ARED max_p", "A-AVQ-9", "largest max_p of ARED", (
            Value("1", "not given"), Value("0.5", "Floyd and others 2001", known["ARED max_p 0.5"]),
        )),
        Factor("AVQ gamma", "A-AVQ-11", "utilisation that AVQ wants", (
            Value("0.98", "the AVQ paper"), Value("1", "not given", known["AVQ gamma 1"]),
        )),
        Factor("listing", "A-AVQ-12", "AVQRED's listing", (
            Value("cleaned", "every packet that is not signalled enters the virtual queue"),
            Value("as printed", "to the letter", known["AVQRED as printed"]),
        )),
        Factor("gamma", "A-AVQ-12", "desired utilisation of AVQRED", (
            Value("1", "no number is given"),
            Value("0.99", text, ours("AVQRED gamma 0.99", gamma="0.99")),
            Value("0.98", "that of AVQ", ours("AVQRED gamma 0.98", gamma="0.98")),
            Value("0.95", text, known["AVQRED gamma 0.95"]),
        )),
        Factor("clamps", "", "bounds of AVQRED's virtual capacity", (
            Value("13 to 25 Mbit/s", "Table 1"),
            Value("open", "bounds that a scheduled thread never meets",
                  ours("AVQRED without bounds", min_capacity="0.5Mbit/s", max_capacity="37.5Mbit/s"),
                  "13 and 25 Mbit/s are printed"),
        )),
    ]  # fmt: skip


def _judging() -> list[Factor]:
    return [
        Factor("windows", "A-AVQ-5", "windows of the deviations", (
            Value("100 ms", "as for drops"),
            Value("1 s", "not stated", _known()["windows of 1 s"]),
            Value("1 s, drops 100 ms", "Table 2 has drops per 100 ms, and no window for utilisation",
                  Reading("windows of 1 s for utilisation", "deviation of utilisation over windows of 1 s",
                          metrics={"util_std": "util_std[1s]"}, experiments=HERE)),
        )),
    ]  # fmt: skip


def _elsewhere() -> list[Factor]:
    """Return the factors with one value: stated, or about runs or equations that are not searched."""
    model = "is about the equations of section 6, which `reproduce` reads otherwise one by one"
    runs = "is about runs that are not searched"
    equations = {
        17: ("average at w_q = 1", "x = q"),
        18: ("dl/dt", "l = u q/(1+q)"),
        19: ("maximum rate", "25 Mbit/s"),
        20: ("how often u is drawn", "0.1 s"),
        21: ("target utilisation", "0.95"),
        22: ("replacement", "5 % a second"),
        23: ("length", "300 s"),
        24: ("initial values", "0"),
        25: ("virtual queue below 0", "0"),
    }
    return [
        fixed("ramp", "A-AVQ-6", "ramp", "5 s", "printed in section 7"),
        fixed("counted", "A-AVQ-7", "what counts", "from 100 s", "all connections are there from 95 s"),
        fixed("BLUE", "A-AVQ-10", "BLUE", "as printed", "section 2.3 has it in full"),
        fixed("first capacity", "A-AVQ-13", "virtual capacity at first", "least", "gone before 100 s"),
        fixed("p_a", "A-AVQ-14", "p_a", "1", "a division by 0 or less has no other limit"),
        fixed("AVQRED 2", "A-AVQ-15", "least capacity of AVQRED 2", "13 Mbit/s", "as in the rows beside it"),
        fixed("RED", "A-AVQ-16", "RED and ARED", "not gentle", "section 2.1 has it"),
        *(fixed(f"model {n}", f"A-AVQ-{n}", *pair, model) for n, pair in equations.items()),
        fixed("short queues", "A-AVQ-27", "short queues", "15 p", runs),
        fixed("shifts", "A-AVQ-29", "shifts of the capacity", "10 s", runs),
        fixed("neighbours", "A-AVQ-28", "neighbours of the settings", "half", runs),
    ]
