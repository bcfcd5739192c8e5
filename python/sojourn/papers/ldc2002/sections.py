"""The LDC paper's part of the report: drop function, traces, tables, sensitivity.

The paper's curves are not available as data; each caption quotes its text on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.papers.ldc2002 import complexity, figures
from sojourn.papers.result import Reproduction
from sojourn.report import Block, Column, Columns, Figure, Section, Table, Text

#: Metrics of the web configuration and of the FTP configuration, in panels.
WEB = {
    "http_response_time_mean": ("mean response time", "s"),
    "udp_delay_mean": ("mean UDP delay", "s"),
    "throughput_http": ("web throughput", "Mbit/s"),
}
FTP = {
    "ftp_delay_mean": ("packet delay", "s"),
    "throughput_ftp": ("throughput", "Mbit/s"),
    "drop_ratio_ftp": ("drop ratio", "%"),
}


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the runs that were made."""
    found = [
        Section("Figures 3, 5 and 6: the function", list(_function(result))),
        Section("Figures 1, 2, 4 and 8: over time", list(_pictures(result))),
        Section("Tables 3 and 4: GFC-2", list(_gfc2(result))),
        Section("The simple web configuration", list(_web(result))),
        Section("Table 5: weights of delay and load", list(_weights(result))),
        Section("Section 5.3: sensitivity", list(_sweeps(result))),
        Section("Table 6: complexity", list(_complexity(result))),
    ]
    return [section for section in found if section.blocks]


def _asked(result: Reproduction, experiment: str) -> bool:
    return any(
        item.claim.experiment == experiment and item.finding.reason != "not run" for item in result.judged
    )


def _function(result: Reproduction) -> Iterator[Block]:
    if _asked(result, "ldc-analytic"):
        caption = "Figs. 5 and 6: the drop probability of Eq. 3. The text calls it concave; a cube is convex."
        yield Figure(figures.function(), caption, "Eq. 3, weights 3/4 and 1/4, n = 3")


def _pictures(result: Reproduction) -> Iterator[Block]:
    drawn = (
        (
            figures.picture(result, "ldc-fig1-blue-trace", ["p"]),
            "Fig. 1: BLUE. The text says: p rises only when the queue is full, falls only when the link is "
            "idle.",
            "ldc-fig1-blue-trace",
        ),
        (
            figures.picture(result, "ldc-fig2-red-trace", ["avg", "p"], shaded=[(60.0, 70.0)]),
            "Fig. 2: RED. The text says: between 60 s and 70 s (shaded) the queue is nearly empty, yet p "
            "stays high.",
            "ldc-fig2-red-trace",
        ),
        (
            figures.load(result),
            "Fig. 4: LDC with weights (1, 0), from 80 s to 100 s. The text says: at point a "
            "the load is high and p low, at point b, five to ten seconds on, p is high and the load is not.",
            "ldc-fig4-load-vs-queue",
        ),
        (
            figures.delay(result),
            "Fig. 8: queueing delay of LDC with a target of 1.6 s. The text says: it never exceeds the "
            "target.",
            "ldc-fig8-target-delay",
        ),
    )
    for svg, caption, source in drawn:
        if svg is not None:
            yield Figure(svg, caption, f"{source}, seed 1")


def _gfc2(result: Reproduction) -> Iterator[Block]:
    svg = figures.bars(result, "ldc-tab3-4-gfc2", figures.TABLE3)
    if svg is None:
        return
    yield Text(
        "Seven routers with six trunks of 50 to 150 kbit/s, 22 web sessions, one CBR flow over R3-R4, one "
        "FTP flow over R4-R5; every router port has the algorithm. The printed longest response times, "
        "932 s to 1178 s, are longer than the run of 900 s: no run of that length can give them."
    )
    yield Figure(svg, "Table 3, ours.", "ldc-tab3-4-gfc2, means over seeds with 95 % intervals")
    for table, margin in (("Table 3", 0.3), ("Table 4", 0.0)):
        svg = figures.cells(result, table, margin)
        if svg is not None:
            band = "; the band is 30 % around equality." if margin else " (standard deviations over runs)."
            yield Figure(svg, f"{table}, each cell: ours against the printed number{band}", "ldc-tab3-4-gfc2")


def _web(result: Reproduction) -> Iterator[Block]:
    svg = figures.bars(result, "ldc-simple-web-900", WEB)
    if svg is not None:
        caption = "The single bottleneck. The text says: LDC reduces response time and delay here too."
        yield Figure(svg, caption, "ldc-simple-web-900, means over seeds with 95 % intervals")


def _weights(result: Reproduction) -> Iterator[Block]:
    svg = figures.bars(result, "ldc-tab5-ftp-weights", FTP)
    if svg is None:
        return
    yield Figure(svg, "Table 5, ours, and a target of 0.8 s.", "ldc-tab5-ftp-weights, 95 % intervals")
    svg = figures.cells(result, "Table 5", 0.2)
    if svg is not None:
        caption = "Table 5, each cell: ours against the printed number; the band is 20 % around equality."
        yield Figure(svg, caption, "ldc-tab5-ftp-weights")


def _sweeps(result: Reproduction) -> Iterator[Block]:
    for prefix, label in (("n", "Exponent n"), ("tau", "Interval τ (s)")):
        pair = [
            figures.sweep(result, prefix, label, metric, title)
            for metric, title in (
                ("ftp_delay_mean", "Packet delay (s)"),
                ("throughput_ftp", "Throughput (Mbit/s)"),
            )
        ]
        if all(pair):
            caption = f"{label}, FTP. The text says: delay and throughput do not vary with it."
            yield Columns([Figure(svg, caption, "ldc-sensitivity") for svg in pair if svg is not None])
    pair = [
        figures.sweep(result, "web D", "D_target (s)", metric, title)
        for metric, title in (("http_delay_mean", "Mean delay (s)"), ("drop_ratio_total", "Drop ratio (%)"))
    ]
    if all(pair):
        caption = "Target delay, web. The text says: a very low target causes time-outs and retransmissions."
        yield Columns([Figure(svg, caption, "ldc-sensitivity") for svg in pair if svg is not None])


def _complexity(result: Reproduction) -> Iterator[Block]:
    if _asked(result, "ldc-tab6-complexity"):
        columns = {
            name: Column(name, kind="spec" if name == "algorithm" else "")
            for name in complexity.frame().columns
        }
        caption = (
            "Operations of each algorithm, counted. The paper: RED, SRED, FRED and BLUE sample often, "
            "REM and LDC once an interval. State is that of the instance; SRED keeps a list of M = 1000 "
            "flows in addition, FRED one of the active flows."
        )
        yield Table(complexity.frame(), caption, columns, "counted by the core on one instance")
