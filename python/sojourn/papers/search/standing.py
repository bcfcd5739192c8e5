"""The verdict on each claim after a search: one of five, with its evidence.

*reproduced*: as the project reads the paper. *reproduced under {reading}*: only under another one, the
simplest that was found. *not under any of N readings*: no reading meets it, not even by its estimates.
*impossible*: it is not met, and arithmetic or the paper's own numbers exclude it; the proof is a row of
``data/impossible.csv``. *undecided*: all others, such as a claim that some readings met on few seeds and
none on many. `standings` gives the verdicts of a search, `overall` that of a claim of a re-run paper: from
its own readings, which are tried one at a time, and from a search if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sojourn.papers.claims import Verdict, rows
from sojourn.papers.paper import Paper
from sojourn.papers.search.run import Search
from sojourn.papers.search.space import Choice, Space

NAME = "impossible.csv"


class Kind(StrEnum):
    """The five verdicts."""

    REPRODUCED = "reproduced"
    UNDER = "reproduced under another reading"
    NEVER = "not under any reading"
    IMPOSSIBLE = "impossible"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Standing:
    """The verdict on a claim over all readings.

    Attributes
    ----------
    kind : Kind
        One of the five verdicts.
    text : str
        The verdict in words, with the reading or the number of readings.
    evidence : str
        The evidence for it.
    """

    kind: Kind
    text: str
    evidence: str = ""


def proofs(paper: Paper) -> dict[str, str]:
    """Return the proof of each claim that is excluded, by claim id."""
    path = paper.data / NAME
    return {row["claim_id"]: row["proof"] for row in rows(path)} if path.is_file() else {}


def standings(search: Search) -> dict[str, Standing]:
    """Return the verdict on every claim that was searched, by claim id."""
    known = proofs(search.paper)
    return {name: _standing(search, name, known.get(name, "")) for name in search.target.claims}


def _standing(search: Search, name: str, proof: str) -> Standing:
    space, tried = search.space, [trial for trial in search.trials if trial.scored.holds(name)]
    count = len(search.trials)
    met = f"met by the estimates of {len(tried)} of {count} readings"
    under = reproduced(search, name)
    if {} in under:
        return Standing(Kind.REPRODUCED, Kind.REPRODUCED, met)
    if under:
        choice = simplest(space, under)
        prices = "; ".join(space.prices(choice))
        against = f"; contradicts: {prices}" if prices else ""
        return Standing(Kind.UNDER, f"reproduced under {space.name(choice)}", met + against)
    if proof:
        return Standing(Kind.IMPOSSIBLE, Kind.IMPOSSIBLE, proof)
    if not tried:
        most = max(search.trials, key=lambda trial: trial.scored.met[name][0])
        best, parts = most.scored.met[name]
        return Standing(
            Kind.NEVER, f"not under any of {count} readings", f"at most {best} of {parts} comparisons are met"
        )
    return Standing(Kind.UNDECIDED, Kind.UNDECIDED, met)


def overall(
    verdict: str, sensitivity: Mapping[str, str], proof: str, searched: Mapping[str, str] | None
) -> Standing:
    """Return the verdict on a claim of a re-run paper over all readings that were tried.

    Parameters
    ----------
    verdict : str
        As assumed.
    sensitivity : mapping
        Verdict under each other reading.
    proof : str
        Why it is impossible; empty if nothing excludes it.
    searched : mapping or None
        Its ``verdict``, ``words`` and ``evidence`` in a search; None if it was not searched.
    """
    if verdict == Verdict.REPRODUCED:
        return Standing(Kind.REPRODUCED, Kind.REPRODUCED)
    under = [name for name, one in sensitivity.items() if one == Verdict.REPRODUCED]
    if under:
        more = f" and {len(under) - 1} others" if len(under) > 1 else ""
        return Standing(Kind.UNDER, f"reproduced under {under[0]}{more}", "each reading alone")
    kind = searched["verdict"] if searched else ""
    if searched and kind == Kind.UNDER:
        return Standing(Kind.UNDER, searched["words"], searched["evidence"])
    if proof:
        return Standing(Kind.IMPOSSIBLE, Kind.IMPOSSIBLE, proof)
    refuted = verdict == Verdict.NOT_REPRODUCED and {*sensitivity.values()} <= {Verdict.NOT_REPRODUCED.value}
    if searched and kind == Kind.NEVER:
        return Standing(Kind.NEVER, searched["words"], searched["evidence"])
    if refuted and not searched:
        count = 1 + len(sensitivity)
        words = f"not under any of {count} readings" if count > 1 else "not under the only reading"
        return Standing(Kind.NEVER, words, "each reading alone")
    return Standing(Kind.UNDECIDED, Kind.UNDECIDED, searched["evidence"] if searched else "")


def by_claim(found: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Return the verdicts of a stored search (``search.json``) by claim id; empty without one."""
    return {one["claim"]: one for one in found.get("claims", [])}


def reproduced(search: Search, name: str) -> list[Choice]:
    """Return the readings under which a claim was reproduced on the seeds of the confirmation."""
    found = [one.choice for one in search.confirmed if one.findings[name].verdict is Verdict.REPRODUCED]
    judged = search.single.get(name, [])
    return found + [choice for choice, finding in judged if finding.verdict is Verdict.REPRODUCED]


def simplest(space: Space, choices: Sequence[Choice]) -> Choice:
    """Return the reading that contradicts least, and of those the one that changes least."""
    return min(choices, key=lambda choice: (len(space.prices(choice)), len(choice)))


def count(found: Mapping[str, Standing]) -> dict[Kind, int]:
    """Return the number of claims with each verdict."""
    return {kind: sum(one.kind is kind for one in found.values()) for kind in Kind}
