"""Puts the figures of a paper beside what the paper says about them and the verdicts in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sojourn.papers.claims import ClaimResult, Verdict
from sojourn.papers.result import Reproduction
from sojourn.report import Block, Columns, Figure, Section, Text

#: Statements beside one figure.
MOST = 6
WORDS = {
    Verdict.REPRODUCED: "**Reproduced**",
    Verdict.NOT_REPRODUCED: "**Not reproduced**",
    Verdict.UNDECIDED: "Undecided",
}


def arranged(result: Reproduction, drawn: Sequence[Section]) -> list[Section]:
    """Return a paper's sections: those with figures first, each figure beside the statements about it.

    Statements are listed once, at the first figure of their experiment.
    """
    first = [section for section in drawn if _begins_with_figure(section.blocks)]
    seen: set[str] = set()
    return [
        replace(section, blocks=list(_blocks(result, section.blocks, seen)))
        for section in [*first, *(one for one in drawn if one not in first)]
    ]


def _statements(result: Reproduction, figure: Figure, seen: set[str]) -> str:
    """Return the judged statements about the experiment that a figure's source names; empty without any."""
    named = figure.source.partition(",")[0].partition(";")[0].strip()
    mine = [one for one in result.counted if named in one.claim.experiments and one.finding.n]
    if not mine or named in seen:
        return ""
    seen.add(named)
    rank = list(WORDS)
    mine.sort(key=lambda one: rank.index(one.finding.verdict))
    lines = [f"- {_statement(one)}" for one in mine[:MOST]]
    more = f"\n\n{len(mine) - MOST} more are in the table of claims." if len(mine) > MOST else ""
    return "The paper says, and the runs show:\n\n" + "\n".join(lines) + more


def _statement(item: ClaimResult) -> str:
    finding = item.finding
    said = f"“{item.claim.statement}” {WORDS[finding.verdict]}"
    if finding.effect is None:
        return f"{said} ({item.claim.id})."
    ends = (finding.low, finding.high)
    interval = f" [{ends[0]:.3g}, {ends[1]:.3g}]" if ends[0] is not None and ends[1] is not None else ""
    claimed = f", claimed {finding.claimed}" if finding.claimed else ""
    return f"{said}: {finding.measure} {finding.effect:.3g}{interval}{claimed} ({item.claim.id})."


def _blocks(result: Reproduction, blocks: Sequence[Block], seen: set[str]) -> Iterator[Block]:
    for block in blocks:
        words = _statements(result, block, seen) if isinstance(block, Figure) else ""
        yield Columns([block, Text(words)], unequal=True) if words else block


def _begins_with_figure(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and isinstance(blocks[0], Figure | Columns)
