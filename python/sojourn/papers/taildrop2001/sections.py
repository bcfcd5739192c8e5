"""The taildrop paper's part of the report: its figures, those that its text mentions, its settings.

The paper's curves are not available as data; each caption quotes its text on them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sojourn import rules
from sojourn.papers.result import Reproduction
from sojourn.papers.taildrop2001 import figures
from sojourn.papers.taildrop2001.experiments import FLOWS, FTP, LIMITS, SESSIONS, TESTBED, WEB, printed
from sojourn.papers.taildrop2001.measures import over
from sojourn.report import Block, Columns, Figure, Section, Table, Text

#: Metrics drawn against the load: label, factor.
PANELS = {
    "tcp_goodput": ("TCP goodput (Mbit/s)", 1),
    "udp.drop_ratio": ("UDP loss (%)", 100),
    "mean_delay_s": ("Mean queueing delay (ms)", 1000),
    "std_delay_s": ("Std. dev. of delay (ms)", 1000),
    "mean_drop_run": ("Mean consecutive loss (packets)", 1),
}
#: Its figure in the paper, and the statement of the text: for FTP and for web traffic.
CAPTIONS = {
    "FTP flows": (
        "Goodput. The text says: about 8.4 Mbit/s everywhere, marginally less for (G)REDstd at 16 flows.",
        "Fig. 3(b), UDP loss. The text says: REDopt is better than (G)REDstd by a factor of 2 at light load, "
        "tail drop in between; small differences at heavy load.",
        "Fig. 3(c), mean delay. The text says: it rises with the load; tail drop fills the buffer, REDopt "
        "varies least.",
        "Fig. 3(e), its deviation. The text says: tail drop oscillates at light load, less as it rises.",
        "Consecutive losses. The text says: below 64 flows all RED variants are alike, tail drop is worse; "
        "GREDstd and REDopt beat REDstd at high load.",
    ),
    "Web sessions": (
        "Goodput. The text says: it rises to at most 8.7 Mbit/s, without differences.",
        "Fig. 4(b), UDP loss. The text says: far from linear; tail drop lower, above all at 1200.",
        "Fig. 4(c), mean delay. The text says: it rises with the load, least with REDopt; tail drop mostly "
        "highest.",
        "Fig. 4(e), its deviation. The text says: REDstd below tail drop, REDopt above (G)REDstd.",
        "Consecutive losses. The text says: the RED variants are significantly worse than tail drop.",
    ),
}
NAMES = "In figures the paper's TD is called DropTail, REDstd RED, and GREDstd gentle RED."
#: The published goodputs: "around 8.4 Mbps" in all scenarios, "a maximum of 8.7 Mbps".
GOODPUT: dict[str, dict[int, float]] = {
    "FTP flows": dict.fromkeys(FLOWS, 8.4),
    "Web sessions": {SESSIONS[-1]: 8.7},
}


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the runs that were made."""
    found = [
        Section("Figure 1: the drop functions", list(_function(result))),
        Section("Figure 3: FTP traffic on the testbed, simulated", list(_testbed(result)), NAMES),
        Section("The paper's simulation of FTP traffic", list(_simulation(result))),
        Section("Figure 4: web traffic", list(_web(result))),
        Section("Fewer sessions and more; other weights", list(_around(result))),
        Section("REDopt: printed and by the rule", list(_settings(result))),
    ]
    return [section for section in found if section.blocks]


def _asked(result: Reproduction, experiment: str) -> bool:
    return any(
        experiment in item.claim.experiments and item.finding.reason != "not run" for item in result.judged
    )


def _function(result: Reproduction) -> Iterator[Block]:
    if _asked(result, "td-fig1-dropfunc"):
        caption = "Fig. 1, (G)REDstd at 256 flows: RED jumps to 1 at max_th, gentle RED continues linearly."
        yield Figure(figures.function(), caption, "the library's algorithm, w_q = 1, at each average")


def _curves(result: Reproduction, experiment: str, label: str, source: str) -> Iterator[Block]:
    for (metric, (title, scale)), caption in zip(PANELS.items(), CAPTIONS[label], strict=True):
        published = GOODPUT.get(label) if metric == "tcp_goodput" else None
        svg = figures.along(result, experiment, metric, title, label, scale, published=published)
        if svg is not None:
            yield Figure(svg, caption, source)


def _testbed(result: Reproduction) -> Iterator[Block]:
    yield from _curves(result, TESTBED, "FTP flows", f"{TESTBED}, simulated, 95 % intervals")
    svg = figures.consecutive(result, TESTBED, FLOWS[-1])
    if svg is not None:
        caption = "Fig. 3(d). The text says: REDstd is worst at 256 flows; REDopt has few, with a heavy tail."
        yield Figure(svg, caption, f"{TESTBED}, means over seeds")
    for load in (FLOWS[0], FLOWS[-1]):
        svg = figures.queues(result, TESTBED, load)
        if svg is not None:
            yield Figure(
                svg,
                f"The queue at {load} flows, not shown in the paper. The text says: with few flows tail drop "
                "synchronises them and oscillates, with many it stays near the buffer's end.",
                f"{TESTBED}, seed 1",
            )


def _simulation(result: Reproduction) -> Iterator[Block]:
    found = list(_curves(result, FTP, "FTP flows", f"{FTP}, 95 % intervals"))
    if not found:
        return
    yield Text(
        "Not shown in the paper, for lack of space: its text says that measurement and simulation agree very "
        "well. What differs here from the testbed's twin is the TCP (ns-2 of 2001), the sizes of packets "
        "(drawn), and RED's wait."
    )
    yield from found[1:4]
    svg = figures.buffers(result)
    if svg is not None:
        caption = "The text says: with a buffer that gives tail drop REDopt's delay, goodput is the same."
        yield Figure(svg, caption, "td-ftp-td-buffer; REDopt from td-fig3-ftp-sim; 95 % intervals")


def _web(result: Reproduction) -> Iterator[Block]:
    yield from _curves(result, WEB, "Web sessions", f"{WEB}, 95 % intervals")
    svg = figures.consecutive(result, WEB, SESSIONS[-1])
    if svg is not None:
        caption = "Fig. 4(d). The text says: at 1400 sessions every RED variant is worse than tail drop."
        yield Figure(svg, caption, f"{WEB}, means over seeds")
    svg = figures.along(
        result, WEB, "avg_above_max_th", "Time with avg ≥ max_th (%)", "Web sessions", 100,
        ("REDstd", "GREDstd", "REDopt"),
    )  # fmt: skip
    if svg is not None:
        caption = "The text says: the average queue of all RED variants frequently approaches max_th."
        yield Figure(svg, caption, f"{WEB}, 95 % intervals")


def _around(result: Reproduction) -> Iterator[Block]:
    for metric, title, scale, caption in (
        ("utilization", "Utilization (%)", 100, "Below 800 sessions the link is not loaded."),
        ("flow_lifetime", "Mean lifetime of a flow (s)", 1, "Above 1400 lifetimes become very long."),
    ):
        svg = figures.along(result, LIMITS, metric, title, "Web sessions", scale)
        if svg is not None:
            yield Figure(svg, f"The text says: {caption}", f"{LIMITS}, 95 % intervals")
    pair = [
        figures.weights(result, metric, title)
        for metric, title in ((over(10), "P(N > 10)"), ("std_delay_s", "Std. dev. of delay (s)"))
    ]
    if all(pair):
        caption = (
            "The text says: a larger w_q makes long runs of drops less likely, a smaller one delay vary more."
        )
        yield Columns([Figure(svg, caption, "td-web-wq, 95 % intervals") for svg in pair if svg is not None])


def _settings(result: Reproduction) -> Iterator[Block]:
    if not _asked(result, TESTBED):
        return
    rows = []
    for load in FLOWS:
        one, rule = printed()["REDopt", load], rules.redopt(load, reconstructed=True)
        rows.append(
            {
                "flows": load,
                "min_th": f"{one.min_th} / {rule.values['min_th']:.0f}",
                "max_th": f"{one.max_th} / {rule.values['max_th']:.0f}",
                "buffer": f"{one.buffer} / {rule.values['limit']:.0f}",
                "max_p": f"{one.max_p} / {rule.values['max_p']:.3g}",
                "w_q": f"{one.w_q} / {rule.values['w_q']:.2g}",
            }
        )
    yield Table(
        pl.DataFrame(rows),
        "Fig. 3(a), REDopt: printed / by sojourn.rules.redopt, which puts a published formula of TCP's "
        "throughput in the place of the paper's model and was fitted to this table. The reading “REDopt by "
        "the rule” runs the second. For web sessions the rule has the printed values only.",
    )
