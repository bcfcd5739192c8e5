"""The data of a sweep: its plan (`Sweep`), a part of it (`Shard`), its result (`Swept`)."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sojourn import _core
from sojourn.algorithms import digests
from sojourn.errors import InputError
from sojourn.metrics import Metrics
from sojourn.metrics.diagnostics import are_alike, sentence, without_width
from sojourn.runner.point import MOST_SEEDS, Point, digest
from sojourn.spec.scenario import Scenario
from sojourn.spec.toml import dumps
from sojourn.stats import mean_ci
from sojourn.stats.warmup import INCONCLUSIVE, NOT_SETTLED, SETTLED, QueueParts, Settling, Word, settling
from sojourn.study.axes import Axis, Cell, cells
from sojourn.warning_codes import code_of, coded, extended

if TYPE_CHECKING:
    import polars as pl


MOST_RUNS = 1_000_000
T = TypeVar("T")


@dataclass(frozen=True)
class Sweep:
    """The plan of a sweep.

    Parameters
    ----------
    scenario : Scenario
        The base scenario.
    aqms : sequence of str
        Algorithms at the measured queue.
    axes : sequence of Axis
        The varied keys and their values.
    seeds : int
        Number of seeds per combination.
    seed_from : int
        The first seed.
    where : str
        The source file of the plan, for messages.
    stored : sequence of str
        Of a sweep that was read from a folder: the ids of its runs there, in the order of `groups`.
    """

    scenario: Scenario
    aqms: Sequence[str]
    axes: Sequence[Axis]
    seeds: int = 5
    seed_from: int = 1
    where: str = field(default="", compare=False)
    stored: Sequence[str] = field(default=(), compare=False, repr=False)

    @cached_property
    def cells(self) -> list[Cell]:
        """All combinations."""
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise InputError("seeds", f"= {self.seeds} is out of range", f"1 to {MOST_SEEDS}")
        count = self.seeds * max(1, len(self.aqms))
        for axis in self.axes:
            count *= len(axis.values)
        if count > MOST_RUNS:
            raise InputError("sweep", f"has {count} runs", f"at most {MOST_RUNS}")
        return cells(self.scenario, self.aqms, self.axes)

    @cached_property
    def points(self) -> list[Point]:
        """All runs, seed by seed, so that the parameter space fills evenly; without duplicates."""
        groups = (points for _, points in self.groups)
        return list(dict.fromkeys(itertools.chain.from_iterable(zip(*groups, strict=True))))

    @cached_property
    def groups(self) -> list[tuple[Cell, list[Point]]]:
        """The runs of each combination and algorithm, seed by seed."""
        cells = self.cells  # checks the plan, even if there are no seeds
        seeds = range(self.seed_from, self.seed_from + self.seeds)
        ids = iter(self.stored)
        return [
            (cell, [Point(cell.scenario, spec, seed, stored_id=next(ids, "")) for seed in seeds])
            for cell in cells
            for spec in cell.specs
        ]

    def to_toml(self) -> str:
        """Return the plan as a file for ``sojourn sweep``."""
        return dumps(
            {
                "aqms": list(self.aqms),
                "seeds": self.seeds,
                "seed_from": self.seed_from,
                "vary": {axis.key: list(axis.values) for axis in self.axes},
                "scenario": tomllib.loads(self.scenario.to_toml()),
            }
        )

    @property
    def default_directory(self) -> Path:
        """``results/NAME-sweep-ID``: the same sweep, code and version continue in the same directory."""
        plans = (cell.scenario.plan_json(spec) for cell in self.cells for spec in cell.specs)
        parts = (
            self.to_toml(),
            _core.CORE_VERSION,
            *sorted({one for plan in plans for one in digests(plan)}),
        )
        return Path("results") / f"{self.scenario.name}-sweep-{digest(*parts, length=8)}"


@dataclass(frozen=True)
class Shard:
    """Part number `index` of `count`, from 1: every `count`-th run."""

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``I/N``.

        Examples
        --------
        >>> Shard.parse("2/4").of("abcdefgh")
        ['b', 'f']
        """
        first, slash, second = text.partition("/")
        if not (slash and first.strip().isdecimal() and second.strip().isdecimal()):
            raise InputError("shard", f"= {text!r} is not a shard", "I/N, like 1/40")
        index, count = int(first), int(second)
        if not 1 <= index <= count:
            raise InputError("shard", f"= {text!r} is out of range", f"1/{count} to {count}/{count}")
        return cls(index, count)

    def of(self, whole: Sequence[T]) -> list[T]:
        """Return this part of a list."""
        return list(whole[self.index - 1 :: self.count])


WHOLE = Shard()


@dataclass(frozen=True)
class Swept:
    """The result of a sweep or of one of its shards."""

    sweep: Sweep
    metrics: Mapping[Point, Metrics]
    directory: Path | None = None
    #: The id of a complete result (`sojourn.runner.identity`).
    id: str | None = None
    #: The measured queue of each run over time.
    parts: Mapping[Point, QueueParts] = field(default_factory=dict, repr=False, compare=False)
    #: All warnings, as the manifest of a finished sweep states them; None if they are not stored.
    stated: Sequence[str] | None = None
    #: The warnings of each run that has any.
    doubts: Mapping[Point, Sequence[str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def complete(self) -> bool:
        """Whether every run is included."""
        return len(self.metrics) == len(self.sweep.points)

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results."""
        if self.stated is not None:
            return list(self.stated)
        groups = [[self.metrics.get(point, {}) for point in group] for _, group in self.sweep.groups]
        same = sum(any(group) and are_alike(group) for group in groups)
        found = [without_width(f"in {same} of {len(groups)} combinations all seeds")] if same else []
        found += self._doubts
        return found + [coded("W07", one) for one in self._about_warmup(NOT_SETTLED)]

    @property
    def notes(self) -> list[str]:
        """The outcomes of the check of the warm-up that are no warnings."""
        return self._about_warmup(INCONCLUSIVE) + self._about_warmup(SETTLED)

    @cached_property
    def warmup(self) -> list[tuple[str, Settling]]:
        """Whether the queue had settled when the window began, for each combination and algorithm."""
        found = []
        for cell, group in self.sweep.groups:
            known = [self.parts[point] for point in group if point in self.parts]
            begin, end = cell.scenario.seconds
            found.append((_name(cell, group[0].spec), settling(known, end - begin)))
        return found

    @property
    def _doubts(self) -> list[str]:
        """Return a sentence for each kind of warnings of single runs: the first one, and how many have it."""
        runs: dict[str | None, set[Point]] = {}
        first: dict[str | None, str] = {}
        for cell, group in self.sweep.groups:
            for point in group:
                for one in self.doubts.get(point, ()):
                    runs.setdefault(code_of(one), set()).add(point)
                    first.setdefault(code_of(one), f"{_name(cell, point.spec)}: {one}")
        return [
            extended(first[code], f" (such a warning in {len(found)} of {len(self.metrics)} runs)")
            for code, found in runs.items()
        ]

    def _about_warmup(self, word: Word) -> list[str]:
        """Return a sentence about the combinations with an outcome, with an example, if there are any."""
        these = [(name, one) for name, one in self.warmup if one.outcome == word]
        if not these:
            return []
        name, one = these[0]
        return [
            f"warm-up: {word} in {len(these)} of {len(self.warmup)} combinations; {name}: {sentence(one)}"
        ]

    def runs(self) -> pl.DataFrame:
        """Return one row per run: the varied keys, aqm, seed, run_id, then every metric.

        A varied key is a number if all its values are numbers without a unit (`Axis.data`), else text.
        """
        return self._runs

    @cached_property
    def _runs(self) -> pl.DataFrame:
        import polars as pl

        data = {axis.key: dict(zip(axis.values, axis.data, strict=True)) for axis in self.sweep.axes}
        rows = [
            {
                **{key: data[key][value] for key, value in cell.values},
                "aqm": point.spec,
                "seed": point.seed,
                "run_id": point.run_id,
                **metrics,
            }
            for cell, group in self.sweep.groups
            for point in group
            if (metrics := self.metrics.get(point)) is not None
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary(self) -> pl.DataFrame:
        """Return one row per combination, algorithm and metric: keys, aqm, metric, mean, ci95, n."""
        return self._summary

    @cached_property
    def _summary(self) -> pl.DataFrame:
        import polars as pl

        keys = [axis.key for axis in self.sweep.axes if axis.key != "aqm"]
        runs = self.runs()
        metrics = [name for name in runs.columns if name not in (*keys, "aqm", "seed", "run_id")]
        rows = []
        for group in runs.partition_by([*keys, "aqm"], maintain_order=True) if runs.height else ():
            head = group.select([*keys, "aqm"]).row(0)
            rows += [(*head, name, *mean_ci(group[name].to_list())) for name in metrics]
        text, number = pl.String, pl.Float64
        schema = {
            **{key: runs.schema.get(key, text) for key in keys},
            **dict.fromkeys(["aqm", "metric"], text),
            "mean": number,
            "ci95": number,
            "n": pl.UInt32,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")


def _name(cell: Cell, spec: str) -> str:
    """Return a combination and its algorithm as text."""
    return ", ".join([*(f"{key} {value}" for key, value in cell.values if key != "aqm"), spec])
