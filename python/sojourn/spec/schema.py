"""The keys of a scenario file: one class per table, with types, defaults and descriptions.

Quantities are text with units, in canonical form. Tables are immutable and strict.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    WithJsonSchema,
    model_validator,
)

from sojourn import _core
from sojourn.errors import InputError, shortened
from sojourn.spec.aqm_spec import Spec, located
from sojourn.spec.units import (
    Amount,
    Bytes,
    Capacity,
    Duration,
    Frequency,
    HowMany,
    Jitter,
    Limit,
    Moment,
    Period,
    Rate,
    Share,
    Span,
    Start,
    Wrong,
    number,
)

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=64)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Sources = Annotated[int, Field(ge=0, le=1_000_000)]
Options = dict[str, str | int | bool]
#: Directory of the scenario file being read; the path in a spec ``mine.py:Mine`` is relative to it.
folder: ContextVar[str] = ContextVar("folder", default="")


#: The preset of a scenario that names none.
USUAL_CONVENTIONS = "linux"


def _known_preset(word: str) -> str:
    if word == "default":
        raise Wrong(
            "= 'default' has become 'rfc', which has the same meaning",
            f"rfc; or leave it out for {USUAL_CONVENTIONS}",
        )
    if word not in _core.CONVENTIONS:
        near = _core.nearest(word, _core.CONVENTIONS)
        raise Wrong(f"= {word!r} is not a preset", ", ".join(_core.CONVENTIONS), nearest=near)
    return word


def _parse(spec: str) -> str:
    return _read(located(spec, folder.get()), Spec)


def _read(spec: str, read: Callable[[str], str]) -> str:
    try:
        return read(spec)
    except _core.SpecError as error:
        problem = f"= {shortened(spec, 100)!r}: {shortened(error.key, 100)} {error.problem}"
        raise Wrong(problem, error.allowed, nearest=error.nearest) from None
    except InputError as error:
        raise Wrong(f"= {shortened(spec, 100)!r}: {error.where} {error.problem}", error.allowed) from None


def _canonical_marker(spec: str) -> str:
    return _read(spec, _core.canonical_marker)


AqmSpec = Annotated[str, AfterValidator(_parse)]
Marker = Annotated[str, AfterValidator(_canonical_marker)]
Conventions = Annotated[
    str, AfterValidator(_known_preset), WithJsonSchema({"enum": _core.CONVENTIONS, "type": "string"})
]


class Table(BaseModel):
    """A table of the TOML file: unknown keys are errors, types are strict, instances are immutable."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True
    )
    #: Keys of which a table needs exactly one.
    one_of: ClassVar[tuple[str, ...]] = ()


class HostLinks(Table):
    """Links between hosts and their router."""

    rate: Rate | None = Field(
        None, description="of each link; absent: ten times the bottleneck's, at least 1Gbit/s"
    )
    delay: Span | None = Field(None, description="one way, of each link; absent: 0s")
    delays: list[Span] | None = Field(None, min_length=1, description="host j uses entry j mod n")
    nodes: Count | Literal["flow"] | None = Field(
        None, description="number of hosts, flow i on host i mod nodes; 'flow': one host for each flow"
    )

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.delay is not None and self.delays is not None:
            raise Wrong("needs delay or delays, and not both", "delay or delays")
        return self


class Queue(Table):
    """A finite queue and its algorithm."""

    limit: Limit = Field(description="maximum queue length; a limit in the algorithm's spec takes precedence")
    aqm: AqmSpec = Field("droptail", description="algorithm and parameters, replaced by --aqm")
    ecn: bool = Field(False, description="mark ECN-capable packets; TCP is then ECN-capable")


class Varying(Table):
    """A rate that varies with time: drawn again at regular intervals, or read from a file.

    A ``.csv`` file has lines ``time,rate`` in seconds and bit/s, from time 0; the last rate lasts to the end.
    Any other file has mahimahi's format: each line is a millisecond at which 1504 bytes can be sent, and the
    file repeats.
    """

    every: Period | None = Field(None, description="interval between draws of the rate")
    rate: Capacity | None = Field(None, description="distribution of the rate")
    file: str | None = Field(None, description="a trace; its path is relative to the scenario file")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        drawn = self.every is not None and self.rate is not None
        if drawn == (self.file is not None) or (self.every is None) != (self.rate is None):
            raise Wrong("needs either every and rate, or file", "one of the two")
        return self


class GilbertElliott(Table):
    """Losses by a state, good or bad, that may change behind each packet; the first state is good."""

    p: Share = Field(description="probability that good changes to bad")
    r: Share = Field(description="probability that bad changes to good: the mean bad time is 1 / r packets")
    loss_bad: Share = Field(1.0, description="probability of a loss in the bad state")
    loss_good: Share = Field(0.0, description="probability of a loss in the good state")


class Impairment(Table):
    """What the wire of a link does to packets behind the transmitter, in one direction."""

    loss: Share | None = Field(None, description="share of packets lost")
    loss_burst: Annotated[float, Field(strict=False, ge=1, le=1e6)] | None = Field(
        None, description="mean number of packets lost in a row; absent: losses are independent"
    )
    gilbert_elliott: GilbertElliott | None = Field(None, description="instead of loss: all its parameters")
    jitter: Jitter | None = Field(None, description="delay in addition to the link's, drawn for each packet")
    jitter_file: str | None = Field(
        None,
        description="instead of jitter: a .csv file with lines time,delay in seconds, from time 0; the last "
        "delay lasts to the end",
    )
    in_order: bool = Field(
        True, description="a packet with less jitter waits for those before it; false: it overtakes them"
    )
    reorder: Share | None = Field(
        None, description="share of packets without jitter, which overtake those before them"
    )
    reorder_gap: Count = Field(1, description="with reorder: only each of this many packets may overtake")
    duplicate: Share | None = Field(None, description="share of packets that arrive twice")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.gilbert_elliott is not None and (self.loss is not None or self.loss_burst is not None):
            raise Wrong("needs loss or gilbert_elliott, and not both", "loss or gilbert_elliott")
        if self.loss_burst is not None and self.loss is None:
            raise Wrong("has no effect without loss", 'loss = "1%"', "loss_burst")
        if (
            self.loss_burst is not None
            and self.loss is not None
            and self.loss_burst * (1 - self.loss) < self.loss
        ):
            problem = f"= {self.loss_burst:g} is too short for a loss of {self.loss:g}"
            least = "loss below 1" if self.loss == 1 else f"at least {self.loss / (1 - self.loss):g}"
            raise Wrong(problem, f"{least}: a packet lies between two bursts", "loss_burst")
        if self.jitter is not None and self.jitter_file is not None:
            raise Wrong("needs jitter or jitter_file, and not both", "jitter or jitter_file")
        if self.reorder and self.jitter is None and self.jitter_file is None:
            raise Wrong("has no effect: packets overtake only those that jitter delays", "jitter", "reorder")
        if self.reorder_gap > 1 and not self.reorder:
            raise Wrong("has no effect without reorder", 'reorder = "100%"', "reorder_gap")
        return self


class Medium(Table):
    """How a link gets a medium that it shares with others, which are not simulated."""

    access: Literal["contention", "grants"] = Field(
        description="contention: aggregates of packets, as in Wi-Fi; grants: by request and grant, as in "
        "DOCSIS and LTE"
    )
    packets: Count | None = Field(None, description="contention: most packets of an aggregate; absent: 64")
    time: Period | None = Field(
        None, description="contention: an aggregate that lasts this long takes no further packet; absent: 4ms"
    )
    overhead: Jitter | None = Field(
        None, description="contention: time before each aggregate, drawn; absent: uniform 50us 250us"
    )
    cycle: Period | None = Field(None, description="grants: time between the ticks at which grants begin")
    delay: Span | None = Field(None, description="grants: least time from a request to its grant")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        theirs = {"contention": ("packets", "time", "overhead"), "grants": ("cycle", "delay")}
        for access, keys in theirs.items():
            for key in keys:
                if access != self.access and getattr(self, key) is not None:
                    raise Wrong(f"is for access = {access!r}", ", ".join(theirs[self.access]), key)
        for key in ("cycle", "delay"):
            if self.access == "grants" and getattr(self, key) is None:
                raise Wrong("is missing", "a time with its unit, like 2ms", key)
        return self


class Dumbbell(Table):
    """Clients - R1 - bottleneck - R2 - servers; both directions exist."""

    one_of = ("delay", "rtt")

    rate: Rate = Field(description="of the bottleneck, R1-R2")
    reverse_rate: Rate | None = Field(None, description="of R2-R1; absent: the same")
    delay: Span | None = Field(None, description="of the bottleneck, one way")
    rtt: Span | None = Field(
        None,
        description="instead of delay: base round-trip time of the bottleneck; the delays of access links "
        "are added",
    )
    capacity: Varying | None = Field(
        None,
        description="varying rate of R1-R2; `rate` is then the initial rate for algorithms that use the "
        "link's rate, and the rate of R2-R1",
    )
    impairment: Impairment | None = Field(None, description="losses, jitter, reordering of R1-R2")
    reverse_impairment: Impairment | None = Field(None, description="the same of R2-R1")
    medium: Medium | None = Field(
        None, description="how R1-R2 gets its medium; absent: it has one for itself"
    )
    reverse_medium: Medium | None = Field(None, description="the same of R2-R1, which needs reverse_queue")
    access: HostLinks = Field(
        default_factory=HostLinks, description="client side; by default one host for each flow"
    )
    server: HostLinks = Field(
        default_factory=HostLinks, description="server side; by default one host for all flows"
    )
    reverse_queue: Queue | None = Field(None, description="the queue R2-R1; absent: unlimited")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.delay is not None and self.rtt is not None:
            raise Wrong("needs delay or rtt, and not both", "delay or rtt")
        if self.delay is None and self.rtt is None:
            raise Wrong("is missing", "delay or rtt", "delay")
        if self.reverse_medium is not None and self.reverse_queue is None:
            raise Wrong("needs a queue with a limit", "reverse_queue", "reverse_medium")
        return self


class Link(Table):
    """A link of any graph."""

    from_: Word = Field(alias="from", description="sending node")
    to: Word = Field(description="receiving node")
    rate: Rate
    delay: Span = Field(description="propagation, one way")
    capacity: Varying | None = Field(None, description="varying rate from `from` to `to`")
    queue: Queue | None = Field(None, description="absent: unlimited")
    duplex: bool = Field(True, description="the other direction exists too, with the same rate and delay")
    reverse_queue: Queue | None = Field(None, description="of the other direction; absent: unlimited")
    impairment: Impairment | None = Field(None, description="losses, jitter, reordering from `from` to `to`")
    reverse_impairment: Impairment | None = Field(None, description="the same of the other direction")
    medium: Medium | None = Field(
        None, description="how the queue's transmitter gets its medium; absent: it has one for itself"
    )
    reverse_medium: Medium | None = Field(None, description="the same of the other direction")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.from_ == self.to:
            raise Wrong(f"= {self.to!r} is the start of the link, too", "another node", "to")
        for key in ("reverse_queue", "reverse_impairment", "reverse_medium"):
            if getattr(self, key) is not None and not self.duplex:
                raise Wrong("is given, but duplex = false", "", key)
        for key, queue in (("medium", "queue"), ("reverse_medium", "reverse_queue")):
            if getattr(self, key) is not None and getattr(self, queue) is None:
                raise Wrong("needs a queue with a limit", queue, key)
        return self


class Stagger(Table):
    """A ramp: groups of sources start one after the other."""

    every: Start = Field(description="time from one group to the next, drawn for each group")
    by: Count = Field(1, description="sources per group; the first group starts without delay")


class _Traffic(Table):
    """The keys of every kind of traffic."""

    name: Word = Field(description="name in results")
    count: Sources = Field(1, description="number of sources")
    direction: Literal["forward", "reverse"] = Field(
        "forward", description="forward: from the clients to the servers (dumbbell only)"
    )
    access: HostLinks | None = Field(
        None, description="access links of this traffic instead of the dumbbell's"
    )
    from_: Word | list[Word] | None = Field(None, alias="from", description="sending nodes, taken in turn")
    to: Word | list[Word] | None = Field(None, description="receiving nodes, taken in turn")
    start: Start = Field("0s", description="when each source starts")
    stagger: Stagger | None = Field(None, description="a ramp of starts; absent: one group")
    stop: Duration | None = Field(None, description="when all stop; absent: never")
    class_: Annotated[int, Field(ge=0, le=255)] = Field(0, alias="class", description="traffic class")
    marker: Marker | None = Field(
        None, description="profile marker at each source, like 'token_bucket cir 1Mbit/s cbs 15kB'"
    )


class _TcpTraffic(_Traffic):
    variant: str | None = Field(None, description="congestion control; see 'sojourn explain tcp'")
    payload: Amount = Field(
        "1448B", validate_default=True, description="of a full packet, without headers, drawn for each packet"
    )
    header: Bytes = Field(
        "52B",
        description="added to every data packet on the wire; 52B: IPv4, TCP and its time stamps, so that "
        "a full packet has 1500 bytes",
    )
    ack: Bytes = Field("40B", description="size of a pure ACK on the wire")
    max_rate: Rate | None = Field(
        None, description="rate limit of each connection, headers included, as of a shaper; absent: none"
    )
    tcp: Options = Field(default_factory=dict, description="options; see 'sojourn explain tcp'")


class Tcp(_TcpTraffic):
    """TCP with unlimited data."""

    kind: Literal["tcp"]


class TcpShort(_TcpTraffic):
    """Finite TCP flows that arrive as a Poisson process."""

    one_of = ("size", "lifetime")
    kind: Literal["tcp-short"]
    arrivals: Frequency = Field(description="flows per second")
    size: Amount | None = Field(None, description="payload of each flow")
    lifetime: Start | None = Field(None, description="time in which each flow has new data to send")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.size is not None and self.lifetime is not None:
            raise Wrong("needs size or lifetime, and not both", "size or lifetime")
        if self.size is None and self.lifetime is None:
            raise Wrong("is missing", "size or lifetime", "size")
        return self


class TcpOnOff(_TcpTraffic):
    """TCP whose application writes packets at a constant rate while on; exponential on and off times.

    Data that TCP cannot send immediately is queued at the sender.
    """

    kind: Literal["tcp-onoff"]
    rate: Rate = Field(description="of each source while on, headers included")
    on: Period = Field(description="mean on time")
    off: Period = Field(description="mean off time")
    pareto: Annotated[float, Field(strict=False, gt=1, le=100)] | None = Field(
        None, description="shape of Pareto on and off times; absent: they are exponential"
    )


class Web(_TcpTraffic):
    """Web sessions; every object uses its own connection (HTTP/1.0).

    Objects are sent in the traffic's direction, requests against it; `count` is the number of sessions.
    """

    kind: Literal["web"]
    page_gap: Start = Field(description="from a page to the next one of the same session")
    page_gap_from: Literal["end", "start"] = Field(
        "end",
        description="whether the gap counts from the last byte of the previous page or from its request",
    )
    pages: Count | None = Field(None, description="pages per session; absent: unlimited")
    objects: HowMany = Field("1", description="objects per page, rounded up")
    object_gap: Start = Field("0s", description="between the requests for two objects of a page")
    size: Amount = Field(description="payload of an object")
    patience: Start | None = Field(
        None,
        description="an object that is not complete this long after its request is aborted; absent: never",
    )
    request: Bytes | None = Field(None, description="payload of a request; absent: one full packet")
    respond: Literal["received", "acknowledged"] = Field(
        "received",
        description="when the server responds: when it receives the request, or (as ns-2's WebTraf) "
        "when the client receives the acknowledgement of the request",
    )


#: Bitrates that Netflix used for all titles until 2015.
LADDER = "235 375 560 750 1050 1750 2350 3000 4300 5800"


class Video(_TcpTraffic):
    """Adaptive video: clients play segments while they fetch more; the bitrate follows the buffer (BBA-0).

    Segments are sent in the traffic's direction, requests against it; `count` is the number of clients.
    """

    kind: Literal["video"]
    ladder: list[Rate] = Field(
        [f"{rate}kbit/s" for rate in LADDER.split()],
        validate_default=True,
        min_length=1,
        description="bitrates, ascending; the defaults are those of Netflix until 2015",
    )
    segment: Period = Field("4s", description="playing time of a segment")
    buffer: Period = Field(
        "240s", description="most playing time in the buffer: a segment is requested only if it fits"
    )
    startup: Period | None = Field(
        None,
        description="playing time in the buffer with which playing begins, at first and after a stall; "
        "absent: one segment",
    )
    reservoir: Span = Field("90s", description="up to this much in the buffer the lowest bitrate is chosen")
    cushion: Period = Field("126s", description="from this much more on the highest bitrate is chosen")
    request: Bytes | None = Field(None, description="payload of a request; absent: one full packet")


class _Datagrams(_Traffic):
    ecn: Literal["off", "ect0", "ect1"] = Field("off", description="ECN codepoint of the packets")


class UdpCbr(_Datagrams):
    """Datagrams at a constant rate."""

    kind: Literal["udp-cbr"]
    rate: Rate = Field(description="of each source")
    size: Amount = Field(description="on the wire, drawn for each packet; the rate does not change")
    jitter: Annotated[float, Field(strict=False, ge=0, lt=1)] = Field(
        0.0, description="each gap is multiplied by uniform(1 - jitter, 1 + jitter)"
    )


class UdpPoisson(_Datagrams):
    """Datagrams as a Poisson process: exponential gaps, independent of the sizes."""

    kind: Literal["udp-poisson"]
    rate: Rate = Field(description="mean, of each source")
    size: Amount = Field(description="on the wire, drawn for each packet")


class UdpOnOff(_Datagrams):
    """Datagrams at a constant rate while on; exponential on and off times."""

    kind: Literal["udp-onoff"]
    rate: Rate = Field(description="of each source while on")
    size: Amount = Field(description="on the wire, drawn for each packet; bursts are counted in its mean")
    on: Period = Field(description="mean on time")
    off: Period = Field(description="mean off time")
    pareto: Annotated[float, Field(strict=False, gt=1, le=100)] | None = Field(
        None, description="shape of Pareto on and off times; absent: they are exponential"
    )


class Call(_Datagrams):
    """Voice calls, one direction: a packet each 20 ms; their quality (MOS) is a metric."""

    kind: Literal["call"]
    codec: Literal["g711", "g711-no-plc", "g729a"] = Field(
        "g711",
        description="g711: 64 kbit/s, with packet-loss concealment; g711-no-plc: without; g729a: 8 kbit/s; "
        "40 bytes of IP, UDP and RTP headers are added to each packet",
    )
    playout: Period | Literal["adaptive"] = Field(
        "adaptive",
        description="time from sending to playing a packet; adaptive: a jitter buffer that follows the delay",
    )


class Game(_Datagrams):
    """State updates of an online game: small packets at a constant interval, of no use after a deadline."""

    kind: Literal["game"]
    interval: Period = Field("16ms", description="between two packets of a source")
    size: Bytes = Field("200B", description="on the wire")
    deadline: Period = Field("50ms", description="from sending to arrival; later packets count in late_ratio")


class Probe(_Datagrams):
    """Probes as those of ping: the receiver returns each packet at once; the round-trip time is a metric."""

    kind: Literal["probe"]
    interval: Period = Field("100ms", description="between two packets of a source")
    size: Bytes = Field("84B", description="on the wire; 84B: 56 bytes of data, ICMP and IP headers")


TcpTraffic = Tcp | TcpShort | TcpOnOff | Web | Video
Traffic = Annotated[
    Tcp | TcpShort | TcpOnOff | Web | Video | UdpCbr | UdpPoisson | UdpOnOff | Call | Game | Probe,
    Field(discriminator="kind"),
]


class Measure(Table):
    """The measured queue."""

    queue: str = Field(description="the link of the queue, like R3-R4")
    aqms: Literal["here", "everywhere"] = Field(
        "here", description="where the algorithm of a run (--aqm) is used: at this queue, or at every queue"
    )


class Phase(Table):
    """A part of the run with metrics of its own, as ``phases.NAME.METRIC``."""

    name: Word = Field(description="name in results")
    from_: Moment = Field(alias="from", description="begin, since the start of the run")
    to: Duration = Field(description="end, at most that of the run")


class Trace(Table):
    """Recorded data besides the counters."""

    interval: Period | Literal["off"] | None = Field(
        None, description="sampling interval of every queue; absent: 10ms, more for runs over 1000s"
    )
    drops: bool = Field(False, description="every drop at the measured queue")
    cwnd: bool = Field(False, description="every change of a congestion window")
    packets: bool | None = Field(
        None, description="every packet that enters or leaves the measured queue; absent: false"
    )
    delays: bool = Field(
        False,
        description="one-way delays of TCP: percentiles as of datagrams, whose delays always are recorded",
    )
    flows: Period | None = Field(
        None, description="sampling interval of every flow: goodput, window, round-trip time; absent: none"
    )


class ScenarioFields(Table):
    """The top-level keys of a scenario file."""

    name: Word = Field(description="of the scenario, in results")
    duration: Duration = Field(description="end of the run")
    warmup: Moment = Field("0s", description="statistics start here")
    drain: bool | Duration = Field(
        False,
        description="the run continues after its end until every transfer and page that began before has "
        "finished, with the same load and no other statistics: at most this long; true: ten durations",
    )
    conventions: Conventions = Field(
        USUAL_CONVENTIONS,
        description="whose defaults TCP and algorithms have: those of Linux, of RFCs and papers, or of ns-2",
    )
    note: str | None = Field(None, description="free text")
    source: str | None = Field(None, description="origin of the scenario, free text")
    dumbbell: Dumbbell | None = Field(None, description="the classic topology")
    queue: Queue | None = Field(None, description="at the dumbbell's bottleneck")
    link: list[Link] = Field(default_factory=list, description="any graph, instead of a dumbbell")
    tcp: Options = Field(default_factory=dict, description="options of all TCP traffic")
    traffic: list[Traffic] = Field(min_length=1, description="the senders")
    phase: list[Phase] = Field(default_factory=list, max_length=1000, description="parts with own metrics")
    measure: Measure | None = Field(None, description="required if several links have queues")
    trace: Trace = Field(default_factory=Trace)

    _where: str = PrivateAttr("scenario")

    @property
    def where(self) -> str:
        """The source file, for messages."""
        return self._where

    @property
    def senders(self) -> list[Traffic]:
        """The traffics that have sources."""
        return [one for one in self.traffic if one.count > 0]

    @property
    def seconds(self) -> tuple[float, float]:
        """Warm-up and duration in seconds."""
        return number("span", self.warmup) / 1e9, number("span", self.duration) / 1e9
