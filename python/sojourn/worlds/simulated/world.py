"""The simulated world: packets of the core's simulator."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.metrics import Metrics
from sojourn.metrics.diagnostics import diagnose
from sojourn.record import Record
from sojourn.worlds.base import Case, Executor, Reduce, Running, measure
from sojourn.worlds.simulated.executors import Local


class Simulated:
    """The simulated world; the core's version is its own."""

    seeded = True
    seeded_queue = True
    real_time = False
    has_packets = True

    def version(self) -> str:
        """Return nothing: the core's version says it all."""
        return ""

    def supports(self, cases: Sequence[Case]) -> None:
        """Accept every case: the core has checked it."""

    def run(
        self,
        cases: Sequence[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
    ) -> Running:
        """Start the runs on all cores, or on what `executor` stands for."""
        jobs = [(case.plan_json, case.seed) for case in cases]
        return (executor or Local(workers)).start(jobs, reduce, samples)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record."""
        return measure(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return what makes the figures of a record doubtful."""
        return diagnose(record)


WORLD = Simulated()
