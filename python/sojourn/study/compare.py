"""Compares algorithms with a baseline: differences paired by seed, with confidence intervals.

All algorithms get the same traffic with the same seed, so each seed gives one difference. A difference is
significant if its p-value after Holm's correction for all comparisons of the table is small enough.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _core, arguments, worlds
from sojourn.algorithms import Aqm, permitting
from sojourn.algorithms import spec_of as canonical
from sojourn.api import plan, scenario_of
from sojourn.api import run as run_scenario
from sojourn.errors import InputError
from sojourn.metrics import METRICS, OWN, find, label, nearest, shown
from sojourn.metrics import load as load_own
from sojourn.metrics.evaluation import OF_WINDOW
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.runner.manifest import write_manifest
from sojourn.runner.point import MOST_SEEDS
from sojourn.spec.plan import measured, queues, transport
from sojourn.spec.scenario import Scenario
from sojourn.stats import Effect, Estimate, correlation, equivalence, holm, mean, mean_ci, paired
from sojourn.stats.sequential import (
    ERROR,
    between,
    constant_level,
    looks,
    needed,
    seeds_for_difference,
    seeds_for_width,
    two_stage,
)
from sojourn.worlds import Executor

if TYPE_CHECKING:
    import polars as pl

    from sojourn.metrics.own import Function
    from sojourn.notebook import Figures


SORT = "mean_delay_s"
NO_DIFFERENCE = "no difference shown"
EQUIVALENT = "equivalent"
#: The half-width and the difference that the forecast of seeds is about, if the call has none.
FORECAST = 0.05
#: The number of seeds of a study that run first, for a forecast before the others.
FIRST = 3
ONE_SEED = "one seed"
MOST = 200
#: A correlation above this is worth the degrees of freedom that pairing costs.
PAIRED = 0.2
#: Metrics of a queue that are also counted for the packets of each traffic.
COUNTED = ("arrivals", "drops", "marks", "drop_ratio", "mark_ratio")


class Difference(NamedTuple):
    """Difference of one algorithm from the baseline in one metric."""

    aqm: str
    metric: str
    effect: Effect
    p_holm: float | None
    verdict: str
    #: Whether it is shown to be within the margin of the comparison; None without a margin.
    equivalent: bool | None = None
    #: Correlation of the values under the same seeds.
    correlation: float | None = None


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
        Numbers of seeds after which the results were evaluated, if seeds were added.
    chosen : tuple of str
        The metrics to compare, in addition to `sort`; those of the view ``comparison`` if empty.
    first : int
        Number of seeds that set the half-widths of the metrics `watched` (`sojourn.stats.sequential`); 0 if
        they follow from all seeds.
    watched : tuple of str
        The metrics that the number of seeds depended on.
    margin : float, optional
        The share of the baseline's mean within which the metrics `watched` are tested for equivalence.
    planned : tuple of int
        Numbers of seeds at which a difference could have been shown.
    """

    results: Results
    baseline: str
    sort: str = SORT
    level: float = 0.95
    looks: tuple[int, ...] = ()
    chosen: tuple[str, ...] = ()
    first: int = 0
    watched: tuple[str, ...] = ()
    margin: float | None = None
    planned: tuple[int, ...] = ()

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
        """The compared metrics: `chosen`, or those of the views that have a value other than 0.

        The view ``feel`` adds, for each traffic that has it, what the users of an application notice.
        """
        if self.chosen:
            return list(dict.fromkeys((self.sort, *self.chosen)))
        known = set(self.results.metric_names)
        felt = [
            f"{one.name}.{name}"
            for one in self.results.scenario.senders
            for name in shown("feel")
            if f"{one.name}.{name}" in known and (one.kind != "call" or name != "late_ratio")  # part of MOS
        ]
        wanted = dict.fromkeys((self.sort, *shown("comparison"), *felt))
        return [n for n in wanted if any(any(self.results.values(aqm, n)) for aqm in self.aqms)] or [
            self.sort
        ]

    def estimate(self, aqm: str, metric: str) -> Estimate:
        """Return mean and half-width at this comparison's confidence level."""
        values = self.results.values(aqm, metric)
        if self.first and metric in self.watched:
            return two_stage(values, self.first, self.level)
        return mean_ci(values, self.level)

    @cached_property
    def differences(self) -> list[Difference]:
        """Every algorithm but the baseline in every metric, in the order of ``aqms`` and ``metrics``."""
        found = []
        for aqm in self.aqms:
            for metric in self.metrics if aqm != self.baseline else ():
                pair = (self.results.values(self.baseline, metric), self.results.values(aqm, metric))
                found.append((aqm, metric, paired(*pair, level=self.level)))
        corrected = holm([effect.p for _, _, effect in found])
        within = self._within_margin
        return [
            Difference(
                aqm,
                metric,
                effect,
                p,
                self._verdict(metric, effect, p, within.get((aqm, metric))),
                within.get((aqm, metric)),
                correlation(self.results.values(self.baseline, metric), self.results.values(aqm, metric)),
            )
            for (aqm, metric, effect), p in zip(found, corrected, strict=True)
        ]

    @cached_property
    def _within_margin(self) -> dict[tuple[str, str], bool]:
        """Whether an algorithm is shown to be equivalent in a watched metric, corrected for all of them."""
        if self.margin is None:
            return {}
        pairs = [(aqm, metric) for aqm in self.aqms if aqm != self.baseline for metric in self.watched]
        found = [
            equivalence(
                self.results.values(self.baseline, metric), self.results.values(aqm, metric), self.margin
            )
            for aqm, metric in pairs
        ]
        # Two one-sided tests have one-sided errors: at each look half of those of two-sided tests at 10 %.
        error = (1 - constant_level(self.planned, 2 * ERROR)) / 2 if self.planned else ERROR
        return {pair: p is not None and p < error for pair, p in zip(pairs, holm(found), strict=True)}

    def _verdict(self, metric: str, effect: Effect, p: float | None, within: bool | None) -> str:
        if effect.mean is None:
            return "unknown"
        if p is None:
            return ONE_SEED
        if p >= 1 - self.level:
            return EQUIVALENT if within else NO_DIFFERENCE
        found = find(metric)
        if found is None or not found.better:
            return "higher" if effect.mean > 0 else "lower"
        return "better" if (effect.mean > 0) == (found.better == "higher") else "worse"

    def table(self) -> pl.DataFrame:
        """Return one row per algorithm and metric.

        Columns: aqm, metric, unit, mean, ci95 (half-width), n; difference (from the baseline), low, high,
        p, p_holm, verdict, equivalent, correlation. The baseline's own rows have no difference.
        """
        import polars as pl

        against = {(d.aqm, d.metric): d for d in self.differences}
        rows = []
        for aqm in self.aqms:
            for name in self.metrics:
                metric, one = find(name), against.get((aqm, name))
                own = (aqm, name, metric.unit if metric else "", *self.estimate(aqm, name))
                effect = one.effect if one else Effect(None, None, None, 0, None)
                rest = (one.p_holm, *one[4:]) if one else (None, "baseline", None, None)
                rows.append((*own, effect.mean, effect.low, effect.high, effect.p, *rest))
        text, number = pl.String, pl.Float64
        schema = {
            "aqm": text, "metric": text, "unit": text, "mean": number, "ci95": number, "n": pl.UInt32,
            "difference": number, "low": number, "high": number, "p": number, "p_holm": number,
            "verdict": text, "equivalent": pl.Boolean, "correlation": number,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def is_decided(self) -> bool:
        """Whether every difference in the watched metrics is shown, or shown to be within the margin."""
        return all(
            one.verdict in ("better", "worse", "higher", "lower", EQUIVALENT)
            for one in self.differences
            if one.metric in self.watched
        )

    def require_values(self) -> None:
        """Raise ``InputError`` if a watched metric has fewer than two values: more seeds would not help."""
        for aqm in self.aqms:
            for metric in self.watched:
                values = self.results.values(aqm, metric)
                if sum(value is not None for value in values) < 2:
                    problem = f"= {metric!r} has no value in the first {len(values)} seeds of {aqm}"
                    raise InputError("metric", problem, "a metric with values, or a longer run")

    def needed(self, share: float) -> int:
        """Return the seeds with which every watched half-width is at most `share` of its mean."""
        most = 0.0
        for aqm in self.aqms:
            for metric in self.watched:
                values = self.results.values(aqm, metric)
                known = [value for value in values if value is not None]
                first = [value for value in values[: self.first] if value is not None]
                most = max(most, needed(first, mean(known), share) if len(first) > 1 else MOST_SEEDS)
        return int(min(most, MOST_SEEDS))

    def facts(self) -> dict[str, Any]:
        """Return the parameters that the manifest stores to restore the comparison.

        Metrics of one's own are left out, because their values are not stored.
        """
        own = {one.name for one in self.results.own}
        return {
            "baseline": self.baseline,
            "sort": self.sort if self.sort not in own else SORT,
            "level": self.level,
            "looks": list(self.looks),
            "chosen": [name for name in self.chosen if name not in own],
            "first": self.first,
            "watched": [name for name in self.watched if name not in own],
            "margin": self.margin,
            "planned": list(self.planned),
            **({"own_metrics": [one.facts for one in self.results.own]} if own else {}),
        }

    def forecast(self, share: float = FORECAST) -> str | None:
        """Return how many seeds a half-width, and a difference from the baseline, of `share` take, if known.

        For the metric that sorts, or the one that is watched; the largest number over the algorithms, with
        an 80 % interval, since the seeds so far know the standard deviation only roughly.
        """
        metric = self.watched[0] if self.watched else self.sort
        base = self.results.values(self.baseline, metric)
        sizes, pairs = [], []
        for aqm in self.aqms:
            known = [(x, y) for x, y in zip(base, self.results.values(aqm, metric), strict=True)
                     if x is not None and y is not None]  # fmt: skip
            if len(known) < 2:
                return None
            values = [y for _, y in known]
            sizes.append(
                needed(values, mean(values), share) if self.first else seeds_for_width(values, share)
            )
            if aqm != self.baseline:
                size = share * abs(mean([x for x, _ in known]))
                pairs.append(seeds_for_difference([y - x for x, y in known], size))
        wide = max(sizes)
        if not wide < 1e9 or any(one is None for one in pairs):
            return None
        percent, seeds = f"{100 * share:.3g} %", len(known)

        def about(number: float) -> str:
            low, high = between(number, seeds)
            return f"about {number:.0f} ({low} to {high})"

        return (
            f"forecast from {seeds} seeds: {f'{wide:.0f}' if self.first else about(wide)} for ± {percent} of "
            f"the {label(metric)} of every algorithm, {about(max(one for one in pairs if one is not None))} "
            f"to show a difference of {percent} from {self.baseline} (80 % power)"
        )

    @property
    def pairing(self) -> str | None:
        """The correlation that common random numbers gave, if known."""
        found = [one.correlation for one in self.differences if one.correlation is not None]
        if not found:
            return None
        middle = statistics.median(found)
        effect = "narrower" if middle > PAIRED else "wider" if middle < -PAIRED else "no narrower"
        return (
            f"pairing: the correlation with {self.baseline} under the same seeds is {middle:.2f} "
            f"(median; {min(found):.2f} to {max(found):.2f}): intervals of differences are {effect} than "
            "without pairing"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn compare --json``."""
        return {**self.results.to_json(), "comparison": {**self.facts(), "rows": self.table().to_dicts()}}

    @property
    def plot(self) -> Figures:
        """The figures of the results."""
        return self.results.plot

    def _repr_html_(self) -> str:
        from sojourn.notebook import of_comparison

        return of_comparison(self)

    @classmethod
    def of(cls, results: Results) -> Comparison | None:
        """Return the comparison that is stored with results, or None."""
        facts = results.manifest.get("comparison")
        if facts is None:
            return None
        try:
            looks, chosen = tuple(facts["looks"]), tuple(facts.get("chosen", ()))
            first, watched = int(facts.get("first", 0)), tuple(facts.get("watched", ()))
            margin, planned = facts.get("margin"), tuple(facts.get("planned", ()))
            baseline, sort, level = str(facts["baseline"]), str(facts["sort"]), float(facts["level"])
        except (AttributeError, KeyError, TypeError, ValueError):
            baseline, level = "", 0.0
        if baseline not in results.aqms or not 0 < level < 1:
            raise InputError(str(results.directory), "is damaged: its comparison cannot be read")
        return cls(results, baseline, sort, level, looks, chosen, first, watched, margin, planned)


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
    metrics: Sequence[str | Function] = (),
    allow_code: bool = False,
    until_difference: str | None = None,
    until_equivalent: float | None = None,
    announce: Callable[[str], None] | None = None,
    world: str = worlds.DEFAULT,
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
        Number of seeds; with one of the rules `until_...` the number before the first evaluation.
    seed_from : int
        The first seed.
    until_ci : float, optional
        Add seeds until the half-width of every algorithm's interval, in each metric of `on`, is at most this
        share of its mean, or until `most_seeds` (Stein's two stages; see `sojourn.stats.sequential`).
    on : sequence of str
        Metrics that `until_ci` applies to; `sort` if empty.
    most_seeds : int
        Limit of seeds that the rules `until_...` add.
    workers, out, progress, command, executor, allow_code, world
        As for ``sojourn.run``.
    metrics : sequence of str or callable
        Metrics to compare, in addition to `sort`; those of the view ``comparison`` if empty. Holm's
        correction covers these metrics: choose them before you see results. Metrics of one's own are
        functions of a `Record`, or ``FILE.py:NAME`` if the file is permitted.
    until_difference : str, optional
        Add seeds until the paired difference of every algorithm from the baseline in this metric is shown
        (or shown to be within `until_equivalent`), or until `most_seeds`. `metrics` is this one if empty.
    until_equivalent : float, optional
        Add seeds until every difference is shown to be within this share of the baseline's mean (two
        one-sided tests), or shown to exist. The metric is that of `until_difference`, or `sort`.
    announce : callable, optional
        Called with the forecast of seeds: after the first three of them, before the others run, and after
        the first stage of a rule `until_...`.

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
    with permitting(allow_code):
        names, own = load_own(arguments.listed(metrics, "metrics", "a list of metrics"))
    if until_ci is not None:
        until_ci = arguments.number(until_ci, "until-ci", "above 0, below 1")
    if until_equivalent is not None:
        until_equivalent = arguments.number(until_equivalent, "until-equivalent", "above 0, below 1")
    with permitting(allow_code):
        scenario = scenario_of(scenario)
        scenario = scenario.with_() if allow_code else scenario
        points = plan(scenario, aqms, seeds, seed_from, world)
        specs = list(dict.fromkeys(point.spec for point in points))
        if len(specs) < 2:
            raise InputError("compare", "needs at least two algorithms", "--aqm A --aqm B")
        base = _baseline(specs, baseline)
    if until_difference is not None:
        arguments.text(until_difference, "until-difference", "a metric")
        names = names or [until_difference]
    sort = sort or (names[0] if names else SORT)
    chosen = tuple(dict.fromkeys(names))
    keys = [("until-difference", until_difference)] if until_difference is not None else []
    keys += [("metric", name) for name in chosen] + [("sort", sort)] + [("on", name) for name in on]
    for key, name in keys:
        check_metric(scenario, key, name)
    check_rules(until_ci, until_difference, until_equivalent, on)
    adds = until_ci is not None or until_difference is not None or until_equivalent is not None
    if adds and not 2 <= seeds <= most_seeds <= MOST_SEEDS:
        raise InputError("seeds", f"= {seeds} to {most_seeds} is not a range", "at least 2, most seeds above")

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
            world=world,
        )
        results = results.measured(own)
        return results if first == 0 or known is None else known.joined(results)

    def forecast(comparison: Comparison, share: float) -> None:
        if announce is not None and (sentence := comparison.forecast(share)) is not None:
            announce(sentence)

    watched = tuple(on) or (until_difference or sort,)
    known = None
    if announce is not None and seeds > FIRST:
        known = go(FIRST)
        pilot = Comparison(known, base, sort, chosen=chosen, watched=watched)
        forecast(pilot, until_ci or until_equivalent or FORECAST)
    if not adds:
        return keep(Comparison(go(seeds, known), base, sort, chosen=chosen))
    if until_ci is not None:
        results, seen = go(seeds, known), [seeds]
        while True:
            comparison = Comparison(results, base, sort, 1 - ERROR, tuple(seen), chosen, seeds, watched)
            if len(seen) == 1:
                forecast(comparison, until_ci)
            comparison.require_values()
            wanted = min(comparison.needed(until_ci), most_seeds)
            if wanted <= seen[-1]:
                return keep(comparison)
            seen.append(wanted)
            results = go(wanted, results)
    planned = tuple(looks(seeds, most_seeds))
    level = constant_level(planned)
    seen = []
    for number in planned:
        seen.append(number)
        known = go(number, known)
        comparison = Comparison(
            known, base, sort, level, tuple(seen), chosen, 0, watched, until_equivalent, planned
        )
        if len(seen) == 1:
            forecast(comparison, until_equivalent or FORECAST)
        comparison.require_values()
        if comparison.is_decided:
            break
    return keep(comparison)


def check_rules(
    until_ci: float | None, until_difference: str | None, until_equivalent: float | None, on: Sequence[str]
) -> None:
    """Raise ``InputError`` if the rules for the number of seeds contradict each other."""
    for value, key in ((until_ci, "until-ci"), (until_equivalent, "until-equivalent")):
        if value is not None and not 0 < value < 1:
            raise InputError(key, f"= {value:g} is out of range", "above 0%, below 100%")
    if on and until_ci is None:
        raise InputError("on", "requires until-ci", "--until-ci 5% --on METRIC")
    if until_ci is not None and (until_difference is not None or until_equivalent is not None):
        raise InputError("until-ci", "is a rule of its own", "without until-difference and until-equivalent")


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
    groups = {**{one.name: [one] for one in scenario.traffic}}
    for word in ("tcp", "udp"):
        groups.setdefault(word, [one for one in scenario.traffic if transport(one) == word])
    if name in OWN.get():
        return
    if own not in METRICS:
        near = nearest(own)
        allowed = f"{', '.join(METRICS)}; and of a traffic, like {scenario.traffic[-1].name}.goodput_bps"
        raise InputError(key, f"= {name!r} is not a metric", allowed, near and f"{group}{dot}{near}")
    scope = METRICS[own].scope
    if group.startswith("phases."):
        _, phase, *rest = group.split(".", 2)
        names = [one.name for one in scenario.phase]
        if phase not in names or own in OF_WINDOW or (not rest and scope != "queue"):
            allowed = ", ".join(f"phases.{one}.mean_delay_s" for one in names) or "a scenario with [[phase]]"
            raise InputError(key, f"= {name!r} has no value here", allowed)
        group = rest[0] if rest else ""
    if group.startswith(("queues.", "classes.")):
        _check_queue_metric(scenario, key, name)
        return
    if group and group not in groups:
        near = _core.nearest(group, list(groups))
        raise InputError(key, f"= {name!r}: {group!r} is not a traffic", ", ".join(groups), near)
    kinds = {
        "tcp": {"tcp", "tcp-short", "tcp-onoff", "web", "video"}, "endless": {"tcp"},
        "objects": {"tcp-short", "web"}, "pages": {"web"}, "video": {"video"},
    }.get(scope)  # fmt: skip
    among = groups[group] if group else scenario.traffic
    if scope == "queue" and group and own not in COUNTED:
        raise InputError(key, f"= {name!r}: it is of a queue, not of a traffic", own)
    if not among or (kinds is not None and not any(one.kind in kinds for one in among)):
        words = ", ".join(sorted(kinds or ()))
        raise InputError(
            key, f"= {name!r} has no value here: it is of traffic of kind {words}", "another metric"
        )
    if scope in ("objects", "pages", "video") and not group:
        names = [f"{one.name}.{own}" for one in among if kinds is not None and one.kind in kinds]
        raise InputError(key, f"= {name!r} has no value: it is of one traffic", ", ".join(names), names[0])


def _check_queue_metric(scenario: Scenario, key: str, name: str) -> None:
    """Raise ``InputError`` for a metric of a queue or class that does not exist."""
    kind, _, rest = name.partition(".")
    member, _, own = rest.rpartition(".")
    allowed = [one for one in queues(scenario) if one != measured(scenario)]
    fits = METRICS[own].scope == "queue"
    if kind == "classes":
        allowed = [str(one) for one in sorted({one.class_ for one in scenario.traffic})]
        allowed = allowed if len(allowed) > 1 else []
        fits = METRICS[own].per_class
    if member not in allowed or not fits:
        names = ", ".join(f"{kind}.{one}.{own if fits else 'drops'}" for one in allowed)
        raise InputError(key, f"= {name!r} has no value here", names or f"no {kind}. metric")
