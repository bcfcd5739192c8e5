"""A re-run paper in short, as Markdown: counts, what was learned, one line a claim; ``summary.md``.

It is made of the same verdicts as the report, and small enough to be kept under version control.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import _core
from sojourn.papers.claims import Judged
from sojourn.papers.learned import learned

if TYPE_CHECKING:
    from sojourn.papers.reproduction import Reproduction


def summary(result: Reproduction) -> str:
    """Return the summary of a paper."""
    paper, runs = result.paper, len(result.campaign.runs)
    times = f"{result.seconds:.0f} s of wall time, {result.cpu_seconds:.0f} s of processor time"
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.citation}.",
        "",
        f"`{result.command}` with Sojourn {_core.VERSION}, core {_core.CORE_VERSION}: {runs} runs"
        + (f", {times}." if result.campaign.fresh == runs else "."),
        "",
        result.counts,
        "",
        "## What was learned",
        "",
        learned(result),
        "",
        "## Claims",
        "",
        "| claim | world | verdict | effect (95 % interval) | published | n | claimed |",
        "|---|---|---|---|---|---|---|",
        *(_row(item) for item in result.judged),
    ]
    return "\n".join(lines) + "\n"


def _row(item: Judged) -> str:
    finding = item.finding
    effect = "" if finding.effect is None else f"{finding.effect:.4g}"
    if finding.low is not None and finding.high is not None:
        effect += f" [{finding.low:.4g}, {finding.high:.4g}]"
    said = finding.measure or finding.reason
    cells = (
        item.claim.id,
        item.world,
        str(finding.verdict),
        f"{said}: {effect}" if effect else said,
        "" if item.published is None else f"{item.published:g}",
        f"{finding.n} x {item.lasting}" if item.lasting else str(finding.n),
        finding.claimed,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
