"""The targets of agreement between our figures and those of ns-2, cell by cell.

A cell is one case and one metric. Targets: utilisation within 0.5 points; drop and mark ratio within 3 % or
95 % intervals that overlap; mean queue within 2 packets or 3 %; time-outs within 10 % or intervals that
overlap. A cell in which ns-2's mean is 0 counts only if ours is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.stats import mean_ci, t_quantile

#: Our metric and ns-2's name for it, in the order of tables; the first five are cells.
METRICS = {
    "utilization": "util",
    "drop_ratio": "drop_ratio",
    "mark_ratio": "mark_ratio",
    "mean_queue_packets": "q_mean",
    "timeouts": "timeouts",
    "std_queue_packets": "q_std",
    "mean_drop_run": "mean_drop_run",
    "goodput_bps": "goodput_mbps",
    "jain_index": "goodput_jain",
    "in.goodput_bps": "in_goodput_mbps",
}
CELLS = ("utilization", "drop_ratio", "mark_ratio", "mean_queue_packets", "timeouts", "jain_index")


@dataclass(frozen=True)
class Cell:
    """One cell: our value and that of ns-2, with half-widths of 95 % intervals and numbers of seeds."""

    case: str
    metric: str
    ours: float
    ours_ci: float
    ns2: float
    ns2_ci: float
    ours_n: int = 20
    ns2_n: int = 5

    @property
    def counts(self) -> bool:
        """Whether the cell counts in "N of M cells"."""
        marks = self.metric != "mark_ratio" or self.is_ecn
        return self.metric in CELLS and marks and not (self.ns2 == 0 and self.ours == 0)

    @property
    def is_ecn(self) -> bool:
        """Whether senders answer marks in this case."""
        return self.case.endswith(("-ecn", "-GK"))

    @property
    def percent(self) -> float | None:
        """Difference in per cent of ns-2's mean."""
        return 100 * (self.ours / self.ns2 - 1) if self.ns2 else None

    @property
    def errors(self) -> float | None:
        """Difference in standard errors of the difference."""
        error = math.hypot(_error(self.ours_ci, self.ours_n), _error(self.ns2_ci, self.ns2_n))
        return (self.ours - self.ns2) / error if error else None

    @property
    def overlap(self) -> bool:
        """Whether the 95 % intervals overlap."""
        return abs(self.ours - self.ns2) <= self.ours_ci + self.ns2_ci

    @property
    def within(self) -> bool:
        """Whether the target is met."""
        off = abs(self.ours - self.ns2)
        match self.metric:
            case "utilization":
                return off <= 0.005
            case "mean_queue_packets":
                return off <= max(2.0, 0.03 * self.ns2)
            case "timeouts":
                return off <= 0.1 * self.ns2 or self.overlap
            case _:
                return off <= 0.03 * self.ns2 or self.overlap


def cell(case: str, metric: str, ours: Sequence[float], ns2: Sequence[float]) -> Cell:
    """Compare the seeds of both."""
    a, b = mean_ci(list(ours)), mean_ci(list(ns2))
    return Cell(case, metric, a.mean or 0.0, a.ci95 or 0.0, b.mean or 0.0, b.ci95 or 0.0, a.n, b.n)


def _error(half_width: float, n: int) -> float:
    """Return the standard error that belongs to a 95 % interval of `n` seeds."""
    return half_width / t_quantile(0.95, n - 1) if n > 1 else 0.0
