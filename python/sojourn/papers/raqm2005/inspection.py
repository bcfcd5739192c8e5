"""RAQM's work per packet, counted (claim RAQM-48).

The core gives an instance the same number of packets from few and from many flows and counts its
operations (random numbers, reads of the queue's contents, timers) and the size of its state.
"""

from __future__ import annotations

from sojourn import _core
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.raqm2005.experiments import RAQM

PACKETS = 100_000
FEW, MANY = 40, 400


def work_per_packet() -> Finding:
    """Judge RAQM-48: state and operations per packet do not depend on the number of flows."""
    spec = " ".join(["raqm", *(word for pair in RAQM.items() for word in pair)])
    few, many = (_core.inspect(spec, 10_000_000, flows, PACKETS) for flows in (FEW, MANY))
    verdict = Verdict.REPRODUCED if few == many else Verdict.NOT_REPRODUCED
    reason = (
        f"{_words(few)} with {FEW} flows, {_words(many)} with {MANY}, over {PACKETS} packets each (memory "
        "beyond the state itself is not counted; RAQM has none)"
    )
    most = max(abs(few[name] - many[name]) for name in few)
    measure = f"largest difference of any count between {FEW} and {MANY} flows"
    return Finding(verdict, float(most), n=2, measure=measure, claimed="0", reason=reason)


def _words(cost: dict[str, int]) -> str:
    return (
        f"{cost['state_bytes']} bytes of state, {cost['draws'] / cost['packets']:g} random numbers and "
        f"{cost['looks'] / cost['packets']:g} looks into the queue per packet, {cost['timers']} timers"
    )
