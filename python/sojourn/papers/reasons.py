"""Why a printed number or a claim is missed: the reason of each, by id, with its evidence.

``data/reasons.csv`` lists a paper's reasons; ``data/cell_reasons.csv`` gives one to every printed number that
ours misses by more than `NEAR`, ``data/claim_reasons.csv`` one to every claim that is not reproduced. A
reason rests on one kind of evidence (`Kind`), never on plausibility: what no run, proof or search shows is
*open*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib.resources.abc import Traversable

from sojourn.papers.claims import rows

#: A printed number is met if ours is within this share of it.
NEAR = 0.25
#: A reading is a reason for a number if it takes away at least this share of the distance, in logarithms.
NEARER = 1 / 3


class Kind(StrEnum):
    """What a reason rests on."""

    PROOF = "proof"
    READING = "reading"
    CHANCE = "chance"
    DERIVED = "derived"
    RUN = "run"
    OPEN = "open"


@dataclass(frozen=True)
class Reason:
    """Why something is missed.

    Attributes
    ----------
    id : str
        Short name, unique in the paper.
    kind : Kind
        What it rests on: a *proof* (arithmetic, or the paper's own numbers), another *reading* of the paper
        that was run, *chance* (the spread of the paper's few runs), numbers that it is *derived* from, a
        *run* or experiment that shows the mechanism; or nothing yet, *open*: no reading that was tried gives
        it.
    evidence : str
        Where it is seen: for a reading ``factor=value`` of the space (several with ``;``) or its id in the
        column ``sensitivity``; otherwise claims, experiments or arms.
    text : str
        The reason in words.
    """

    id: str
    kind: Kind
    evidence: str
    text: str

    @property
    def words(self) -> str:
        """The text with its evidence."""
        return f"{self.text} [{self.kind}: {self.evidence}]"


@dataclass(frozen=True)
class _Rule:
    """A row of ``cell_reasons.csv``: an empty field fits everything, ``a|b`` either."""

    fields: Mapping[str, str]
    low: float
    high: float
    reason: str

    def fits(self, row: Mapping[str, object], ratio: float) -> bool:
        """Whether it is about a row of ``published.csv`` with this ratio."""
        named = all(not text or str(row[name]) in text.split("|") for name, text in self.fields.items())
        return named and self.low <= ratio <= self.high


@dataclass(frozen=True)
class Reasons:
    """The reasons of a paper.

    Attributes
    ----------
    data : Traversable
        The directory of its data files; a file that does not exist is empty.
    """

    data: Traversable

    @cached_property
    def all(self) -> dict[str, Reason]:
        """Every reason by its id."""
        found = [
            Reason(r["id"], Kind(r["kind"]), r["evidence"], r["text"]) for r in self._rows("reasons.csv")
        ]
        return {one.id: one for one in found}

    @cached_property
    def claims(self) -> dict[str, Reason]:
        """The reason of each claim that has one, by claim id."""
        return {row["claim_id"]: self.all[row["reason"]] for row in self._rows("claim_reasons.csv")}

    @cached_property
    def rules(self) -> Sequence[_Rule]:
        """The rows of ``cell_reasons.csv``; of several that fit, the first counts."""
        return [
            _Rule(
                {name: row[name] for name in CELL},
                float(row["low"] or -math.inf),
                float(row["high"] or math.inf),
                row["reason"],
            )
            for row in self._rows("cell_reasons.csv")
        ]

    def cell(self, row: Mapping[str, object], ratio: float | None) -> Reason | None:
        """Return why a printed number is missed; None if it is met, or no reason is given."""
        if ratio is None or not missed(ratio):
            return None
        return next((self.all[rule.reason] for rule in self.rules if rule.fits(row, ratio)), None)

    def _rows(self, name: str) -> list[dict[str, str]]:
        path = self.data / name
        return rows(path) if path.is_file() else []


#: The columns of ``published.csv`` that name a number.
CELL = ("table_or_figure", "metric", "statistic", "algorithm", "parameter_set")


def missed(ratio: float) -> bool:
    """Whether ours is off by more than `NEAR`.

    Examples
    --------
    >>> missed(1.2), missed(0.7), missed(-1.0)
    (False, True, True)
    """
    return abs(ratio - 1) > NEAR


def nearer(before: float | None, after: float | None) -> bool:
    """Whether a reading is a reason: it meets the number, or takes away a third of the distance.

    Examples
    --------
    >>> nearer(0.2, 1.1), nearer(0.2, 0.4), nearer(0.2, 0.3), nearer(-3.0, 0.9), nearer(0.2, None)
    (True, True, False, True, False)
    """
    if before is None or after is None:
        return False
    if not missed(after):
        return True
    if before <= 0 or after <= 0:
        return abs(after - 1) <= (1 - NEARER) * abs(before - 1)
    return abs(math.log(after)) <= (1 - NEARER) * abs(math.log(before))
