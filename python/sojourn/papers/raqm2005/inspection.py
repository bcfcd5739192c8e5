"""RAQM's work per packet: what an inspection of the algorithm finds (claim RAQM-48)."""

from __future__ import annotations

from sojourn.papers.claims import Finding, Verdict


def work_per_packet() -> Finding:
    """Judge RAQM-48: state and operations per packet do not depend on the number of flows."""
    return Finding(
        Verdict.UNDECIDED,
        measure="state bytes and operations per packet",
        claimed="equal for 40 and 400 flows",
        reason="the core does not tell the size of an algorithm's state or its operations per packet",
    )
