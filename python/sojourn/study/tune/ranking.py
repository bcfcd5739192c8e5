"""Ranks the settings of a table by the rank rule (`sojourn.study.tune.rank`).

This module reads the table and the file with the order within ties, and compares the result with a published
column.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sojourn import _core
from sojourn.errors import InputError, unknown
from sojourn.files.untrusted import MOST_SCENARIO, MOST_TRACE, read_bytes, read_text, reason
from sojourn.metrics import METRICS, find, nearest
from sojourn.study.tune.rank import Column, Weight, literal, printed, weigh

WEIGHTS: dict[str, Weight] = {"literal": literal, "printed": printed}
WEIGHTS_IN_WORDS = {"literal": "2^rank", "printed": "0, 2, 4, 6, 8, then 2^(rank - 2)"}


class Objective(NamedTuple):
    """A metric and its better direction."""

    metric: str
    higher: bool

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Parse ``NAME``, ``NAME:higher`` or ``NAME:lower``; Sojourn's metrics have a direction.

        Examples
        --------
        >>> Objective.parse("utilization"), Objective.parse("ftp.timeouts").higher
        (Objective(metric='utilization', higher=True), False)
        >>> Objective.parse("loss_ms:lower")
        Objective(metric='loss_ms', higher=False)
        """
        name, colon, direction = text.partition(":")
        if colon and direction not in ("higher", "lower"):
            raise unknown(direction, "a direction", ("higher", "lower"), f"metric {name}")
        own = name.rpartition(".")[2]
        known = find(name) if own in METRICS else None
        better = direction or (known.better if known is not None else "")
        if not better:
            near = None if known is not None else nearest(own)
            allowed = f"{name}:lower or {name}:higher"
            raise InputError(f"metric {name}", "has no better direction", allowed, near)
        return cls(name, better == "higher")


def weighted(text: str) -> tuple[Objective, float]:
    """Parse an objective that may end with its weight.

    Examples
    --------
    >>> weighted("utilization:3"), weighted("loss_ms:lower:0.5")[1], weighted("mean_delay_s")[1]
    ((Objective(metric='utilization', higher=True), 3.0), 0.5, 1.0)
    """
    name, _, last = text.rpartition(":")
    try:
        weight = float(last)
    except ValueError:
        return Objective.parse(text), 1.0
    if not 0 < weight < float("inf"):
        raise InputError(f"metric {name}", f"has the weight {last}", "a number above 0")
    return Objective.parse(name), weight


class Tie(NamedTuple):
    """Settings that are equal in a metric, better first, and the reason for that order."""

    metric: str
    order: tuple[str, ...]
    because: str


class Moved(NamedTuple):
    """A published number that differs from the computed one."""

    setting: str
    ours: float
    published: float


@dataclass(frozen=True)
class Ranking:
    """Settings ranked by the rank rule.

    Parameters
    ----------
    values : mapping of str to mapping of str to float
        Values by setting and metric.
    objectives : sequence of Objective
        The metrics that count.
    weight : str
        ``literal`` (2^rank) or ``printed`` (0, 2, 4, 6, 8, then 2^(rank - 2)).
    ties : sequence of Tie
        Orders within ties; other equal values share the better rank.
    """

    values: Mapping[str, Mapping[str, float]]
    objectives: Sequence[Objective]
    weight: str = "literal"
    ties: Sequence[Tie] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if self.weight not in WEIGHTS:
            raise unknown(self.weight, "a rule", WEIGHTS, "rank")
        if not self.values:
            raise InputError("settings", "are missing: there is nothing to rank")
        known = list(next(iter(self.values.values())))
        for place, names in (
            ("metric", [o.metric for o in self.objectives]),
            ("tie", [t.metric for t in self.ties]),
        ):
            for name in names:
                if name not in known:
                    raise unknown(name, "a column of the table", known, place)
        for tie in self.ties:
            if {frozenset(tie.order)}.isdisjoint(frozenset(g) for g in self.groups(tie.metric)):
                equal = "; ".join(", ".join(group) for group in self.groups(tie.metric)) or "none"
                raise InputError(
                    f"tie in {tie.metric}", f"= {', '.join(tie.order)} are not settings that tie", equal
                )

    @cached_property
    def columns(self) -> list[Column]:
        """One column per objective."""
        return [
            Column(
                {name: row[metric] for name, row in self.values.items()},
                higher,
                [tie.order for tie in self.ties if tie.metric == metric],
            )
            for metric, higher in self.objectives
        ]

    def groups(self, metric: str) -> list[list[str]]:
        """Return the settings that are equal in a metric, better ranks first."""
        higher = next((o.higher for o in self.objectives if o.metric == metric), False)
        column = Column({name: row[metric] for name, row in self.values.items()}, higher)
        return [group for group, _ in column.groups() if len(group) > 1]

    @property
    def open_ties(self) -> list[tuple[str, list[str]]]:
        """Metric and settings of each tie without a given order."""
        given = {(tie.metric, frozenset(tie.order)) for tie in self.ties}
        return [
            (metric, group)
            for metric, _ in self.objectives
            for group in self.groups(metric)
            if (metric, frozenset(group)) not in given
        ]

    @cached_property
    def ranks(self) -> list[dict[str, int]]:
        """Ranks by objective."""
        return [column.ranks() for column in self.columns]

    @cached_property
    def sums(self) -> dict[str, int]:
        """Sum of the weights of each setting's ranks: the smallest is best."""
        return weigh(self.columns, WEIGHTS[self.weight])

    @cached_property
    def places(self) -> dict[str, int]:
        """Overall place of each setting; equal sums share the better one."""
        return {name: 1 + sum(other < own for other in self.sums.values()) for name, own in self.sums.items()}

    @property
    def order(self) -> list[str]:
        """The settings, best first."""
        return sorted(self.sums, key=self.sums.__getitem__)

    def beside(self, ours: Mapping[str, int], column: str) -> list[Moved]:
        """Return the differences from a published column."""
        known = list(next(iter(self.values.values())))
        if column not in known:
            raise unknown(column, "a column of the table", known)
        return [
            Moved(name, own, self.values[name][column])
            for name, own in ours.items()
            if own != self.values[name][column]
        ]


def read_table(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Read a table of settings, CSV or Parquet: names in the first column, metrics in numeric columns.

    Raises
    ------
    InputError
        If it cannot be read, a setting occurs twice, or a number is missing.
    """
    import polars as pl

    where = os.fspath(path)
    try:
        content = read_bytes(path, MOST_TRACE)
        is_parquet = where.endswith(".parquet")
        frame = pl.read_parquet(content) if is_parquet else pl.read_csv(content, comment_prefix="#")
    except OSError as error:
        raise InputError(where, f"cannot be read: {reason(error)}") from None
    except pl.exceptions.PolarsError as error:
        raise InputError(where, f"is not a table: {str(error).splitlines()[0]}") from None
    names = frame.columns[:1]
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in names]
    if not names or not numbers:
        raise InputError(where, "is not a table of settings", "a column of names, then columns of numbers")
    found: dict[str, dict[str, float]] = {}
    for row in frame.rows(named=True):
        setting = str(row[names[0]])
        if setting in found:
            raise InputError(where, f"has the setting {setting!r} twice")
        missing = next((name for name in numbers if row[name] is None), None)
        if missing is not None:
            raise InputError(f"{where}: {setting}", f"has no {missing}")
        found[setting] = {name: float(row[name]) for name in numbers}
    return found


def read_ties(path: str | os.PathLike[str]) -> list[Tie]:
    """Read the order within ties: ``[[tie]]`` with ``metric``, ``order`` (better first) and ``because``."""
    where = os.fspath(path)
    try:
        data = tomllib.loads(read_text(path, MOST_SCENARIO))
    except OSError as error:
        raise InputError(where, f"cannot be read: {reason(error)}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(where, f"is not TOML: {error}") from None
    found = []
    for i, one in enumerate(data.get("tie", []), 1):
        place = f"{where}: tie {i}"
        keys = ("metric", "order", "because")
        if not isinstance(one, dict):
            raise InputError(place, "is not a table", "[[tie]]")
        for key in one:
            if key not in keys:
                raise InputError(
                    f"{place}: {key}", "is unknown", ", ".join(keys), _core.nearest(key, list(keys))
                )
        for key in keys:
            if not one.get(key):
                raise InputError(f"{place}: {key}", "is missing", "a metric, an order, and the reason for it")
        if not isinstance(one["order"], list):
            raise InputError(f"{place}: order", "is not a list of settings")
        found.append(Tie(str(one["metric"]), tuple(map(str, one["order"])), str(one["because"])))
    if not found:
        raise InputError(where, "has no ties", "[[tie]] tables")
    return found
