"""The RAQM paper's part of the report: which reading holds the queue, then figure after figure."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sojourn.papers.claims import Verdict
from sojourn.papers.raqm2005 import figures
from sojourn.papers.raqm2005.experiments import FIGURES
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select
from sojourn.report import Block, Column, Figure, Section, Table, Text

#: The readings of r_0, in the order of the table.
RATES = (
    "",
    "r_0=0.98C",
    "r_0=0.95C",
    "loss-corrected",
    "accepted-bytes",
    "admitted-bytes",
    "queue-independent",
)
COLUMNS = {
    "queue_mean[50,200]": ("mean queue", "packets"),
    "queue_std[50,200]": ("std. dev.", "packets"),
    "queue_rms[50,200]": ("distance from q₀", "packets"),
    "drop_ratio[100,200]": ("drop ratio", ""),
    "p_k_at_1[100,200]": ("time with p_k = 1", ""),
}


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the runs that were made."""
    found = [
        Section("Which reading of the paper holds the queue", list(_readings(result))),
        Section("Figures 1 and 3, and the theorems", list(_theory(result))),
        Section("Figures 5 to 7: the queue over time", list(_queues(result)), QUEUES),
        Section("Figure 8: goodput and drops against the mean queue", list(_targets(result))),
        Section("Figure 9: hybrid traffic", list(_hybrid(result))),
        Section("Measuring period, static and adaptive gain", list(_gains(result))),
    ]
    return [section for section in found if section.blocks]


QUEUES = (
    "Each panel is one run (seed 1): pale: samples; strong: mean over 1 s; dashed: the target of 50 "
    "packets. The paper's own curves are lost; its text says that RAQM settles quickly around the target and "
    "that PI and REM overshoot and settle slowly."
)


def _readings(result: Reproduction) -> Iterator[Block]:
    table = steered(result)
    if not table.height:
        return
    yield Text("\n\n".join(_words(result, table)))
    columns = {
        "experiment_id": Column("experiment"),
        "named": Column("reading"),
        "n": Column("seeds", kind="seed"),
    }
    for name, (title, unit) in COLUMNS.items():
        columns[name] = Column(title, unit, f"{name}_ci95")
    yield Table(table, "RAQM on the single figures under each reading of its rate target", columns)
    for experiment in ("raqm-fig5a", "raqm-fig5b", "raqm-fig6b"):
        svg = figures.readings(result, experiment)
        if svg is not None:
            times, flows = FIGURES[experiment][0], FIGURES[experiment][1]
            yield Figure(
                svg, f"RAQM's queue with {flows} flows, {times}, by reading", f"{experiment}, seed 1"
            )


def steered(result: Reproduction) -> pl.DataFrame:
    """Return mean queue, spread and probability of RAQM on the single figures under each reading of r_0."""
    parts = []
    for experiment in FIGURES:
        for reading in RATES:
            runs = select(result.metrics, experiment, reading)
            runs = runs.filter(pl.col("arm") == "RAQM") if runs.height else runs
            if runs.height:
                parts.append(estimates(runs, list(COLUMNS)))
    if not parts:
        return pl.DataFrame()
    named = pl.when(pl.col("reading") == "").then(pl.lit("as printed")).otherwise(pl.col("reading"))
    return pl.concat(parts).with_columns(named=named)


def _words(result: Reproduction, table: pl.DataFrame) -> Iterator[str]:
    """Describe the effect of each reading, with numbers."""
    titles = _titles(result)
    yield WHY
    lines = []
    for reading in RATES:
        rows = table.filter(pl.col("reading") == reading)
        if rows.height:
            lines.append(f"- **{titles[reading]}**: {_level(rows)}")
    yield "\n".join(lines)
    away = table.group_by("reading").agg(pl.col("queue_rms[50,200]").mean()).sort("queue_rms[50,200]")
    best, least = away.row(0)
    printed = dict(away.iter_rows())[""]
    if away.height > 1:
        yield (
            f"Nearest to the target on average is *{titles[best]}*: {least:.0f} p (rms over the figures), "
            f"against {printed:.0f} p as printed{_others(result)}."
        )
    moves = _moves(result)
    if moves:
        yield f"Does q_0 set the queue? In Fig. 8 q_0 ranges from 20 to 90 p and the mean queue {moves}."


WHY = (
    "p_k is constant only while the measured rate equals r_0, for any queue length. The queue then settles "
    "where p_k q/q_0 is the loss ratio p* that the flows need, so at q_0 p*/p_k: it is q_0 only if p_k "
    "happens to be p*. With dropped bytes counted, a busy link always measures C/(1 - p*), more than C, so "
    "p_k climbs to 1 and the queue falls to q_0 p*. With dropped bytes left out it never measures more than "
    "C, and p_k falls."
)


def _others(result: Reproduction) -> str:
    """Return the same distance for PI and REM."""
    words = []
    for name in ("PI", "REM"):
        parts = [select(result.metrics, experiment).filter(pl.col("arm") == name) for experiment in FIGURES]
        values = [v for part in parts if part.height for v in part["queue_rms[50,200]"].to_list()]
        if values:
            words.append(f"{sum(values) / len(values):.0f} p with {name}")
    return f" ({', '.join(words)})" if words else ""


def _moves(result: Reproduction) -> str:
    """Return the range of the mean queue over q_0 in Fig. 8, by algorithm and reading."""
    words = []
    for reading, name in (("", "PI"), ("", "REM"), *((reading, "RAQM") for reading in RATES)):
        table = estimates(select(result.metrics, "raqm-fig8", reading), ["queue_mean[50,200]"])
        ends = [table.filter(pl.col("arm") == f"{name} q_0={target}") for target in (20, 90)]
        if all(end.height for end in ends):
            low, high = (end["queue_mean[50,200]"].item() for end in ends)
            shown = f"RAQM ({reading or 'as printed'})" if name == "RAQM" else name
            words.append(f"from {low:.0f} to {high:.0f} p with {shown}")
    return ", ".join(words)


def _titles(result: Reproduction) -> dict[str, str]:
    others = {reading.id: reading.title for reading in result.paper.readings}
    return {"": "As printed (r_0 = C, dropped bytes counted)", **others}


def _level(rows: pl.DataFrame) -> str:
    """Return mean queue and p_k of a reading over the figures with 40 and with 400 flows."""
    words = []
    for flows in (40, 400):
        names = [name for name, (_, count) in FIGURES.items() if count == flows]
        part = rows.filter(pl.col("experiment_id").is_in(names))
        if part.height:
            queue, spread = part["queue_mean[50,200]"].to_list(), part["queue_std[50,200]"].to_list()
            ones = [100 * one for one in part["p_k_at_1[100,200]"].to_list() if one is not None]
            words.append(
                f"with {flows} flows a mean queue of {figures.whole(queue)} p "
                f"(std. dev. {figures.whole(spread)} p), p_k = 1 for {figures.whole(ones)} % of the time"
            )
    return "; ".join(words) + f"; within 15 p of the target in {_held(rows)} of {rows.height} figures."


def _held(rows: pl.DataFrame) -> int:
    return sum(abs(queue - 50) <= 15 for queue in rows["queue_mean[50,200]"].to_list()) if rows.height else 0


def _theory(result: Reproduction) -> Iterator[Block]:
    asked = [item for item in result.judged if item.world == "analytic" and item.finding.reason != "not run"]
    if not asked:
        return
    held = sum(item.finding.verdict is Verdict.REPRODUCED for item in asked)
    yield Text(
        f"{held} of {len(asked)} computed claims hold. The scaled rate follows x ← x exp(m (1 - x) / 2). "
        "Theorem 2 (a larger gain converges faster) is false beyond half of the bound: at the bound the rate "
        "only swaps sides."
    )
    yield Figure(figures.bound(), "Fig. 1: the bound c(x) on α r₀, least at x = 1", "Eq. 13")
    yield Figure(figures.growth(), "Fig. 3: g(x) = x c(x) increases", "Theorem 5")
    yield Figure(
        figures.convergence(), "The scaled rate from x = 0.5, for static and adaptive gains", "Eq. 10"
    )
    yield Figure(
        figures.speed(), "Counterexample to Theorem 2: the fastest gain is near half of the bound", "Eq. 12"
    )
    yield Figure(figures.stability(), "Limit set of the map for a static gain m", "Theorem 1")


def _queues(result: Reproduction) -> Iterator[Block]:
    for experiment in FIGURES:
        svg = figures.queues(result, experiment)
        if svg is not None:
            found = result.paper.experiment(experiment)
            said = "RAQM keeps near 50 packets, more steadily than PI and REM, and gets there sooner"
            caption = f"{found.figure}: {found.title}. The text says: {said}."
            yield Figure(svg, caption, f"{experiment}, seed 1, as printed")


def _targets(result: Reproduction) -> Iterator[Block]:
    for part, metric, label, said in (
        (
            "a",
            "goodput",
            "Goodput (share of the link)",
            "at an equal queue RAQM has more, 0.96 at 20 packets",
        ),
        ("b", "drop_ratio", "Drop ratio", "at an equal queue RAQM drops less"),
    ):
        svg = figures.tradeoff(result, metric, label)
        if svg is not None:
            what = f"{label.lower()} against the mean queue, q₀ from 20 to 90 packets"
            caption = f"Fig. 8({part}): {what}. The text says: {said}."
            yield Figure(svg, caption, "raqm-fig8, means over seeds with 95 % intervals")
    extra = ("r_0=0.98C", "r_0=0.95C", "admitted-bytes")
    have = tuple(name for name in extra if select(result.metrics, "raqm-fig8", name).height)
    svg = figures.tradeoff(result, "goodput", "Goodput (share of the link)", have) if have else None
    if svg is not None:
        yield Figure(svg, "Fig. 8(a) with RAQM under the readings of r₀", "raqm-fig8")


FIG9 = """Fig. 9: 100 long flows; more traffic between 50 s and 150 s. The text says: RAQM is steadier and
gets back to its target sooner after either change."""


def _hybrid(result: Reproduction) -> Iterator[Block]:
    svg = figures.queues(result, "raqm-fig9")
    if svg is not None:
        yield Figure(svg, FIG9, "raqm-fig9, seed 1")


def _gains(result: Reproduction) -> Iterator[Block]:
    svg = figures.periods(result)
    if svg is not None:
        yield Figure(svg, "RAQM by measuring period, against the announced “several RTTs”", "raqm-T-sweep")
    svg = figures.gains(result)
    if svg is not None:
        caption = "Static gain α = m/r₀ against adaptive α = ε α̂, with and without a fifth of UDP"
        yield Figure(
            svg, caption, "raqm-static-vs-adaptive; a response that was never reached counts as 200 s"
        )
