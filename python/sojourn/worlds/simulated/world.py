"""The simulated world: packets of the core's simulator."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Self

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
        cases: Iterator[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
        isolated: bool = False,
    ) -> Running:
        """Start the runs on all cores, or on what `executor` stands for."""
        return (executor or Local(workers)).start(_Jobs(cases), reduce, samples, isolated)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record."""
        return measure(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return what makes the figures of a record doubtful."""
        return diagnose(record)


class _Jobs:
    """Cases as the core takes them: plan and seed."""

    def __init__(self, cases: Iterator[Case]) -> None:
        self._cases = cases

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[str, int]:
        case = next(self._cases)
        return case.plan_json, case.seed

    def __length_hint__(self) -> int:
        return operator.length_hint(self._cases)


WORLD = Simulated()
