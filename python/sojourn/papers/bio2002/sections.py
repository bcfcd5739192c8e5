"""The BIO paper's part of the report: the three cases, then DiffServ.

The paper's curves are not available as data; each caption quotes its text on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.papers.bio2002 import diffserv, figures
from sojourn.papers.bio2002.experiments import CASES, TRACED
from sojourn.papers.result import Reproduction
from sojourn.report import Block, Figure, Section, Text

#: For each case: the figures of throughput, drop rate and queue, each with the statement of the text.
SAID = {
    "bio-case1": (
        ("Fig. 5", "BLUE has more throughput at every queue size and fills the link with small queues"),
        ("Fig. 7", "RED drops more; BLUE's drop rate goes to zero"),
        ("Figs. 6 and 8", "RED swings between empty and full; BLUE controls the queue once it has learned"),
    ),
    "bio-case2": (
        ("Fig. 9", "RED has more throughput with small queues, and no difference beyond 160 packets"),
        ("Fig. 11", "RED loses much, BLUE little"),
        ("Fig. 10", "RED's queue is full most of the time"),
    ),
    "bio-case3": (
        ("Fig. 12", "the throughputs are close"),
        ("Fig. 13", "BLUE drops a little more than RED"),
        ("Figs. 14 and 15", "RED controls the queue; BLUE does so less well than with ECN"),
    ),
    "bio-case3-small": (
        ("Section 3.3", "as with large round-trip times"),
        ("Section 3.3", "as with large round-trip times"),
        ("Section 3.3", "as with large round-trip times"),
    ),
}


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the runs that were made."""
    found = [Section(CASES[name][0], list(_case(result, name))) for name in CASES]
    found.append(Section("RIO against BIO", list(_profiles(result)), PROFILES))
    found.append(Section("Figures 2 and 16: drop curves", list(_curves(result))))
    return [section for section in found if section.blocks]


def _case(result: Reproduction, name: str) -> Iterator[Block]:
    throughput, drops, queue = SAID[name]
    for (where, said), metric, label in (
        (throughput, "utilization", "Throughput (share of the link)"),
        (drops, "drop_ratio", "Drop rate"),
    ):
        svg = figures.along_size(result, name, metric, label)
        if svg is not None:
            caption = f"{where}: {label.lower()} by queue size. The text says: {said}."
            yield Figure(svg, caption, f"{name}, means over seeds with 95 % intervals")
    svg = figures.queues(result, name)
    if svg is not None:
        caption = f"{queue[0]}: queues of {TRACED} packets over time. The text says: {queue[1]}."
        yield Figure(svg, caption, f"{name}, seed 1; strong: mean over 1 s")
    for algorithm, probes, words in (
        ("RED", ["avg", "p"], "its average (avg, packets) and the probability p of a mark"),
        ("BLUE", ["p"], "and the probability p of a mark"),
    ):
        svg = figures.states(result, name, f"{algorithm} {TRACED}p", probes)
        if svg is not None:
            yield Figure(svg, f"{algorithm}: the queue, {words}, not shown in the paper.", f"{name}, seed 1")


PROFILES = """A thousand endless flows share 70 Mbit/s; each has a token bucket at its edge, and the profiles
together are 90 % of the link. BIO raises its probability for out packets whenever the *whole* queue is above
50 packets. The last 10 s of the paper's 200 s, in which its bandwidths are not measured, are not run."""


def _profiles(result: Reproduction) -> Iterator[Block]:
    svg = figures.profiles(result)
    if svg is not None:
        said = (
            "RIO's queue stays below the limit and is controlled, BIO's overflows; w_q = 0.002 swings widely"
        )
        yield Figure(svg, f"Figs. 18 and 19: queues over time. The text says: {said}.", SOURCE)
    svg = figures.states(result, diffserv.ID, "BIO", ["p_out", "p_in", "out packets"])
    if svg is not None:
        said = "p_out reaches 1 and stays there; few out packets remain, about 17"
        yield Figure(
            svg, f"Figs. 20 and 21: BIO's probabilities and out packets. The text says: {said}.", SOURCE
        )
    svg = figures.nodes(result)
    if svg is not None:
        said = "both reach the rates in profile (here: promised), neither beats the other"
        yield Figure(
            svg, f"Fig. 22: bandwidth by node. The text says: {said}.", "bio-diffserv, means over seeds"
        )


SOURCE = "bio-diffserv, seed 1"


def _curves(result: Reproduction) -> Iterator[Block]:
    asked = [item for item in result.judged if item.claim.id == "BIO-42"]
    if asked and asked[0].finding.reason != "not run":
        yield Figure(figures.drop_curve("RED"), "Fig. 2: RED with thresholds of 40 and 120 packets, max_p 1.")
        yield Figure(
            figures.drop_curve("RIO"), "Fig. 16: RIO, out packets on the left, in packets on the right"
        )
        yield Text("The dots are values that were tabulated independently of this code.")
