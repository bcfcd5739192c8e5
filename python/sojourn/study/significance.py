"""Orders settings by significant differences: each pair is compared on the same seeds, in every aim.

A setting wins against another in an aim if the difference, paired by seed, is significant after Holm's
correction over all pairs and aims, and is large enough to matter: at least one percentage point of a share
(`SHARE`), or 5 % of any other quantity (`RELATIVE`). Its score is the number of its wins minus the number of
its losses, each times the weight of the aim. Settings that miss a requirement come after all that meet them.
Between equal scores the order of the input decides, so that nothing is replaced without evidence.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sojourn.errors import InputError
from sojourn.metrics import display, find, label, text
from sojourn.spec.units import Wrong, number
from sojourn.stats import holm, mean, mean_ci, paired

#: Smallest difference of a share, such as utilization, and of another quantity, that counts.
SHARE = 0.01
RELATIVE = 0.05
ERROR = 0.05
_REQUIREMENT = re.compile(r"^\s*([A-Za-z][\w.-]*)\s*(>=|<=)\s*(\S.*?)\s*$")
_KINDS = {"s": "span", "bit/s": "rate"}


class Aim(NamedTuple):
    """A metric, its better direction, and the weight of a win in it."""

    metric: str
    higher: bool
    weight: float = 1.0
    is_share: bool = False

    def counts(self, first: float, second: float) -> bool:
        """Return whether a difference of two means is large enough to matter.

        Examples
        --------
        >>> Aim("utilization", True, is_share=True).counts(0.913, 0.865)
        True
        >>> Aim("mean_delay_s", False).counts(8.2e-3, 7.97e-3)
        False
        """
        if self.is_share:
            return abs(first - second) >= SHARE
        return abs(first - second) >= RELATIVE * max(abs(first), abs(second)) > 0


def is_share(metric: str) -> bool:
    """Return whether the values of a metric are shares, shown in per cent."""
    return display(metric).unit == "%"


class Requirement(NamedTuple):
    """A limit of a metric: at least (``>=``) or at most (``<=``) a value in SI units."""

    metric: str
    at_least: bool
    limit: float

    @classmethod
    def parse(cls, words: str) -> Requirement:
        """Parse ``utilization >= 99%`` or ``p99_delay_s <= 20ms``.

        Examples
        --------
        >>> Requirement.parse("p99_delay_s <= 20ms")
        Requirement(metric='p99_delay_s', at_least=False, limit=0.02)
        """
        match = _REQUIREMENT.match(words)
        if match is None:
            raise InputError(
                "--require",
                f"= {words!r} is not a requirement",
                "METRIC >= VALUE or METRIC <= VALUE, like 'utilization >= 99%'",
            )
        metric, sign, value = match.groups()
        return cls(metric, sign == ">=", _value(metric, value))

    def met(self, value: float) -> bool:
        """Return whether a value meets it."""
        return value >= self.limit if self.at_least else value <= self.limit

    def verdict(self, values: Sequence[float | None]) -> str:
        """Return ``met`` or ``missed`` if the 95 % interval of the mean says so, else ``not decided``."""
        found = mean_ci(values)
        if found.mean is None or found.ci95 is None:
            return "not decided"
        ends = {self.met(found.mean - found.ci95), self.met(found.mean + found.ci95)}
        return "not decided" if len(ends) > 1 else "met" if True in ends else "missed"

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.at_least else '<='} {text(self.metric, self.limit, digits=4)}"


def _value(metric: str, word: str) -> float:
    found = find(metric)
    unit = "" if found is None else found.unit
    where, percent = f"--require {metric}", word.removesuffix("%").strip()
    try:
        if unit in _KINDS:
            return float(number(_KINDS[unit], word)) / (1e9 if unit == "s" else 1.0)
        if is_share(metric) and word.endswith("%"):
            return float(percent) / 100
        return float(word.removesuffix("p") if unit == "packets" else word)
    except Wrong as wrong:
        raise InputError(where, wrong.problem, wrong.allowed) from None
    except ValueError:
        allowed = "a share, like 99% or 0.99" if is_share(metric) else f"a number{unit and f' ({unit})'}"
        raise InputError(where, f"= {word!r} is not a value of {label(metric)}", allowed) from None


@dataclass(frozen=True)
class Standings:
    """Settings in order, with the wins and losses of each.

    Parameters
    ----------
    values : mapping of str to mapping of str to sequence of float
        By setting and metric, one value a seed; all settings have the same seeds.
    aims : sequence of Aim
        The metrics that count.
    requirements : sequence of Requirement
        Limits that the means must meet.
    """

    values: Mapping[str, Mapping[str, Sequence[float]]]
    aims: Sequence[Aim]
    requirements: Sequence[Requirement] = ()

    @cached_property
    def records(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Wins and losses by setting and metric."""
        found = {name: {aim.metric: [0, 0] for aim in self.aims} for name in self.values}
        tests = [(aim, *pair) for aim in self.aims for pair in itertools.combinations(self.values, 2)]
        effects = [paired(self.values[a][aim.metric], self.values[b][aim.metric]) for aim, a, b in tests]
        corrected = holm([effect.p for effect in effects])
        for (aim, a, b), effect, p in zip(tests, effects, corrected, strict=True):
            if effect.mean is None or p is None or p >= ERROR:
                continue
            if aim.counts(self.mean(a, aim.metric), self.mean(b, aim.metric)):
                winner, loser = (b, a) if (effect.mean > 0) == aim.higher else (a, b)
                found[winner][aim.metric][0] += 1
                found[loser][aim.metric][1] += 1
        return {
            name: {metric: (won, lost) for metric, (won, lost) in row.items()} for name, row in found.items()
        }

    def mean(self, name: str, metric: str) -> float:
        """Return the mean of a setting over the seeds."""
        return mean(self.values[name][metric])

    @cached_property
    def scores(self) -> dict[str, float]:
        """Weighted wins minus losses of each setting: the largest is best."""
        return {
            name: sum(aim.weight * (row[aim.metric][0] - row[aim.metric][1]) for aim in self.aims)
            for name, row in self.records.items()
        }

    def missed(self, name: str) -> list[Requirement]:
        """Return the requirements that the means of a setting miss."""
        return [one for one in self.requirements if not one.met(self.mean(name, one.metric))]

    @cached_property
    def order(self) -> list[str]:
        """The settings, best first."""
        return sorted(self.scores, key=lambda name: (len(self.missed(name)), -self.scores[name]))

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each setting; equal ones share the better place."""
        keys = {name: (len(self.missed(name)), -self.scores[name]) for name in self.scores}
        return {name: 1 + sum(other < own for other in keys.values()) for name, own in keys.items()}
