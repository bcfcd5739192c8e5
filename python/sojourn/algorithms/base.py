"""The base class of algorithms in Python; every handler is optional.

The meaning and the order of the calls are those of ``crates/aqm/src/aqm.rs``. Times are integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from sojourn import _core
from sojourn._core import DROP, MARK, PASS, drop_both
from sojourn.spec.aqm_spec import Spec, aqm

__all__ = ["CE", "DROP", "ECT0", "ECT1", "HANDLERS", "MARK", "NOT_ECT", "PASS", "Aqm", "drop_both"]

#: The ECN field of a packet, as in RFC 3168: true if the packet can carry a mark.
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3

#: The handlers that the simulator calls, with their numbers of arguments.
HANDLERS = {
    "on_offered": 3,
    "on_arrival": 4,
    "on_departure": 4,
    "on_drop": 4,
    "on_refused": 4,
    "on_idle": 1,
    "next_timer": 0,
    "on_timer": 3,
    "on_end": 1,
    "probe": 0,
}


class Aqm:
    """An active queue management algorithm.

    A subclass declares its parameters as `Param` class attributes, sets up its state in `start` and decides
    in the handlers. The docstring is its page. One instance serves one queue in one run; an object made by
    ``Mine(target="5ms")`` only holds the parameters of later runs.

    Attributes
    ----------
    probes : mapping
        State to be traced: name to meaning, or to (unit, meaning). Reported by `probe`, which unless it is
        overridden reads the attributes of these names.
    exports : mapping
        State to be stored with the results at the end of a run, read by `Results.exports`: name of an
        attribute to meaning. Numbers, text, lists and dicts of them, and arrays of numpy.
    files : list of str
        Data files that the algorithm reads, relative to the folder of its file; `file` returns their paths.
        They are stored with the results, and part of the identity of a run.
    environment : list of str
        Environment variables that it reads; their values are stored, too.
    title, source : str
        For tables: a name (else the first line of the docstring) and the source of the algorithm.
    ecn : bool
        In a run: whether ECN-capable packets are to be marked (its own ``ecn``, else the queue's).
    link : Link
        In a run: ``rate``, ``limit_packets`` or ``limit_bytes``, ``mean_packet``, ``packet_time``.

    Examples
    --------
    >>> import sojourn
    >>> class Limit(sojourn.Aqm):
    ...     limit_to = sojourn.Param("5ms", doc="Longest delay", source="a guess")
    ...
    ...     def on_departure(self, now, packet, queue, rng):
    ...         return sojourn.DROP if now - packet.arrived > self.limit_to else sojourn.PASS
    >>> Limit(limit_to="8ms").spec
    'python:Limit limit_to 8ms'
    """

    probes: ClassVar[Mapping[str, str | tuple[str, str]]] = {}
    exports: ClassVar[Mapping[str, str]] = {}
    files: ClassVar[Sequence[str]] = ()
    environment: ClassVar[Sequence[str]] = ()
    title: ClassVar[str] = ""
    source: ClassVar[str] = ""

    ecn: bool
    link: _core.Link

    #: Registers a class and returns its name in specs; set by `loader`.
    _name_of: ClassVar[Callable[[type[Aqm]], str]]
    #: Paths of the data files, by their names in `files`; set by `loader`.
    _files: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **parameters: object) -> None:
        self._spec = aqm(type(self)._name_of(type(self)), **parameters)

    @property
    def spec(self) -> Spec:
        """The canonical spec of an object that was made with parameters."""
        return self._spec

    @classmethod
    def file(cls, name: str) -> Path:
        """Return the path of a data file in `files`; when stored runs are repeated, that of its copy."""
        if name not in cls.files:
            raise ValueError(f"{name!r} is not in {cls.__name__}.files")
        return Path(cls._files[name])

    def start(self) -> None:
        """Set up the state of a run; parameters, `ecn` and `link` are set. ValueError rejects them."""

    def on_offered(self, now: int, packet: _core.Packet, queue: _core.Queue) -> None:
        """Handle the arrival of a packet, whether or not it will fit."""

    def on_arrival(
        self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng
    ) -> _core.Verdict | None:
        """Decide about an arriving packet that fits; None enqueues it."""

    def on_departure(
        self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng
    ) -> _core.Verdict | None:
        """Decide about the head at dequeue; `queue` no longer contains it. None sends it."""

    def on_drop(self, now: int, packet: _core.Packet, cause: str, queue: _core.Queue) -> None:
        """Handle a packet that the queue dropped, not this algorithm (`cause` is ``overflow``)."""

    def on_refused(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> None:
        """Handle an arriving packet that did not fit, after `on_drop`; it may draw random numbers."""

    def on_idle(self, now: int) -> None:
        """Handle the end of a transmission that leaves the queue empty."""

    def next_timer(self) -> float | None:
        """Return the time of the next `on_timer` in ns; called after `start` and after each timer."""

    def on_timer(self, now: int, queue: _core.Queue, rng: _core.Rng) -> None:
        """Handle the timer that `next_timer` set; a handler without `rng` gets no random numbers."""

    def on_end(self, now: int) -> None:
        """Handle the end of the run, with the last call; then the attributes in `exports` are stored."""

    def probe(self) -> Mapping[str, float]:
        """Return the state for plots: a number for every name in `probes`."""
        return {name: float(getattr(self, name)) for name in self.probes}

    def signal(self, packet: _core.Packet, cause: str = "early") -> _core.Verdict:
        """Return a congestion signal: a mark if ECN is on and the packet is ECN-capable, else a drop."""
        verdict = MARK if self.ecn and packet.ecn else DROP
        return verdict if cause == "early" else verdict(cause)
