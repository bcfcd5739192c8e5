"""Compares algorithms with a baseline: differences paired by seed, with confidence intervals.

All algorithms get the same traffic with the same seed, so each seed gives one difference. A difference is
significant if its p-value after Holm's correction for all comparisons of the table is small enough.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _core, arguments
from sojourn.algorithms import Aqm, permitting
from sojourn.algorithms import spec_of as canonical
from sojourn.api import plan, scenario_of
from sojourn.api import run as run_scenario
from sojourn.errors import InputError
from sojourn.metrics import METRICS, find, shown
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.runner.manifest import write_manifest
from sojourn.runner.point import MOST_SEEDS
from sojourn.spec.scenario import Scenario
from sojourn.stats import Effect, Estimate, holm, mean_ci, paired
from sojourn.stats.sequential import level, looks, narrow
from sojourn.worlds import Executor

if TYPE_CHECKING:
    import polars as pl


SORT = "mean_delay_s"
NO_DIFFERENCE = "no difference shown"
ONE_SEED = "one seed"
MOST = 200


class Difference(NamedTuple):
    """Difference of one algorithm from the baseline in one metric."""

    aqm: str
    metric: str
    effect: Effect
    p_holm: float | None
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """A comparison of results.

    Parameters
    ----------
    results : Results
        Results of two or more algorithms with the same seeds.
    baseline : str
        Canonical spec of the algorithm that the others are compared with.
    sort : str
        Metric by which algorithms are sorted, best first (smallest first if it has no better direction).
    level : float
        Confidence level of the intervals.
    looks : tuple of int
        Numbers of seeds after which the intervals were evaluated, if seeds were added until they were narrow.
    chosen : tuple of str
        The metrics to compare, in addition to `sort`; those of the view ``comparison`` if empty.
    """

    results: Results
    baseline: str
    sort: str = SORT
    level: float = 0.95
    looks: tuple[int, ...] = ()
    chosen: tuple[str, ...] = ()

    @cached_property
    def aqms(self) -> list[str]:
        """The algorithms, best first."""
        metric = find(self.sort)
        sign = -1.0 if metric is not None and metric.better == "higher" else 1.0

        def key(aqm: str) -> float:
            mean = self.estimate(aqm, self.sort).mean
            return float("inf") if mean is None else sign * mean

        return sorted(self.results.aqms, key=key)

    @cached_property
    def metrics(self) -> list[str]:
        """The compared metrics: `chosen`, or those of the view that have a value other than 0."""
        if self.chosen:
            return list(dict.fromkeys((self.sort, *self.chosen)))
        wanted = dict.fromkeys((self.sort, *shown("comparison")))
        return [n for n in wanted if any(any(self.results.values(aqm, n)) for aqm in self.aqms)] or [
            self.sort
        ]

    def estimate(self, aqm: str, metric: str) -> Estimate:
        """Return mean and half-width at this comparison's confidence level."""
        return mean_ci(self.results.values(aqm, metric), self.level)

    @cached_property
    def differences(self) -> list[Difference]:
        """Every algorithm but the baseline in every metric, in the order of ``aqms`` and ``metrics``."""
        found = []
        for aqm in self.aqms:
            for metric in self.metrics if aqm != self.baseline else ():
                pair = (self.results.values(self.baseline, metric), self.results.values(aqm, metric))
                found.append((aqm, metric, paired(*pair, level=self.level)))
        corrected = holm([effect.p for _, _, effect in found])
        return [
            Difference(aqm, metric, effect, p, self._verdict(metric, effect, p))
            for (aqm, metric, effect), p in zip(found, corrected, strict=True)
        ]

    def _verdict(self, metric: str, effect: Effect, p: float | None) -> str:
        if effect.mean is None:
            return "unknown"
        if p is None:
            return ONE_SEED
        if p >= 1 - self.level:
            return NO_DIFFERENCE
        found = find(metric)
        if found is None or not found.better:
            return "higher" if effect.mean > 0 else "lower"
        return "better" if (effect.mean > 0) == (found.better == "higher") else "worse"

    def table(self) -> pl.DataFrame:
        """Return one row per algorithm and metric.

        Columns: aqm, metric, unit, mean, ci95 (half-width), n; difference (from the baseline), low, high,
        p, p_holm, verdict. The baseline's own rows have no difference.
        """
        import polars as pl

        against = {(d.aqm, d.metric): d for d in self.differences}
        rows = []
        for aqm in self.aqms:
            for name in self.metrics:
                metric, one = find(name), against.get((aqm, name))
                own = (aqm, name, metric.unit if metric else "", *self.estimate(aqm, name))
                effect = one.effect if one else Effect(None, None, None, 0, None)
                rest = (one.p_holm, one.verdict) if one else (None, "baseline")
                rows.append((*own, effect.mean, effect.low, effect.high, effect.p, *rest))
        text, number = pl.String, pl.Float64
        schema = {
            "aqm": text, "metric": text, "unit": text, "mean": number, "ci95": number, "n": pl.UInt32,
            "difference": number, "low": number, "high": number, "p": number, "p_holm": number,
            "verdict": text,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def facts(self) -> dict[str, Any]:
        """Return the parameters that the manifest stores to restore the comparison."""
        return {
            "baseline": self.baseline,
            "sort": self.sort,
            "level": self.level,
            "looks": list(self.looks),
            "chosen": list(self.chosen),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn compare --json``."""
        return {**self.results.to_json(), "comparison": {**self.facts(), "rows": self.table().to_dicts()}}

    @classmethod
    def of(cls, results: Results) -> Comparison | None:
        """Return the comparison that is stored with results, or None."""
        facts = results.manifest.get("comparison")
        if facts is None:
            return None
        try:
            looks, chosen = tuple(facts["looks"]), tuple(facts.get("chosen", ()))
            baseline, sort, level = str(facts["baseline"]), str(facts["sort"]), float(facts["level"])
        except (AttributeError, KeyError, TypeError, ValueError):
            baseline, level = "", 0.0
        if baseline not in results.aqms or not 0 < level < 1:
            raise InputError(str(results.directory), "is damaged: its comparison cannot be read")
        return cls(results, baseline, sort, level, looks, chosen)


def compare(
    scenario: Scenario | str | os.PathLike[str],
    aqms: Sequence[str | Aqm | type[Aqm]],
    baseline: str | None = None,
    sort: str | None = None,
    seeds: int = 10,
    seed_from: int = 1,
    until_ci: float | None = None,
    on: Sequence[str] = (),
    most_seeds: int = MOST,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] | None = None,
    executor: Executor | None = None,
    metrics: Sequence[str] = (),
    allow_code: bool = False,
) -> Comparison:
    """Run algorithms with the same seeds and compare them.

    Parameters
    ----------
    scenario : Scenario or path
        The network and its traffic, or the file that describes them.
    aqms : sequence of str or Aqm
        Two or more specs of algorithms, or algorithms in Python.
    baseline : str, optional
        The algorithm that the others are compared with: a spec or an unambiguous name; the first if None.
    sort : str, optional
        Metric by which the algorithms are sorted; the first of `metrics`, or ``mean_delay_s``, if None.
    seeds : int
        Number of seeds; with `until_ci` the number before the first evaluation.
    seed_from : int
        The first seed.
    until_ci : float, optional
        Add seeds until the half-width of every algorithm's interval, in each metric of `on`, is at most this
        share of its mean, or until `most_seeds`; see `sojourn.stats.sequential`.
    on : sequence of str
        Metrics that `until_ci` applies to; `sort` if empty.
    most_seeds : int
        Limit of seeds with `until_ci`.
    workers, out, progress, command, executor, allow_code
        As for ``sojourn.run``.
    metrics : sequence of str
        Metrics to compare, in addition to `sort`; those of the view ``comparison`` if empty. Holm's
        correction covers these metrics: choose them before you see results.

    Raises
    ------
    InputError
        For an invalid comparison, before anything runs.

    Examples
    --------
    >>> import sojourn
    >>> scenario = sojourn.load("examples/red40.toml").with_(duration="6s", warmup="3s")
    >>> comparison = sojourn.compare(scenario, ["droptail", "red"], seeds=3)
    >>> comparison.aqms[0], comparison.baseline
    ('red', 'droptail')
    >>> comparison.table().filter(metric="mean_delay_s", aqm="red")["verdict"].item()
    'better'
    """
    arguments.whole(seeds, "seeds", 1, MOST_SEEDS)
    arguments.whole(most_seeds, "most_seeds", 1, MOST_SEEDS)
    for value, key in ((baseline, "baseline"), (sort, "sort")):
        if value is not None:
            arguments.text(value, key, "a text")
    on = arguments.texts(on, "on", "a list of metrics")
    metrics = arguments.texts(metrics, "metrics", "a list of metrics")
    if until_ci is not None:
        until_ci = arguments.number(until_ci, "until-ci", "above 0, below 1")
    with permitting(allow_code):
        scenario = scenario_of(scenario)
        scenario = scenario.with_() if allow_code else scenario
        points = plan(scenario, aqms, seeds, seed_from)
        specs = list(dict.fromkeys(point.spec for point in points))
        if len(specs) < 2:
            raise InputError("compare", "needs at least two algorithms", "--aqm A --aqm B")
        base = _baseline(specs, baseline)
    sort = sort or (metrics[0] if metrics else SORT)
    chosen = tuple(dict.fromkeys(metrics))
    watched = list(on) or [sort]
    keys = [("metric", name) for name in chosen] + [("sort", sort)] + [("on", name) for name in on]
    for key, name in keys:
        check_metric(scenario, key, name)
    if on and until_ci is None:
        raise InputError("on", "requires until-ci", "--until-ci 5% --on METRIC")
    if until_ci is not None:
        if not 0 < until_ci < 1:
            raise InputError("until-ci", f"= {until_ci:g} is out of range", "above 0%, below 100%")
        if not 2 <= seeds <= most_seeds <= MOST_SEEDS:
            raise InputError(
                "seeds", f"= {seeds} to {most_seeds} is not a range", "at least 2, most seeds above"
            )

    def go(number: int, known: Results | None = None) -> Results:
        first = 0 if known is None or out is not None else len(known.seeds)
        wanted = range(seed_from + first, seed_from + number)
        results = run_scenario(
            scenario,
            specs,
            wanted,
            workers=workers,
            out=out,
            progress=progress,
            command=command,
            executor=executor,
        )
        return results if first == 0 or known is None else known.joined(results)

    if until_ci is None:
        return keep(Comparison(go(seeds), base, sort, chosen=chosen))
    seen: list[int] = []
    results = None
    for number in looks(seeds, most_seeds):
        seen.append(number)
        results = go(number, results)
        comparison = Comparison(results, base, sort, level(len(seen)), tuple(seen), chosen)
        if narrow((comparison.estimate(aqm, name) for aqm in specs for name in watched), until_ci):
            break
    return keep(comparison)


def keep(comparison: Comparison) -> Comparison:
    """Store the parameters of the comparison in the manifest."""
    results = comparison.results
    if results.directory is not None:
        results.manifest["comparison"] = comparison.facts()
        write_manifest(results.directory, results.manifest)
    return comparison


def _baseline(specs: Sequence[str], wanted: str | None) -> str:
    if wanted is None:
        return specs[0]
    matches = [spec for spec in specs if wanted in (spec, spec.split()[0])]
    if not matches:
        matches = [spec for spec in specs if spec == canonical(wanted)]
    if len(matches) != 1:
        problem = "is ambiguous" if matches else "is not one of the algorithms"
        raise InputError("baseline", f"= {wanted!r} {problem}", "; ".join(specs))
    return matches[0]


def resolve_metric(scenario: Scenario, key: str, name: str) -> str:
    """Return the full name of a metric; ``p99_delay`` without the unit is ``p99_delay_s``."""
    group, dot, own = name.rpartition(".")
    with_unit = [f"{own}_{unit}" for unit in ("s", "bps", "packets", "ratio") if f"{own}_{unit}" in METRICS]
    if own not in METRICS and len(with_unit) == 1:
        name = f"{group}{dot}{with_unit[0]}"
    check_metric(scenario, key, name)
    return name


def check_metric(scenario: Scenario, key: str, name: str) -> None:
    """Raise ``InputError`` if no run of the scenario can have the metric `name`."""
    group, dot, own = name.rpartition(".")
    groups = ["tcp", "udp", *(traffic.name for traffic in scenario.traffic)]
    if own not in METRICS:
        near = _core.nearest(own, list(METRICS))
        allowed = f"{', '.join(METRICS)}; and of a traffic, like {groups[-1]}.goodput_bps"
        raise InputError(key, f"= {name!r} is not a metric", allowed, near and f"{group}{dot}{near}")
    if group and not group.startswith(("queues.", "classes.")) and group not in groups:
        near = _core.nearest(group, groups)
        raise InputError(key, f"= {name!r}: {group!r} is not a traffic", ", ".join(groups), near)
