"""The gateway: forwards real packets between namespaces through a queue and returns a record.

Hosts are on the left or on the right of a bottleneck. Packets from left to right pass the queue
``left-right``, those in the other direction the queue ``right-left``. Each queue has a link (a constant or
varying rate and a propagation delay), a limit, and an algorithm or scheduler, the same code as in the
simulator. Each host may have an access link. A native thread, with real-time priority if permitted, forwards
the packets.

    left, right = Namespace("left"), Namespace("right")
    devices = {
        "left": open_tun(left, "left", ["10.0.1.1/32"], ["10.0.0.0/8"]),
        "right": open_tun(right, "right", ["10.0.2.1/32"], ["10.0.0.0/8"]),
    }
    hosts = [
        Host("client", "left", devices["left"], ["10.0.1.1"], delay="5ms"),
        Host("server", "right", devices["right"], ["10.0.2.1"]),
    ]
    with Gateway(
        hosts,
        forward=Link("10Mbit/s", "20ms", "100p", "pie", ecn=True),
        backward=Link("10Mbit/s", "20ms"),
        traffic=[Match("ftp", ports=[(5201, 5201)])],
        duration="10s",
        warmup="2s",
    ) as gateway:
        ...                          # start programs: left.popen(["iperf3", ...])
        record = gateway.finish()    # waits for the end; a sojourn.record.Record
    sojourn.metrics.compute(record)["ftp.goodput_bps"]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from sojourn import _core
from sojourn.errors import InputError, RunFailed, from_core
from sojourn.metrics import percentile
from sojourn.record import Record, transport
from sojourn.spec.aqm_spec import canonical
from sojourn.spec.schema import USUAL_CONVENTIONS
from sojourn.spec.units import Wrong, number
from sojourn.warning_codes import coded
from sojourn.worlds.real.tun import Tun

if TYPE_CHECKING:
    import polars as pl

#: Names of the two queues, unless the sides have names of their own.
FORWARD, BACKWARD = "left-right", "right-left"
#: The classes of assured forwarding: code point AFnd is 8 n + 2 d (RFC 2597), its class 3 (n - 1) + d - 1.
ASSURED = {8 * n + 2 * d: 3 * (n - 1) + d - 1 for n in range(1, 5) for d in range(1, 4)}
#: Real-time priority of the gateway's thread, if permitted.
PRIORITY = 50
#: A 99th percentile of lateness above this causes a warning, ns.
LATE = 1_000_000
#: The "protocol" of a row of the record for all connections beyond the limit of the gateway.
REST = 255
#: A larger share of packets without a reported arrival causes a warning.
UNREPORTED = 0.01
#: Stalls that exceed this share of the window cause a warning.
STALLED = 0.01


@dataclass(frozen=True)
class Host:
    """A host on one side of the bottleneck.

    Parameters
    ----------
    name : str
        For messages.
    side : {"left", "right"}
        Its side of the bottleneck.
    device : Tun
        Its device; several hosts with different addresses may share one.
    addresses : sequence of str
        ``10.0.0.1``, or prefixes: ``10.0.0.0/24``, ``::/0``. The longest match counts.
    delay : str
        Propagation delay between it and the bottleneck, per direction: ``10ms``.
    rate : str, optional
        Rate of that link, per direction; None: unlimited.
    """

    name: str
    side: Literal["left", "right"]
    device: Tun
    addresses: Sequence[str]
    delay: str = "0s"
    rate: str | None = None


@dataclass(frozen=True)
class Link:
    """One direction of the bottleneck.

    Parameters
    ----------
    rate : str
        ``10Mbit/s``; with `capacity` the nominal rate for algorithms.
    delay : str
        Propagation delay.
    limit : str
        Limit of the queue: ``100p`` or ``120kB``; a ``limit`` in `aqm` takes precedence.
    aqm : str
        Spec of an algorithm or scheduler.
    ecn : bool
        Whether the algorithm marks ECN-capable packets.
    capacity : mapping, optional
        A varying rate, as in the simulator's plan (``sojourn.spec.link_trace.capacity``).
    impairment : mapping, optional
        What the wire does to packets, as in the simulator's plan (``sojourn.spec.impairment.impairment``).
    """

    rate: str
    delay: str = "0s"
    limit: str = "1000p"
    aqm: str = "droptail"
    ecn: bool = False
    capacity: Mapping[str, Any] | None = None
    impairment: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Match:
    """A rule that assigns packets to a traffic; the first match counts.

    Packets without a match are the traffic ``other``, and neither ``tcp`` nor ``udp``.

    Parameters
    ----------
    name : str
        The traffic's name, as in a scenario: metrics are called ``NAME.goodput_bps``.
    kind : str
        Kind in the plan: ``tcp`` (long flows), ``tcp_short``, ``web``, ``udp_cbr``, ...; sets the protocol.
    ports : sequence of (int, int)
        Ranges of ports of either end; empty: any.
    addresses : sequence of str
        Prefixes of the address of either end; empty: any.
    class_ : int, optional
        The traffic class of its packets, for RIO and BIO; None: from their DSCP.
    reverse : bool
        Whether its data flows from right to left.
    """

    name: str
    kind: str = "tcp"
    ports: Sequence[tuple[int, int]] = ()
    addresses: Sequence[str] = ()
    class_: int | None = None
    reverse: bool = False


@dataclass(frozen=True)
class Live:
    """State of a running gateway: counters of the forward and the backward queue since the start."""

    seconds: float
    queues: Sequence[Mapping[str, float]]
    tally: Mapping[str, int]
    is_realtime: bool
    gone: int


@dataclass
class Gateway:
    """A gateway that runs from construction to ``finish`` or the end of the ``with`` block.

    Parameters
    ----------
    hosts : sequence of Host
        At least one on each side.
    forward, backward : Link
        The bottleneck from left to right, and from right to left.
    traffic : sequence of Match
        The rules that assign packets to traffic.
    duration : str, optional
        End of the record; None: at ``finish``.
    warmup : str
        Start of the statistics.
    interval : str, optional
        Sampling interval; None: no series. Without a `duration` it doubles whenever there are 100,000
        samples.
    seed : int
        Seed of the algorithms' random numbers.
    measured : str, optional
        The measured queue; None: the one that carried more bytes.
    overhead : int
        Bytes of framing added to the length of each packet (14 for Ethernet, as Linux counts).
    mean_packet : int
        Mean packet size on the wire, for algorithms.
    classes : mapping of int to int
        Traffic class of DiffServ code points; the others have class 0.
    conventions : str
        Set of defaults of algorithms: ``linux``, ``rfc``, ``ns2``, ``ns2-2001``.
    priority : int
        Real-time priority, if permitted; 0: none.
    names : (str, str)
        Names of the sides: the queues are called ``left-right`` and ``right-left``.

    Raises
    ------
    InputError
        For an invalid parameter, before a packet is forwarded.
    """

    hosts: Sequence[Host]
    forward: Link
    backward: Link
    traffic: Sequence[Match] = ()
    duration: str | None = None
    warmup: str = "0s"
    interval: str | None = "10ms"
    seed: int = 1
    measured: str | None = None
    overhead: int = 0
    mean_packet: int = 1500
    classes: Mapping[int, int] = field(default_factory=lambda: ASSURED)
    conventions: str = USUAL_CONVENTIONS
    priority: int = PRIORITY
    names: tuple[str, str] = ("left", "right")

    def __post_init__(self) -> None:
        self._devices = list(dict.fromkeys(host.device for host in self.hosts))
        self._dropped = [device.kernel_drops() for device in self._devices]
        self._names = [*self.traffic, Match("other", "other")]
        try:
            self._core = _core.Gateway(json.dumps(self._plan()))
        except _core.PlanError as error:
            raise from_core(error) from None
        except OSError as error:
            raise RunFailed(f"device {error.strerror or error}") from None

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def live(self) -> Live | None:
        """Return the current state; None after ``finish``."""
        now = self._core.live()
        if now is None:
            return None
        return Live(now["now_ns"] / 1e9, now["queues"], now["tally"], now["is_realtime"], now["gone"])

    @property
    def finished(self) -> bool:
        """Whether its duration has elapsed, or it was stopped."""
        return self._core.finished

    def stop(self) -> None:
        """Stop forwarding."""
        self._core.stop()

    def finish(self) -> Record:
        """Wait for the end and return the record; without a duration, stop now.

        Its ``data`` has the keys of a simulation's, and ``lateness`` (a histogram of the lateness of packets,
        counted from their arrival: ``edges_ns``, ``counts``), ``waiting`` (the same of the time that they
        waited before they were read), ``standstill_ns`` (total time in the window in which the gateway could
        not run, in stalls of more than a millisecond), ``tally`` (packets outside the queues) and
        ``kernel_drops`` (by device).

        Raises
        ------
        RunFailed
            If packets were not conserved.
        """
        if self.duration is None:
            self.stop()
        try:
            data = self._core.finish()
        except _core.ConservationError as error:
            raise RunFailed(f"packets were not conserved: {error}") from None
        except _core.AlgorithmError as error:
            raise RunFailed(str(error)) from None
        data["kernel_drops"] = {
            f"{device.namespace.name}/{device.name}": device.kernel_drops() - before
            for device, before in zip(self._devices, self._dropped, strict=True)
        }
        return Record(data, self.record_plan)

    @property
    def record_plan(self) -> dict[str, Any]:
        """The part of a plan that a record needs: names and kinds of the traffic."""
        return {
            "traffic": [
                {"name": one.name, "kind": {one.kind: {}}, "reverse": one.reverse} for one in self._names
            ]
        }

    def _plan(self) -> dict[str, Any]:
        left, right = self.names
        queues = (f"{left}-{right}", f"{right}-{left}")
        if self.measured not in (None, *queues):
            raise InputError("measured", f"= {self.measured!r} is not a queue", ", ".join(queues))
        return {
            "duration": None if self.duration is None else _read("span", self.duration, "duration"),
            "warmup": _read("span", self.warmup, "warmup"),
            "interval": 0 if self.interval is None else _read("span", self.interval, "interval"),
            "seed": self.seed,
            "devices": [
                {
                    "name": one.name,
                    "fd": one.fd,
                    "tap": None if one.tap is None else {"fd": one.tap.fileno(), "device": one.index},
                }
                for one in self._devices
            ],
            "hosts": [
                {
                    "name": host.name,
                    "device": self._devices.index(host.device),
                    "side": host.side,
                    "addresses": list(host.addresses),
                    "rate": None if host.rate is None else _read("rate", host.rate, f"{host.name}.rate"),
                    "delay": _read("span", host.delay, f"{host.name}.delay"),
                }
                for host in self.hosts
            ],
            "forward": _link(self.forward, left, right),
            "backward": _link(self.backward, right, left),
            "measured": None if self.measured is None else queues.index(self.measured),
            "rules": [
                {
                    "name": one.name,
                    "transport": transport(one.kind),
                    "ports": [list(pair) for pair in one.ports],
                    "addresses": list(one.addresses),
                    "class": one.class_,
                }
                for one in self.traffic
            ]
            + [{"name": "other"}],
            "classes": sorted(self.classes.items()),
            "overhead": self.overhead,
            "mean_packet": self.mean_packet,
            "conventions": self.conventions,
            "priority": self.priority,
        }


def _read(kind: str, word: str, key: str) -> int:
    try:
        return int(number(kind, word))
    except Wrong as error:
        raise InputError(key, error.problem, error.allowed) from None


def _link(link: Link, start: str, end: str) -> dict[str, Any]:
    name = f"{start}-{end}"
    return {
        "from": start,
        "to": end,
        "rate": _read("rate", link.rate, f"{name}.rate"),
        "delay": _read("span", link.delay, f"{name}.delay"),
        "capacity": link.capacity,
        "impairment": link.impairment,
        "queue": {"limit": link.limit, "aqm": canonical(link.aqm), "ecn": link.ecn},
    }


def lateness(record: Record, share: float = 0.99) -> float | None:
    """Return the `share` quantile of the packets' lateness in seconds.

    None if no packet was written, or the record is from another world.
    """
    return _quantile(record.lateness, share)


def waiting(record: Record, share: float = 0.99) -> float | None:
    """Return the `share` quantile of the time, in seconds, that packets waited in a device to be read.

    None if no packet was read, or the record is from another world.
    """
    return _quantile(record.waiting, share)


def _quantile(histogram: pl.DataFrame, share: float) -> float | None:
    value = percentile(histogram["edge"].to_list(), histogram["count"].to_list(), share)
    return None if value is None else value / 1e9


def stall_warning(subject: str, time: int, record: Record) -> list[str]:
    """Return a warning if `subject` could not run for `time` (ns), more than `STALLED` of the window."""
    start, end = record.window
    share = time / 1e9 / (end - start) if end > start else 0.0
    if share <= STALLED:
        return []
    text = (
        f"the machine stalled: {subject} could not run for {time / 1e6:.0f} ms of {end - start:.3g} s, and "
        "the link may have been idle in that time; repeat the run, if possible on an idle machine"
    )
    return [coded("W17", text)]


def run_warnings(record: Record) -> list[str]:
    """Return reasons to doubt the results of a record of the real world."""
    found = []
    late = lateness(record)
    if late is not None and late * 1e9 > LATE:
        text = (
            f"the host could not keep up: 1 packet in 100 was more than {late * 1e3:.1f} ms late; "
            "use a lower rate, or an idle machine"
        )
        found.append(coded("W18", text))
    waited = waiting(record)
    if waited is not None and waited * 1e9 > LATE:
        text = (
            f"1 packet in 100 waited more than {waited * 1e3:.1f} ms before the gateway read it; it entered "
            "the queue at the time of its arrival, but left late"
        )
        found.append(coded("W32", text))
    found += stall_warning("the gateway", record.data["standstill_ns"], record)
    start, end = record.window
    if end <= start > 0:
        found.append(coded("W19", "the warm-up was not over at the end: there are no statistics"))
    if any(protocol == str(REST) for protocol, *_ in record.data.get("ends", ())):
        text = "there were too many connections to distinguish: the last ones count as one per traffic"
        found.append(coded("W20", text))
    lost = {name: count for name, count in record.data.get("kernel_drops", {}).items() if count}
    for name, count in lost.items():
        text = f"{name}: the kernel dropped {count} packets before the gateway could read them"
        found.append(coded("W21", text))
    tally = record.data["tally"]
    unreported = tally.get("unreported", 0)  # a record of an older version has no such count
    if unreported > UNREPORTED * tally["read"]:
        text = (
            f"the kernel reported no arrival time of {unreported} of {tally['read']} packets: they arrived, "
            "as far as the queue knows, when the gateway read them"
        )
        found.append(coded("W33", text))
    if tally["undelivered"]:
        text = f"{tally['undelivered']} packets could not be written: their device was down or gone"
        found.append(coded("W22", text))
    if forgotten := tally.get("forgotten_holes"):  # a record of an older version has none
        text = f"{forgotten} missing ranges of TCP connections were forgotten: their bytes are no goodput"
        found.append(coded("W23", text))
    return found
