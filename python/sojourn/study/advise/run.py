"""Compares the setups for a home link and confirms the best on seeds that the choice did not use.

All setups run with the same seeds; `sojourn.study.significance` orders them. The best and today's setup run
again on held-out seeds, where their differences are paired by seed, with Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sojourn import arguments
from sojourn.api import run as run_scenario
from sojourn.errors import InputError
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.runner.ownership import require_owner
from sojourn.spec.units import number
from sojourn.stats import Effect, Estimate, holm, mean, mean_ci, paired
from sojourn.study.advise.model import LABELS, TODAY, Link, Setup, setups
from sojourn.study.compare import NO_DIFFERENCE
from sojourn.study.significance import ERROR, Aim, Standings
from sojourn.worlds import Executor

if TYPE_CHECKING:
    import polars as pl

#: Values of a setup by measure, one a seed.
Measures = Mapping[str, Sequence[float]]


class Gain(NamedTuple):
    """One measure of today's setup and of the recommended one, on held-out seeds."""

    aim: Aim
    today: Estimate
    recommended: Estimate
    effect: Effect
    p_holm: float | None
    verdict: str


@dataclass(frozen=True)
class Advice:
    """The comparison of the setups, and what the recommended one gains."""

    link: Link
    setups: Mapping[str, Setup]
    standings: Standings
    gains: Sequence[Gain]
    seeds: range
    fresh: range
    #: Measures that some run lacks, as when no page was completed.
    missing: Sequence[str]

    @property
    def recommended(self) -> Setup:
        """The best setup; `TODAY` if none is better."""
        return self.setups[self.standings.order[0]]


def advise(
    link: Link,
    seeds: int = 8,
    out: Path | None = None,
    command: Sequence[str] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Compare the setups for a link, and confirm the best.

    Parameters
    ----------
    link : Link
        The link and its uses.
    seeds : int
        Number of seeds of the choice, and of the confirmation.
    out : path, optional
        Folder of the results; the same call continues an interrupted one.
    command : sequence of str, optional
        The command line, for the manifests.
    executor : Executor, optional
        Executes the runs.
    progress : callable, optional
        Called after each run with (share, done, total).
    """
    arguments.whole(seeds, "seeds", 2, 1000)
    if out is not None:
        require_owner(out, "advise", "home")
    known = {one.name: one for one in setups(link)}
    first, fresh = range(1, seeds + 1), range(seeds + 1, 2 * seeds + 1)
    total, before = (len(known) + 2) * seeds, 0

    def measure(setup: Setup, wanted: range, part: str) -> dict[str, list[float | None]]:
        nonlocal before

        def move(_share: float, done: int, _total: int) -> None:
            if progress is not None:
                progress((before + done) / total, before + done, total)

        folder = None if out is None else out / part / setup.name.replace(", ", "-").replace(" ", "-")
        scenario = setup.scenario(link)
        results = run_scenario(
            scenario, None, wanted, out=folder, progress=move, command=command, executor=executor
        )
        before += len(wanted)
        return measures(results, link)

    chosen = {name: measure(setup, first, "choice") for name, setup in known.items()}
    lacking = [aim for aim in link.aims if any(None in row[aim.metric] for row in chosen.values())]
    aims = [aim for aim in link.aims if aim not in lacking]
    if not aims:
        raise InputError("--use", "has no measure with a value in every run", "also downloads")
    standings = Standings({name: _known(row, aims) for name, row in chosen.items()}, aims)
    best = known[standings.order[0]]
    confirmed = {name: measure(known[name], fresh, "confirm") for name in dict.fromkeys((TODAY, best.name))}
    gains = _gains(confirmed[TODAY], confirmed[best.name], link.aims)
    missing = [LABELS[aim.metric][0] for aim in lacking]
    return Advice(link, known, standings, gains, first, fresh, missing)


def _known(row: Mapping[str, Sequence[float | None]], aims: Sequence[Aim]) -> dict[str, list[float]]:
    return {aim.metric: [one for one in row[aim.metric] if one is not None] for aim in aims}


def measures(results: Results, link: Link) -> dict[str, list[float | None]]:
    """Return the measures of every run; None where a run has no value.

    A call has a flow in each direction, and the worse one counts. A game's packets are as small and as
    regular as those of a call; what counts is the longest delay of one. The use of a direction is the
    throughput as a share of the link's rate, not of the shaper's. A page that is not complete at the end
    counts with its time until then: if only complete pages counted, a slow setup would seem fast.
    """
    found: dict[str, list[float | None]] = {name: [] for name in LABELS}
    start, end = (number("span", word) / 1e9 for word in (results.scenario.warmup, results.scenario.duration))
    for outcome in results.outcomes:
        metrics, flows = outcome.metrics, outcome.record.flows
        names = flows["traffic"]
        delays, losses, longest = [], [], []
        for i, name in enumerate(names):
            if name in ("call", "call-up"):
                received = flows["received_packets"][i]
                delays.append(flows["delay_ns"][i] / 1e9 / received if received else math.inf)
                losses.append(flows["dropped_packets"][i] / max(1, flows["sent_packets"][i]))
                longest.append(flows["delay_max_ns"][i] / 1e9)
        worst = max(delays)
        values = {
            "call_delay": worst if math.isfinite(worst) else None,
            "call_loss": max(losses),
            "longest_delay": max(longest),
            "page_time": _page_time(outcome.record.pages, start, end),
            "down_use": _share(metrics.get("throughput_bps"), link.down_rate),
            "up_use": _share(metrics.get("queues.R2-R1.throughput_bps"), link.up_rate),
        }
        for name, value in values.items():
            found[name].append(value)
    return found


def _page_time(pages: pl.DataFrame, start: float, end: float) -> float | None:
    """Return the mean time of the pages that were loading after `start`, until `end` at most."""
    ends = pages["end_s"].fill_null(end)
    times = (ends - pages["start_s"]).filter(ends > start)
    return None if times.is_empty() else mean(times.to_list())


def _share(throughput: float | None, rate: int) -> float | None:
    return None if throughput is None else throughput / rate


def _gains(
    today: Mapping[str, Sequence[float | None]],
    best: Mapping[str, Sequence[float | None]],
    aims: Sequence[Aim],
) -> list[Gain]:
    effects = [paired(today[aim.metric], best[aim.metric]) for aim in aims]
    corrected = holm([effect.p for effect in effects])
    found = []
    for aim, effect, p in zip(aims, effects, corrected, strict=True):
        verdict = NO_DIFFERENCE
        if effect.mean is not None and p is not None and p < ERROR:
            verdict = "better" if (effect.mean > 0) == aim.higher else "worse"
        found.append(Gain(aim, mean_ci(today[aim.metric]), mean_ci(best[aim.metric]), effect, p, verdict))
    return found
