"""Tables 3, 4 and 5, cell by cell: the counterpart of each printed number, and their agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import ClassVar

from sojourn.papers.checks import union
from sojourn.papers.claims import Finding, Verdict, rows
from sojourn.papers.ldc2002.analytic import target_bytes
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.terms import Quantity, Samples, Source

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
#: Names of Table 5's metrics in ours.
TABLE5 = {"packet_delay": "ftp_delay_mean", "throughput": "throughput_ftp", "drop_ratio": "drop_ratio_ftp"}
#: Runs behind a number of the paper.
PUBLISHED_RUNS = 5


def cell(row: Mapping[str, str]) -> Counterpart:
    """Return our counterpart of a row of ``published.csv``."""
    match row["table_or_figure"], row["metric"]:
        case (("Table 3" | "Table 4"), metric):
            term = Quantity(metric, row["algorithm"], row["experiment_id"])
            return Cell(term, "deviation" if row["statistic"] == "std" else "mean")
        case "Table 5", metric:
            arm = row["parameter_set"].removeprefix("weights=")
            return Cell(Quantity(TABLE5[metric], arm, row["experiment_id"]))
        case _, "queueing_delay":
            return Cell(Quantity("queueing_delay_max", "LDC", row["experiment_id"]))
        case _, "q_target":
            return target_bytes("1.6s", "0.1Mbit/s") / 1000
        case _, "web_share_of_internet_traffic":
            return "said of the Internet, not of the paper's runs"
    return "a setting of the runs"


@dataclass(frozen=True)
class Printed:
    """A printed number, its standard error (None: not printed), and our counterpart."""

    name: str
    value: float
    error: float | None
    ours: Cell


@dataclass(frozen=True)
class NearCells:
    """Every printed number except 0 is met within a tolerance, or within two combined standard errors.

    A cell is met if its estimate is within one of these, and missed if its 95 % interval also lies outside
    the tolerance. All cells met: reproduced; one missed: not reproduced.
    """

    cells: tuple[Printed, ...]
    tolerance: float
    seeds: int
    #: A search of readings scores these cells one by one (`sojourn.papers.search.score`).
    counts_cells: ClassVar[bool] = True

    @property
    def sources(self) -> frozenset[Source]:
        """All arms."""
        return union(one.ours.term.sources for one in self.cells)

    def undecided_sources(self, _samples: Samples, /) -> frozenset[Source]:
        """Return nothing: no seeds are added for an equality."""
        return frozenset()

    def judge(self, samples: Samples, /) -> Finding:
        """Return the finding; its effect is the share of cells that are met."""
        n, met, missed = 10**9, 0, []
        for one in self.cells:
            ours = one.ours.estimate(samples)
            n = min(n, ours.n)
            if ours.mean is None or ours.ci95 is None:
                return Finding(U, n=n, reason="not run" if n == 0 else "too few seeds for an interval")
            away, half = abs(ours.mean - one.value), ours.ci95
            error = (one.error**2 + (half / 2) ** 2) ** 0.5 if one.error is not None else 0.0
            if away <= self.tolerance * one.value or away <= 2 * error:
                met += 1
            elif away - half > self.tolerance * one.value:
                missed.append((ours.mean / one.value, one.name))
        verdict = N if missed else R if met == len(self.cells) else U
        farthest = dict.fromkeys(sorted(missed)[:3] + sorted(missed)[-3:])
        worst = ", ".join(f"{name} {ratio:.2g} times" for ratio, name in farthest)
        measure, claimed = "share of cells met", f"1 (within {self.tolerance:.0%})"
        found = Finding(verdict, met / len(self.cells), n=n, measure=measure, claimed=claimed)
        found = replace(found, met=met, parts=len(self.cells))
        words = f"{met} of {len(self.cells)} cells met, {len(missed)} missed"
        return replace(found, reason=f"{words}; farthest: {worst}" if missed else words)


@cache
def table(name: str, tolerance: float, seeds: int) -> NearCells:
    """Return the check of a printed table; standard errors of Table 3 are from Table 4."""
    printed = rows(resources.files(__package__) / "data" / "published.csv")
    spread = {
        (row["algorithm"], row["metric"]): float(row["value"])
        for row in printed
        if row["table_or_figure"] == "Table 4"
    }
    found = []
    for row in printed:
        ours = cell(row)
        if row["table_or_figure"] != name or not float(row["value"]) or not isinstance(ours, Cell):
            continue
        deviation = spread.get((row["algorithm"], row["metric"])) if name == "Table 3" else None
        error = deviation / PUBLISHED_RUNS**0.5 if deviation is not None else None
        label = f"{row['metric']} of {row['parameter_set'] if name == 'Table 5' else row['algorithm']}"
        found.append(Printed(label, float(row["value"]), error, ours))
    return NearCells(tuple(found), tolerance, seeds)
