"""The interface of a world: its version, the cases it supports, and how it runs them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple, Protocol

from sojourn.metrics import Metrics, compute
from sojourn.record import Record
from sojourn.spec.scenario import Scenario

#: Computes further metrics from a record; they are stored with its metrics. The function only reads the
#: record's counters or series; give it an attribute ``version`` (text) if its values may be reused without
#: the series.
Reduce = Callable[[Record], Mapping[str, float | None]]


class Case(Protocol):
    """One run: a scenario, the algorithm at its measured queue, a seed."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def spec(self) -> str:
        """The algorithm, in canonical form."""

    @property
    def seed(self) -> int:
        """The seed of every random number."""

    @property
    def plan_json(self) -> str:
        """The resolved scenario as canonical JSON."""


class Answer(NamedTuple):
    """A finished run as a process returns it: the columns of its record, and warnings."""

    data: Mapping[str, Any]
    warnings: Sequence[str] = ()


class Made(NamedTuple):
    """A finished run: the columns of its record, its metrics, and the world's own warnings."""

    data: Mapping[str, Any]
    metrics: Metrics
    warnings: Sequence[str] = ()


#: Index of a case, in the order in which they were taken, and its result.
Completed = list[tuple[int, Made | Exception]]


class WorkerDied(RuntimeError):  # noqa: N818 - a result, as RunFailed
    """The processes that executed a run ended, or made no progress; it may be unable to finish."""


class Running(Protocol):
    """Runs in progress. Further ones are taken from an iterator only when they can be executed."""

    def poll(self, timeout: float) -> Completed:
        """Return the runs that finished since the last call; wait about `timeout` seconds at most for one."""

    def progress(self) -> float:
        """Return the number of finished runs, plus the completed shares of those in progress."""

    def cancel(self) -> None:
        """Start no further run and stop those in progress."""


class Executor(Protocol):
    """Executes simulated runs, on this machine or on others."""

    def start(
        self, jobs: Iterator[tuple[str, int]], reduce: Reduce | None, samples: bool, isolated: bool = False
    ) -> Running:
        """Start the jobs.

        Parameters
        ----------
        jobs : iterator of (str, int)
            Plans in the core's JSON, each with a seed.
        reduce : callable or None
            Computes further metrics from a record.
        samples : bool
            Whether the time series are needed; otherwise they are not transferred.
        isolated : bool
            Whether each run gets a process of its own, so that its end does not affect other runs.
        """

    def close(self) -> None:
        """Release the resources of the jobs."""


class World(Protocol):
    """A backend that runs scenarios.

    Attributes
    ----------
    seeded : bool
        Whether runs with different seeds differ; otherwise one run is enough.
    seeded_queue : bool
        Whether the random numbers of the measured queue follow from the seed, as in the simulator.
    real_time : bool
        Whether a run takes the duration of its scenario in wall-clock time.
    has_packets : bool
        Whether single packets exist. Otherwise only averages do: the metrics that need packets are null, and
        one run without seeds is compared with packets over their seeds.
    """

    @property
    def seeded(self) -> bool:
        """Whether runs with different seeds differ."""

    @property
    def seeded_queue(self) -> bool:
        """Whether the random numbers of the measured queue follow from the seed, as in the simulator."""

    @property
    def real_time(self) -> bool:
        """Whether a run takes the duration of its scenario in wall-clock time."""

    @property
    def has_packets(self) -> bool:
        """Whether single packets exist; otherwise only averages do."""

    def version(self) -> str:
        """Return a hash of the sources that a result depends on besides the core; empty if there are none."""

    def supports(self, cases: Sequence[Case]) -> None:
        """Raise ``InputError`` if a case cannot be run in this world, or on this machine."""

    def run(
        self,
        cases: Iterator[Case],
        reduce: Reduce | None,
        samples: bool,
        workers: int | None,
        executor: Executor | None,
        isolated: bool = False,
    ) -> Running:
        """Start the runs of `cases`.

        Parameters
        ----------
        cases : iterator of Case
            The runs.
        reduce : callable or None
            Computes further metrics from a record.
        samples : bool
            Whether the time series are needed.
        workers : int or None
            Number of parallel runs, if the world allows them; all cores if None.
        executor : Executor or None
            Executes simulated runs; the cores of this machine if None.
        isolated : bool
            Whether each run gets a process of its own, if the world supports it.
        """

    def metrics(self, record: Record, reduce: Reduce | None) -> Metrics:
        """Return the metrics of a record of this world; None for those that it cannot measure."""

    def warnings(self, record: Record) -> list[str]:
        """Return reasons to doubt the results of a record, one sentence each."""


def measure(record: Record, reduce: Reduce | None) -> Metrics:
    """Return every metric of a record and those of `reduce`."""
    values = compute(record)
    if reduce is not None:
        values.update(reduce(record))
    return values


def sources(*packages: str) -> bytes:
    """Return the Python sources of packages, for the version of a world."""
    folders = [resources.files(one) for one in packages]
    files = (one for folder in folders for one in sorted(folder.iterdir(), key=lambda f: f.name))
    return b"".join(one.read_bytes() for one in files if one.name.endswith(".py"))


@functools.lru_cache(maxsize=64)
def parsed(plan_json: str) -> dict[str, Any]:
    """Return a parsed plan."""
    return dict(json.loads(plan_json))
