"""The columns of a record: name, type, unit and meaning of each, defined here only.

The types of the core's columns (`record.TYPES`), the schema in each results folder and the page of the docs
follow from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Words for codes: causes of drops and marks, what happens to a packet at a queue, what a packet carries,
#: and its ECN field (RFC 3168, section 5).
CAUSES = ("overflow", "early", "forced", "flow-limit", "profile")
EVENTS = ("enqueue", "dequeue", "drop", "mark")
CARRIES = ("data", "ack", "datagram", "echo")
ECN = ("not-ect", "ect1", "ect0", "ce")
#: The code of an event that has no cause.
NO_REASON = 255
#: A missing value: the end of an unfinished transfer, or a counter that a world does not have.
UNFINISHED = UNKNOWN = 2**64 - 1
#: Type codes of the core's columns (``memoryview.cast``) by the names of types in schemas.
CODES = {"uint8": "B", "uint32": "I", "uint64": "Q", "float64": "d"}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Its name; in capitals, it stands for several columns.
    type : str
        ``uint8``, ``uint32``, ``uint64``, ``int64``, ``float64``, ``text``, ``bool``, ``struct``, or
        ``list of`` one of them.
    meaning : str
        What it holds.
    unit : str
        Unit of the values; empty for numbers without one.
    codes : mapping of int to str
        The meaning of each code, if the values are codes.
    null : int or None
        The value that stands for an unknown one, besides null.
    is_optional : bool
        Whether some files do not have it.
    fields : tuple of Column
        The fields of a structure.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    codes: Mapping[int, str] = field(default_factory=dict)
    null: int | None = None
    is_optional: bool = False
    fields: tuple[Column, ...] = ()


def _codes(words: tuple[str, ...]) -> dict[int, str]:
    return dict(enumerate(words))


_SAMPLED = "since the previous sample"
_TRAFFIC = (
    Column("traffic", "uint32", "number of the traffic in `plan`, from 0"),
    Column("index", "uint32", "number of the flow (web: of the session) in its traffic, from 0"),
)
_TIME = Column("time_ns", "uint64", "time since the start of the run", "ns")
_FLOW = Column("flow", "uint32", "row of `flows`, from 0")
_CONNECTION = Column("connection", "uint32", "number of the connection in the run; a flow may have several")


def _counter(name: str, meaning: str, unit: str) -> Column:
    return Column(name, "uint64", meaning, unit, null=UNKNOWN)


FLOWS = (
    *_TRAFFIC,
    Column("crosses", "uint8", "1 if its data cross the measured queue, else 0"),
    _counter("start_ns", "start of the flow", "ns"),
    _counter("queue_arrivals", "packets offered to the measured queue", "packets"),
    _counter("queue_drops", "packets dropped there", "packets"),
    _counter("queue_marks", "packets marked there", "packets"),
    _counter("sent_packets", "packets sent, retransmissions included", "packets"),
    _counter("retransmitted_packets", "retransmissions", "packets"),
    _counter("timeouts", "expirations of the retransmission timer", ""),
    _counter("window_cuts", "reductions of the congestion window", ""),
    _counter("dropped_packets", "packets dropped at any queue", "packets"),
    _counter("received_packets", "packets that reached the receiver, duplicates included", "packets"),
    _counter("delay_ns", "sum of the one-way delays of the received packets", "ns"),
    _counter("delay_max_ns", "largest one-way delay", "ns"),
    _counter("goodput_bytes", "payload that reached the receiver for the first time", "bytes"),
)
OBJECTS = (
    *_TRAFFIC,
    Column("start_ns", "uint64", "start of the transfer", "ns"),
    Column("end_ns", "uint64", "its end", "ns", null=UNFINISHED),
    Column("bytes", "uint64", "payload", "bytes"),
)
PAGES = (
    *_TRAFFIC,
    Column("start_ns", "uint64", "request of the page", "ns"),
    Column("end_ns", "uint64", "last byte of its last object", "ns", null=UNFINISHED),
    Column("objects", "uint64", "objects requested", ""),
    Column("bytes", "uint64", "payload of the requested objects", "bytes"),
)
SEGMENTS = (
    *_TRAFFIC,
    Column("start_ns", "uint64", "request of the segment", "ns"),
    Column("end_ns", "uint64", "last byte at the client", "ns", null=UNFINISHED),
    Column("play_ns", "uint64", "begin of its playing", "ns", null=UNFINISHED),
    Column("bitrate_bps", "uint64", "chosen bitrate", "bit/s"),
    Column("bytes", "uint64", "payload, in full packets", "bytes"),
)
DELIVERIES = (
    _FLOW,
    Column("lost_packets", "uint64", "datagrams that had not arrived when a later one did", "packets"),
    Column("loss_periods", "uint64", "runs of lost datagrams (RFC 3357)"),
    Column("reordered_packets", "uint64", "datagrams that arrived after a later one", "packets"),
    Column("delay_min_ns", "uint64", "smallest one-way delay; 0 if nothing arrived", "ns"),
    Column("jitter_ns", "uint64", "sum of the delay differences of consecutive arrivals", "ns"),
    Column("jitter_pairs", "uint64", "how many of these differences there are"),
    Column("late_packets", "uint64", "datagrams that arrived after the time of their use", "packets"),
    Column("unusable_periods", "uint64", "runs of datagrams that were late or lost"),
    Column("playout_ns", "uint64", "sum of the times from sending to use", "ns"),
    Column("playout_packets", "uint64", "datagrams in that sum", "packets"),
    Column("echoes", "uint64", "datagrams that came back to their source", "packets"),
    Column("round_trip_ns", "uint64", "sum of their round-trip times", "ns"),
    Column("round_trip_max_ns", "uint64", "the largest of these times", "ns"),
)
_WHOSE = _TRAFFIC[0]
ONE_WAY_DELAYS = (
    _WHOSE,
    Column("edge_ns", "uint64", "lower edge of a bucket of one-way delays", "ns"),
    Column("count", "uint64", "packets in it, duplicates of TCP included", "packets"),
)
ROUND_TRIPS = (
    _WHOSE,
    Column("edge_ns", "uint64", "lower edge of a bucket of round-trip times of datagrams", "ns"),
    Column("count", "uint64", "datagrams in it", "packets"),
)
LOSS_PERIODS = (
    _WHOSE,
    Column("length", "uint64", "datagrams lost in a row", "packets"),
    Column("count", "uint64", "how often", ""),
)
LINKS = (
    Column("link", "uint32", "number of the impaired direction of a link, in the order of `plan`, from 0"),
    Column("packets", "uint64", "packets that entered its wire", "packets"),
    Column("lost_packets", "uint64", "packets lost on it", "packets"),
    Column("lost_bytes", "uint64", "bytes lost on it", "bytes"),
    Column("copied_packets", "uint64", "packets that arrived twice", "packets"),
)
DROPS = (
    _TIME,
    _FLOW,
    Column("sequence", "uint32", "number of the packet in its flow; the SYN, if there is one, is 0"),
    Column("cause", "uint8", "why it was dropped", codes=_codes(CAUSES)),
    Column("arrival", "uint64", "packets offered to the queue before this one", "packets"),
    Column("queue_packets", "uint32", "packets that remained in the queue", "packets"),
)
CWND = (
    _TIME,
    _FLOW,
    Column("cwnd", "float64", "congestion window after the change", "packets"),
    Column("ssthresh", "float64", "slow-start threshold after the change", "packets"),
)
PACKETS = (
    _TIME,
    Column("event", "uint8", "what happened", codes=_codes(EVENTS)),
    Column(
        "reason", "uint8", "why a packet was dropped or marked", codes={**_codes(CAUSES), NO_REASON: "none"}
    ),
    Column(
        "arrival", "uint64", "packets offered to the queue before this one: equal in all rows of a packet"
    ),
    _FLOW,
    _CONNECTION,
    Column("sequence", "uint32", "number of the packet in its flow; of an ACK, the next expected number"),
    Column("kind", "uint8", "what the packet carries", codes=_codes(CARRIES)),
    Column("bytes", "uint32", "size on the wire", "bytes"),
    Column("ecn", "uint8", "ECN field of the IP header (RFC 3168, section 5)", codes=_codes(ECN)),
    Column(
        "flag",
        "uint8",
        "1: the window was reduced (data; CWR, if the packet is ECN-capable), or ECE is set (ACK); else 0",
    ),
    Column("class", "uint8", "traffic class"),
    Column("queue_packets", "uint32", "packets that wait afterwards", "packets"),
)
FLOW_SERIES = (
    _TIME,
    _FLOW,
    _CONNECTION,
    Column(
        "goodput_bytes",
        "uint64",
        f"payload delivered in order (datagrams: bytes received) {_SAMPLED}",
        "bytes",
    ),
    Column("carried_bytes", "uint64", f"bytes that left the measured queue {_SAMPLED}", "bytes"),
    Column("cwnd", "float64", "congestion window; NaN for datagrams", "packets"),
    Column(
        "srtt_ns",
        "float64",
        "smoothed round-trip time; NaN for datagrams and before the first measurement",
        "ns",
    ),
)
SERIES = (
    Column("packets", "uint32", "packets in the queue", "packets"),
    Column("bytes", "uint64", "bytes in the queue", "bytes"),
    Column("mean_packets", "float64", f"exact mean of the packets in the queue {_SAMPLED}", "packets"),
    Column("mean_square_packets", "float64", f"exact mean of their square {_SAMPLED}", "packets²"),
    Column("arrivals", "uint32", f"packets offered {_SAMPLED}", "packets"),
    Column("drops", "uint32", f"packets dropped {_SAMPLED}", "packets"),
    Column("departed_bytes", "uint64", f"bytes handed to the transmitter {_SAMPLED}", "bytes"),
)
#: Lists of each queue.
QUEUE_LISTS = (
    Column("delay_edges_ns", "list of uint64", "histogram of queueing delays: lower edges of buckets", "ns"),
    Column("delay_counts", "list of uint64", "packets in each of these buckets", "packets"),
    Column("run_lengths", "list of uint64", "lengths of runs of consecutive drops", "packets"),
    Column("run_counts", "list of uint64", "runs of each of these lengths", ""),
    Column("class_number", "list of uint8", "traffic classes that occurred, if there are several"),
    Column("class_arrivals", "list of uint64", "of each class: packets offered", "packets"),
    Column("class_arrived_bytes", "list of uint64", "of each class: bytes offered", "bytes"),
    Column("class_departures", "list of uint64", "of each class: packets transmitted", "packets"),
    Column("class_departed_bytes", "list of uint64", "of each class: bytes transmitted", "bytes"),
    Column("class_drops", "list of uint64", "of each class: packets dropped", "packets"),
    Column("class_dropped_bytes", "list of uint64", "of each class: bytes dropped", "bytes"),
    Column("class_marks", "list of uint64", "of each class: packets marked", "packets"),
    Column("class_packet_ns", "list of float64", "of each class: integral of queued packets", "packets·ns"),
    Column("class_delay_sum_ns", "list of float64", "of each class: sum of queueing delays", "ns"),
    Column("part_packets", "list of float64", "mean queue in each part of the run", "packets"),
)
_BY_CAUSE = f"by cause, in the order {', '.join(CAUSES)}"
QUEUE = (
    Column("name", "text", "name of the queue, as in `R1-R2`; of a phase, that of the phase"),
    Column("spec", "text", "algorithm in force, canonical"),
    Column("limit_packets", "uint64", "buffer limit; 0 if it is in bytes", "packets"),
    Column("limit_bytes", "uint64", "buffer limit; 0 if it is in packets", "bytes"),
    Column("capacity_bits", "float64", "integral of the link's rate", "bit"),
    Column("arrivals", "uint64", "packets offered", "packets"),
    Column("arrived_bytes", "uint64", "bytes offered", "bytes"),
    Column("departures", "uint64", "packets handed to the transmitter", "packets"),
    Column("departed_bytes", "uint64", "bytes handed to the transmitter", "bytes"),
    Column("drops", "list of uint64", f"packets dropped, {_BY_CAUSE}", "packets"),
    Column("dropped_bytes", "uint64", "bytes dropped", "bytes"),
    Column("marks", "list of uint64", f"packets marked, {_BY_CAUSE}", "packets"),
    Column("packet_ns", "float64", "integral of queued packets", "packets·ns"),
    Column("packet_squared_ns", "float64", "integral of their square", "packets²·ns"),
    Column("byte_ns", "float64", "integral of queued bytes", "bytes·ns"),
    Column("max_packets", "uint64", "most packets in the queue", "packets"),
    Column("idle_ns", "uint64", "time without a packet in transmission", "ns"),
    Column("delay_sum_ns", "float64", "sum of queueing delays over departures", "ns"),
    Column("delay_squared_ns", "float64", "sum of their squares", "ns²"),
    Column("delay_max_ns", "uint64", "largest queueing delay", "ns"),
    Column("part_ns", "uint64", "length of the parts of the run; 0: none", "ns"),
    *QUEUE_LISTS,
)
#: The tables of a record by name, with the types of the core's columns.
TABLES = {
    "flows": FLOWS,
    "objects": OBJECTS,
    "pages": PAGES,
    "segments": SEGMENTS,
    "deliveries": DELIVERIES,
    "one_way_delays": ONE_WAY_DELAYS,
    "round_trips": ROUND_TRIPS,
    "loss_periods": LOSS_PERIODS,
    "links": LINKS,
    "drops": DROPS,
    "cwnd": CWND,
    "packets": PACKETS,
    "flow_series": FLOW_SERIES,
    "series": SERIES,
    "queue": QUEUE_LISTS,
}
TYPES: dict[str, dict[str, str]] = {
    name: {one.name: CODES[one.type.removeprefix("list of ")] for one in columns}
    for name, columns in TABLES.items()
}
