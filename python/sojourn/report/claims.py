"""The claims of a page as text, from a frame of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from sojourn.format import interval, probability, with_interval

VERDICTS: Final = ("reproduced", "not reproduced", "undecided")
"""All verdicts, in the order of summaries."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The verdict under one interpretation of a point that the paper leaves open."""

    reading: str
    verdict: str
    effect: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as text; `agreeing`: its interpretations by verdict, where no effects are known."""

    anchor: str
    claim_id: str
    verdict: str
    statement: str
    where: str
    world: str
    check: str
    effect: str
    measure: str
    interval: str
    published: str
    n: str
    assumptions: tuple[str, ...]
    reason: str
    sensitivity: tuple[Reading, ...]
    agreeing: tuple[tuple[str, tuple[str, ...]], ...]
    sensitivity_text: str
    p: str
    holm_changes: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of claims with a verdict."""

    verdict: str
    count: int
    share: float


def claims(frame: pl.DataFrame) -> list[Claim]:
    """Return the claims of a frame.

    Parameters
    ----------
    frame
        As `sojourn.report.Verdicts` takes it.

    Returns
    -------
    list of Claim
        In the order of the frame.

    Raises
    ------
    ValueError
        If a verdict is none of `VERDICTS`.
    """
    seen: set[str] = set()
    found: list[Claim] = []
    for row in frame.iter_rows(named=True):
        name = str(row["claim_id"])
        anchor = f"{name}-{_text(row, 'world') or len(found)}" if name in seen else name
        seen.add(name)
        found.append(_claim(row, anchor))
    return found


def tally(verdicts: list[str]) -> list[Tally]:
    """Count verdicts.

    Parameters
    ----------
    verdicts
        The verdict of each claim.

    Returns
    -------
    list of Tally
        One for each of `VERDICTS`, in that order.
    """
    total = max(1, len(verdicts))
    return [Tally(v, verdicts.count(v), verdicts.count(v) / total) for v in VERDICTS]


def _claim(row: Mapping[str, Any], anchor: str) -> Claim:
    verdict = str(row["verdict"])
    if verdict not in VERDICTS:
        raise ValueError(f"{row['claim_id']}: verdict is {verdict!r}, not one of {', '.join(VERDICTS)}")
    assumptions = row.get("assumptions") or ()
    if isinstance(assumptions, str):
        assumptions = [word.strip() for word in assumptions.replace(",", ";").split(";")]
    sensitivity = row.get("sensitivity")
    readings = tuple(_reading(r) for r in (sensitivity if isinstance(sensitivity, list) else []))
    raw, corrected = row.get("p"), row.get("p_holm")
    shown_p = f"p = {probability(raw)}" if raw is not None else ""
    if corrected is not None:
        shown_p = f"{shown_p}{'; ' if shown_p else ''}Holm p = {probability(corrected)}"
    effect, ends = _effect(row)
    return Claim(
        anchor=anchor,
        claim_id=str(row["claim_id"]),
        verdict=verdict,
        statement=_text(row, "statement"),
        where=" · ".join(filter(None, (_text(row, "section"), _text(row, "experiment_id")))),
        world=_text(row, "world"),
        check=_text(row, "check"),
        effect=effect,
        measure=_text(row, "measure"),
        interval=ends,
        published=_published(row.get("published")),
        n="" if row.get("n") is None else str(row["n"]),
        assumptions=tuple(word for word in assumptions if word),
        reason=_text(row, "reason"),
        sensitivity=readings,
        agreeing=_agreeing(readings),
        sensitivity_text=sensitivity if isinstance(sensitivity, str) else "",
        p=shown_p.replace("= <", "<"),
        holm_changes=bool(row.get("holm_changes")),
    )


def _reading(row: Mapping[str, Any]) -> Reading:
    verdict = str(row["verdict"])
    if verdict not in VERDICTS:
        raise ValueError(f"{row['reading']}: verdict is {verdict!r}, not one of {', '.join(VERDICTS)}")
    return Reading(str(row["reading"]), verdict, " ".join(filter(None, _effect(row))))


def _effect(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the effect and its interval as text; an effect may also be a text."""
    effect, low, high = row.get("effect"), row.get("ci_low"), row.get("ci_high")
    if isinstance(effect, str):
        return effect, "" if low is None and high is None else interval(low, high)
    value, ends = with_interval(effect, low, high)
    return "" if effect is None else value, "" if low is None and high is None else ends


def _agreeing(readings: tuple[Reading, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group interpretations by verdict where only their verdicts are known."""
    if any(reading.effect for reading in readings):
        return ()
    groups = {v: tuple(r.reading for r in readings if r.verdict == v) for v in VERDICTS}
    return tuple((verdict, names) for verdict, names in groups.items() if names)


def _published(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _text(row: Mapping[str, Any], key: str) -> str:
    return str(row[key]) if row.get(key) is not None else ""
