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
    """The simulated world; its version is that of the core."""

    seeded = True
    seeded_queue = True
    real_time = False
    has_packets = True

    def version(self) -> str:
        """Return an empty text: the version of the core is already part of the id of a run."""
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
        """Start the runs on the cores of this machine, or on `executor`."""
        return (executor or Local(workers)).start(_Jobs(cases), reduce, samples, isolated)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record."""
        return measure(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return reasons to doubt the results of a record, one sentence each."""
        return diagnose(record)


class _Jobs:
    """Cases in the core's form: plan and seed."""

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
