"""An evaluation: what is run, the comparison of each case, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sojourn import arguments, worlds
from sojourn.api import plan as points
from sojourn.errors import InputError
from sojourn.format import counted
from sojourn.metrics import find, label, load, text
from sojourn.results import Results
from sojourn.runner.point import MOST_SEEDS
from sojourn.stats import mean
from sojourn.stats.warmup import NOT_SETTLED
from sojourn.study.compare import Comparison, Difference, check_rules
from sojourn.study.evaluate.catalogue import Case, Entry, Published
from sojourn.study.evaluate.measures import MEASURES

BASELINE = "droptail"
BETTER, WORSE, MIXED = "better", "worse", "better and worse"
NONE_SHOWN, IDENTICAL, UNKNOWN = "no difference shown", "identical", "not known"
#: From this relative difference on, a size is a factor instead of a percentage.
MANY = 10
#: Seeds of an evaluation: quick and full.
QUICK_SEEDS, FULL_SEEDS = 5, 20


class Refused(NamedTuple):
    """A case that cannot run, with the reason."""

    entry: Entry
    case: Case
    reason: str


@dataclass(frozen=True)
class Plan:
    """What is evaluated, and how.

    Attributes
    ----------
    aqm : str
        Canonical spec of the algorithm.
    against : tuple of str
        Canonical specs of the rivals; drop tail is always the baseline.
    entries : tuple of Entry
        The scenarios.
    seeds : int
        Number of seeds; with `until_ci` the first ones.
    quick : bool
        Whether the durations are those of the catalogue's ``quick``.
    until_ci : float, optional
        The share of the mean of each case's first metric below which its half-width is to be.
    world : str
        Where packets are sent: a world of `sojourn.worlds.REGISTRY` that has packets.
    stored : mapping of str to str, optional
        Of an evaluation that was run: the reason of each case that could not run, by its name. They follow
        from this version, this machine and its kernel if None.
    """

    aqm: str
    against: tuple[str, ...]
    entries: tuple[Entry, ...]
    seeds: int = FULL_SEEDS
    quick: bool = False
    until_ci: float | None = None
    world: str = worlds.DEFAULT
    stored: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        packets = [name for name in worlds.REGISTRY if worlds.find(name).has_packets]
        arguments.word(self.world, "world", packets)
        if self.aqm == BASELINE:
            raise InputError("NAME", f"= {BASELINE} is what every algorithm is compared with", "another one")
        arguments.whole(self.seeds, "seeds", 1, MOST_SEEDS)
        check_rules(self.until_ci, None, None, ())

    @property
    def specs(self) -> list[str]:
        """All algorithms: the baseline, the evaluated one, its rivals."""
        return list(dict.fromkeys([BASELINE, self.aqm, *self.against]))

    @property
    def rivals(self) -> list[str]:
        """The algorithms that it is compared with besides the baseline."""
        return [one for one in self.specs if one not in (BASELINE, self.aqm)]

    @property
    def runnable(self) -> list[tuple[Entry, Case]]:
        """The cases that can run."""
        known = self._reasons
        return [(entry, case) for entry in self.entries for case in entry.cases if case.name not in known]

    @property
    def refused(self) -> list[Refused]:
        """The cases that cannot run."""
        known = self._reasons
        return [
            Refused(entry, case, known[case.name])
            for entry in self.entries
            for case in entry.cases
            if case.name in known
        ]

    @cached_property
    def _reasons(self) -> Mapping[str, str]:
        if self.stored is not None:
            return self.stored
        found = {}
        for case in (case for entry in self.entries for case in entry.cases):
            try:
                scenario = case.scenario(world=self.world)
                if self.world != worlds.DEFAULT:
                    points(scenario, self.specs, 1, world=self.world)
            except InputError as error:
                found[case.name] = f"{error.where.rpartition(': ')[2]} {error.problem}"
        return found


@dataclass(frozen=True)
class Cell:
    """One algorithm in one case against another.

    Attributes
    ----------
    verdict : str
        ``better`` (in a metric of the case, and worse in none), ``worse``, ``better and worse``, ``no
        difference shown``, ``identical`` (in every seed and metric), or ``not known`` (one seed).
    better, worse : str
        The relatively largest difference for the better, and that for the worse; empty if none is shown.
    remarks : tuple of str
        What the differences do not show.
    """

    verdict: str
    better: str = ""
    worse: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def sizes(self) -> list[str]:
        """The differences that are shown, that for the better first."""
        return [one for one in (self.better, self.worse) if one]

    @property
    def detail(self) -> str:
        """Sizes and remarks in one line."""
        return "; ".join([*self.sizes, *self.remarks])


@dataclass(frozen=True)
class Judged:
    """A case with the results of its runs.

    Attributes
    ----------
    entry, case
        The scenario of the RFC, and the case.
    comparison : Comparison
        All algorithms against drop tail.
    unknown : tuple of str
        The metrics of the scenario that have no value in any run: this world does not measure them, or what
        they count did not happen.
    """

    entry: Entry
    case: Case
    comparison: Comparison
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry, case: Case, comparison: Comparison) -> Judged:
        """Return a case with the metrics computed from its records, and without those that have no value."""
        wanted = entry.measured(comparison.results.scenario)
        _, own = load([MEASURES[name] for name in wanted if name in MEASURES])
        results = comparison.results.measured(own)
        known = {one for one in wanted for spec in results.aqms if set(results.values(spec, one)) != {None}}
        chosen = tuple(one for one in wanted if one in known)
        unknown = tuple(one for one in entry.metrics if one not in known)
        return cls(entry, case, replace(comparison, results=results, chosen=chosen), unknown)

    @property
    def results(self) -> Results:
        """The runs."""
        return self.comparison.results

    def against(self, baseline: str) -> Comparison:
        """Return the comparison with another baseline."""
        if baseline == self.comparison.baseline:
            return self.comparison
        return replace(self.comparison, baseline=baseline)

    def cell(self, aqm: str, baseline: str = BASELINE) -> Cell:
        """Return the verdict on one algorithm against another."""
        found = [one for one in self.against(baseline).differences if one.aqm == aqm]
        remarks = tuple(one for one in (self._marks(aqm), self._deliveries(aqm, baseline)) if one)
        words = {one.verdict for one in found}
        shown = [one for one in found if one.verdict in (BETTER, WORSE)]
        lacking = [one for one in found if self._lacks_values(one, baseline)]
        if lacking:  # a queue without packets is not better
            verdict, shown = WORSE, [one for one in shown if one.verdict == WORSE]
        elif {BETTER, WORSE} <= words:
            verdict = MIXED
        elif BETTER in words or WORSE in words:
            verdict = WORSE if WORSE in words else BETTER
        elif self._is_identical(aqm, baseline):
            verdict = IDENTICAL
        else:
            verdict = UNKNOWN if words <= {"one seed", "unknown"} else NONE_SHOWN
        shown.sort(key=lambda one: -abs(self._relative(one, baseline)))
        largest = {one.verdict: f"{label(one.metric)} {self.size(one, baseline)}" for one in reversed(shown)}
        return Cell(verdict, largest.get(BETTER, ""), largest.get(WORSE, ""), remarks)

    def _relative(self, one: Difference, baseline: str) -> float:
        known = [value for value in self.results.values(baseline, one.metric) if value is not None]
        base = mean(known) if known else 0.0
        return (one.effect.mean or 0.0) / abs(base) if base else float("inf")

    def size(self, one: Difference, baseline: str) -> str:
        """Return a difference as a share of the other's mean; as a value where that mean is 0."""
        share = self._relative(one, baseline)
        if MANY <= share < float("inf"):
            return f"\u00d7 {1 + share:.3g}"
        if abs(share) < float("inf"):
            return f"{100 * share:+.3g} %".replace("-", "\u2212")
        written = text(one.metric, one.effect.mean).replace("%", "points")
        return f"+{written}" if (one.effect.mean or 0.0) > 0 else written

    def _lacks_values(self, one: Difference, baseline: str) -> bool:
        """Whether the algorithm has no value of a metric where the other has: nothing was delivered."""
        metric = find(one.metric)
        if metric is None or not metric.better:
            return False
        own, other = (self.results.values(spec, one.metric) for spec in (one.aqm, baseline))
        return all(value is None for value in own) and any(value is not None for value in other)

    def _deliveries(self, aqm: str, baseline: str) -> str:
        lacking = [
            label(one.metric)
            for one in self.against(baseline).differences
            if one.aqm == aqm and self._lacks_values(one, baseline)
        ]
        return f"no value of {', '.join(lacking)}: nothing was delivered" if lacking else ""

    def _is_identical(self, aqm: str, baseline: str) -> bool:
        names = self.comparison.metrics
        return all(self.results.values(aqm, name) == self.results.values(baseline, name) for name in names)

    def _marks(self, aqm: str) -> str:
        """Return a remark if ECN is on, there were drops, and no packet was marked."""
        queue = self.results.scenario.queue
        if queue is None or not queue.ecn:
            return ""
        marks, drops = (sum(v or 0.0 for v in self.results.values(aqm, n)) for n in ("marks", "drops"))
        return f"ignores ECN: {drops:.0f} drops, no marks" if drops and not marks else ""

    def published(self) -> list[tuple[Published, str]]:
        """Return what others state about the scenario, each with the means of these runs.

        Without statements about algorithms that were not run, and values that are not known.
        """
        found = []
        for one in (one for one in self.entry.published if self.case.name in one.cases):
            own = [spec for name in one.aqms for spec in self.results.aqms if spec.split()[0] == name]
            rows = [
                f"{label(metric)} of {spec} {text(metric, value.mean, value.ci95)}"
                for metric in one.metrics
                for spec in own
                if (value := self.results.estimate(spec, metric)).mean is not None
            ]
            if len(own) >= len(one.aqms) and rows:
                found.append((one, "; ".join(rows)))
        return found

    def unstable(self, aqm: str) -> str:
        """Return what shows that the queue is unstable; empty if nothing does."""
        settling = self.results.warmup.get(aqm)
        if settling is not None and settling.outcome == NOT_SETTLED:
            return "the queue had not settled at the end of the warm-up"
        return ""


@dataclass(frozen=True)
class Failure:
    """A case in which the algorithm is worse than drop tail, or unstable."""

    judged: Judged
    cell: Cell
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """An evaluation with its results.

    Attributes
    ----------
    plan : Plan
        What was run.
    judged : list of Judged
        The cases, in the order of the RFC.
    extra : mapping
        Results of the studies that serve several sections: ``fair`` and ``sensitivity``, if they were run.
    directory : Path
        The folder.
    """

    plan: Plan
    judged: Sequence[Judged]
    fair: Results | None
    sensitivity: Results | None
    directory: Path

    @cached_property
    def failures(self) -> list[Failure]:
        """Where the evaluated algorithm fails."""
        found = []
        for one in self.judged:
            cell = one.cell(self.plan.aqm)
            reasons = []
            if cell.verdict in (WORSE, MIXED) or cell.remarks:
                worse = [
                    f"{label(d.metric)} {one.size(d, BASELINE)}"
                    for d in one.comparison.differences
                    if d.aqm == self.plan.aqm and d.verdict == WORSE
                ]
                reasons += [f"worse than {BASELINE}: {', '.join(worse)}"] if worse else []
                reasons += cell.remarks
            if words := one.unstable(self.plan.aqm):
                reasons.append(words)
            if reasons:
                found.append(Failure(one, cell, tuple(reasons)))
        return found

    @cached_property
    def verdict(self) -> str:
        """The result in one sentence: how many cases are better, worse, or neither."""
        cells = [one.cell(self.plan.aqm) for one in self.judged]
        words = (BETTER, WORSE, MIXED, NONE_SHOWN, IDENTICAL, UNKNOWN)
        counts = {word: sum(cell.verdict == word for cell in cells) for word in words}
        if cells and counts[IDENTICAL] == len(cells):
            return f"Identical to {BASELINE} in every seed of all {len(cells)} cases: it does nothing."
        said = ", ".join(f"{word} in {count}" for word, count in counts.items() if count)
        marks = any("ignores ECN" in remark for cell in cells for remark in cell.remarks)
        return f"Against {BASELINE} in {counted(len(cells), 'case')}: {said}." + (
            " It ignores ECN." if marks else ""
        )
