"""What a world is: a version, which cases it supports, and how it runs them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sojourn.metrics import Metrics, compute
from sojourn.record import Record
from sojourn.spec.scenario import Scenario

#: Further numbers from a record, kept with its metrics. A function that only reads the record's counters
#: or series; give it an attribute ``version`` (text) if its values may be reused without the series.
Reduce = Callable[[Record], Mapping[str, float | None]]


class Case(Protocol):
    """One run to be made: a scenario, the algorithm at its measured queue, a seed."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def spec(self) -> str:
        """The algorithm, in canonical form."""

    @property
    def seed(self) -> int:
        """Of every random number."""

    @property
    def plan_json(self) -> str:
        """The resolved scenario as canonical JSON."""


class Made(NamedTuple):
    """A finished run: the columns of its record, its metrics, and warnings that only the world can give."""

    data: Mapping[str, Any]
    metrics: Metrics
    warnings: Sequence[str] = ()


#: Index of a case, and its result.
News = list[tuple[int, Made | Exception]]


class Running(Protocol):
    """Runs that go on until all are finished, or cancelled."""

    def poll(self, timeout: float) -> News:
        """Return what finished since the last call; wait at most about `timeout` seconds for the first."""

    def progress(self) -> float:
        """Return the share of all virtual time that is done, 0 to 1."""

    def cancel(self) -> None:
        """Start no further run and stop those under way."""


class Executor(Protocol):
    """Makes simulated runs, here or on other machines."""

    def start(self, jobs: Sequence[tuple[str, int]], reduce: Reduce | None, samples: bool) -> Running:
        """Start the jobs.

        Parameters
        ----------
        jobs : sequence of (str, int)
            Plans as the core reads them, with seeds; at least one.
        reduce : callable or None
            Record to further metrics.
        samples : bool
            Whether the samples over time are needed; if not they are not transferred.
        """

    def close(self) -> None:
        """Release what was started for the jobs."""


class World(Protocol):
    """Where scenarios are run.

    Attributes
    ----------
    seeded : bool
        Whether runs with other seeds differ; if not one run is enough.
    real_time : bool
        Whether a run takes as long as its scenario says.
    """

    @property
    def seeded(self) -> bool:
        """Whether runs with other seeds differ."""

    @property
    def real_time(self) -> bool:
        """Whether a run takes as long as its scenario says."""

    def version(self) -> str:
        """Return a hash of the sources that a result depends on, besides the core's; empty if none."""

    def supports(self, cases: Sequence[Case]) -> None:
        """Raise ``InputError`` if a case cannot be run in this world, or on this machine."""

    def run(
        self,
        cases: Sequence[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
    ) -> Running:
        """Start the runs of `cases`, at least one.

        Parameters
        ----------
        cases : sequence of Case
            What to run.
        reduce : callable or None
            Record to further metrics.
        samples : bool
            Whether the samples over time are needed.
        workers : int or None
            Runs at the same time, where runs may be; all cores if None.
        executor : Executor or None
            Makes the runs if they are simulated; the cores of this machine if None.
        """

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record of this world, None where it does not know them."""

    def warnings(self, record: Record) -> list[str]:
        """Return what makes the figures of a record doubtful, one sentence each."""


def measure(record: Record, reduce: Reduce | None) -> Metrics:
    """Return every metric of a record, and the further ones of `reduce`."""
    values = compute(record)
    if reduce is not None:
        values.update(reduce(record))
    return values


@functools.lru_cache(maxsize=64)
def parsed(plan_json: str) -> dict[str, Any]:
    """Return a plan as data."""
    return dict(json.loads(plan_json))
