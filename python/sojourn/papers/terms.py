"""The quantities in a claim: one value per seed, taken from a run or computed from several runs.

A claim such as "RAQM's queue varies less than PI's" compares two *terms*. A `Quantity` is a metric of one
arm of an experiment; a `Derived` is a function of several quantities of the same seed. Both name the arms
that they need, so that the right runs (and only those) are repeated when a claim needs more seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

#: Origin of a value: (experiment id, arm name).
Source: TypeAlias = tuple[str, str]

#: A metric with this suffix is 1 if the metric of that name was not reached before the end of the run.
CENSORED = "_censored"


class Samples(Protocol):
    """Metrics of runs, by experiment, arm and seed."""

    def values(self, experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        """Return the metric of every seed that was run; None if it is unknown for a run."""
        ...


class Term(Protocol):
    """One number per seed."""

    @property
    def what(self) -> str:
        """The quantity: ``mean queue``."""
        ...

    @property
    def who(self) -> str:
        """The arm: ``RAQM``; empty if ``what`` includes it."""
        ...

    @property
    def label(self) -> str:
        """Both together."""
        ...

    @property
    def sources(self) -> frozenset[Source]:
        """The arms it is computed from."""
        ...

    def values(self, samples: Samples) -> Mapping[int, float | None]:
        """Return its value for every seed common to all of its arms."""
        ...

    def censored(self, samples: Samples) -> Mapping[int, bool]:
        """Return for the same seeds whether the value means "never reached"."""
        ...


@dataclass(frozen=True)
class Quantity:
    """A metric of one arm.

    Attributes
    ----------
    metric : str
        Its name.
    arm : str
        The arm's name within the experiment.
    experiment : str
        The experiment's id.
    unit : str
        Its unit, for tables.
    title : str
        The title of the metric.
    note : str
        Difference from the same metric of the same arm in another experiment.
    """

    metric: str
    arm: str
    experiment: str
    unit: str = ""
    title: str = ""
    note: str = ""

    @property
    def what(self) -> str:
        """The title of the metric."""
        return self.title or self.metric

    @property
    def who(self) -> str:
        """The arm."""
        return f"{self.arm} ({self.note})" if self.note else self.arm

    @property
    def label(self) -> str:
        """``mean queue of RAQM``."""
        return f"{self.what} of {self.who}"

    @property
    def sources(self) -> frozenset[Source]:
        """The one arm."""
        return frozenset({(self.experiment, self.arm)})

    def values(self, samples: Samples) -> Mapping[int, float | None]:
        """Return the metric by seed."""
        return samples.values(self.experiment, self.arm, self.metric)

    def censored(self, samples: Samples) -> Mapping[int, bool]:
        """Return the companion metric by seed; all False where there is none."""
        flags = samples.values(self.experiment, self.arm, self.metric + CENSORED)
        return {seed: bool(flags.get(seed)) for seed in self.values(samples)}


@dataclass(frozen=True)
class Derived:
    """A number computed from several quantities of the same seed.

    Attributes
    ----------
    what : str
        The quantity.
    of : tuple of Quantity
        The arguments, in order.
    function : callable
        Takes the values in order; returns the number, or None if it is undefined. It is not called for seeds
        with an unknown argument.
    unit : str
        Its unit.
    who : str
        The arm, if `what` does not name it.
    unknown : str
        The meaning of None, for the reason of a finding.
    """

    what: str
    of: tuple[Quantity, ...]
    function: Callable[..., float | None]
    unit: str = ""
    who: str = ""
    unknown: str = ""

    @property
    def label(self) -> str:
        """The quantity and the arm."""
        return f"{self.what} of {self.who}" if self.who else self.what

    @property
    def sources(self) -> frozenset[Source]:
        """All arms of all arguments."""
        return frozenset().union(*(quantity.sources for quantity in self.of))

    def values(self, samples: Samples) -> Mapping[int, float | None]:
        """Return the number by seed, for the seeds common to all arguments."""
        return {seed: self._one(row) for seed, row in together(samples, self.of)}

    def _one(self, row: tuple[float | None, ...]) -> float | None:
        known = [value for value in row if value is not None]
        return self.function(*known) if len(known) == len(row) else None

    def censored(self, samples: Samples) -> Mapping[int, bool]:
        """Return whether any argument is censored."""
        flags = [quantity.censored(samples) for quantity in self.of]
        return {seed: any(flag.get(seed, False) for flag in flags) for seed in self.values(samples)}


def together(samples: Samples, terms: tuple[Term, ...]) -> Iterator[tuple[int, tuple[float | None, ...]]]:
    """Yield (seed, values of all terms) for the seeds common to all terms, in order of seeds."""
    columns = [term.values(samples) for term in terms]
    if not columns:
        return
    for seed in sorted(set(columns[0]).intersection(*columns[1:])):
        yield seed, tuple(column[seed] for column in columns)
