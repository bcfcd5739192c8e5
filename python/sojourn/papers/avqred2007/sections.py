"""The AVQRED paper's part of the report: its tables and figures of the testbed, then those of its equations.

The paper's curves are not available as data; each caption quotes its text on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.papers.avqred2007 import figures, fluid_sections
from sojourn.papers.avqred2007.experiments import SMALL, TUNING, TWIN
from sojourn.papers.avqred2007.measures import TABLE2
from sojourn.papers.avqred2007.settings import OTHERS
from sojourn.papers.result import Reproduction
from sojourn.report import Block, Column, Columns, Figure, Section, Table

TESTBED = """The paper's testbed, simulated: 4000 web connections through a gateway that carries 16.8 to
21 Mbit/s. Tables 3 to 6 compare AVQRED 3 with the best setting of each other algorithm."""
#: Headings of columns A to F.
SHORT = ("A: used", "B: its s. d.", "C: delay", "D: its s. d.", "E: drops", "F: their s. d.")


def sections(result: Reproduction) -> list[Section]:
    """Return the paper's own sections for the runs that were made."""
    found = [
        Section("Table 2: twenty settings", list(_table2(result)), TESTBED),
        Section("Figures 3 to 5: over time", list(_traces(result))),
        Section("Tables 3 to 6: improvement by AVQRED", list(_improvements(result))),
        Section("Section 3: short queues", list(_small(result))),
        Section("Section 4.1.1: neighbours of the best settings", list(_tuning(result))),
        *fluid_sections.sections(result),
    ]
    return [section for section in found if section.blocks]


def _table2(result: Reproduction) -> Iterator[Block]:
    frame = figures.ranks(result)
    if frame is None:
        return
    columns = {"arm": Column("setting")}
    for (name, (_, unit)), title in zip(TABLE2.items(), SHORT, strict=True):
        columns[name] = Column(title, unit, f"{name}_ci95")
    columns["g"] = Column("G", kind="seed")
    columns["h"] = Column("H", kind="seed")
    columns["h_printed"] = Column("H, print", kind="seed")
    moved = int((frame["h"] != frame["h_literal"]).sum())
    caption = (
        "Table 2, ours: means and standard deviations of windows of 100 ms (delays: of packets). G and H "
        f"have the weights that give the printed G; by 2^rank {moved} of {frame.height} places are others."
    )
    yield Table(frame, caption, columns, f"{TWIN}, means over seeds")
    svg = figures.table2_agreement(result)
    if svg is not None:
        caption = "Table 2, each cell: ours against the printed number; the band is 20 % around equality."
        yield Figure(svg, caption, TWIN)


def _traces(result: Reproduction) -> Iterator[Block]:
    drawn = (
        ("utilisation", "Mbit/s", "Fig. 3: link utilisation", None,
         "AVQRED carries less than 5 % less than RED, ARED and PI and is steadier; GKVQ and AVQ stay well "
         "below the capacity."),
        ("delay", "ms", "Fig. 4: queueing delay", None,
         "AVQRED's delay is at least a quarter lower than that of all others, its jitter 5 to 15 % above "
         "RED's."),
        ("drops", "Drops / 100 ms", "Fig. 5: packet loss, half a minute", figures.MAGNIFIED,
         "AVQRED's drops are 28 to 50 % steadier than those of all but BLUE."),
    )  # fmt: skip
    for value, label, title, part, said in drawn:
        svg = figures.traces(result, value, label, title, part)
        if svg is not None:
            strong = "" if part else "; strong: mean over 5 s"
            yield Figure(svg, f"{title}. The text says: {said}", f"{TWIN}, seed 1, windows of 100 ms{strong}")


def _improvements(result: Reproduction) -> Iterator[Block]:
    frame = figures.improvements(result)
    if frame is None:
        return
    columns = {name: Column(name, kind="text") for name in ("improvement of", *OTHERS)}
    caption = (
        "Improvement by AVQRED 3 over the best setting of each other algorithm in %: as printed | ours. More "
        "is better."
    )
    yield Table(frame, caption, columns, f"{TWIN}, means over seeds with 95 % intervals")


def _small(result: Reproduction) -> Iterator[Block]:
    drawn = (
        ("overflow_share", "Share of drops by overflow"),
        ("utilisation", "Utilisation (Mbit/s)"),
    )
    pair = [figures.small_queue(result, metric, label) for metric, label in drawn]
    if all(pair):
        caption = (
            "Room in the gateway. The text says: AVQRED works well with a small queue, RED becomes tail drop."
        )
        yield Columns([Figure(svg, caption, SMALL) for svg in pair if svg is not None])


def _tuning(result: Reproduction) -> Iterator[Block]:
    frame = figures.neighbours(result)
    if frame is not None:
        caption = (
            "Place of each best setting among its neighbours, each printed parameter half or one and a half "
            "times as large, by the rank rule."
        )
        columns = {
            name: Column(name, kind="text" if name in ("setting", "first") else "seed")
            for name in frame.columns
        }
        yield Table(frame, caption, columns, TUNING)
