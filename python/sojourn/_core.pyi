"""The simulator and the algorithms of Sojourn (compiled from Rust)."""

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
    "nearest",
    "CONVENTIONS",
    "tcp_schema",
    "tcp_options",
    "check",
    "run",
    "Awake",
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
    """Packets were lost or invented: a defect."""

class AlgorithmError(Exception):
    """An algorithm written in Python broke a rule."""

    rule: str

def algorithms() -> list[dict[str, Any]]:
    """Every algorithm with its parameters, probes and documentation."""

def algorithm(name: str) -> dict[str, Any]:
    """One algorithm with its parameters, probes and documentation."""

def register(name: str, class_: type, description: dict[str, Any]) -> None:
    """Make `class_` known as `name`; an older class of that name is forgotten.

    Names and texts live as long as the process: a class is registered once a version of its file."""

@final
class Packet:
    """One packet, as an algorithm may know it."""

    @property
    def bytes(self) -> int:
        """Size on the wire."""
    @property
    def ecn(self) -> int:
        """ECN field as it stands: NOT_ECT, ECT1, ECT0 or CE; true if the packet can carry a mark."""
    @property
    def flow(self) -> int:
        """Number of its flow."""
    @property
    def class_(self) -> int:
        """Its traffic class."""
    @property
    def arrived(self) -> int:
        """When it entered this queue, in ns (for an arrival: now)."""

    def __deepcopy__(self, _memo: Any, /) -> Packet: ...

@final
class Queue:
    """The queue, as an algorithm sees it: waiting packets only."""

    @property
    def packets(self) -> int:
        """Waiting packets."""
    @property
    def bytes(self) -> int:
        """Waiting bytes."""
    @property
    def limit_packets(self) -> int | None:
        """The buffer limit, if it counts packets."""
    @property
    def limit_bytes(self) -> int | None:
        """The buffer limit, if it counts bytes."""
    @property
    def link_rate(self) -> int:
        """Configured rate of the link in bit/s."""

    def at(self, position: int) -> Packet | None:
        """The waiting packet at `position`, head = 0; None beyond the tail."""

    def of_flow(self, flow: int) -> int:
        """Waiting packets of one flow."""

    def of_class(self, class_: int) -> int:
        """Waiting packets of one class."""

    def __deepcopy__(self, _memo: Any, /) -> Queue: ...

@final
class Rng:
    """The random numbers of the queue."""

    def uniform(self) -> float:
        """The next number, 0 <= u < 1."""

    def __deepcopy__(self, _memo: Any, /) -> Rng: ...

@final
class Link:
    """The link that an algorithm was made for."""

    @property
    def rate(self) -> int:
        """Configured rate in bit/s."""
    @property
    def limit_packets(self) -> int | None:
        """The buffer limit, if it counts packets."""
    @property
    def limit_bytes(self) -> int | None:
        """The buffer limit, if it counts bytes."""
    @property
    def mean_packet(self) -> int:
        """Mean packet size on the wire, in bytes."""
    @property
    def packet_time(self) -> int:
        """Time of one mean packet on the link, in ns."""

    def __deepcopy__(self, _memo: Any, /) -> Link: ...

@final
class Verdict:
    """The answer of an algorithm about one packet; called with a cause, the same answer for that cause."""

    def __call__(self, /, cause: str) -> Verdict:
        """The same answer because of `cause`: early, forced, flow-limit or profile."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __deepcopy__(self, _memo: Any, /) -> Verdict: ...

PASS: Verdict
MARK: Verdict
DROP: Verdict

def drop_both(victim: int, cause: str = "early") -> Verdict:
    """Discard the arrival and the waiting packet at position `victim` (head = 0) too."""

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
        """`spec` on a link of `rate` bit/s with this buffer limit, packets of `mean_packet` bytes."""

    def run(self, steps: int, pace: float) -> None:
        """`steps` random events, `pace` packet times apart on average."""

    def advance(self, ns: int) -> None:
        """Advance the clock by `ns` and run the timers that expire."""

    def depart(self, times: int) -> None:
        """Try `times` departures."""

    def copy(self) -> Harness:
        """An independent copy that continues from here."""

    def log(self) -> list[str]:
        """The events so far, one word each, to compare runs."""

    def violations(self) -> list[tuple[str, str]]:
        """The rules violated so far: name, and the first instance."""

    @property
    def most_drops(self) -> int:
        """Most packets that one departure dropped."""
    @property
    def waiting(self) -> int:
        """Packets in the queue."""
    @property
    def instance(self) -> Any:
        """The Python object under test; None for a built-in algorithm or a copy."""

def schedulers() -> list[dict[str, Any]]:
    """Every scheduler, in the same form."""

def markers() -> list[dict[str, Any]]:
    """Every marker, in the same form."""

def canonical(spec: str) -> str:
    """The canonical form of a spec: words in schema order, one spelling for each value."""

def canonical_marker(spec: str) -> str:
    """The canonical form of a marker's spec; a profile that is incomplete is refused."""

def spec_info(spec: str) -> dict[str, Any]:
    """What a spec says: `name`, `limit` (or None), `values` that were set, `ecn`: whether it asks for it."""

def inspect(spec: str, rate: int, flows: int, packets: int) -> dict[str, int]:
    """What an algorithm or scheduler costs: `state_bytes`, and over `packets` arrivals the `departures`,
    `draws`, `looks`, `timers`, `moves` (packets at which a probe moved) and the link's `elapsed_ns`."""

def stopwatch(
    spec: str, rate: int, flows: int, packets: int
) -> tuple[float | None, float | None, float | None]:
    """Nanoseconds of an arrival, a departure and a timer; None where none came."""

def drop_function(spec: str, cls: int, lengths: list[int]) -> list[float]:
    """The probe `p` of a fresh instance after two arrivals that meet a queue of each of these lengths."""

@overload
def parse_unit(kind: Literal["span", "rate"], word: str) -> int: ...
@overload
def parse_unit(kind: Literal["bytes"], word: str) -> float: ...
@overload
def parse_unit(kind: Literal["size", "limit"], word: str) -> tuple[float, str]: ...
@overload
def parse_unit(kind: str, word: str) -> Any:
    """Read `word` as a span (ns), rate (bit/s), bytes, or as a size or limit (number and its unit)."""

def canonical_unit(kind: str, word: str) -> str:
    """One spelling for each quantity: `10mbit` becomes `10Mbit/s`."""

def nearest(word: str, candidates: list[str]) -> str | None:
    """The candidate that `word` probably meant."""

def tcp_schema() -> list[dict[str, Any]]:
    """Every option of TCP, with its value under each preset."""

def tcp_options(conventions: str, overrides: dict[str, str]) -> dict[str, Any]:
    """The resolved options: the preset, then what was set."""

def check(plan_json: str) -> None:
    """Refuse a plan that cannot run."""

def run(plan_json: str, seed: int) -> dict[str, Any]:
    """Make one run here and now, so that Ctrl-C reaches the handlers of an algorithm in Python."""

@final
class Batch:
    """Runs that go on in native threads until all are finished, or cancelled."""

    def __new__(cls, jobs: list[tuple[str, int]], workers: int) -> Batch:
        """Start to run `jobs` (plan and seed) on `workers` threads."""

    def poll(self, timeout: float = 0.0) -> list[tuple[int, Any]]:
        """What finished since the last call: index of the job, and its record or the exception. Waits at
        most `timeout` seconds for the first."""

    def progress(self) -> float:
        """The share of all virtual time that is done, 0 to 1."""

    def cancel(self) -> None:
        """Ask every run to stop; those under way end with `Cancelled`, the others never start."""

    @property
    def finished(self) -> bool:
        """Whether every job has finished and been handed over or is waiting to be."""

@final
class Awake:
    """Prevents idle states of processors until closed: a thread of the lowest priority spins on each."""

    def __new__(cls, processors: list[int]) -> Awake:
        """Start a thread for each of `processors`."""

    def close(self) -> None:
        """Stop the threads."""

@final
class Gateway:
    """Real packets through the simulator's queues, in a native thread that holds no GIL."""

    def __new__(cls, plan_json: str) -> Gateway:
        """Start it; `plan_json` is the plan of `crates/gateway`, with the descriptors of open devices."""

    def live(self) -> dict[str, Any] | None:
        """How it stands: ``now_ns``, ``queues`` (forward, backward), counts outside the queues."""

    def stop(self) -> None:
        """Ask it to end now."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""

    def finish(self) -> dict[str, Any]:
        """Wait for its end; returns the record (as a simulation's, with ``lateness_edges_ns``,
        ``lateness_counts``, ``standstill_ns`` and ``tally``)."""
