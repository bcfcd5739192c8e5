"""The other readings of the paper: what its text leaves open, each tried in place of the assumption.

Web runs are expensive: other readings run them over 500 s. The reading "500 s" changes nothing else, so that
an effect of the length can be distinguished from an effect of the reading. The paper's own length
is tried where it matters most, at 1400 sessions. Loads beyond the paper's and other weights of the queue
average have further readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sojourn import rules
from sojourn.papers.changes import Change, Data, rewritten
from sojourn.papers.experiment import Arm, Reading
from sojourn.papers.taildrop2001.experiments import (
    BUFFER,
    FLOWS,
    FTP,
    LIMITS,
    SESSIONS,
    TESTBED,
    WEB,
    WEIGHT,
    WEIGHTS,
    arm,
    lasting,
)
from sojourn.papers.taildrop2001.experiments import printed as settings

#: Duration of web runs under another reading.
SHORT = "500s"
BEDS = frozenset({TESTBED})
WEBS = frozenset({WEB, LIMITS, WEIGHT})
BOTH = BEDS | WEBS
#: The load whose settings a reading gives to all others.
LIKE = 1200


def readings() -> list[Reading]:
    """Return every other reading."""
    return [*_senders(), *_network(), *_algorithms(), *_traffic(), *_grids(), *_metrics()]


def cheap(change: Change) -> Change:
    """Return a change with web runs made shorter."""

    def apply(arm: Arm) -> Arm | None:
        changed = change(arm)
        if changed is None or not is_web(arm):
            return changed
        return changed.within(lasting(changed.scenario, SHORT))

    return apply


def is_web(arm: Arm) -> bool:
    """Whether an arm's traffic is web traffic."""
    return arm.scenario.name == WEB


def edited(change: Callable[[Data], None]) -> Change:
    """Return a change made on an arm's plain data, with web runs made shorter."""
    return cheap(rewritten(change))


def having(only: Callable[[Arm], bool] = lambda _arm: True, **parameters: str) -> Change:
    """Return a change of RED's parameters in the arms that `only` accepts; other web arms get shorter."""

    def apply(arm: Arm) -> Arm | None:
        if arm.algorithm == "red" and only(arm):
            return arm.having(**parameters)
        return replace(arm, beside=True) if is_web(arm) else None

    return cheap(apply)


def _senders() -> list[Reading]:
    def under(name: str, **tcp: Any) -> Change:
        return cheap(lambda arm: arm.within(arm.scenario.with_(conventions=name, tcp=tcp)))

    wide = {"receiver_window": 1000}
    return [
        Reading(
            "ns-2.35", "TCP and RED of ns-2.35", under("ns2", **wide), experiments=WEBS, assumption="A-TD-19"
        ),
        Reading(
            "ns-2 of 2001",
            "the testbed with TCP and RED of ns-2 in 2001, as in the paper's simulation",
            under("ns2-2001", **wide),
            experiments=BEDS,
            assumption="A-TD-20",
        ),
        Reading(
            "library TCP",
            "TCP and RED as in the RFCs and papers (conventions rfc)",
            under("rfc", **wide),
            experiments=WEBS,
            assumption="A-TD-19",
        ),
        Reading(
            "Linux of today",
            "the testbed's hosts as Linux 6.1 with Reno",
            under("linux", **wide),
            experiments=BEDS,
            assumption="A-TD-20",
        ),
    ]


def _network() -> list[Reading]:
    def back(data: Data) -> None:
        for link in data["link"]:
            returns = link["from"] == "router2" and link["to"] == "router1"
            if returns or {link["from"][:4], link["to"][:4]} == {"host"}:
                link["delay"] = "100ms"

    return [
        Reading(
            "RTT 220 to 280 ms",
            "the 100 ms also act on the reverse path",
            edited(back),
            experiments=BOTH,
            metrics={"pipe_packets": "pipe_packets_long"},
            assumption="A-TD-1",
        ),
    ]


def _algorithms() -> list[Reading]:
    def by_rule(arm: Arm) -> Arm | None:
        name, load = arm.name.split()[:2]
        if name != "REDopt" or int(load) not in FLOWS:
            return None
        rule = rules.redopt(int(load), reconstructed=True)
        words = rule.split()[1:]
        return arm.having(**dict(zip(words[::2], words[1::2], strict=True)))

    return [
        Reading(
            "gentle to buffer",
            "gentle RED's slope reaches 1 at the buffer limit",
            having(lambda arm: arm.parameters["gentle"] == "on", gentle_end="limit"),
            experiments=BOTH,
            assumption="A-TD-3",
        ),
        Reading(
            "RED with wait",
            "RED on the testbed pauses after a drop, as ns-2's does",
            having(wait="on"),
            experiments=BEDS,
            assumption="A-TD-4",
        ),
        Reading(
            "RED without wait",
            "RED under web traffic does not pause after a drop, as in its paper",
            having(wait="off"),
            experiments=WEBS,
            assumption="A-TD-4",
        ),
        Reading(
            "REDopt by the rule",
            "REDopt's parameters from the reconstructed rule (sojourn.rules.redopt), not from Fig. 3(a)",
            by_rule,
            experiments=BEDS,
        ),
    ]


def _traffic() -> list[Reading]:
    def each(**changes: str) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            data["traffic"] = [{**t, **changes} if t["kind"] == "web" else t for t in data["traffic"]]

        return change

    def short(arm: Arm) -> Arm | None:
        return arm.within(lasting(arm.scenario, SHORT))

    def printed(arm: Arm) -> Arm | None:
        longest = arm.name.endswith(f" {SESSIONS[-1]}")
        return arm.within(lasting(arm.scenario, "5000s")) if longest else None

    return [
        Reading("500 s", "web runs of 500 s", short, experiments=WEBS, assumption="A-TD-21"),
        Reading(
            "5000 s at 1400",
            "at 1400 sessions runs of 5000 s, as in the paper",
            printed,
            experiments=WEBS,
            assumption="A-TD-21",
        ),
        Reading(
            "gap from the end",
            "the time between pages counts from the end of the previous page",
            edited(each(page_gap_from="end")),
            experiments=WEBS,
            assumption="A-TD-14",
        ),
        Reading(
            "objects 0.5 ms apart",
            "the time between objects in ms, as printed",
            edited(each(object_gap="pareto 0.5ms 1.5")),
            experiments=WEBS,
            assumption="A-TD-13",
        ),
    ]


def _grids() -> list[Reading]:
    def like(one: Arm) -> Arm:
        mechanism, load = one.name.split()
        return arm(mechanism, int(load), one.scenario, setting=LIKE)

    def doubled(one: Arm) -> Arm:
        load, weight = one.name.split(" w_q=")
        factor = 2 ** WEIGHTS.index(weight)
        return one.having(w_q=f"{factor * float(settings()['REDopt', int(load)].w_q):g}")

    return [
        Reading(
            f"settings of {LIKE}",
            f"all loads beyond the paper's have the buffer and thresholds of {LIKE} sessions",
            cheap(like),
            experiments=frozenset({LIMITS}),
            assumption="A-TD-22",
        ),
        Reading(
            "weights doubled",
            "weights of the queue average as printed and two, four and eight times as large",
            cheap(doubled),
            experiments=frozenset({WEIGHT}),
            assumption="A-TD-24",
        ),
    ]


def _metrics() -> list[Reading]:
    return [
        Reading(
            "goodput with headers",
            "goodput counts headers too",
            metrics={"tcp_goodput": "tcp_goodput_wire"},
            experiments=BOTH | {FTP, BUFFER},
            quick=BOTH | {FTP, BUFFER},
            assumption="A-TD-2",
        )
    ]
