"""Runs three queues on a home link and one figure of a paper, and puts them on one page.

The first screen has the answer for each kind of user with its interval and the queues in motion; then
follows what a paper says about a figure beside what its re-run shows, and what to type next. Everything else
is on the pages of the two studies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sojourn import explore, plots, templates
from sojourn.explore.page import engine
from sojourn.metrics import find, label, text
from sojourn.papers import reproduce
from sojourn.papers.beside import arranged
from sojourn.papers.result import Reproduction
from sojourn.plots.theme import labels
from sojourn.report import Block, Code, Column, Columns, Document, Figure, Section, Table, Text
from sojourn.report.verdict import difference
from sojourn.runner.execute import Progress
from sojourn.spec.scenario import Scenario
from sojourn.study.compare import Comparison, compare

#: The queues, the first as the baseline: what routers have, what cable modems have, what Linux has.
AQMS = ("droptail", "pie", "fq_codel")
#: What each kind of user notices, by traffic.
USERS = {
    "web": ("pages", "page_time_p50_s"),
    "call": ("calls", "mos"),
    "game": ("games", "late_ratio"),
    "download": ("downloads", "goodput_bps"),
}
#: The paper, and its experiment with the figure of the README.
PAPER, EXPERIMENT = "raqm2005", "raqm-fig5a"
#: The part of the run that the moving picture shows, s.
SHOWN = (10.0, 30.0)
NEXT = """\
sojourn new home.toml --rate 100/20mbit --rtt 30ms   # a scenario of your link
sojourn compare home.toml                            # which queue is better on it?
sojourn explore home.toml                            # move rate, delay, flows; see the queue at once
sojourn advise --down 100mbit --up 20mbit            # what to set on a Linux router
sojourn reproduce raqm2005                           # re-run the whole paper
"""


@dataclass(frozen=True)
class Demo:
    """The two studies of the page."""

    comparison: Comparison
    reproduction: Reproduction


def link() -> Scenario:
    """Return the home link: 20 Mbit/s down, 5 Mbit/s up, 30 ms, with downloads, pages, a call and a game."""
    home = templates.Home(rate="20Mbit/s", reverse_rate="5Mbit/s")
    scenario = Scenario.from_toml(templates.home(home, "home.toml"), "home.toml")
    return scenario.with_(duration="30s", warmup="10s", drain=True)


def simulate(
    folder: Path,
    *,
    seeds: int = 30,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Demo:
    """Run both studies; their results are in `folder`.

    Parameters
    ----------
    folder : path
        Where the results are stored.
    seeds : int
        Of the home link.
    quick : bool
        Run the paper with few seeds, which decide little.
    workers : int, optional
        Processes; all cores if None.
    progress, announce : callable, optional
        Of the paper, as in `sojourn.papers.reproduce`.
    """
    comparison = compare(
        link(), list(AQMS), seeds=seeds, workers=workers, out=folder / "link", metrics=_metrics()
    )
    reproduction = reproduce(
        PAPER,
        experiment=EXPERIMENT,
        quick=quick,
        as_printed=True,
        workers=workers,
        out=folder / PAPER,
        progress=progress,
        announce=announce,
    )
    return Demo(comparison, reproduction)


def _metrics() -> list[str]:
    # The slowest pages, too: their intervals are wide, so that the median decides which queue is better.
    of_users = [f"{name}.{metric}" for name, (_, metric) in USERS.items()]
    return ["mean_delay_s", "utilization", *of_users, "web.page_time_p95_s"]


def document(demo: Demo, folder: Path) -> Document:
    """Return the page; the live page is written beside it if the simulator for web pages has been built."""
    comparison = demo.comparison
    runs = len(comparison.results.outcomes) + len(demo.reproduction.campaign.runs)
    return Document(
        title="Which queue is better, and for whom?",
        subtitle="Sojourn simulates links, queues, TCP and traffic packet by packet, and says with intervals "
        f"which queue is better. This page is made from {runs} runs on this machine.",
        kind="A laboratory for active queue management",
        verdict=for_whom(comparison),
        blocks=[
            Section("Three queues on one link", list(_queues(comparison, folder))),
            Section("A paper, re-run", list(_paper(demo.reproduction))),
            Section("What to type next", [Code(NEXT)]),
        ],
    )


def for_whom(comparison: Comparison) -> str:
    """Return, for each kind of user, the best queue and its difference from drop tail with the interval."""
    names = labels(comparison.aqms)
    lines = []
    for traffic, (users, name) in USERS.items():
        metric = find(name)
        assert metric is not None
        full = f"{traffic}.{name}"
        means = {aqm: comparison.estimate(aqm, full).mean for aqm in comparison.aqms}
        known = {aqm: mean for aqm, mean in means.items() if mean is not None}
        if len(known) < len(means):
            continue
        best = (max if metric.better == "higher" else min)(known, key=lambda aqm: known[aqm])
        base = comparison.baseline
        other = best if best != base else max(known, key=lambda aqm: abs(known[aqm] - known[base]))
        (one,) = (d for d in comparison.differences if d.aqm == other and d.metric == full)
        values = f"{text(full, known[other])} instead of {text(full, known[base])}, {difference(one)}"
        lines.append(f"- **{users}**: {_words(one.verdict, names[other])} ({label(name)} {values})")
    seeds = len(comparison.results.seeds)
    head = f"On a home link of 20/5 Mbit/s with downloads, compared with **{names[comparison.baseline]}**"
    how = f"a plain buffer (differences paired over {seeds} seeds, 95 % intervals)"
    return f"{head}, {how}:\n\n" + "\n".join(lines)


def _words(verdict: str, name: str) -> str:
    if verdict in ("better", "worse"):
        return f"**{name}** is {verdict}"
    return "no difference shown"


def _queues(comparison: Comparison, folder: Path) -> Iterator[Block]:
    results = comparison.results
    seed = results.seeds[0]
    rate = results.records[0].plan["topology"]["dumbbell"]["rate"]
    start, end = SHOWN[0], min(SHOWN[1], results.scenario.seconds[1])
    picture = plots.moving(
        results.trace("queue", seed=seed), rate, start=start, end=end, title="Three queues in motion"
    )
    table = _table(comparison)
    caption = f"The same traffic, three queues: seed {seed}, in real time. The box is the longest queue."
    yield Columns([Figure(picture, caption), table])
    more = "All runs, seeds and metrics of this link: [link/report.html](./link/report.html)."
    if engine() is not None:
        explore.write(explore.page(results.scenario, list(AQMS)), folder / "live.html")
        more += " Move the sliders of the same link: [live.html](./live.html)."
    yield Text(more)


def _table(comparison: Comparison) -> Table:
    """Return a row per metric and a column per algorithm."""
    names = labels(comparison.aqms)
    rows = [
        {"metric": label(name)}
        | {title: text(name, *comparison.estimate(aqm, name)[:2]) for aqm, title in names.items()}
        for name in _metrics()
    ]
    caption = f"Means over {len(comparison.results.seeds)} seeds with 95 % intervals."
    return Table(pl.DataFrame(rows), caption, {name: Column(name, kind="text") for name in rows[0]})


def _paper(reproduction: Reproduction) -> Iterator[Block]:
    paper = reproduction.paper
    yield Text(
        f"{paper.citation}: *{paper.title}*. One of its figures, as printed, with the claims. "
        f"The whole page: [{PAPER}/report.html](./{PAPER}/report.html)."
    )
    for section in arranged(reproduction, paper.sections(reproduction)):
        yield from (block for block in section.blocks if isinstance(block, Columns) and block.unequal)
