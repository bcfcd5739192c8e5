"""The other readings of the paper: what its text leaves open, each tried in place of the assumption.

The interval between RED's marks has most influence: with max_p = 1 RED marks every packet once the average is
above the middle of its thresholds, unless it waits after each mark, as in ns-2.
"""

from __future__ import annotations

from sojourn.papers.bio2002 import diffserv
from sojourn.papers.bio2002.experiments import CASES
from sojourn.papers.changes import Change, everywhere, only
from sojourn.papers.experiment import Reading
from sojourn.spec.scenario import Scenario

_CASES = frozenset(CASES)
_LARGE, _ECN = frozenset({"bio-case1", "bio-case3"}), frozenset({"bio-case1", "bio-case2"})


def readings() -> list[Reading]:
    """Return every other reading, those of RED first, those of section 4.2 towards the end."""
    return [*_red(), *_tcp(), *_sources(), *_profiles(), *_metrics()]


def waiting(word: str) -> Change:
    """Return a change of the option ``wait`` of RED and RIO."""
    return lambda arm: arm.having(wait=word) if arm.algorithm in ("red", "rio") else None


def of_sources(**changes: str | int) -> Change:
    """Return a change of the sources."""

    def change(scenario: Scenario) -> Scenario:
        data = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
        return scenario.with_(traffic=[{**one, **changes} for one in data])

    return everywhere(change)


def _red() -> list[Reading]:
    return [
        Reading(
            "wait off",
            "RED and RIO may mark consecutive packets, as in their papers",
            waiting("off"),
            assumption="A-BIO-20",
        ),
        Reading(
            "drop at max_th",
            "RED drops above max_th, ECN or not, as later ns-2",
            only("red", ecn_forced="drop"),
            experiments=_ECN,
            assumption="A-BIO-5",
        ),
    ]


def _tcp() -> list[Reading]:
    def conventions(name: str) -> Change:
        return everywhere(lambda scenario: scenario.with_(conventions=name))

    def option(name: str, value: str | int) -> Change:
        return everywhere(lambda scenario: scenario.with_(tcp={**scenario.tcp, name: value}))

    return [
        Reading("ns2", "TCP, RED and RIO as in ns-2 2.35", conventions("ns2"), assumption="A-BIO-19 A-BIO-5"),
        Reading(
            "library",
            "TCP, RED and RIO as in the RFCs and their papers (conventions rfc)",
            conventions("rfc"),
            assumption="A-BIO-19 A-BIO-20",
        ),
        Reading(
            "marks as RFC 3168",
            "TCP responds to marks as in RFC 3168: not again after a time-out, unlike ns-2",
            option("marks", "rfc3168"),
            experiments=_ECN,
            assumption="A-BIO-19",
        ),
        Reading(
            "window 1000",
            "receiver window of 1000 packets",
            option("receiver_window", 1000),
            assumption="A-BIO-10",
        ),
        Reading("header 40 B", "40 B of header more", of_sources(header="40B"), assumption="A-BIO-10"),
    ]


def _sources() -> list[Reading]:
    def nearer(scenario: Scenario) -> Scenario:
        data = scenario.model_dump(by_alias=True, exclude_none=True)["dumbbell"]
        delays = [f"{10 * i + 10}ms" for i in range(20)]
        return scenario.with_(dumbbell={**data, "access": {**data["access"], "delays": delays}})

    return [
        Reading(
            "(10i + 10) ms",
            "source links of 10 ms to 200 ms in cases 1 and 3",
            everywhere(nearer),
            experiments=_LARGE,
            assumption="A-BIO-1",
        ),
        Reading(
            "2 ms on, 3 ms off",
            "times on and off in ms, as printed: single packets",
            of_sources(on="2ms", off="3ms"),
            experiments=_CASES,
            assumption="A-BIO-3",
        ),
        Reading(
            "100 kbit/s",
            "100 kbit/s while on",
            of_sources(rate="100kbit/s"),
            experiments=_CASES,
            assumption="A-BIO-4",
        ),
    ]


def _profiles() -> list[Reading]:
    here = frozenset({diffserv.ID})
    return [
        Reading(
            "100 flows",
            "100 flows in all, 10 on each node: 9 % of the link in profile",
            of_sources(count=50),
            experiments=here,
            assumption="A-BIO-12",
        ),
        Reading(
            "BIO overflows only",
            "BIO drops only when the buffer is full, as in its listing",
            only("bio", drop_at_max="off"),
            experiments=here,
            assumption="A-BIO-15",
        ),
        Reading(
            "RIO marks",
            "RIO marks above its upper thresholds and drops only when the buffer is full",
            only("rio", ecn_forced="mark"),
            experiments=here,
            assumption="A-BIO-16",
        ),
    ]


def _metrics() -> list[Reading]:
    names = {
        name: name.replace("forced", "forced_ns2")
        for name in ("forced_ratio", "forced_share", "unforced_share")
    }
    return [
        Reading(
            "forced as ns-2",
            "drops of RED with the average above max_th count as forced",
            metrics=names,
            experiments=_CASES,
            quick=_CASES,
            assumption="A-BIO-8",
        )
    ]
