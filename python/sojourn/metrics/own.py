"""Metrics of one's own: functions of a record, in a file that the user names or in Python.

A metric is a function with one argument, a `sojourn.Record`, that returns a number or None. Its name is that
of the function. It is computed from records after their runs, stored ones too, and is not stored with them:
ids of runs and of results do not depend on it.
"""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from sojourn import arguments
from sojourn.algorithms import function_of
from sojourn.errors import InputError
from sojourn.format import Scale
from sojourn.metrics.registry import LAST, METRICS, OWN, Metric, Metrics, Value
from sojourn.metrics.tables import Table
from sojourn.record import Record

Function: TypeAlias = Callable[[Record], Value]
F = TypeVar("F", bound=Callable[[Record], Any])
#: The attribute of a function with what `metric` states about it.
STATED = "_sojourn_metric"
#: Tables over time, which a sweep does not store.
OVER_TIME = ("series", "drops", "cwnd", "packets", "flow_series")


@dataclass(frozen=True)
class Stated:
    """What `metric` states about a function."""

    unit: str = ""
    label: str = ""
    better: Literal["", "higher", "lower"] = ""
    display: Scale | None = None


@dataclass(frozen=True)
class Own:
    """A metric of one's own.

    Attributes
    ----------
    name : str
        Name in results: that of the function.
    read : callable
        The function.
    source : str
        ``FILE.py:NAME``, or empty for a function in Python.
    sha256 : str
        Hash of the file; empty without one.
    """

    name: str
    read: Function
    source: str = ""
    sha256: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest states about it."""
        return {"name": self.name, "source": self.source or "python", "sha256": self.sha256}


def metric(
    unit: str = "",
    label: str = "",
    better: Literal["", "higher", "lower"] = "",
    display: tuple[float, str] | None = None,
) -> Callable[[F], F]:
    """State unit, label and direction of a metric of one's own.

    Parameters
    ----------
    unit : str
        Unit of the values; empty for a pure number.
    label : str
        Name in tables and sentences; the name of the function if empty.
    better : {"", "higher", "lower"}
        Which direction is better; empty where neither is.
    display : (float, str), optional
        Factor from the unit to that of tables, and that unit, such as ``(1e3, "ms")``.

    Examples
    --------
    >>> @metric(unit="s", better="lower", display=(1e3, "ms"))
    ... def largest_delay(record):
    ...     return record.queues[0]["delay_max_ns"] / 1e9
    """
    arguments.word(better, "better", ("", "higher", "lower"))
    scale = None if display is None else Scale(*display)

    def add(function: F) -> F:
        setattr(function, STATED, Stated(unit, label, better, scale))
        return function

    return add


def is_own(name: object) -> bool:
    """Return whether a metric is named as ``FILE.py:NAME``, or is a function."""
    if isinstance(name, str):
        return name.rpartition(":")[0].endswith(".py")
    return isinstance(name, Own) or callable(name)


def load(names: Iterable[str | Function | Own]) -> tuple[list[str], list[Own]]:
    """Load the metrics of one's own among `names`; return the names of all in results, and these metrics.

    Parameters
    ----------
    names : iterable of str, callable or Own
        Names of metrics, ``FILE.py:NAME``, functions, or metrics that are loaded.

    Raises
    ------
    InputError
        If a function does not exist, has other arguments, has the name of another metric, or is in a file
        that may not be executed.
    """
    found: list[str] = []
    own: list[Own] = []
    for one in names:
        if not is_own(one):
            found.append(str(one))
            continue
        new = _of(one)
        if any(other.name == new.name and other.read is not new.read for other in own):
            raise InputError(f"metric {one!r}", f"has the name of another: {new.name}", "another name")
        found.append(new.name)
        own.append(new)
        _register(new)
    return found, own


def _of(one: str | Function | Own) -> Own:
    if isinstance(one, Own):
        return one
    source = one if isinstance(one, str) else ""
    if isinstance(one, str):
        function, sha256 = function_of(one)
    else:
        function, sha256 = one, ""
    name = source.rpartition(":")[2] or getattr(function, "__name__", "")
    where = f"metric {source or name!r}"
    if name in METRICS or not name.isidentifier():
        problem = "has the name of a metric of Sojourn" if name in METRICS else "has no name"
        raise InputError(where, problem, "def ANOTHER_NAME(record): ...")
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        raise InputError(where, "has other arguments than a metric", f"def {name}(record)") from None
    return Own(name, function, source, sha256)


def _register(own: Own) -> None:
    """Make label and unit known to tables, in this context."""
    stated: Stated = getattr(own.read, STATED, Stated())
    text = inspect.getdoc(own.read) or ""

    def read(table: Table) -> Value:
        return own.read(table.record)

    known = Metric(
        name=own.name,
        label=stated.label or own.name.replace("_", " "),
        unit=stated.unit,
        scope="own",
        formula=text.partition("\n")[0].rstrip("."),
        source=own.source,
        read=read,
        better=stated.better,
        display=stated.display or Scale(1.0, stated.unit),
        digits=4,
        needs_packets=False,
        views=frozenset(),
        position=LAST,
        per_class=False,
    )
    OWN.set({**OWN.get(), own.name: known})


def measure(own: Sequence[Own], record: Record, where: str, stored: bool = True) -> Metrics:
    """Return the values of metrics for a record.

    Parameters
    ----------
    own : sequence of Own
        The metrics.
    record : Record
        The record.
    where : str
        The run, for messages.
    stored : bool
        Whether tables over time are stored; without them, a metric that reads one is an error, so that
        values do not depend on whether a run is new.

    Raises
    ------
    InputError
        If a function fails or returns something else than a finite number or None.
    """
    given = record if stored else Record(_Counters(record.data), record.plan)
    return {one.name: _value(one, given, where) for one in own}


def _value(own: Own, record: Record, where: str) -> Value:
    place = f"metric {own.source or own.name!r}"
    try:
        value = own.read(record)
    except InputError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno for one in frames if own.source.startswith(f"{one.filename}:")]
        line = f"line {lines[-1]}: " if lines else ""
        raise InputError(place, f"failed on {where}: {line}{type(error).__name__}: {error}") from error
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(place, f"returned {value!r} on {where}", "a finite number, or None if it is unknown")
    return number


class _Counters(Mapping[str, Any]):
    """The data of a record without its tables over time."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        if key in OVER_TIME:
            raise InputError(key, "is not stored by a sweep", "counters and flows; or sojourn run")
        return self._data[key]

    def __iter__(self) -> Any:
        return (key for key in self._data if key not in OVER_TIME)

    def __len__(self) -> int:
        return sum(1 for _ in self)
