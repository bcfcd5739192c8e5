"""The space of readings of the paper: its 29 assumptions, of web pages, links, TCP and algorithms.

The paper names times between objects, which a page of one object does not have; and the longest UDP delay
that it prints for drop tail is that of a full buffer at three times the rate that is assumed for R3-R4.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.papers.changes import Data, each, of_kind, reading
from sojourn.papers.experiment import Reading
from sojourn.papers.ldc2002.readings import FTP, GFC2, PICTURES, WEB, parameters, readings
from sojourn.papers.search.space import Factor, Space, Value, fixed
from sojourn.spec.scenario import Scenario

WITH_WEB = (GFC2, WEB, *sorted(PICTURES))


def space() -> Space:
    """Return the space."""
    return Space(
        (*_web(), *_network(), *_tcp(), *_algorithms(), *_judging(), *_stated()),
        (*WITH_WEB, FTP),
        starts={"ten objects a page": {"objects": "10, 150 s"}},
    )


def _algorithm(name: str, title: str, algorithm: str, **changes: str) -> Reading:
    def same(_scenario: Scenario) -> Mapping[str, str]:
        return changes

    return Reading(name, title, parameters(algorithm, same))


def _known() -> dict[str, Reading]:
    return {one.id: one for one in readings()}


def _web() -> list[Factor]:
    known = _known()

    def pages(count: str, gap: str) -> Reading:
        changes = {"objects": count, "page_gap": f"exponential {gap}"}
        return reading(
            f"{count} objects a page, pages {gap} apart", each(of_kind("web"), **changes), *WITH_WEB
        )

    times = "section 5.1 names times between objects; with the same offered load"
    return [
        Factor("objects", "A-LDC-3", "objects a page, mean time between pages", (
            Value("1, 15 s", "the example of ns-2"),
            Value("4, 60 s", times, pages("4", "60s")),
            Value("10, 150 s", times, pages("10", "150s")),
        )),
        Factor("object gap", "A-LDC-3", "mean time between objects", (
            Value("10 ms", "the example of ns-2"),
            Value("1 s", "a reader's browser of the year", reading("objects 1 s apart",
                  each(of_kind("web"), object_gap="exponential 1s"), *WITH_WEB)),
        )),
        Factor("sizes", "A-LDC-3", "distribution of object sizes", (
            Value("Lomax", "ParetoII of the example of ns-2"),
            Value("Pareto", "Pareto of ns-2's other example", known["Pareto objects"]),
        )),
        Factor("page gap", "A-LDC-3", "time between pages", (
            Value("from the start", "ns-2 of the year"),
            Value("from the end", "ns-2 since", known["gap from the end"]),
        )),
        Factor("UDP packet", "A-LDC-4", "size of UDP packets", (
            Value("1000 B", "the only size in the paper"),
            Value("210 B", "default of ns-2", known["UDP 210 B"]),
        )),
    ]  # fmt: skip


def _network() -> list[Factor]:
    known = _known()

    def rate(value: str) -> Reading:
        def change(data: Data) -> None:
            for link in data["link"]:
                if (link["from"], link["to"]) == ("R3", "R4"):
                    link["rate"] = value

        return reading(f"R3-R4 at {value}", change, GFC2)

    def far(data: Data) -> None:
        for side in ("access", "server"):
            data["dumbbell"][side] = {**data["dumbbell"][side]}
        data["dumbbell"]["access"]["delays"] = ["5ms"]

    return [
        Factor("R3-R4", "A-LDC-16", "rates of GFC-2's links", (
            Value("50 kbit/s", "the rates of the classic configuration, as kbit/s"),
            Value("100 kbit/s", "R2-R3 and R3-R4 exchanged on one side of the drawing, which is lost",
                  rate("100kbit/s")),
            Value("150 kbit/s", "as R4-R5; 120 kB then take 6.4 s: drop tail's longest UDP delay is 7.0 s",
                  rate("150kbit/s")),
        )),
        Factor("access", "A-LDC-5", "access links", (
            Value("10 Mbit/s, 5 ms", "must not be bottlenecks"),
            Value("1 Mbit/s, 1 ms", "the drawing is lost", known["access 1 Mbit/s"]),
        )),
        Factor("servers", "A-LDC-17", "direction of the traffic", (
            Value("left", "HTTP and CBR share R3-R4"),
            Value("right", "servers reside at the receivers", known["servers at receivers"]),
        )),
        Factor("delays (FTP)", "A-LDC-24", "access delay of the FTP configuration", (
            Value("1 ms", "leaves the 20 ms beside the queue that Table 5 has"),
            Value("5 ms", "as in the other configurations", reading("FTP access 5 ms", far, FTP)),
        )),
        Factor("starts", "A-LDC-9", "start of CBR and FTP", (
            Value("0 to 1 s", "usual"),
            Value("at 0 s", "the simplest script",
                  reading("CBR starts at 0 s", each(of_kind("udp-cbr"), start="0s"))),
        )),
        Factor("header", "A-LDC-1", "bytes on the wire", (
            Value("1000 B", "0.9976 Mbit/s of data on a link of 1 Mbit/s are printed"),
            Value("1040 B", "packetSize_ of ns-2 is the payload", known["+ 40 bytes"]),
        )),
    ]  # fmt: skip


def _tcp() -> list[Factor]:
    known = _known()
    return [
        Factor("TCP", "A-LDC-26", "TCP and RED of the simulator", (
            Value("ns-2.1b7", "the paper's simulator"),
            Value("ns-2.35", "the last version", known["ns2"], "ns-2.1b7 is printed"),
            Value("RFCs", "conventions rfc", known["library TCP"], "ns-2.1b7 is printed"),
        )),
        Factor("window", "A-LDC-2", "receiver window", (
            Value("20 p", "default of ns-2 then"),
            Value("1000 p", "never limits", known["window 1000"]),
        )),
    ]  # fmt: skip


def _algorithms() -> list[Factor]:
    known = _known()
    return [
        Factor("load", "A-LDC-7", "what LDC divides the arrivals by", (
            Value("C", "the configured rate"),
            Value("drained", "section 4: ratio of arrival and drain rates",
                  _algorithm("drain rate measured", "LDC measures what the queue sends", "ldc",
                             output="measured")),
        )),
        Factor("tau", "A-LDC-27", "LDC's interval", (
            Value("2 ms", "Table 2"),
            Value("10 packets", "10 packet times, of which section 4.1 speaks", known["tau 10 packets"],
                  "2 ms are printed"),
        )),
        Factor("w_r", "A-LDC-27", "what 0.998 weighs", (
            Value("present", "Table 2: weight for the current sample"),
            Value("history", "section 4.1 can be read so",
                  _algorithm("w_r on the history", "0.998 weighs the history", "ldc", w_r="0.002")),
        )),
        Factor("FRED", "A-LDC-10", "FRED above max_th", (
            Value("drops all", "Lin and Morris 1997"),
            Value("many-flow", "their extension: two packets a flow", known["FRED many-flow"]),
        )),
        Factor("gentle end", "A-LDC-28", "end of RED's gentle line", (
            Value("2 max_th", "Floyd 2000"),
            Value("buffer", "the other reading of gentle", known["gentle to buffer"]),
        )),
    ]  # fmt: skip


def _judging() -> list[Factor]:
    return [
        Factor("Fig. 8", "A-LDC-15", "queueing delay of Fig. 8", (
            Value("queue / C", "not stated"),
            Value("averaged queue / C", "what LDC controls", _known()["averaged delay"]),
        )),
    ]  # fmt: skip


def _stated() -> list[Factor]:
    """Return the factors with one value: stated, without effect on packets, or not searched."""
    judges = "judges runs, does not change them"
    return [
        fixed("b*", "A-LDC-6", "REM's reference", "20 p", "pbo_ of ns-2: no tool of the year has another"),
        fixed("drop test", "A-LDC-8", "drop test", "one a packet", "Eq. 3 is all that is printed"),
        fixed("reverse", "A-LDC-11", "reverse direction", "no queue", "ACKs are a 25th of the data"),
        fixed("delay (web)", "A-LDC-12", "delay of the bottleneck", "10 ms", "a packet takes 80 ms"),
        fixed("CBR", "A-LDC-13", "place of CBR", "server side", "any other does not meet the queue"),
        fixed("Fig. 4", "A-LDC-14", "algorithm of Fig. 4", "LDC (1, 0)", "the queue alone is printed"),
        fixed("sum", "A-LDC-18", "HTTP throughput", "22 sessions", judges),
        fixed("Table 4", "A-LDC-19", "deviation", "of the sample", judges),
        fixed("D_target", "A-LDC-20", "D_target in GFC-2", "4 s", "Eq. 2 with each link's own rate"),
        fixed("buffers", "A-LDC-21", "buffers in GFC-2", "120 kB", "120 kB are printed for all"),
        fixed("thresholds", "A-LDC-22", "thresholds in GFC-2", "the same", "printed as shares of the buffer"),
        fixed("length (FTP)", "A-LDC-23", "length of the FTP runs", "900 s", "that of the others is printed"),
        fixed("repetitions", "A-LDC-25", "repetitions", "seeds", judges),
        fixed("grids", "A-LDC-29", "grids of section 5.3", "assumed", "section 5.3 is not searched"),
    ]  # fmt: skip
