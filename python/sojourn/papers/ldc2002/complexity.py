"""State of each algorithm and number of updates of its control law (Table 6), counted by the core.

The core runs an instance with packets of few and of many flows and counts random numbers, timers, and the
packets that changed its state.
"""

from __future__ import annotations

from functools import cache

import polars as pl

from sojourn import _core
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.ldc2002.experiments import ALGORITHMS, TABLE2

#: Number of packets, and the link to which they are offered: fast, so that every interval has packets.
PACKETS, RATE = 100_000, 100_000_000
FEW, MANY = 10, 1000
#: Update interval of REM and LDC.
INTERVAL_NS = 2_000_000


@cache
def cost(name: str, flows: int = FEW) -> dict[str, int]:
    """Return the costs of an algorithm of Table 2 over about `PACKETS` packets."""
    algorithm, words = TABLE2[name]
    spec = " ".join([algorithm, *(word for pair in words.items() for word in pair)])
    return _core.inspect(spec, RATE, flows, PACKETS)


def updates() -> Finding:
    """LDC-48: the control laws of LDC and REM run once per interval, RED's at every packet."""
    red, per_packet = cost("RED"), cost("RED")["moves"] / cost("RED")["packets"]
    words, holds = (
        [f"RED: {red['moves']} updates at {red['packets']} arrivals"],
        red["moves"] == red["packets"],
    )
    for name in ("REM", "LDC"):
        found = cost(name)
        intervals = found["elapsed_ns"] / INTERVAL_NS
        holds &= abs(found["timers"] - intervals) <= 1 and found["moves"] == 0
        words.append(
            f"{name}: {found['timers']} in {intervals:.0f} intervals of 2 ms and {found['moves']} at packets"
        )
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED
    measure = "updates a packet (RED)"
    return Finding(verdict, per_packet, n=3, measure=measure, claimed="1", reason="; ".join(words))


def constant_state() -> Finding:
    """LDC-49, its last part: the state of RED, BLUE, REM and LDC does not depend on the number of flows."""
    names = [name for name in ALGORITHMS if name not in ("SRED", "FRED")]
    few, many = ([cost(name, flows) for name in names] for flows in (FEW, MANY))
    most = max(abs(a["state_bytes"] - b["state_bytes"]) for a, b in zip(few, many, strict=True))
    words = ", ".join(f"{name} {one['state_bytes']} bytes" for name, one in zip(names, few, strict=True))
    verdict = Verdict.REPRODUCED if most == 0 else Verdict.NOT_REPRODUCED
    reason = f"{words} with {FEW} flows as with {MANY}; none of them keeps lists"
    measure = f"largest difference of state between {FEW} and {MANY} flows, bytes"
    return Finding(verdict, float(most), n=len(names), measure=measure, claimed="0", reason=reason)


def frame() -> pl.DataFrame:
    """Return Table 6 in numbers: the work of each algorithm per packet."""
    rows = []
    for name in ALGORITHMS:
        found = cost(name)
        packets, seconds = found["packets"], found["elapsed_ns"] / 1e9
        rows.append(
            {
                "algorithm": name.lower(),
                "state (bytes)": found["state_bytes"],
                "random numbers per packet": found["draws"] / packets,
                "updates per packet": found["moves"] / packets,
                "updates by timer per second": found["timers"] / seconds,
            }
        )
    return pl.DataFrame(rows)
