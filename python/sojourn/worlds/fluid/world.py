"""The fluid world: solves cases and returns records and metrics like those of simulated runs.

Metrics that averages do not determine are None.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources

from sojourn.metrics import Metrics, compute, find
from sojourn.record import Record
from sojourn.warning_codes import coded
from sojourn.worlds.base import Case, Completed, Executor, Made, Reduce
from sojourn.worlds.fluid.columns import columns
from sojourn.worlds.fluid.mgt import TOLERANCE, Solution
from sojourn.worlds.fluid.system import Setting, setting

#: Below this mean window, time-outs dominate, which the model does not include.
FEW_PACKETS = 4.0


class Fluid:
    """The fluid world; it solves one case after the other."""

    seeded = False
    seeded_queue = False
    real_time = False
    has_packets = False

    def version(self) -> str:
        """Return a hash of this world's sources."""
        return version()

    def supports(self, cases: Sequence[Case]) -> None:
        """Raise ``InputError`` for scenarios and algorithms that the equations do not cover."""
        _settings(cases)

    def run(
        self,
        cases: Iterator[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
        isolated: bool = False,
    ) -> Solving:
        """Start to solve the cases."""
        return Solving((setting(case.scenario, case.spec) for case in cases), reduce)

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return every metric of a record; None if averages do not determine it."""
        return metrics(record, reduce)

    def warnings(self, record: Record) -> list[str]:
        """Return no warnings: those of this world depend on the solution, not on the record."""
        return []


class Solving:
    """Solves one case per `poll`."""

    def __init__(self, settings: Iterator[Setting], reduce: Reduce | None) -> None:
        self._settings, self._reduce = settings, reduce
        self._done = 0

    def poll(self, timeout: float) -> Completed:
        """Solve the next case."""
        index, found = self._done, next(self._settings, None)
        if found is None:
            return []
        solution = found.solve()
        data = columns(found, solution)
        self._done += 1
        return [(index, Made(data, metrics(Record(data, found.plan), self._reduce), _warnings(solution)))]

    def progress(self) -> float:
        """Return the number of solved cases."""
        return float(self._done)

    def cancel(self) -> None:
        """Do nothing: no work is in progress between two calls of `poll`."""


@functools.cache
def version() -> str:
    """Return a hash of the fluid world's sources, which is part of the id of its runs."""
    files = sorted(
        (one for one in resources.files(__package__).iterdir() if one.name.endswith(".py")),
        key=lambda f: f.name,
    )
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:12]


def _settings(cases: Sequence[Case]) -> list[Setting]:
    return [setting(case.scenario, case.spec) for case in cases]


def metrics(record: Record, reduce: Reduce | None = None) -> Metrics:
    """Return every metric of a record of the fluid world; None if this world does not have it."""
    values = {
        name: value if (metric := find(name)) is not None and not metric.needs_packets else None
        for name, value in compute(record).items()
    }
    if reduce is not None:
        values.update(reduce(record))
    return values


def _warnings(solution: Solution) -> list[str]:
    found = []
    if solution.error is not None and solution.error > TOLERANCE:
        found.append(
            coded("W29", f"the queue still changes by {100 * solution.error:.0f} % when the step is halved")
        )
    window = float(solution.window[solution.measured].mean())
    if window < FEW_PACKETS:
        text = (
            f"the mean window is {window:.1f} packets: time-outs, which the fluid model lacks, matter below 4"
        )
        found.append(coded("W30", text))
    return found


WORLD = Fluid()
