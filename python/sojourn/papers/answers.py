"""Answers to a paper's questions; the text is derived from the verdicts and so cannot become stale.

A `Question` has one answer for each possible outcome of its claims. `answers` writes the answers, the claims
that support each of them with their numbers, and what other readings of the paper would change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.papers.claims import ClaimResult, Verdict

if TYPE_CHECKING:
    from sojourn.papers.result import Reproduction

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


@dataclass(frozen=True)
class Question:
    """A question about a paper, answered by the verdicts on some of its claims.

    The part of an answer before its first colon, comma or full stop ("Yes", "No") is printed even if some
    claims are undecided; the rest only if all are decided.

    Attributes
    ----------
    question : str
        The question.
    claims : tuple of str
        Ids of the claims that decide it.
    holds : str
        The answer if all decided claims are reproduced.
    fails : str
        The answer if all decided claims are not reproduced.
    mixed : str
        The answer if some are and some are not; if empty, the counts.
    """

    question: str
    claims: tuple[str, ...]
    holds: str
    fails: str
    mixed: str = ""

    def answer(self, judged: Sequence[ClaimResult]) -> str:
        """Return the answer from the verdicts, or the tendency of the seeds if none is decided."""
        verdicts = [item.finding.verdict for item in judged]
        if set(verdicts) != {U}:
            open_ = verdicts.count(U)
            text = self._text(verdicts)
            return (
                f"From the decided claims ({open_} of {len(judged)} are undecided): {text}" if open_ else text
            )
        leaning = [item.finding.leans or U for item in judged]
        return (
            "Undecided."
            if set(leaning) == {U}
            else f"Undecided; the few seeds tend to: {self._text([*leaning, U])}"
        )

    def _text(self, verdicts: Sequence[Verdict]) -> str:
        """Return the answer for verdicts of which at least one is decided; shortened if others are not."""
        yes, no = verdicts.count(R), verdicts.count(N)
        if yes and no:
            counted = f"In part: {yes} of {yes + no} claims hold."
            return counted if U in verdicts else self.mixed or counted
        text = self.holds if yes else self.fails
        return re.split("[:.,]", text)[0] + "." if U in verdicts else text


def answers(result: Reproduction) -> str:
    """Return the answers to a paper's questions from the claims that were run, as `sojourn.report.Text`."""
    known = {item.claim.id for item in result.counted if item.finding.n}
    questions = [one for one in result.paper.questions if known & set(one.claims)]
    return "\n\n".join(_answer(one, result.counted) for one in questions)


def in_short(result: Reproduction) -> str:
    """Return each question with its answer in one line, without the evidence, as `sojourn.report.Text`."""
    lines = [block.partition("\n")[0] for block in answers(result).split("\n\n")]
    return "\n".join(f"- {line}" for line in lines if line)


def other_readings(result: Reproduction) -> str:
    """Return what other readings change, and what may be chance, as `sojourn.report.Text`."""
    return "\n\n".join(_readings(result))


def _answer(question: Question, judged: Sequence[ClaimResult]) -> str:
    first: dict[str, ClaimResult] = {}
    for item in judged:
        first.setdefault(item.claim.id, item)
    mine = [first[name] for name in question.claims if name in first]
    evidence = "\n".join(f"- {item.claim.id}: {_numbers(item)}" for item in mine)
    return f"**{question.question}** {question.answer(mine)}\n{evidence}"


def _numbers(item: ClaimResult) -> str:
    """Return verdict and effect of a claim in one line."""
    finding = item.finding
    if finding.effect is None:
        return f"*{finding.verdict}* ({finding.reason})" if finding.reason else f"*{finding.verdict}*"
    ends = (finding.low, finding.high)
    interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]" if ends[0] is not None and ends[1] is not None else ""
    claimed = f"; claimed {finding.claimed}" if finding.claimed else ""
    leans = f", the few seeds tend to *{finding.leans}*" if finding.leans in (R, N) else ""
    return f"*{finding.verdict}*{leans}: {finding.measure} {finding.effect:.4g}{interval}{claimed}"


def _readings(result: Reproduction) -> Iterator[str]:
    """Yield the verdicts that differ under another reading, and those that fail Holm's correction."""
    flipped = [item for item in result.judged if item.flips]
    if flipped:
        lines = [f"- {item.claim.id} (*{item.finding.verdict}*): {', '.join(item.flips)}" for item in flipped]
        yield "**Dependence on the reading of the paper.** Different verdicts under:\n" + "\n".join(lines)
    fragile = [item.claim.id for item in result.judged if item.holm_changes]
    if fragile:
        yield (
            "**Possible chance results.** After correction for the number of tested claims (Holm), these "
            f"verdicts do not remain: {', '.join(fragile)}."
        )
