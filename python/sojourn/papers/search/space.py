"""The space of readings of a paper: every assumption with its plausible values, each with its source.

A `Factor` is one thing that the paper does not state (or, marked by `Value.against`, states); its first
value is the project's own reading. A `Joint` reading of the paper is a choice of one value for each factor:
the values' changes are applied to every arm in the order of the factors. A `Space` has all factors, the
experiments that are run, and named joint readings to start from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sojourn.errors import unknown
from sojourn.papers.experiment import Experiment, Joint, Reading

#: Values other than the first, by the key of their factor; empty: the paper as the project assumes it.
Choice: TypeAlias = Mapping[str, str]
#: Name of the reading without other values.
PRIMARY = "as assumed"


@dataclass(frozen=True)
class Value:
    """One value of a factor.

    Attributes
    ----------
    id : str
        The value in a few characters: ``0.2 s``.
    source : str
        The source that makes it plausible: the text, a tool of the year, a companion paper.
    reading : Reading or None
        The changes that it makes; None for the first value, which changes nothing.
    against : str
        The printed statement that this value contradicts; empty if there is none.
    """

    id: str
    source: str
    reading: Reading | None = None
    against: str = ""


@dataclass(frozen=True)
class Factor:
    """A detail of the paper for which a joint reading chooses a value.

    Attributes
    ----------
    key : str
        Short name, unique in the space: ``window``.
    assumption : str
        Id of the assumption that it is an item of; empty for what the paper states.
    item : str
        Description of the detail.
    values : tuple of Value
        The project's own first; one to five.
    fixed : str
        The reason why there is only one value.
    """

    key: str
    assumption: str
    item: str
    values: tuple[Value, ...]
    fixed: str = ""

    def __post_init__(self) -> None:
        ids = [value.id for value in self.values]
        if not 1 <= len(ids) <= 5 or len(set(ids)) < len(ids):
            raise ValueError(f"{self.key}: one to five different values, not {ids}")
        if (len(ids) == 1) != bool(self.fixed):
            raise ValueError(f"{self.key}: one value needs a reason, several need none")
        if self.values[0].reading is not None or any(one.reading is None for one in self.values[1:]):
            raise ValueError(f"{self.key}: the first value changes nothing, every other one something")

    def value(self, name: str) -> Value:
        """Return a value by its id.

        Raises
        ------
        InputError
            If there is none.
        """
        for one in self.values:
            if one.id == name:
                return one
        raise unknown(name, f"a value of {self.key}", [one.id for one in self.values])


def fixed(key: str, assumption: str, item: str, value: str, why: str) -> Factor:
    """Return a factor with a single value and the reason for it."""
    return Factor(key, assumption, item, (Value(value, why),), fixed=why)


@dataclass(frozen=True)
class Space:
    """All factors of a paper, and the experiments that are run to compare readings.

    Attributes
    ----------
    factors : tuple of Factor
        In the order in which their changes are applied.
    experiments : tuple of str
        Ids of the experiments that are run.
    quick : bool
        Whether their arms have the durations of ``--quick``.
    shorter : str
        Description of the shortened durations; empty if none.
    starts : mapping
        Named joint readings that are tried besides the designed ones.
    """

    factors: tuple[Factor, ...]
    experiments: tuple[str, ...]
    quick: bool = False
    shorter: str = ""
    starts: Mapping[str, Choice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = [factor.key for factor in self.factors]
        if len(set(keys)) < len(keys):
            raise ValueError(f"keys of factors are not unique: {sorted(keys)}")
        for choice in self.starts.values():
            self.joint(choice)

    @property
    def free(self) -> tuple[Factor, ...]:
        """The factors with several values."""
        return tuple(factor for factor in self.factors if len(factor.values) > 1)

    @property
    def size(self) -> int:
        """The number of joint readings."""
        count = 1
        for factor in self.free:
            count *= len(factor.values)
        return count

    def of(self, experiment: Experiment) -> Space:
        """Return the part of the space that affects one experiment."""
        touching = tuple(
            factor
            for factor in self.factors
            if factor.fixed or any(one.reading.touches(experiment) for one in factor.values if one.reading)
        )
        keys = {factor.key for factor in touching}
        starts = {name: choice for name, choice in self.starts.items() if set(choice) <= keys}
        return replace(self, factors=touching, experiments=(experiment.id,), starts=starts)

    def factor(self, key: str) -> Factor:
        """Return a factor by its key.

        Raises
        ------
        InputError
            If there is none.
        """
        found = {factor.key: factor for factor in self.factors}
        if key not in found:
            raise unknown(key, "a factor", found)
        return found[key]

    def at(self, levels: tuple[int, ...]) -> Choice:
        """Return the choice with the given number of the value of each free factor; 0 is the first."""
        pairs = zip(self.free, levels, strict=True)
        return {factor.key: factor.values[level].id for factor, level in pairs if level}

    def levels(self, choice: Choice) -> tuple[int, ...]:
        """Return the number of the value of each free factor."""
        return tuple(
            [value.id for value in factor.values].index(choice.get(factor.key, factor.values[0].id))
            for factor in self.free
        )

    def joint(self, choice: Choice) -> Joint:
        """Return the reading that makes a choice."""
        values = {key: self.factor(key).value(name) for key, name in choice.items()}
        chosen = [values[factor.key] for factor in self.factors if factor.key in values]
        parts = tuple(value.reading for value in chosen if value.reading is not None)
        return Joint(self.name(choice), "; ".join(part.title for part in parts), parts=parts)

    def name(self, choice: Choice) -> str:
        """Return a choice in words: ``count admitted, window 20``."""
        keys = [factor.key for factor in self.factors]
        words = [f"{key} {choice[key]}" for key in sorted(choice, key=keys.index)]
        return ", ".join(words) or PRIMARY

    def prices(self, choice: Choice) -> list[str]:
        """Return the printed statements that a choice contradicts."""
        values = [self.factor(key).value(name) for key, name in choice.items()]
        return [value.against for value in values if value.against]

    def singles(self) -> Iterator[Choice]:
        """Yield the choices that differ from the project's own reading in one factor."""
        for factor in self.free:
            for value in factor.values[1:]:
                yield {factor.key: value.id}
