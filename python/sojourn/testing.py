"""The contract that every algorithm must fulfil, as checks for built-in algorithms and those of users.

``check_aqm`` drives the real handlers through random inputs (the core's ``Harness``) and a small simulation.
The project runs it over its whole registry; run it on your own algorithm before you trust its results.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.algorithms import Aqm, permitting
from sojourn.algorithms import spec_of as canonical
from sojourn.errors import from_core
from sojourn.spec.scenario import Scenario

WEEK = 7 * 24 * 3600 * 10**9
#: Links and limits: rate in bit/s, limit, mean packet in bytes, whether ECN is on.
ORDINARY = [(10_000_000, "1000p", 1000, True), (10_000_000, "1000p", 1000, False)]
EXTREME = [
    (1, "1000p", 1000, True),
    (10_000_000_000_000, "1000p", 1000, True),
    (10_000_000, "1p", 1000, True),
    (10_000_000, "1B", 1000, True),
    (10_000_000, "1000GB", 1, True),
    (10_000_000, "4294967295p", 65_536, True),
]
#: At an ordinary link one departure drops at most this share of the queue.
MOST_DROPS = 0.5
#: Largest growth of the state from 5,000 to 20,000 events: this factor, plus this number of bytes.
MOST_GROWTH, SLACK = 2.0, 4096

WORLD = """
name = "contract"
duration = "4s"
conventions = "rfc"
dumbbell = { rate = "2Mbit/s", delay = "5ms", access = { rate = "10Mbit/s", delays = ["5ms", "20ms"] }, \
server = { rate = "10Mbit/s", delay = "5ms" } }
queue = { limit = "30p", ecn = true }
[[traffic]]
name = "ftp"
kind = "tcp"
count = 6
payload = "500B"
header = "40B"
[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "500kbit/s"
size = "500B"
"""


class ContractBroken(AssertionError):  # noqa: N818 - a result, not a misuse
    """An algorithm fails some checks; `report` has the results of all."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(f"{report.spec} breaks the contract:\n{report}")


@dataclass(frozen=True)
class Line:
    """The result of one check: `problem` is None if it passes; `skipped` is the reason if it did not run."""

    name: str
    meaning: str
    problem: str | None = None
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"-       {self.name}: {self.skipped}"
        if self.problem is None:
            return f"ok      {self.name}: {self.meaning}"
        return f"FAILED  {self.name}: {self.meaning}; {self.problem}"


@dataclass
class Report:
    """The results of all checks of one algorithm, one line each."""

    spec: str
    lines: list[Line] = field(default_factory=list)

    @property
    def failed(self) -> list[Line]:
        """The failed checks."""
        return [line for line in self.lines if line.problem is not None]

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


class _Broken(Exception):  # noqa: N818 - what a check raises
    pass


def check_aqm(aqm: str | Aqm | type[Aqm], *, strict: bool = True, allow_code: bool = False) -> Report:
    """Check that an algorithm fulfils the contract.

    Parameters
    ----------
    aqm : str, Aqm or class
        A spec (``"red min_th 5"``, ``"mine.py:Mine"``), a class of your own or an object of it.
    strict : bool
        Whether to raise if a check fails.
    allow_code : bool
        Execute the Python file that a spec names; a class needs no permission.

    Returns
    -------
    Report
        Its text has one line per check.

    Raises
    ------
    ContractBroken
        If a check fails; lists all failures.
    InputError
        If the algorithm cannot be loaded.

    Examples
    --------
    >>> report = check_aqm("pie")
    >>> report.failed
    []
    >>> print(report.lines[0])
    ok      schema: every parameter has meaning, unit, range and source
    """
    with permitting(allow_code):
        spec = canonical(aqm)
        report = Report(spec)
        exams = _Exams(spec)
    for name, (meaning, check) in CHECKS.items():
        line = Line(name, meaning)
        if exams.is_scheduler and check not in FOR_SCHEDULERS:
            line = Line(name, meaning, skipped="is made of algorithms on one queue only")
        else:
            try:
                check(exams)
            except _Broken as broken:
                line = Line(name, meaning, str(broken))
            except (_core.AlgorithmError, _core.SpecError) as error:
                line = Line(name, meaning, str(error))
        report.lines.append(line)
    if report.failed and strict:
        raise ContractBroken(report)
    return report


class _Exams:
    """An algorithm on various links, and the violated rules."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        try:
            self.entry = _core.algorithm(spec.split()[0])
        except _core.SpecError as error:
            raise from_core(error) from None
        self.name: str = self.entry["name"]
        self.is_scheduler = _is_scheduler(spec)
        #: Observations by rule, for ordinary links, unusual times and unusual links.
        self.broken: dict[str, dict[str, str]] = {"ordinary": {}, "times": {}, "links": {}}
        if not self.is_scheduler:
            self._visit("ordinary", ORDINARY, lambda exam: exam.run(3000, 0.5))
            self._visit("times", ORDINARY, _strange_times)
            self._visit("links", EXTREME, _strange_times)

    def make(
        self, link: tuple[int, str, int, bool] = ORDINARY[0], spec: str = "", seed: int = 1
    ) -> _core.Harness:
        rate, limit, mean_packet, ecn = link
        return _core.Harness(spec or self.spec, rate, limit, mean_packet, ecn, seed)

    def _visit(
        self, where: str, links: list[tuple[int, str, int, bool]], visit: Callable[[_core.Harness], Any]
    ) -> None:
        for link in links:
            faults: list[tuple[str, str]] = []
            try:
                exam = self.make(link)
                try:
                    visit(exam)
                finally:
                    faults = exam.violations()
            except _core.AlgorithmError as error:
                faults.append((_rule(error), str(error)))
            except _core.SpecError as error:
                # Values need not be valid for an unusual link.
                if where != "links":
                    faults.append(("raises", str(error)))
            rate, limit, mean_packet, ecn = link
            at = f"on a link of {rate} bit/s, limit {limit}, packets of {mean_packet} B, ecn {ecn}"
            for rule, what in faults:
                self.broken[where].setdefault(rule, f"{what} {at}")

    def refuse(self, *rules: str, where: tuple[str, ...] = ("ordinary", "times", "links")) -> None:
        for place in where:
            for rule in rules:
                if rule in self.broken[place]:
                    raise _Broken(self.broken[place][rule])


def _is_scheduler(spec: str) -> bool:
    """Return whether `spec` has its own queues; `Harness` supports only one queue."""
    try:
        _core.Harness(spec, 10_000_000, "1000p")
    except _core.SpecError as error:
        return "is a scheduler" in error.problem
    except _core.AlgorithmError:
        return False
    return False


def _strange_times(exam: _core.Harness) -> None:
    """Yield times that advance, repeat, jump by weeks, and advance by 1 ns."""
    exam.run(300, 0.5)
    exam.run(200, 0.0)
    exam.advance(WEEK)
    exam.run(200, 0.5)
    exam.depart(300)
    exam.advance(WEEK)
    exam.run(50, 1000.0)
    exam.run(200, 0.0)


def _rule(error: _core.AlgorithmError) -> str:
    """Return the rule that an exception violates."""
    text = str(error)
    if "is the queue's own cause" in text:
        return "overflow"
    if "_core.Packet' objects is not writable" in text:
        return "ecn"
    return error.rule


def _schema(exams: _Exams) -> None:
    entry = exams.entry
    if not entry["doc"].strip():
        raise _Broken(f"{exams.name} has no docstring that describes it")
    for param in entry["params"]:
        place = f"{exams.name}.{param['name']}"
        if len(param["doc"]) <= 10:
            raise _Broken(f"{place} has no meaning (doc = one line)")
        if not param["source"]:
            raise _Broken(f"{place} has no source")
        if param["kind"] in ("span", "rate", "size") and not param["unit"]:
            raise _Broken(f"{place} has no unit")
        limits = (param["range"]["min"], param["range"]["max"])
        if param["kind"] in ("number", "integer", "span", "size") and limits == (None, None):
            raise _Broken(f"{place} has no range (min, max, above or below)")
    for probe in entry["probes"]:
        if not probe["doc"]:
            raise _Broken(f"{exams.name}: probe {probe['name']} has no meaning")


def _spelling(exams: _Exams) -> None:
    if _core.canonical(exams.spec) != exams.spec:
        raise _Broken(f"{exams.spec} reads back as {_core.canonical(exams.spec)}")
    scenario = Scenario.from_toml(WORLD).with_(queue={"limit": "30p", "ecn": True, "aqm": exams.spec})
    again = Scenario.from_toml(scenario.to_toml())
    if again != scenario:
        raise _Broken("a scenario with it reads back as another one")
    written = exams.name
    for param in exams.entry["params"]:
        if not param["derived"]:
            written += f" {param['name']} {param['default']}"
        for word in param["choices"]:
            _core.canonical(f"{exams.name} {param['name']} {word}")
    canonical = _core.canonical(written)
    if exams.is_scheduler:
        return
    plain, full = (exams.make(spec=spec) for spec in (exams.name, canonical))
    plain.run(1000, 0.5)
    full.run(1000, 0.5)
    if plain.log() != full.log():
        raise _Broken(f"{canonical}, its defaults written out, decides differently from {exams.name}")


def _determinism(exams: _Exams) -> None:
    for link in ORDINARY:
        one, other = exams.make(link), exams.make(link)
        for _ in range(4):  # alternately, so that shared state shows
            one.run(500, 0.5)
            other.run(500, 0.5)
        if one.log() != other.log():
            raise _Broken(
                "two instances with the same seed decide differently (own random numbers, shared state?)"
            )


def _clone(exams: _Exams) -> None:
    original = exams.make()
    original.run(1000, 0.5)
    copy = original.copy()
    original.run(1000, 0.5)
    after = original.log()
    original.run(1000, 0.5)  # must not affect the copy
    copy.run(1000, 0.5)
    if copy.log() != after:
        raise _Broken("a copy decides differently from the original (state outside of the instance?)")


def _memory(exams: _Exams) -> None:
    exam = exams.make()
    if exam.instance is None:
        return
    exam.run(5000, 0.5)
    before = _size(exam.instance)
    exam.run(15_000, 0.5)
    after = _size(exam.instance)
    if after > MOST_GROWTH * before + SLACK:
        raise _Broken(f"state grows from {before} to {after} bytes with four times the events")


def _size(instance: Any) -> int:
    """Return the bytes that an instance and what it holds take, with the containers of its class."""
    cls = type(instance)
    shared = [value for base in cls.__mro__ for value in vars(base).values() if gc.is_tracked(value)]
    known = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    kept = [value for value in shared if isinstance(value, list | dict | set)]
    todo, seen, total = [vars(instance), *kept], set(), 0
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, known):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        todo += gc.get_referents(one)
    return total


def _drops(exams: _Exams) -> None:
    exam = exams.make()
    exam.run(5000, 0.5)
    if exam.most_drops > MOST_DROPS * 1000:
        raise _Broken(f"one departure dropped {exam.most_drops} packets of a queue of 1000")


def _simulation(exams: _Exams) -> None:
    scenario = Scenario.from_toml(WORLD)
    job = (scenario.plan_json(exams.spec), 1)
    results = dict(_records([job, job]))
    for result in results.values():
        if isinstance(result, Exception):
            raise _Broken(f"in a simulation: {result}")
    if results[0] != results[1]:
        raise _Broken("two simulations with the same seed give different records")


def _records(jobs: list[tuple[str, int]]) -> Iterator[tuple[int, Any]]:
    try:
        batch = _core.Batch(jobs, 1)
        while not batch.finished:
            yield from batch.poll(0.1)
        yield from batch.poll()
    finally:
        batch.cancel()


Check = Callable[[_Exams], None]
FOR_SCHEDULERS = (_schema, _spelling, _simulation)
CHECKS: dict[str, tuple[str, Check]] = {
    "schema": ("every parameter has meaning, unit, range and source", _schema),
    "spelling": ("specs and scenario files read back; defaults written out change nothing", _spelling),
    "runs": (
        "no handler raises or returns an invalid value",
        lambda exams: exams.refuse("raises", "answer", "clone", where=("ordinary",)),
    ),
    "times": (
        "time may stop or jump by a week",
        lambda exams: exams.refuse("raises", "answer", where=("times",)),
    ),
    "links": (
        "rates from 1 bit/s to 10 Tbit/s, buffers from 1 B to 1 TB, packets from 1 B to 64 KiB",
        lambda exams: exams.refuse("raises", "answer", where=("links",)),
    ),
    "timers": ("a timer is after now", lambda exams: exams.refuse("timer")),
    "ecn": (
        "packets that are not ECN-capable are never marked, CE stays CE",
        lambda exams: exams.refuse("ecn"),
    ),
    "ecn off": ("nothing is marked if ECN is off", lambda exams: exams.refuse("ecn-off")),
    "overflow": ("overflow is the queue's cause, and never a mark", lambda exams: exams.refuse("overflow")),
    "conservation": ("only queued packets are dropped", lambda exams: exams.refuse("victim")),
    "probabilities": ("a probe p or p_... lies in [0, 1]", lambda exams: exams.refuse("probability")),
    "finite": ("no probe is NaN or infinite", lambda exams: exams.refuse("finite")),
    "probes": ("every declared probe is reported, no other", lambda exams: exams.refuse("probes")),
    "determinism": ("same seed, same decisions; instances share nothing", _determinism),
    "clone": ("a copy continues as the original does, and does not affect it", _clone),
    "memory": ("state does not grow with the number of packets", _memory),
    "drops": ("one departure drops at most half of a long queue", _drops),
    "simulation": ("packets of a simulation are conserved, its record repeats", _simulation),
}
