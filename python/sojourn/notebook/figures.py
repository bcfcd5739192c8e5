"""The figures of results: ``results.plot.queue()`` returns a figure of matplotlib, to style and to save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import polars as pl

from sojourn import plots
from sojourn.errors import InputError
from sojourn.metrics import find, shown
from sojourn.plots import Picture

if TYPE_CHECKING:
    from sojourn.results import Results


class Figures:
    """The figures of results; each method returns a new figure.

    A notebook displays it; ``figure.axes[0].set_title(...)`` changes it, ``figure.savefig("queue.pdf")``
    saves it.

    Examples
    --------
    >>> import sojourn
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="4s", warmup="2s")
    >>> results = sojourn.run(scenario, ["red", "pi"], seeds=2)
    >>> figure = results.plot.queue(start=2)
    >>> [axes.get_title("left") for axes in figure.axes]
    ['RED', 'PI']
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def queue(self, seed: int | None = None, start: float | None = None, end: float | None = None) -> Picture:
        """Draw the waiting packets over time, one panel per algorithm.

        Parameters
        ----------
        seed : int, optional
            The run; the first seed if None.
        start, end : float, optional
            The part of the run to draw, in seconds.
        """
        warmup, _ = self._results.scenario.seconds
        frame = self._results.trace("queue", seed=self._seed(seed))
        if not frame.height:
            raise InputError("plot.queue", "has no samples", 'trace = { interval = "10ms" } in the scenario')
        shaded = [(0.0, warmup)] if warmup else []
        return plots.queue_traces(frame, shaded=shaded, start=start, end=end).figure

    def delay(self, kind: Literal["ccdf", "density"] = "ccdf") -> Picture:
        """Draw the distribution of the queueing delay over all seeds.

        Parameters
        ----------
        kind : {"ccdf", "density"}
            ``ccdf``: the fraction of packets with at least this delay, on a logarithmic axis; ``density``.
        """
        return plots.histogram(self._results.distribution("delay"), kind=kind).figure

    def tradeoff(self, x: str = "mean_delay_s", y: str = "goodput_bps") -> Picture:
        """Draw one metric against another: a dot per seed, the median, and the 1-sigma ellipse."""
        return plots.ellipses(self._runs([x, y]), x=x, y=y, title=f"{y} against {x}").figure

    def bars(self, metrics: Sequence[str] = ()) -> Picture:
        """Draw the means of metrics with their intervals; those of the report if none are given."""
        self._runs(metrics)
        return plots.bars(self._results.summary(), list(metrics) or shown("bars")).figure

    def box(self, metric: str = "mean_delay_s") -> Picture:
        """Draw a metric of every run by algorithm: quartiles as a box, the extremes as whiskers."""
        return plots.boxes(self._runs([metric]), metric).figure

    def flows(
        self, value: Literal["goodput_bps", "throughput_bps"] = "goodput_bps", seed: int | None = None
    ) -> Picture:
        """Draw the rate of every flow over time, one panel per algorithm; the strong line is their mean.

        Parameters
        ----------
        value : {"goodput_bps", "throughput_bps"}
            Goodput, or throughput at the measured queue.
        seed : int, optional
            The run; the first seed if None.
        """
        frame = self._results.trace("flows", seed=self._seed(seed))
        warmup, _ = self._results.scenario.seconds
        label = "Goodput" if value == "goodput_bps" else "Throughput"
        shaded = [(0.0, warmup)] if warmup else []
        return plots.flow_rates(frame, value=value, y_label=f"{label} of each flow", shaded=shaded).figure

    def completion_times(self, traffic: str | None = None) -> Picture:
        """Draw the distribution of the completion times of all transfers, or of those of one traffic."""
        transfers = self._results.objects()
        if traffic is not None:
            transfers = transfers.filter(pl.col("traffic") == traffic)
        if not transfers.height:
            raise InputError("plot.completion_times", "has no transfers", "tcp-short or web traffic")
        return plots.cdf(transfers, value="completion_time_s").figure

    def _runs(self, metrics: Sequence[str]) -> pl.DataFrame:
        """Return the runs; every metric must be one of theirs."""
        runs = self._results.runs
        for name in metrics:
            if name not in runs.columns:
                problem = "has no value in these runs" if find(name) else "is not a metric"
                raise InputError(f"metric {name!r}", problem, "a name of results.metric_names")
        return runs

    def _seed(self, seed: int | None) -> int:
        return self._results.seeds[0] if seed is None else seed
