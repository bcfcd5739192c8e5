"""A re-run paper in Markdown, as a companion to it; ``summary.md`` and its folder ``figures``.

First the figures beside what the paper says about them, then its tables with ours and the reasons, then what
the verdicts answer and every claim, then the other readings. All is derived from the same blocks, tables and
verdicts as the report, and small enough for version control.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn import _core, files
from sojourn.papers import tables
from sojourn.papers.answers import answers, other_readings
from sojourn.papers.claims import ClaimResult
from sojourn.papers.result import Reproduction
from sojourn.report import Block, Columns, Figure, Section

#: The folder of the figures, beside the summary.
FIGURES = "figures"


def summary(result: Reproduction, sections: Sequence[Section]) -> str:
    """Return the summary of a paper with its drawn `sections`."""
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
        " ".join(filter(None, (result.counts, result.kinds, result.standings))),
        "",
        *(_hosts(result) if result.selection.real else ()),
        *_figures(sections),
        *_tables(result),
        "## Answers",
        "",
        answers(result),
        "",
        "## Claims",
        "",
        "| claim | world | verdict | effect (95 % interval) | published | n | claimed | over all readings "
        "| why not |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(item) for item in rows),
        "",
        *_readings(result),
    ]
    return "\n".join(lines).rstrip() + "\n"


def figures(sections: Sequence[Block]) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a report in order, each with the name of its file."""
    for i, figure in enumerate(_drawn(sections), 1):
        yield f"{i:02}.svg", figure


def write_figures(result: Reproduction, sections: Sequence[Section]) -> None:
    """Write the figures of `sections` beside the summary."""
    for name, figure in figures(sections):
        files.make_folder(result.directory / FIGURES)
        files.write(result.directory / FIGURES / name, figure.svg)


def _drawn(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Section | Columns):
            yield from _drawn(block.blocks)


def _figures(sections: Sequence[Section]) -> list[str]:
    shown = list(figures(sections))
    if not shown:
        return []
    lines = ["## Figures beside the words of the paper", ""]
    for name, figure in shown:
        source = f" ({figure.source})" if figure.source else ""
        lines += [f"![Figure]({FIGURES}/{name})", "", f"{figure.caption}{source}", ""]
    return lines


def _tables(result: Reproduction) -> list[str]:
    printed = tables.tables(result.published)
    if not printed:
        return []
    lines = [
        "## Tables",
        "",
        "Each cell: printed | ours | ours / printed | the reason where it is off by more than 25 %. "
        "🟩 within 25 %, 🟨 within a factor of 2, 🟥 farther, ⬜ no ratio.",
        "",
    ]
    return lines + [line for one in printed for line in tables.markdown(one, result.paper.reasons)]


def _readings(result: Reproduction) -> list[str]:
    words = other_readings(result)
    return ["## Readings", "", words] if words else []


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
    verdict = str(finding.verdict)
    if finding.parts > 1:
        verdict += f" ({finding.met} of {finding.parts})"
    cells = (
        item.claim.id,
        item.world,
        verdict,
        f"{said}: {effect}" if effect else said,
        "" if item.published is None else f"{item.published:g}",
        f"{finding.n} x {item.lasting}" if item.lasting else str(finding.n),
        finding.claimed,
        item.standing,
        item.cause,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
