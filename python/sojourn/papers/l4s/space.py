"""The space of readings: each of the six assumptions with its other value."""

from __future__ import annotations

from sojourn.papers.l4s.experiments import PAIRS
from sojourn.papers.l4s.readings import readings
from sojourn.papers.search.space import Factor, Space, Value


def space() -> Space:
    """Return the space."""
    known = {one.id: one for one in readings()}
    return Space(
        (
            Factor("sender", "A-L4S-1", "scalable sender", (
                Value("Prague", "the article: TCP Prague"),
                Value("DCTCP", "the article and the drafts: DCTCP", known["dctcp"]),
            )),
            Factor("buffer", "A-L4S-2", "limit of the queue", (
                Value("250 ms", "RFC 9332, appendix A.1, proposes 250 ms at the link's rate"),
                Value("10000 p", "the default of sch_dualpi2", known["10000p"]),
            )),
            Factor("length", "A-L4S-3", "length of a run", (
                Value("120 s", "several cycles of CUBIC on every link: 11 s at 200 Mbit/s and 100 ms"),
                Value("40 s", "the same on all but the fastest and longest links", known["short"]),
            )),
            Factor("ACKs", "A-L4S-4", "acknowledgements", (
                Value("delayed", "Linux"),
                Value("each packet", "hosts that merge or split segments", known["ack each"]),
            )),
            Factor("L marks", "A-L4S-5", "marks of the L queue by its own delay", (
                Value("step", "sch_dualpi2: a step at 1 ms"),
                Value("ramp", "RFC 9332, appendix A.1: from 0.8 to 1.2 ms", known["ramp"]),
            )),
            Factor("classic ECN", "A-L4S-6", "ECN of classic flows", (
                Value("none", "most senders"),
                Value("ECT(0)", "Linux with net.ipv4.tcp_ecn = 1", known["ecn"]),
            )),
        ),
        (PAIRS,),
        quick=True,
        shorter="four of 25 links, DualPI2 and PIE",
    )  # fmt: skip
