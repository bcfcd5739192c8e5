"""The simulated world: packets of the core's simulator."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Self

from sojourn import _core
from sojourn.errors import InputError, from_core
from sojourn.metrics import Metrics
from sojourn.metrics.diagnostics import diagnose
from sojourn.record import Record
from sojourn.spec.plan import measured, queues
from sojourn.worlds.base import Case, Executor, Reduce, Running, measure
from sojourn.worlds.simulated.executors import Local


class Simulated:
    """The simulated world; the core's version is its own."""

    seeded = True
    real_time = False

    def version(self) -> str:
        """Return nothing: the core's version says it all."""
        return ""

    def supports(self, cases: Sequence[Case]) -> None:
        """Refuse what the core cannot run."""
        seen = set()
        for case in cases:
            plan = case.plan_json
            if plan in seen:
                continue
            seen.add(plan)
            try:
                _core.check(plan)
            except _core.PlanError as error:
                raise _refused(case, error) from None
            except _core.AlgorithmError as error:
                raise InputError(f"aqm {case.spec!r}:", str(error)) from None
            except ValueError as error:
                raise InputError(case.scenario.where, str(error)) from None

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


def _refused(case: Case, error: _core.PlanError) -> InputError:
    """Return the core's refusal with the place where the offending words stand."""
    scenario = case.scenario
    own = _core.canonical(queues(scenario)[measured(scenario)].aqm)
    if error.key == "queue.aqm" and case.spec != own:
        return InputError(f"aqm {case.spec!r}:", error.problem, error.allowed, error.nearest)
    return from_core(error).at(scenario.where)


WORLD = Simulated()
