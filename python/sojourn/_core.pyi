"""The simulator and the algorithms of Sojourn (compiled from Rust)."""

from typing import Any, Literal, final, overload

__all__ = [
    "VERSION",
    "CORE_VERSION",
    "SpecError",
    "PlanError",
    "Cancelled",
    "ConservationError",
    "algorithms",
    "canonical",
    "spec_info",
    "inspect",
    "stopwatch",
    "parse_unit",
    "canonical_unit",
    "nearest",
    "CONVENTIONS",
    "tcp_schema",
    "tcp_options",
    "check",
    "Batch",
]

VERSION: str
CORE_VERSION: str
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

def algorithms() -> list[dict[str, Any]]:
    """Every algorithm with its parameters, probes and documentation."""

def canonical(spec: str) -> str:
    """The canonical form of a spec: words in schema order, one spelling for each value."""

def spec_info(spec: str) -> dict[str, Any]:
    """What a spec says: `name`, `limit` (or None), `values` that were set."""

def inspect(spec: str, rate: int, flows: int, packets: int) -> dict[str, int]:
    """What an algorithm or scheduler costs: `state_bytes`, and over so many `packets` the `departures`,
    `draws`, `looks`, `timers`, `moves` (packets at which a probe moved) and the link's `elapsed_ns`."""

def stopwatch(
    spec: str, rate: int, flows: int, packets: int
) -> tuple[float | None, float | None, float | None]:
    """Nanoseconds of an arrival, a departure and a timer; None where none came."""

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
