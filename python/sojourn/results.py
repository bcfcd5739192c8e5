"""The results of a study: runs, summary, traces and flows, in memory or on disk."""

from __future__ import annotations

import json
import os
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import files, worlds
from sojourn.algorithms import remember
from sojourn.errors import InputError, refuse_damaged
from sojourn.metrics import Own, find, measure
from sojourn.metrics import load as load_own
from sojourn.metrics.diagnostics import sentence, settled, unsettled
from sojourn.metrics.sizes import EDGES, by_size
from sojourn.record import Record, array
from sojourn.runner.archive import Archive
from sojourn.runner.code import warn_of_changes
from sojourn.runner.execute import Outcome
from sojourn.runner.manifest import write_manifest
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario, load
from sojourn.stats import Estimate, bootstrap, mean_ci
from sojourn.stats.batch_means import batch_means
from sojourn.stats.warmup import NOT_SETTLED, Settling

if TYPE_CHECKING:
    import polars as pl

    from sojourn.metrics.own import Function
    from sojourn.notebook import Figures


MANIFEST = "manifest.json"
#: Tables over time besides the samples of queues, and the attribute of a record that has them.
EVENTS = {"drops": "drops", "cwnd": "cwnd", "packets": "packets", "flows": "flow_series"}
#: What a scenario needs for each of them.
_ASKED = {
    what: f"[trace] {what} = {value} in the scenario"
    for what, value in (("drops", "true"), ("cwnd", "true"), ("packets", "true"), ("flows", '"100ms"'))
}


class Results:
    """The results that ``sojourn.run`` returns and ``Results.open`` reads.

    Examples
    --------
    >>> import sojourn
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="6s", warmup="3s")
    >>> results = sojourn.run(scenario, aqms=["droptail"], seeds=3)
    >>> results.summary().filter(metric="drop_ratio").select("aqm", "unit", "n").rows()
    [('droptail', '', 3)]
    >>> results.estimate("droptail", "utilization").mean > 0.9
    True
    >>> results.trace("queue_mean", seed=1).height
    600
    >>> results.flows(seed=1).height
    44

    Attributes
    ----------
    scenario : Scenario
        The scenario.
    aqms : list of str
        Canonical specs, in the given order.
    directory : Path or None
        The results directory.
    manifest : dict
        Versions, command, seeds, host, times.
    """

    def __init__(
        self,
        scenario: Scenario,
        aqms: Sequence[str],
        outcomes: Sequence[Outcome],
        warnings: Sequence[str] = (),
        directory: Path | None = None,
        manifest: dict[str, Any] | None = None,
    ) -> None:
        self.scenario = scenario
        self.aqms = list(aqms)
        self.outcomes = sorted(outcomes, key=lambda o: (self.aqms.index(o.point.spec), o.point.seed))
        self._noted = list(warnings)
        self.directory = directory
        self.manifest = manifest or {}
        #: Metrics of one's own among the values.
        self.own: tuple[Own, ...] = ()

    @classmethod
    @refuse_damaged
    def open(cls, directory: str | os.PathLike[str]) -> Results:
        """Read a results directory.

        Raises
        ------
        InputError
            If it is not a results directory, or runs are missing.
        """
        folder = Path(directory)
        try:
            text = files.read_text(folder / MANIFEST)
            if text is None:
                raise InputError(str(folder), "is not a results folder: it has no manifest.json")
            manifest = json.loads(text)
            if not isinstance(manifest["runs"], list):
                raise InputError(
                    str(folder), "is not a folder of runs", "sojourn.open, which reads every kind"
                )
            wanted = [one["run_id"] for one in manifest["runs"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(str(folder / MANIFEST), f"cannot be read: {error}") from None
        remember(manifest.get("code"))
        changes = warn_of_changes(manifest.get("code"))
        scenario = load(folder / "scenario.toml", is_stored=True)
        archive = Archive(folder)
        outcomes = []
        for run_id in wanted:
            stored = archive.read(run_id)
            if stored is not None:
                point = Point(scenario, stored.spec, stored.seed, stored.world, run_id)
                outcomes.append(Outcome(point, stored.metrics, stored.record, False))
        if len(outcomes) < len(wanted) or manifest.get("status") != "complete":
            raise InputError(
                str(folder),
                f"is not complete: {len(outcomes)} of {len(wanted)} runs are done",
                f"finish it with: {manifest.get('command', 'the command that made it')}",
            )
        aqms, specs = manifest.get("aqms"), [one.point.spec for one in outcomes]
        counts = Counter(specs)
        if not isinstance(aqms, list) or len(set(counts.values())) > 1 or {*map(str, aqms)} != {*counts}:
            raise InputError(str(folder / MANIFEST), "does not have the same seeds of each of its algorithms")
        warnings = [*manifest.get("warnings", ()), *changes]
        return cls(scenario, aqms, outcomes, warnings, folder, manifest)

    def joined(self, more: Results) -> Results:
        """Return these results with `more` seeds of the same algorithms; in memory only."""
        warnings = list(dict.fromkeys(self._noted + more._noted))
        found = Results(self.scenario, self.aqms, [*self.outcomes, *more.outcomes], warnings)
        found.own = self.own
        return found

    def with_metrics(self, *metrics: str | Function) -> Results:
        """Return these results with metrics of one's own, computed from the records.

        Parameters
        ----------
        *metrics : callable or str
            Functions of a `Record` that return a number or None; ``FILE.py:NAME`` if the file is permitted.

        Examples
        --------
        >>> import sojourn
        >>> def marked(record):
        ...     return sum(record.queues[0]["marks"]) / record.queues[0]["arrivals"]
        >>> scenario = sojourn.load("examples/red40.toml").with_(duration="4s", warmup="2s")
        >>> sojourn.run(scenario, ["red"], seeds=2).with_metrics(marked).estimate("red", "marked").mean
        0.0
        """
        return self.measured(load_own(metrics)[1])

    def measured(self, own: Sequence[Own]) -> Results:
        """Return these results with loaded metrics of one's own."""
        if not own:
            return self
        outcomes = []
        for one in self.outcomes:
            where = f"{one.point.spec}, seed {one.point.seed}"
            outcomes.append(replace(one, metrics={**one.metrics, **measure(own, one.record, where)}))
        found = Results(self.scenario, self.aqms, outcomes, self._noted, self.directory, self.manifest)
        found.own = (*self.own, *own)
        return found

    @property
    def id(self) -> str | None:
        """The id of the result (`sojourn.runner.identity`); None if nothing was written."""
        return self.manifest.get("id")

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results."""
        return list(dict.fromkeys([*self._noted, *unsettled(self.warmup)]))

    def add_warnings(self, found: Sequence[str]) -> None:
        """Add reasons to doubt the results; a results directory stores them."""
        self._noted = list(dict.fromkeys([*self._noted, *found]))
        if self.directory is not None and found:
            self.manifest["warnings"] = self.warnings
            write_manifest(self.directory, self.manifest)

    @property
    def notes(self) -> list[str]:
        """The outcomes of the check of the warm-up that are no warnings."""
        return [
            f"warm-up: {aqm}: {sentence(one)}"
            for aqm, one in self.warmup.items()
            if one.outcome != NOT_SETTLED
        ]

    @cached_property
    def warmup(self) -> dict[str, Settling]:
        """For each algorithm, whether its queue had settled when the window began (`stats.warmup`)."""
        return settled((one.point.spec, one.record) for one in self.outcomes if self._is_stochastic(one))

    @staticmethod
    def _is_stochastic(one: Outcome) -> bool:
        return worlds.find(one.point.world).has_packets

    @property
    def seeds(self) -> list[int]:
        """The seeds, without duplicates."""
        return sorted({one.point.seed for one in self.outcomes})

    @property
    def records(self) -> list[Record]:
        """The record of every run, in the order of ``runs``."""
        return [one.record for one in self.outcomes]

    @property
    def fast_path(self) -> str | None:
        """Whether the simulator took its fast path: ``yes``, or ``no`` with the reason.

        None if no run was simulated, or in results of a version that did not record it. If the algorithms
        differ, each answer is listed once.
        """
        first = {one.point.spec: one for one in reversed(self.outcomes)}
        found = dict.fromkeys(path for one in first.values() if (path := one.record.fast_path))
        return "; ".join(found) or None

    @property
    def metric_names(self) -> list[str]:
        """All metrics of the runs, in the order of tables."""
        return list(dict.fromkeys(name for one in self.outcomes for name in one.metrics))

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run: aqm, seed, run_id, then every metric."""
        import polars as pl

        columns: dict[str, Any] = {
            "aqm": [one.point.spec for one in self.outcomes],
            "seed": pl.Series([one.point.seed for one in self.outcomes], dtype=pl.Int64),
            "run_id": [one.point.run_id for one in self.outcomes],
        }
        for name in self.metric_names:
            columns[name] = pl.Series([one.metrics.get(name) for one in self.outcomes], dtype=pl.Float64)
        return pl.DataFrame(columns)

    def values(self, aqm: str, metric: str) -> list[float | None]:
        """Return one metric of one algorithm, seed by seed."""
        return [one.metrics.get(metric) for one in self.outcomes if one.point.spec == aqm]

    def estimate(self, aqm: str, metric: str) -> Estimate:
        """Return mean and 95 % interval of one metric of one algorithm."""
        return mean_ci(self.values(aqm, metric))

    def median(self, aqm: str, metric: str) -> tuple[float, tuple[float, float] | None] | None:
        """Return the median over the seeds of one metric with its 95 % bootstrap interval; None if unknown.

        Use it for metrics whose mean depends on few seeds, like completion times of heavy-tailed files.
        """
        known = [value for value in self.values(aqm, metric) if value is not None]
        return (statistics.median(known), bootstrap(known)) if known else None

    def batch_means(self, aqm: str, seed: int, column: str = "queue_mean") -> Estimate:
        """Return mean and 95 % half-width of a sampled quantity from one long run, after its warm-up.

        `ci95` is None if the run is too short for independent batches; `n` is the number
        of batches. See `sojourn.stats.batch_means`.
        """
        start, _ = self.scenario.seconds
        frame = self.trace(column, aqm, seed)
        return batch_means(frame.filter(frame["time_s"] > start)[column].to_numpy())

    def summary(self) -> pl.DataFrame:
        """Return mean and 95 % half-width over the seeds: aqm, metric, unit, mean, ci95, n."""
        import polars as pl

        rows = []
        for aqm in self.aqms:
            for name in self.metric_names:
                metric = find(name)
                rows.append((aqm, name, metric.unit if metric else "", *self.estimate(aqm, name)))
        schema = {
            "aqm": pl.String,
            "metric": pl.String,
            "unit": pl.String,
            "mean": pl.Float64,
            "ci95": pl.Float64,
            "n": pl.UInt32,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def trace(self, what: str = "queue", aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Return time series: aqm, seed, time_s, and the columns of `what`.

        Parameters
        ----------
        what : str
            ``queue`` (every column), one column or probe by name (``queue_mean``, ``p``), or what the
            scenario records: ``drops``, ``cwnd``, ``packets`` or ``flows`` (`Record`).
        aqm : str, optional
            Only this algorithm: its spec, or its name where that is unambiguous.
        seed : int, optional
            Only this seed.
        """

        def read(record: Record) -> pl.DataFrame:
            if what in EVENTS:
                if not record.plan["trace"].get(what):
                    raise InputError(f"trace {what!r}", "was not recorded", _ASKED[what])
                frame: pl.DataFrame = getattr(record, EVENTS[what])
                return frame
            series = record.series()
            if what == "queue":
                return series
            return (
                series.select("time_s", what) if what in series.columns else series.select("time_s").clear()
            )

        frame = self._collect(read, aqm, seed)
        if what not in ("queue", *EVENTS) and what not in frame.columns:
            allowed = f"queue, {', '.join(EVENTS)}, or a column of queue"
            raise InputError(f"trace {what!r}", "was not recorded", allowed)
        return frame

    def exports(self, aqm: str | None = None) -> dict[int, dict[str, Any]]:
        """Return what an algorithm in Python exported at the end of each run: seed, name, value.

        The algorithm is that of the measured queue; those of other queues are in `Record.exports`.

        Parameters
        ----------
        aqm : str, optional
            Its spec, or its name where that is unambiguous; not needed if there is only one.
        """
        wanted = self.aqms if aqm is None else self._specs(aqm)
        if len(wanted) != 1:
            raise InputError("aqm", "is ambiguous", "; ".join(self.aqms))
        found = (one for one in self.outcomes if one.point.spec == wanted[0])
        return {one.point.seed: one.record.exports.get(one.record.queues[0]["name"], {}) for one in found}

    def flows(self, aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Return one row per flow of every run: aqm, seed, traffic, index, counters."""
        return self._collect(lambda record: record.flows, aqm, seed)

    def objects(self, aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Return one row per finite transfer of every run: aqm, seed, traffic, start, end, bytes."""
        return self._collect(lambda record: record.objects, aqm, seed)

    def by_size(self, edges: Sequence[str] = EDGES) -> pl.DataFrame:
        """Return completion times by class of size: aqm, seed, size, count, unfinished, p50_s, p95_s.

        Parameters
        ----------
        edges : sequence of str
            Ends of the classes, such as ``("14kB", "1MB")`` (`sojourn.metrics.sizes`).
        """
        return by_size(self.objects(), edges)

    def pages(self, aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Return one row per page of web traffic of every run: aqm, seed, traffic, start, end, objects."""
        return self._collect(lambda record: record.pages, aqm, seed)

    def distribution(self, what: str = "delay") -> pl.DataFrame:
        """Return a histogram of the measured queue, run by run.

        Parameters
        ----------
        what : {"delay", "drop_run", "lateness"}
            ``delay``: aqm, seed, delay_s (lower edge of a bucket), count. ``drop_run``: aqm, seed, length,
            count, of runs of consecutive drops. ``lateness``: aqm, seed, late_s, count, of the packets that a
            gateway wrote in the real world.
        """
        import polars as pl

        kinds = ("delay", "drop_run", "lateness")
        if what not in kinds:
            raise InputError(f"distribution {what!r}", "is not kept", ", ".join(kinds))

        def read(record: Record) -> pl.DataFrame:
            if what == "lateness":
                return record.lateness.select((pl.col("edge") / 1e9).alias("late_s"), "count")
            if what == "delay":
                return record.delays
            lengths, counts = (array(record.queues[0][name], "Q") for name in ("run_lengths", "run_counts"))
            return pl.DataFrame({"length": lengths, "count": counts})

        return self._collect(read, None, None)

    @property
    def plot(self) -> Figures:
        """The figures of these results: ``results.plot.queue()`` and others (`sojourn.notebook.Figures`)."""
        from sojourn.notebook import Figures

        return Figures(self)

    def _repr_html_(self) -> str:
        from sojourn.notebook import of_results

        return of_results(self)

    def _collect(
        self, read: Callable[[Record], pl.DataFrame], aqm: str | None, seed: int | None
    ) -> pl.DataFrame:
        import polars as pl

        wanted = self._specs(aqm)
        frames = []
        for one in self.outcomes:
            if one.point.spec in wanted and seed in (None, one.point.seed):
                labels = [
                    pl.lit(one.point.spec).alias("aqm"),
                    pl.lit(one.point.seed, dtype=pl.Int64).alias("seed"),
                ]
                frames.append(read(one.record).select(*labels, pl.all()))
        if not frames:
            raise InputError(f"seed {seed}", "was not run", ", ".join(map(str, self.seeds)))
        return pl.concat(frames, how="diagonal_relaxed")

    def _specs(self, aqm: str | None) -> list[str]:
        if aqm is None:
            return self.aqms
        matches = [spec for spec in self.aqms if aqm in (spec, spec.split()[0])]
        if aqm in matches:
            return [aqm]
        if len(matches) != 1:
            problem = "is ambiguous" if matches else "was not run"
            raise InputError(f"aqm {aqm!r}", problem, "; ".join(self.aqms))
        return matches

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn run --json``."""
        runs = []
        for one in self.outcomes:
            metrics, others = _split(one.metrics)
            run: dict[str, Any] = {"aqm": one.point.spec, "seed": one.point.seed, "run_id": one.point.run_id}
            run["metrics"] = metrics
            if others:
                run["queues"] = others
            runs.append(run)
        names = [name for name in self.metric_names if not name.startswith("queues.")]
        summary = {aqm: {name: self.estimate(aqm, name)._asdict() for name in names} for aqm in self.aqms}
        warmup = {aqm: one._asdict() for aqm, one in self.warmup.items()}
        return {"runs": runs, "summary": summary, "warmup": warmup, "warnings": self.warnings}

    def __repr__(self) -> str:
        where = f" in {self.directory}" if self.directory else ""
        return f"<Results of {self.scenario.name}: {len(self.aqms)} aqms, {len(self.seeds)} seeds{where}>"


def _split(metrics: dict[str, float | None]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Separate the metrics of the measured queue from those of the others, by name."""
    own: dict[str, Any] = {}
    others: dict[str, dict[str, Any]] = {}
    for name, value in metrics.items():
        if name.startswith("queues."):
            queue, _, metric = name.removeprefix("queues.").rpartition(".")
            others.setdefault(queue, {})[metric] = value
        else:
            own[name] = value
    return own, others
