"""Summary of a re-run paper in Markdown: counts, answers, one line per claim; ``summary.md``.

It is derived from the same verdicts as the report, and small enough for version control.
"""

from __future__ import annotations

from sojourn import _core
from sojourn.papers.answers import answers
from sojourn.papers.claims import ClaimResult
from sojourn.papers.result import Reproduction


def summary(result: Reproduction) -> str:
    """Return the summary of a paper."""
    paper, runs = result.paper, len(result.campaign.runs)
    rows = result.counted if result.selection.real else result.judged
    times = f"{result.seconds:.0f} s of wall time, {result.cpu_seconds:.0f} s of processor time"
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.citation}.",
        "",
        f"`{result.command}` with Sojourn {_core.VERSION}, core {_core.CORE_VERSION}: {runs} runs"
        + (f", {times}." if result.campaign.fresh == runs else "."),
        "",
        f"{result.counts} {result.kinds}".strip(),
        "",
        *(_hosts(result) if result.selection.real else ()),
        "## Answers",
        "",
        answers(result),
        "",
        "## Claims",
        "",
        "| claim | world | verdict | effect (95 % interval) | published | n | claimed |",
        "|---|---|---|---|---|---|---|",
        *(_row(item) for item in rows),
    ]
    return "\n".join(lines) + "\n"


def _hosts(result: Reproduction) -> list[str]:
    """Return number and duration of the runs with real hosts, and whether this machine kept up."""
    lines = []
    for name, one in result.paper.testbeds.items():
        arms = {str(row["arm"]) for row in result.campaign.rows if row["experiment_id"] == name}
        if arms:
            scenario = one.arms()[min(arms)].scenario
            twin = next(iter(result.paper.experiment(name).arms)).scenario
            repeats = len({row["seed"] for row in result.campaign.rows})
            lines += [
                f"Real hosts, `{name}`: {len(arms)} arms, each {repeats} times for {scenario.duration}, of "
                f"which {scenario.warmup} are not counted (the simulated twin: {twin.duration}).",
                "",
            ]
    warnings = result.campaign.warnings
    late = [warning for warning in warnings if "could not keep up" in warning or "machine stalled" in warning]
    others = [warning for warning in warnings if warning not in late]
    runs = len(result.campaign.runs)
    held_up = len({warning.split(": ")[0] for warning in late})  # a run may have several warnings
    lines += [f"The machine kept up in {runs - held_up} of {runs} runs.", ""]
    return lines + [f"- {warning}" for warning in (*late, *others)] + [""] * bool(late or others)


def _row(item: ClaimResult) -> str:
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
