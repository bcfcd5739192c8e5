"""The space of readings of the paper: its 24 assumptions, of hosts, senders, RED and traffic.

Consecutive losses and UDP loss depend on the spacing of packets at the bottleneck, and so on the rate of the
hosts' network cards and on how often a receiver acknowledges. The two main experiments are searched, FTP on
the testbed and web traffic in ns-2, with the shorter runs of ``--quick``.
"""

from __future__ import annotations

from sojourn.papers.changes import Data, each, of_kind, reading, within
from sojourn.papers.experiment import Reading
from sojourn.papers.search.space import Factor, Space, Value, fixed
from sojourn.papers.taildrop2001.experiments import TESTBED, WEB
from sojourn.papers.taildrop2001.readings import readings

NS2 = "ns-2 of 2001"


def space() -> Space:
    """Return the space."""
    return Space(
        (*_senders(), *_hosts(), *_red(), *_traffic(), *_judging(), *_elsewhere()),
        (TESTBED, WEB),
        quick=True,
        shorter="runs of 250 s (FTP) and 500 s (web) in place of 500 s and 2000 s",
        starts={"10 Mbit/s hosts, every packet acknowledged": SPACED},
    )


#: Hosts at the bottleneck's own rate, whose receivers acknowledge every packet.
SPACED = {"hosts": "10 Mbit/s", "ACKs": "each packet"}


def _known() -> dict[str, Reading]:
    return {one.id: one for one in readings()}


def _senders() -> list[Factor]:
    known = _known()
    plain = "the paper says SACK only"
    return [
        Factor("TCP of hosts", "A-TD-20", "TCP of the testbed's hosts", (
            Value("Linux of 2000", "the year of the hosts: RFCs with Linux 2.2's times"),
            Value("ns-2 of 2001", f"the paper's simulation of the testbed; {plain}", known["ns-2 of 2001"]),
            Value("Linux 6.1", f"Linux of today; {plain}", known["Linux of today"]),
        )),
        Factor("TCP of ns-2", "A-TD-19", "TCP and RED of the web simulation", (
            Value("ns-2 of 2001", "the default until late 2001"),
            Value("ns-2.35", "the last version", known["ns-2.35"]),
            Value("RFCs", "conventions rfc", known["library TCP"]),
        )),
        Factor("ACKs", "A-TD-20", "how often the hosts acknowledge", (
            Value("delayed", "Linux 2.2: up to 40 ms, not the first 16"),
            Value("each packet", "quick acknowledgements of Linux 2.2; Agent/TCPSink of ns-2",
                  reading("every packet is acknowledged", within("tcp", delayed_ack="0s"), TESTBED)),
        )),
        Factor("window", "A-TD-6", "receiver window", (
            Value("1000 p", "never limits, as the text says of 64 kB or more"),
            Value("45 p", "64 kB, the least that the text names",
                  reading("receiver window of 64 kB", within("tcp", receiver_window=45))),
        )),
    ]  # fmt: skip


def _hosts() -> list[Factor]:
    known = _known()

    def slow(data: Data) -> None:
        for link in data["link"]:
            if "host" in link["from"] + link["to"]:
                link["rate"] = "10Mbit/s"

    def without_ethernet(data: Data) -> None:
        for one in data["traffic"]:
            if one["kind"] == "tcp":
                one.update(header="52B", ack="52B")
            else:
                one.update(size="559B")

    return [
        Factor("hosts", "A-TD-10", "rate of the hosts' links", (
            Value("100 Mbit/s", "the rate of Fig. 2(b)"),
            Value("10 Mbit/s", "Ethernet of the year; section 3.2 speaks of collisions at the link layer",
                  reading("hosts at 10 Mbit/s", slow, TESTBED)),
        )),
        Factor("delays", "A-TD-1", "where the delays act", (
            Value("outgoing", "the sum matches 120 to 180 ms only so"),
            Value("both", "a link's propagation delay acts both ways", known["RTT 220 to 280 ms"],
                  "round trips of 120 to 180 ms are printed"),
        )),
        Factor("bytes", "A-TD-11", "bytes that dummynet counts", (
            Value("Ethernet", "the MTU of 1514 B includes its header"),
            Value("IP", "dummynet is called with IP packets",
                  reading("packets without Ethernet's header", without_ethernet, TESTBED)),
        )),
        Factor("jitter", "A-TD-7", "gaps between UDP packets", (
            Value("10 %", "avoids phase effects"),
            Value("none", "constant bit rate, to the letter", reading("UDP without jitter",
                                                                    each(of_kind("udp-cbr"), jitter=0.0))),
        )),
    ]  # fmt: skip


def _red() -> list[Factor]:
    known = _known()
    return [
        Factor("gentle end", "A-TD-3", "where gentle RED's line ends", (
            Value("2 max_th", "Floyd 2000"),
            Value("buffer", "the words of the text", known["gentle to buffer"]),
        )),
        Factor("wait (testbed)", "A-TD-4", "whether RED pauses after a drop", (
            Value("no", "dummynet"),
            Value("yes", f"{NS2}", known["RED with wait"]),
        )),
        Factor("wait (web)", "A-TD-4", "whether RED pauses after a drop", (
            Value("yes", f"{NS2}"),
            Value("no", "Floyd and Jacobson 1993, which is cited", known["RED without wait"]),
        )),
    ]  # fmt: skip


def _traffic() -> list[Factor]:
    known = _known()
    return [
        Factor("object gap", "A-TD-13", "time between objects", (
            Value("0.5 s", "the only unit that gives the load"),
            Value("0.5 ms", "as printed", known["objects 0.5 ms apart"]),
        )),
        Factor("page gap", "A-TD-14", "time between pages", (
            Value("from the start", f"{NS2}"),
            Value("from the end", "ns-2 since", known["gap from the end"]),
        )),
        Factor("kB", "A-TD-16", "size of an object", (
            Value("12000 B", "kB as 1000 B"),
            Value("12288 B", "kB as 1024 B", reading("12 kB of 1024 B",
                  each(of_kind("web"), size="pareto 12288B 1.2"), WEB)),
        )),
    ]  # fmt: skip


def _judging() -> list[Factor]:
    return [
        Factor("goodput", "A-TD-2", "what goodput counts", (
            Value("payload", "8.7 Mbit/s at most"),
            Value("wire", "what the link carries for TCP, headers included",
                  _known()["goodput with headers"]),
        )),
    ]  # fmt: skip


def _elsewhere() -> list[Factor]:
    """Return the factors with one value: stated, without effect on packets, or not searched."""
    beyond = "is about loads, buffers and weights beyond the two experiments that are searched"
    return [
        fixed("flows per host", "A-TD-5", "flows per host", "equal", "loads are multiples of the four pairs"),
        fixed("intervals", "A-TD-8", "95 % intervals", "Student's t", "judges runs, does not change them"),
        fixed("starts", "A-TD-9", "starts on the testbed", "10 s", "the first 100 s are not counted"),
        fixed("length (FTP)", "A-TD-12", "length of FTP simulations", "500 s", beyond),
        fixed("sessions", "A-TD-15", "end of a session", "none", "the number of sessions is the load"),
        fixed("requests", "A-TD-17", "requests", "small", "they cross no queue that fills"),
        fixed("heavy tails", "A-TD-18", "common demand", "per seed", "pairs runs, does not change them"),
        fixed("length (web)", "A-TD-21", "length of web runs", "500 s", "a search runs 500 s throughout"),
        fixed("beyond", "A-TD-22", "thresholds beyond the paper's loads", "nearest", beyond),
        fixed("buffers", "A-TD-23", "buffers of tail drop", "90 to 210 p", beyond),
        fixed("weights", "A-TD-24", "weights of the average", "printed", beyond),
    ]
