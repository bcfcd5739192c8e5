"""The registry of metrics: one entry per metric, the source of its name and unit in tables and figures.

An entry has the metric's name (a key in results and JSON), its label and unit, the unit it is displayed in,
its formula and source, whether it needs single packets, and the views that show it by default. The formulas
are in `queue`, `flows` and `transfers`; `evaluation` computes them for a record. To add a metric, write one
function there and decorate it with `metric`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from sojourn import _core
from sojourn.format import UNSCALED, Scale, scaled
from sojourn.metrics.tables import Table

Value: TypeAlias = float | None
#: Values by full name.
Metrics: TypeAlias = dict[str, Value]
Formula: TypeAlias = Callable[[Table], Value]
Scope: TypeAlias = Literal[
    "queue",
    "links",
    "flows",
    "tcp",
    "endless",
    "objects",
    "pages",
    "video",
    "arrivals",
    "datagrams",
    "echo",
    "deadline",
    "call",
    "own",
]
View: TypeAlias = Literal[
    "summary",  # the main table of a run, in the terminal and in its report
    "traffic",  # rows of the main table for each traffic, if there are several
    "class",  # rows of the main table for each traffic class
    "comparison",  # what `compare` compares by default
    "feel",  # what users of an application notice: compared for each traffic that has it
    "sweep",  # columns of the table of a sweep
    "lines",  # figures of a sweep
    "bars",  # bar charts of a report
    "worlds",  # what `compare-worlds` compares with a world of averages
    "link",  # the table of `shell`
]

PERCENT: Final = Scale(100.0, "%")
MILLISECONDS: Final = Scale(1e3, "ms")
MEGABITS: Final = Scale(1e-6, "Mbit/s")
#: Prefixes of the metrics of a queue, a class or a phase, and the word in labels.
KINDS: Final = {"queues": "queue", "classes": "class", "phases": "phase"}
#: Longest part of a metric's name that is not compared with a misspelt word, such as a unit.
MOST_SHORT: Final = 3
#: Position of a metric that sets none: after those that set one.
LAST: Final = 1000


@dataclass(frozen=True)
class Metric:
    """One statistic.

    Attributes
    ----------
    name : str
        Key in results, JSON and exported tables.
    label : str
        Name in tables, figures and sentences, without the unit.
    unit : str
        SI unit of the value; empty for a pure number.
    scope : str
        ``queue`` (a queue's own), ``links`` (of impaired links), ``flows`` (of a set of flows), ``tcp`` (of
        TCP flows), ``endless`` (of endless TCP flows), ``objects`` (of finite transfers), ``pages`` (of web
        traffic), ``video``, ``arrivals`` (of traffic whose one-way delays are recorded), ``datagrams``,
        ``echo`` (of datagrams that are returned), ``deadline`` (of datagrams with a time of use), ``call`` or
        ``own`` (of a record; `sojourn.metrics.own`).
    read : callable
        The formula.
    better : str
        ``higher``, ``lower``, or empty where neither is.
    display : Scale
        Unit of tables and figures, and the factor from `unit` to it.
    digits : int
        Significant digits of a value without an interval.
    needs_packets : bool
        Whether it is null in a world that computes averages instead of single packets.
    views : frozenset of str
        Tables and figures that show it by default.
    position : int
        Order within a view, ascending; equal positions keep the order of the registry.
    per_class : bool
        Whether it is also computed for each traffic class at the measured queue.
    """

    name: str
    label: str
    unit: str
    scope: Scope
    formula: str
    source: str
    read: Formula
    better: Literal["", "higher", "lower"]
    display: Scale
    digits: int
    needs_packets: bool
    views: frozenset[View]
    position: int
    per_class: bool

    @property
    def heading(self) -> str:
        """The label with the displayed unit, as in ``mean delay (ms)``."""
        return f"{self.label} ({self.display.unit})" if self.display.unit else self.label


METRICS: dict[str, Metric] = {}
#: Metrics of one's own that a command or call has loaded (`sojourn.metrics.own`), in this context.
OWN: ContextVar[Mapping[str, Metric]] = ContextVar("own", default=MappingProxyType({}))


def metric(
    name: str,
    label: str,
    unit: str,
    scope: Scope,
    *,
    formula: str,
    source: str,
    better: Literal["", "higher", "lower"] = "",
    display: Scale | None = None,
    digits: int = 4,
    needs_packets: bool = False,
    views: tuple[View, ...] = (),
    position: int = LAST,
    per_class: bool = False,
) -> Callable[[Formula], Formula]:
    """Register the decorated function as the formula of a metric; see `Metric` for the parameters."""

    def add(read: Formula) -> Formula:
        METRICS[name] = Metric(
            name=name,
            label=label,
            unit=unit,
            scope=scope,
            formula=formula,
            source=source,
            read=read,
            better=better,
            display=display or Scale(1.0, unit),
            digits=digits,
            needs_packets=needs_packets,
            views=frozenset(views),
            position=position,
            per_class=per_class,
        )
        return read

    return add


def shown(view: View) -> list[str]:
    """Return the names of the metrics of a view, in order."""
    found = [one for one in METRICS.values() if view in one.views]
    return [one.name for one in sorted(found, key=lambda one: one.position)]


def per_class() -> list[str]:
    """Return the metrics that exist for each traffic class, as ``classes.NUMBER.METRIC``."""
    return [name for name, one in METRICS.items() if one.per_class]


def find(name: str) -> Metric | None:
    """Return the metric of a full name: ``ftp.goodput_bps`` is ``goodput_bps``."""
    return METRICS.get(name) or OWN.get().get(name) or METRICS.get(name.rpartition(".")[2])


def nearest(word: str) -> str | None:
    """Return the metric that was probably meant by a word: by its name, or by one word of it.

    Examples
    --------
    >>> nearest("mean_dealy_s"), nearest("dealy"), nearest("goodptu"), nearest("nothing")
    ('mean_delay_s', 'mean_delay_s', 'goodput_bps', None)
    """
    if (whole := _core.nearest(word, list(METRICS))) is not None:
        return whole
    words = dict.fromkeys(part for name in METRICS for part in name.split("_") if len(part) > MOST_SHORT)
    part = _core.nearest(word, list(words)) if len(word) > MOST_SHORT else None
    return None if part is None else _core.nearest(part, list(METRICS))


def label(name: str) -> str:
    """Return the label of a metric by its full name.

    Examples
    --------
    >>> import sojourn.metrics
    >>> label("mean_queue_packets"), label("ftp.goodput_bps"), label("classes.1.drop_ratio")
    ('mean queue', 'ftp: goodput', 'class 1: drop ratio')
    >>> label("settling_time_s")
    'settling time'
    """
    group, _, own = name.rpartition(".")
    known = METRICS.get(own) or OWN.get().get(name)
    if known is not None:
        text = known.label
    else:
        suffix = next((one for one in ("_packets", "_bps", "_s") if own.endswith(one)), "")
        text = own.removesuffix(suffix).replace("_", " ")
    kind, _, member = group.partition(".")
    if member and kind in KINDS:
        group = (
            f"{KINDS[kind]} {member.replace('.', ', ')}" if kind == "phases" else f"{KINDS[kind]} {member}"
        )
    return f"{group}: {text}" if group else text


def display(name: str) -> Scale:
    """Return the displayed unit of a metric by its full name, and the factor to it."""
    known = find(name)
    return known.display if known is not None else UNSCALED


def heading(name: str) -> str:
    """Return label and displayed unit of a metric by its full name.

    Examples
    --------
    >>> import sojourn.metrics
    >>> heading("ftp.goodput_bps"), heading("timeouts")
    ('ftp: goodput (Mbit/s)', 'timeouts')
    """
    unit = display(name).unit
    return f"{label(name)} ({unit})" if unit else label(name)


def text(name: str, value: Value, half_width: Value = None, digits: int = 3) -> str:
    """Return a value of a metric in its displayed unit, such as ``38.2 ± 0.4 ms``."""
    return scaled(value, display(name), half_width, digits)
