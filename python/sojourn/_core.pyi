"""The simulator and the algorithms of Sojourn (compiled from Rust)."""

from collections.abc import Callable
from typing import Any, Literal, final, overload

__all__ = [
    "VERSION",
    "CORE_VERSION",
    "GATEWAY_VERSION",
    "SpecError",
    "PlanError",
    "Cancelled",
    "ConservationError",
    "AlgorithmError",
    "algorithms",
    "algorithm",
    "register",
    "describe",
    "PASS",
    "MARK",
    "DROP",
    "drop_both",
    "Packet",
    "Queue",
    "Rng",
    "Link",
    "Verdict",
    "schedulers",
    "markers",
    "canonical",
    "canonical_marker",
    "spec_info",
    "inspect",
    "stopwatch",
    "drop_function",
    "parse_unit",
    "canonical_unit",
    "classes_in",
    "nearest",
    "toml_positions",
    "CONVENTIONS",
    "tcp_schema",
    "tcp_options",
    "check",
    "run",
    "fnv",
    "view",
    "packets",
    "deliveries",
    "traced_record",
    "IdleGuard",
    "Batch",
    "Gateway",
    "Harness",
]

VERSION: str
CORE_VERSION: str
GATEWAY_VERSION: str
CONVENTIONS: list[str]

class SpecError(ValueError):
    """An algorithm spec that is refused."""

    key: str
    problem: str
    allowed: str
    nearest: str | None

class PlanError(ValueError):
    """A scenario that the simulator refuses."""

    key: str
    problem: str
    allowed: str
    nearest: str | None

class Cancelled(Exception):  # noqa: N818
    """The run was cancelled."""

class ConservationError(Exception):
    """Packet counts are inconsistent: a defect of the simulator."""

class AlgorithmError(Exception):
    """An algorithm written in Python violated a rule."""

    rule: str

def algorithms() -> list[dict[str, Any]]:
    """Every algorithm with its parameters, probes and documentation."""

def algorithm(name: str) -> dict[str, Any]:
    """One algorithm with its parameters, probes and documentation."""

def register(name: str, class_: type, description: dict[str, Any]) -> None:
    """Register `class_` as `name`, in place of an older class of that name.

    Names and texts are never freed, so a class is registered once per version of its file."""

def describe(name: str, description: dict[str, Any]) -> None:
    """Register the description of the class `name`, whose code is not loaded, in place of an older one.

    Names and texts are never freed, so a description is registered once per version."""

@final
class Packet:
    """A packet, as an algorithm sees it."""

    @property
    def bytes(self) -> int:
        """Size on the wire."""
    @property
    def ecn(self) -> int:
        """Its ECN field: NOT_ECT, ECT1, ECT0 or CE; true if the packet is ECN-capable."""
    @property
    def flow(self) -> int:
        """Number of its flow."""
    @property
    def class_(self) -> int:
        """Its traffic class."""
    @property
    def arrived(self) -> int:
        """When it arrived at this queue, in ns (for an arrival: now)."""

    def __deepcopy__(self, _memo: Any, /) -> Packet: ...

@final
class Queue:
    """The queue, as an algorithm sees it, without the packet in transmission."""

    @property
    def packets(self) -> int:
        """Packets in the queue."""
    @property
    def bytes(self) -> int:
        """Bytes in the queue."""
    @property
    def limit_packets(self) -> int | None:
        """The buffer limit, if it is in packets."""
    @property
    def limit_bytes(self) -> int | None:
        """The buffer limit, if it is in bytes."""
    @property
    def link_rate(self) -> int:
        """Rate of the link in bit/s."""

    def at(self, position: int) -> Packet | None:
        """The packet at `position`, head = 0; None beyond the tail."""

    def of_flow(self, flow: int) -> int:
        """Packets of one flow in the queue."""

    def of_class(self, class_: int) -> int:
        """Packets of one class in the queue."""

    def __deepcopy__(self, _memo: Any, /) -> Queue: ...

@final
class Rng:
    """The random number generator of the queue."""

    def uniform(self) -> float:
        """Draw a number u, 0 <= u < 1."""

    def __deepcopy__(self, _memo: Any, /) -> Rng: ...

@final
class Link:
    """The link of an algorithm."""

    @property
    def rate(self) -> int:
        """Its rate in bit/s."""
    @property
    def limit_packets(self) -> int | None:
        """The buffer limit, if it is in packets."""
    @property
    def limit_bytes(self) -> int | None:
        """The buffer limit, if it is in bytes."""
    @property
    def mean_packet(self) -> int:
        """Mean packet size on the wire, in bytes."""
    @property
    def packet_time(self) -> int:
        """Transmission time of a packet of the mean size, in ns."""

    def __deepcopy__(self, _memo: Any, /) -> Link: ...

@final
class Verdict:
    """The decision of an algorithm about a packet; called with a cause, the same decision with that cause."""

    def __call__(self, /, cause: str) -> Verdict:
        """Return the same decision with `cause`: early, forced, flow-limit or profile."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __deepcopy__(self, _memo: Any, /) -> Verdict: ...

PASS: Verdict
MARK: Verdict
DROP: Verdict

def drop_both(victim: int, cause: str = "early") -> Verdict:
    """Drop the arriving packet and the queued packet at position `victim` (head = 0)."""

@final
class Harness:
    """An algorithm under random traffic, with its contract checked."""

    def __new__(
        cls,
        spec: str,
        rate: int,
        limit: str,
        mean_packet: int = 1000,
        ecn: bool = True,
        seed: int = 1,
    ) -> Harness:
        """Test `spec` on a link of `rate` bit/s with a buffer `limit` and packets of `mean_packet` bytes."""

    def run(self, steps: int, pace: float) -> None:
        """Run `steps` random events, on average `pace` packet times apart."""

    def advance(self, ns: int) -> None:
        """Advance the clock by `ns` and run the timers that expire."""

    def depart(self, times: int) -> None:
        """Try `times` departures."""

    def copy(self) -> Harness:
        """Return an independent copy of the current state."""

    def log(self) -> list[str]:
        """Return the events so far, one word each, to compare runs."""

    def violations(self) -> list[tuple[str, str]]:
        """Return the rules violated so far: the name, and the first occurrence."""

    @property
    def most_drops(self) -> int:
        """The maximum number of drops at one departure."""
    @property
    def waiting(self) -> int:
        """Packets in the queue."""
    @property
    def instance(self) -> Any:
        """The Python object under test; None for a built-in algorithm or a copy."""

def schedulers() -> list[dict[str, Any]]:
    """Every scheduler, in the form of `algorithms`."""

def markers() -> list[dict[str, Any]]:
    """Every marker, in the form of `algorithms`."""

def canonical(spec: str) -> str:
    """The canonical form of a spec: words in schema order, one spelling for each value.

    The spec of a class whose parameters are unknown, since its code may not be executed, keeps its words."""

def canonical_marker(spec: str) -> str:
    """The canonical form of the spec of a marker; an incomplete profile is refused."""

def classes_in(text: str) -> list[str]:
    """The names of classes in a spec, those in the classes of a scheduler included."""

def spec_info(spec: str) -> dict[str, Any]:
    """The parts of a spec: `name`, `limit` (or None), the `values` that are set, `ecn`, whether it enables
    ECN, and `known`: false for a class whose parameters are unknown, since its code may not be executed; it
    has no `values`."""

def inspect(spec: str, rate: int, flows: int, packets: int) -> dict[str, int]:
    """Count the operations of an algorithm or scheduler: `state_bytes`, and for the given `packets` the
    `departures`, `draws`, `looks`, `timers`, `moves` (packets at which a probe changed) and the time
    `elapsed_ns`."""

def stopwatch(
    spec: str, rate: int, flows: int, packets: int
) -> tuple[float | None, float | None, float | None]:
    """Nanoseconds per arrival, departure and timer, including the queue; None if there was none."""

def drop_function(spec: str, cls: int, lengths: list[int]) -> list[float]:
    """The drop function: for each queue length, the probe `p` of a new instance after two arrivals."""

@overload
def parse_unit(kind: Literal["span", "rate"], word: str) -> int: ...
@overload
def parse_unit(kind: Literal["bytes"], word: str) -> float: ...
@overload
def parse_unit(kind: Literal["size", "limit"], word: str) -> tuple[float, str]: ...
@overload
def parse_unit(kind: str, word: str) -> Any:
    """Parse `word` as a span (ns), rate (bit/s), bytes, or as a size or limit (number and unit)."""

def canonical_unit(kind: str, word: str) -> str:
    """The canonical spelling of a quantity: `10mbit` becomes `10Mbit/s`."""

def nearest(word: str, candidates: list[str]) -> str | None:
    """The candidate nearest to `word`, if one is near."""

def toml_positions(text: str) -> list[tuple[tuple[str | int, ...], int, int]]:
    """The line and column, both from 1, of every key and of every table in an array."""

def tcp_schema() -> list[dict[str, Any]]:
    """Every option of TCP, with its value under each preset."""

def tcp_options(conventions: str, overrides: dict[str, str]) -> dict[str, Any]:
    """The options of a preset, with overrides."""

def check(plan_json: str) -> None:
    """Refuse a plan that cannot run."""

def run(plan_json: str, seed: int, trace_limit: int | None = None) -> dict[str, Any]:
    """Execute one run in the calling thread, so that Ctrl-C interrupts handlers in Python."""

def view(
    plan_json: str,
    seed: int,
    part: Callable[[str], object] | None = None,
    trace_limit: int | None = None,
) -> str:
    """Return one run in the form that the live page draws, as JSON.

    `part` is called after each slice of the run with the curves since the last call; an exception of it ends
    the run. `trace_limit`: bytes that its traces may take.
    """

def fnv(text: str) -> str:
    """Return FNV-1a (64 bits) of a text, in hexadecimal, as the digests of `view`."""

def packets(
    plan_json: str, seed: int, from_ns: int, most: int, slice: Callable[[], object] | None = None
) -> str:
    """Return the packets at the measured queue of a run from `from_ns` on, about `most` events, as JSON.

    `slice` is called after each slice of the run; an exception of it ends the run.
    """

def deliveries(plan_json: str, flows: list[tuple[int, int, list[bytes]]]) -> dict[str, dict[str, bytes]]:
    """Return what receivers of real datagrams observed as the tables of a record.

    A flow is (traffic, row, columns): numbers, sent, received, sent and returned echoes. Columns are
    little-endian, numbers of 32 bits, times of 64 bits in nanoseconds since the start.
    """

@final
class Batch:
    """Runs in native threads: jobs may be added until the batch is dropped."""

    def __new__(cls, jobs: list[tuple[str, int]], workers: int, trace_limit: int | None = None) -> Batch:
        """Start `jobs` (plan and seed) on `workers` threads.
        `trace_limit`: bytes that the traces of a run may take."""

    def add(self, plan: str, seed: int) -> int:
        """Add a job; returns its index."""

    def poll(self, timeout: float = 0.0) -> list[tuple[int, Any]]:
        """Return the jobs that finished since the last call: the index of each, and its record or exception.
        Waits at most `timeout` seconds for the first."""

    def progress(self) -> float:
        """Return the fraction of the virtual time of all jobs so far that is simulated, 0 to 1."""

    def cancel(self) -> None:
        """Cancel all runs: those in progress end with `Cancelled`, the others never start."""

    @property
    def finished(self) -> bool:
        """Whether every job has finished."""

@final
class IdleGuard:
    """Keeps processors out of idle states until it is closed, by a spinning thread of the lowest priority on
    each."""

    def __new__(cls, processors: list[int]) -> IdleGuard:
        """Keep `processors` busy."""

    def close(self) -> None:
        """Stop the threads."""

def traced_record(run_json: str, trace: bytes, first: bytes, second: bytes) -> dict[str, Any]:
    """Return the record of a run of the kernel, in the form of `Gateway.finish`.

    `run_json` is a ``TracedRun`` of `crates/gateway`; `trace` has the pages of the kernel's trace, `first`
    and `second` the blocks of headers at its two routers. A damaged trace raises ``ValueError``.
    """

@final
class Gateway:
    """Real packets through the simulator's queues, in a native thread that holds no GIL."""

    def __new__(cls, plan_json: str) -> Gateway:
        """Start a gateway; `plan_json` is a plan of `crates/gateway` with the descriptors of open devices."""

    def live(self) -> dict[str, Any] | None:
        """Return its state: ``now_ns``, ``queues`` (forward, backward), and counters outside the queues; None
        after `finish`."""

    def stop(self) -> None:
        """Request that it ends now."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""

    def finish(self) -> dict[str, Any]:
        """Wait for its end and return the record: that of a simulation, with ``ends`` of the flows (protocol,
        source, port, destination, port; the source sends the data), ``lateness`` and ``waiting``
        (``edges_ns`` and ``counts`` of a histogram), ``standstill_ns`` and ``tally``."""
