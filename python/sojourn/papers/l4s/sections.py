"""The own part of the report: the grid for each pair of senders, the mixes, the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sojourn.papers.l4s import figures
from sojourn.papers.l4s.experiments import DYNAMIC, MIXES, PAIRS, SENDERS
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select
from sojourn.report import Block, Column, Figure, Section, Table

#: Metrics that are drawn over the grid, with titles.
GRID = {
    "ratio": "rate of the first flow / rate of the second",
    "l4s_p99": "99th percentile of the first flow's queueing delay (ms)",
    "classic_mean": "mean queueing delay of the second flow (ms)",
    "utilization": "utilization",
}
MIXED = {
    "ratio": ("ratio of the rates of a Prague and a CUBIC flow", ""),
    "l4s_p99": ("99th percentile, Prague", "ms"),
    "classic_mean": ("mean delay, CUBIC", "ms"),
}
PAGES = {
    "l4s-web_p99": ("99th percentile, L4S pages", "ms"),
    "l4s_p99": ("99th percentile, long Prague flow", "ms"),
    "classic-web_p99": ("99th percentile, classic pages", "ms"),
    "l4s-web.page_time_p50_s": ("median load time, L4S pages", "s"),
    "classic-web.page_time_p50_s": ("median load time, classic pages", "s"),
    "ratio": ("ratio of the long flows' rates", ""),
}
WHAT = (
    "A cell is a link. In DualPI2 a packet with ECT(1), such as those of Prague and DCTCP, waits in the L "
    "queue; BBR and CUBIC share the C queue. PIE and plain FQ-CoDel mark ECN-capable packets instead of "
    "dropping them, for any sender."
)


def sections(result: Reproduction) -> list[Section]:
    """Return the sections for the runs that were made."""
    found = [Section(pair, list(_grid(result, pair))) for pair in SENDERS]
    found = [section for section in found if section.blocks]
    if found:
        found[0] = Section(found[0].title, found[0].blocks, WHAT)
    found += [
        Section("Mixes of ten flows", list(_table(result, MIXES, MIXED))),
        Section("Web pages beside long flows", list(_table(result, DYNAMIC, PAGES))),
    ]
    return [section for section in found if section.blocks]


def _grid(result: Reproduction, pair: str) -> Iterator[Block]:
    for metric, title in GRID.items():
        svg = figures.grid(result, pair, metric, title)
        if svg is not None:
            yield Figure(svg, f"{pair}: {title}", PAIRS)


def _table(result: Reproduction, experiment: str, metrics: Mapping[str, tuple[str, str]]) -> Iterator[Block]:
    table = estimates(select(result.metrics, experiment), list(metrics))
    if table.height:
        columns = {"arm": Column("arm"), "n": Column("seeds", kind="seed")}
        for name, (title, unit) in metrics.items():
            columns[name] = Column(title, unit, f"{name}_ci95")
        yield Table(table, result.paper.experiment(experiment).title, columns)
