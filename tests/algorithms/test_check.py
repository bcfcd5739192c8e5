"""`check_aqm`: registered algorithms satisfy the contract, and each check fails on one that violates it.

Mutants seen to fail: no check for marks with ECN off, for probabilities above 1, for equal logs, for memory.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import sojourn
from sojourn import _core
from sojourn.testing import CHECKS, ContractBroken, check_aqm
from support import ROOT

NAMES = [one["name"] for one in _core.algorithms()]
SCHEDULERS = ["fq_codel", "fq_pie", "fq", "sfq", "cake", "dualpi2", "drr", "prio"]


class Correct(sojourn.Aqm):
    """A correct algorithm: drops one packet in twenty."""

    share = sojourn.Param(0.05, min=0, max=1, doc="Share of packets that are dropped", source="a test")
    probes = {"p": "share of packets that are dropped"}

    def start(self) -> None:
        self.p = self.share

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return self.signal(packet) if rng.uniform() < self.p else sojourn.PASS


class Undescribed(Correct):
    """Has a parameter without a description."""

    gain = sojourn.Param(1.0)


class Undocumented(Correct):
    """Has a parameter without a source."""

    gain = sojourn.Param(1.0, min=0, doc="Gain of the controller")


class Misspelt(Correct):
    """Behaves differently if its default is given explicitly."""

    share = sojourn.Param(
        derived="0.05, unless written", min=0, max=1, doc="Share that is dropped", source="a test"
    )
    gain = sojourn.Param(0.1 + 0.2, min=0, doc="An unused gain", source="a test")
    made = itertools.count()

    def start(self) -> None:
        self.p = 0.05 * (1 + next(self.made) % 2)


class Raises(Correct):
    """Divides by a queue length that may be 0."""

    def on_offered(self, now: int, packet: _core.Packet, queue: _core.Queue) -> None:
        self.share / queue.packets


class WrongType(Correct):
    """Returns a probability instead of a verdict."""

    def on_departure(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return 0.5


class FailsAfterAnHour(Correct):
    """Fails if there was no packet for an hour."""

    def start(self) -> None:
        super().start()
        self.last = -1

    def on_offered(self, now: int, packet: _core.Packet, queue: _core.Queue) -> None:
        if now - self.last > 3600 * 10**9:
            raise ValueError("an hour without a packet")
        self.last = now


class DividesByRate(Correct):
    """Divides by the link's rate in Mbit/s."""

    def on_offered(self, now: int, packet: _core.Packet, queue: _core.Queue) -> None:
        packet.bytes // (queue.link_rate // 10**6)


class EndlessTimer(Correct):
    """Sets each timer to the current time."""

    def next_timer(self) -> float:
        return getattr(self, "due", 10**6)

    def on_timer(self, now: int, queue: _core.Queue) -> None:
        self.due = now


class Marks(Correct):
    """Marks every packet."""

    def on_departure(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return sojourn.MARK


class RemovesMark(Correct):
    """Removes a mark."""

    def on_arrival(self, now: int, packet: Any, queue: _core.Queue, rng: _core.Rng) -> Any:
        packet.ecn = sojourn.ECT0


class MarksWithEcnOff(Correct):
    """Marks every ECN-capable packet even with ECN off."""

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return sojourn.MARK if packet.ecn else sojourn.PASS


class Overflows(Correct):
    """Uses the cause overflow."""

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return sojourn.MARK("overflow") if packet.ecn and queue.packets > 10 else sojourn.PASS


class DropsBehindTail(Correct):
    """Drops a packet behind the tail."""

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return sojourn.drop_both(queue.packets) if queue.packets > 5 else sojourn.PASS


class ProbabilityAboveOne(Correct):
    """Has a probability that exceeds 1."""

    def on_departure(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        self.p += 0.01


class NotANumber(ProbabilityAboveOne):
    """Probes infinity less infinity."""

    def probe(self) -> dict[str, float]:
        return {"p": float("inf") - float("inf") if self.p > 1 else 0.5}


class MissingProbe(Correct):
    """Declares a probe that it does not report."""

    probes = {"p": "share of packets that go", "q": "another"}

    def probe(self) -> dict[str, float]:
        return {"p": 0.5}


class OwnRandomNumbers(Correct):
    """Uses its own random numbers."""

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        return sojourn.DROP if random.random() < 0.05 else sojourn.PASS


class SharedCounter(Correct):
    """Has a counter shared by all instances."""

    counts = {"packets": 0}

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        self.counts["packets"] += 1
        return sojourn.DROP if self.counts["packets"] % 7 == 0 else sojourn.PASS


class SharedCopies(Correct):
    """Shares its state between copies."""

    def start(self) -> None:
        super().start()
        self.state = {"packets": 0}

    def __deepcopy__(self, memo: Any) -> SharedCopies:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def on_arrival(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        self.state["packets"] += 1
        return sojourn.DROP if self.state["packets"] % 7 == 0 else sojourn.PASS


class GrowingState(Correct):
    """Stores a value per packet."""

    def start(self) -> None:
        super().start()
        self.packets: list[_core.Packet] = []

    def on_offered(self, now: int, packet: _core.Packet, queue: _core.Queue) -> None:
        self.packets.append(packet)


class DropsLongQueue(Correct):
    """Drops a long queue at once."""

    def start(self) -> None:
        super().start()
        self.emptying = False

    def on_departure(self, now: int, packet: _core.Packet, queue: _core.Queue, rng: _core.Rng) -> Any:
        self.emptying = queue.packets > 800 or (self.emptying and queue.packets > 0)
        return sojourn.DROP if self.emptying else sojourn.PASS


class EverySecondRun(Correct):
    """Behaves differently in every second run of a seed, if the link is slow."""

    runs = itertools.count()

    def start(self) -> None:
        slow = self.link.rate < 5_000_000
        self.p = 0.1 * (next(self.runs) % 2) if slow and self.link.mean_packet < 1000 else self.share


BROKEN = [
    (Undescribed, "schema", "Undescribed.gain has no meaning"),
    (Undocumented, "schema", "Undocumented.gain has no source"),
    (Misspelt, "spelling", "its defaults written out, decides differently"),
    (Raises, "runs", "ZeroDivisionError"),
    (WrongType, "runs", "WrongType.on_departure returned 0.5"),
    (FailsAfterAnHour, "times", "an hour without a packet"),
    (DividesByRate, "links", "on a link of 1 bit/s"),
    (EndlessTimer, "timers", "which is not after now"),
    (Marks, "ecn", "marked a packet that is not ECN-capable"),
    (RemovesMark, "ecn", "is not writable"),
    (MarksWithEcnOff, "ecn off", "a mark with ecn off"),
    (Overflows, "overflow", "is the queue's own cause"),
    (DropsBehindTail, "conservation", "named the packet at 6, but the queue has 6"),
    (ProbabilityAboveOne, "probabilities", "probe p = 1.0"),
    (NotANumber, "finite", "probe gave p = NaN"),
    (MissingProbe, "probes", 'gave no number for "q"'),
    (OwnRandomNumbers, "determinism", "two instances with the same seed decide differently"),
    (SharedCounter, "determinism", "two instances with the same seed decide differently"),
    (SharedCopies, "clone", "a copy decides differently"),
    (GrowingState, "memory", "state grows from"),
    (DropsLongQueue, "drops", "one departure dropped"),
    (EverySecondRun, "simulation", "different records"),
]


def test_a_correct_algorithm_passes() -> None:
    report = check_aqm(Correct)
    assert [line.name for line in report.lines] == list(CHECKS)
    assert str(report).count("\n") == len(CHECKS) - 1
    assert all(str(line).startswith("ok ") for line in report.lines)
    assert check_aqm(Correct(share=0.5)).spec.endswith("test_check.py:Correct share 0.5")


@pytest.mark.parametrize(("cls", "check", "said"), BROKEN, ids=[cls.__name__ for cls, _, _ in BROKEN])
def test_a_broken_algorithm_is_detected(cls: type[sojourn.Aqm], check: str, said: str) -> None:
    with pytest.raises(ContractBroken) as caught:
        check_aqm(cls)
    found = {line.name: line.problem for line in caught.value.report.failed}
    assert check in found, found
    assert said in str(found[check])
    assert f"FAILED  {check}: " in str(caught.value)


def test_every_check_has_an_algorithm_that_fails_it() -> None:
    assert {check for _, check, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize("name", NAMES)
def test_a_built_in_algorithm_satisfies_the_contract(name: str) -> None:
    assert not check_aqm(name).failed


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_satisfies_the_checks_that_apply(name: str) -> None:
    report = check_aqm(name)
    assert sum(not line.skipped for line in report.lines) == 3


@pytest.mark.parametrize("name", ["red.py:RED", "pi.py:PI", "codel.py:CoDel"])
def test_the_examples_satisfy_the_contract(name: str) -> None:
    assert not check_aqm(f"{ROOT}/examples/own/{name}", allow_code=True).failed
