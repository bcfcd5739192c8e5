"""The AVQRED paper's part of the report: Figs. 6 to 8 and the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sojourn import plots
from sojourn.papers.avqred2007.equations import traces
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select
from sojourn.report import Block, Column, Figure, Section, Table
from sojourn.worlds.fluid.avqred import ARED1, AVQRED3, RED2

COLUMNS = {
    "queue_mean": ("mean queue", "packets"),
    "queue_std": ("s. d.", "packets"),
    "arrivals_mean": ("arrival rate", "packets/s"),
    "utilisation_mean": ("utilisation", "Mbit/s"),
    "utilisation_std": ("s. d.", "Mbit/s"),
    "printed_std": ("s. d. of printed l", "Mbit/s"),
}
FIGURES = {
    "queue": (
        "Fig. 6: queue. The text says: AVQRED's is shorter and varies more.",
        "Queue (packets)",
    ),
    "arrivals": (
        "Fig. 7: arrival rate. The text says: AVQRED's is higher.",
        "Arrivals (packets/s)",
    ),
    "utilisation": (
        "Fig. 8: utilisation of the link. The text says: AVQRED's is slightly lower and steadier.",
        "Utilisation (Mbit/s)",
    ),
}
INTRODUCTION = (
    "The equations of section 6, corrected where they cannot run as printed (see the assumptions), from 200 "
    "to 4000 connections. Each reading restores one of the printed forms."
)


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the equations that were solved."""
    blocks = list(_blocks(result))
    return [Section("Figures 6 to 8: the fluid model", blocks, INTRODUCTION)] if blocks else []


def _blocks(result: Reproduction) -> Iterator[Block]:
    found = {one.algorithm.lower(): traces(one) for one in (RED2, ARED1, AVQRED3)}
    for name, (title, label) in FIGURES.items():
        parts = [
            pl.DataFrame({"aqm": aqm, "time_s": one["time"], "value": one[name]})
            for aqm, one in found.items()
            if one is not None
        ]
        if parts:
            svg = plots.queue_traces(pl.concat(parts), value="value", y_label=label, title=title)
            yield Figure(svg, title, "avq-fluid, seed 1")
    runs = select(result.metrics, "avq-fluid", None)
    if not runs.height:
        return
    table = estimates(runs, list(COLUMNS)).with_columns(pl.col("reading").replace("", "corrected"))
    columns = {name: Column(name, kind="text") for name in ("arm", "reading")}
    for name, (title, unit) in COLUMNS.items():
        columns[name] = Column(title, unit, f"{name}_ci95")
    columns["n"] = Column("seeds", kind="seed")
    yield Table(table, "The equations as corrected, and under each other reading", columns, "avq-fluid")
