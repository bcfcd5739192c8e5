"""Runs of a paper: arms times seeds, each distinct run once, even if several arms use it.

Several arms may be the same run (the middle of a sweep is the standard case); a run is executed once and its
metrics are stored for each of them. Runs in the store on disk are not repeated, so a campaign can be killed
and restarted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike

import polars as pl

from sojourn.papers.experiment import Arm, ModelArm, Observations, Solve
from sojourn.papers.terms import Source
from sojourn.runner.execute import Outcome, Progress, execute
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from sojourn.spec.units import number
from sojourn.worlds import Executor, Reduce


@dataclass(frozen=True)
class Job:
    """One arm under one seed, with its reading ("" is the primary one) and experiment.

    Attributes
    ----------
    traced : bool
        Whether its samples over time are stored, for figures.
    world : str
        ``simulated`` or ``real``.
    """

    reading: str
    experiment: str
    arm: Arm
    seed: int
    traced: bool = False
    world: str = "simulated"

    @property
    def source(self) -> Source:
        """Experiment and arm of its metrics."""
        return self.experiment, self.arm.name

    @property
    def point(self) -> Point:
        """The run."""
        return Point(self.arm.scenario, self.arm.spec, self.seed, self.world)


class Campaign:
    """Runs jobs and collects their metrics.

    Parameters
    ----------
    directory : path
        Directory of the runs.
    measure : callable
        Record to the metrics of the paper (see `sojourn.runner.execute.Reduce`).
    workers : int or None
        Threads; all cores if None.
    on_progress : callable or None
        Called about ten times a second with (share, done, total) of the present batch of jobs.
    real : bool
        Whether the jobs are of the real world.
    executor : Executor or None
        Executes simulated runs; the cores of this machine if None.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        measure: Reduce,
        workers: int | None = None,
        on_progress: Progress | None = None,
        *,
        real: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self.plain, self.tracing = Store(directory, traces=False), Store(directory, traces=True)
        self.measure, self.workers, self.on_progress = measure, workers, on_progress
        self.observations = Observations()
        self.rows: list[dict[str, object]] = []
        self.runs: set[str] = set()
        self._lengths: dict[Source, float] = {}
        self.fresh = self.solved = 0
        self.real, self.executor = real, executor
        self.warnings: list[str] = []

    def run(self, jobs: Iterable[Job]) -> None:
        """Execute `jobs`, those whose samples are stored first.

        Raises
        ------
        RunFailed
            At the end, if runs failed.
        """
        wanted: dict[str, list[Job]] = {}
        for job in jobs:
            wanted.setdefault(job.point.run_id, []).append(job)
        traced = {name: group for name, group in wanted.items() if any(job.traced for job in group)}
        others = {name: group for name, group in wanted.items() if name not in traced}
        shared = _Shared(self.on_progress, len(wanted))
        self._batch(traced, self.tracing, shared.part(0, len(traced)))
        self._batch(others, self.plain, shared.part(len(traced), len(others)))

    def calculate(self, cells: Iterable[tuple[str, str, ModelArm, range]]) -> None:
        """Solve the equations of (reading, experiment, arm, seeds), all of one kind at once."""
        groups: dict[tuple[Solve, range], list[tuple[str, str, ModelArm]]] = {}
        for reading, experiment, model, seeds in cells:
            groups.setdefault((model.solve, seeds), []).append((reading, experiment, model))
        for (solve, seeds), group in groups.items():
            answers = solve([model.parameters for _, _, model in group], seeds)
            for (reading, experiment, model), answer in zip(group, answers, strict=True):
                facts = {
                    "experiment_id": experiment,
                    "reading": reading,
                    "arm": model.name,
                    "aqm": model.spec,
                }
                for seed, metrics in answer.items():
                    self.observations.add(reading, (experiment, model.name), seed, metrics)
                    self.rows.append({**facts, "seed": seed, "run_id": "", **metrics})
                    self.solved += 1

    def leaves(self) -> dict[str, str]:
        """Return the hashes of the rows of all runs, by run id."""
        self.plain.refresh()
        return self.plain.leaves(self.runs)

    def durations(self, sources: Iterable[Source]) -> tuple[float, ...]:
        """Return the distinct durations of the runs of some arms, in seconds and in order."""
        return tuple(sorted({self._lengths[one] for one in sources if one in self._lengths}))

    def trace(self, arm: Arm) -> pl.DataFrame | None:
        """Return the samples over time of an arm's first seed, if they were stored."""
        world = "real" if self.real else "simulated"
        stored = self.tracing.read(Point(arm.scenario, arm.spec, 1, world).run_id)
        frame = stored.record.series() if stored is not None else None
        return frame if frame is not None and frame.height else None

    def _batch(self, wanted: dict[str, list[Job]], store: Store, on_progress: Progress | None) -> None:
        points = [group[0].point for group in wanted.values()]
        for outcome in self._outcomes(points, store, on_progress):
            name = outcome.point.run_id
            self.runs.add(name)
            self.fresh += outcome.fresh
            for job in wanted[name]:
                beside = job.arm.beside
                self.observations.add(job.reading, job.source, job.seed, outcome.metrics, beside=beside)
                self.rows.append(_row(job, name, outcome.metrics))
                if not job.reading:
                    self._lengths[job.source] = number("span", job.arm.scenario.duration) / 1e9

    def _outcomes(self, points: list[Point], store: Store, on_progress: Progress | None) -> Iterator[Outcome]:
        for outcome in execute(points, store, self.workers, on_progress, self.measure, self.executor):
            if self.real:
                warnings = [
                    f"{outcome.point.spec}, repetition {outcome.point.seed}: " + one
                    for one in outcome.warnings
                ]
                self.warnings += warnings
            yield outcome


@dataclass
class _Shared:
    """One progress bar for several batches."""

    report: Progress | None
    total: int

    def part(self, before: int, count: int) -> Progress | None:
        report = self.report
        if report is None:
            return None

        def on_progress(share: float, done: int, _count: int) -> None:
            report((before + share * count) / max(1, self.total), before + done, self.total)

        return on_progress


def _row(job: Job, run_id: str, metrics: dict[str, float | None]) -> dict[str, object]:
    facts = {
        "experiment_id": job.experiment,
        "reading": job.reading,
        "arm": job.arm.name,
        "aqm": job.arm.spec,
    }
    return {**facts, "seed": job.seed, "run_id": run_id, **metrics}


def seeds_for(
    sources: Iterable[tuple[str, str, Arm, range]],
    traced: Callable[[str, str, Arm], bool] = lambda _reading, _experiment, _arm: False,
) -> Iterator[Job]:
    """Yield a job for every (reading, experiment, arm) under its seeds, seed by seed.

    Traces are stored for seed 1.
    """
    cells = list(sources)
    for seed in sorted({seed for *_, seeds in cells for seed in seeds}):
        for reading, experiment, arm, seeds in cells:
            if seed in seeds:
                keep = seed == 1 and traced(reading, experiment, arm)
                yield Job(reading, experiment, arm, seed, keep)
