"""The report of a re-run paper: claims, verdicts, numbers and assumptions.

The structure of the page is the same for every paper; figures and captions come from the paper's own
``sections``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from sojourn import _core
from sojourn.papers import tables
from sojourn.papers.answers import answers, in_short, other_readings
from sojourn.papers.beside import arranged
from sojourn.papers.claims import ClaimResult, Verdict, claims_frame
from sojourn.papers.experiment import MOST_SEEDS, SEEDS, Experiment
from sojourn.papers.manifest import facts
from sojourn.papers.result import Reproduction
from sojourn.papers.search.run import default_directory, stored
from sojourn.papers.summary import estimates, select
from sojourn.report import Block, Code, Column, Document, Facts, Note, Section, Table, Text, Verdicts, render

#: The metrics of the tables: heading and unit.
COLUMNS = {
    "mean_queue_packets": ("mean queue", "packets"),
    "std_queue_packets": ("std. dev.", "packets"),
    "drop_ratio": ("drop ratio", ""),
    "goodput": ("goodput (share)", ""),
    "utilization": ("utilization", ""),
    "mean_delay_s": ("mean delay", "s"),
    "timeouts": ("timeouts", ""),
    "jain_index": ("Jain’s index", ""),
}

JUDGING = f"""Every algorithm of an experiment runs under the same seeds ({SEEDS} or more), and comparisons
are paired by seed.

- **An inequality** holds if the 95 % t-interval of the paired difference (of logarithms for ratios and
  times) lies wholly on the claim's side, and fails if wholly on the other; otherwise seeds are added in one
  step (up to {MOST_SEEDS} where the cost allows), and a claim that is not decided then stays *undecided*.
  Every pair of an ordering must hold.
- **An equality** ("about", "no difference") holds if both ends of the interval lie inside the margin that
  the claim names, and fails if the interval lies wholly outside.
- **A statement about single traces** holds if it is true in 8 of 10 seeds.
- **A time that is never reached** counts as the end of the run and is compared by a sign test; pairs in which
  neither side reaches it are left out.
- **Readings** are other interpretations of what the paper leaves open. Each is run without added seeds; the
  verdict under each is listed with the claim, also if it is the same.
- **Holm's correction** accounts for the number of claims; a verdict that is not significant after it is
  marked.
"""


def page(result: Reproduction, drawn: Sequence[Section]) -> str:
    """Return the report as one HTML page, with the paper's own sections as `drawn`."""
    return render(document(result, drawn))


def document(result: Reproduction, drawn: Sequence[Section]) -> Document:
    """Return the parts of the report."""
    seeds = max((int(str(row["seed"])) for row in result.campaign.rows), default=0)
    return Document(
        title=result.paper.title,
        subtitle=result.paper.citation,
        kind="Paper, re-run",
        command=result.command,
        verdict=in_short(result),
        highlights=_highlights(result, seeds),
        blocks=[section for section in _sections(result, drawn) if section.blocks],
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )


def _highlights(result: Reproduction, seeds: int) -> list[tuple[str, str]]:
    counts = {"simulated runs": len(result.campaign.runs), "solutions of equations": result.campaign.solved}
    shown = [
        (str(count), what)
        for what, count in counts.items()
        if count or (what == "simulated runs" and not result.campaign.solved)
    ]
    return [*shown, (str(seeds), "seeds at most")]


def _sections(result: Reproduction, drawn: Sequence[Section]) -> list[Section]:
    words = answers(result)
    return [
        *arranged(result, drawn),
        Section("Findings", [Text(words)] if words else []),
        Section("Printed tables", list(_published(result))),
        Section("Claims", list(_claims(result)), _summary(result)),
        Section("Numbers", list(_numbers(result)), "Mean over seeds with the 95 % interval."),
        Section("Readings", list(_readings(result))),
        Section("Readings tried jointly", list(_searched(result))),
        Section("Assumptions", list(_assumptions(result))),
        Section("Parameters", list(_parameters(result))),
        Section("How a claim is judged", [Text(JUDGING)]),
        Section("Provenance", list(_making(result))),
    ]


def _summary(result: Reproduction) -> str:
    text = result.counts
    if result.elsewhere and not result.selection.real:
        text += (
            f" {len(result.elsewhere)} claims are also made about the real world, which runs only with "
            "`--world real`; they are listed separately."
        )
    shown = (result.kinds, "" if result.selection.as_printed else result.standings)
    text += "".join(f" {words}" for words in shown if words)
    if result.selection.quick:
        text += (
            " This is the quick run with few seeds. Claims that need more are left undecided with the reason "
            f"*quick*; the current tendency is shown: {_leaning(result)}. "
            "Readings marked 'not run' below are evaluated in full runs only."
        )
    return text


def _leaning(result: Reproduction) -> str:
    """Count the tendencies of the undecided claims."""
    leaning = [item.finding.leans for item in result.counted if item.finding.leans]
    return ", ".join(f"{leaning.count(verdict)} {verdict}" for verdict in Verdict)


def _claims(result: Reproduction) -> Iterator[Block]:
    """Show the judged claims; those of other worlds in short, because their text is the same."""
    yield Verdicts(verdicts(result))
    left = sum(not _is_selected(item) for item in result.counted)
    if left:
        yield Text(f"{left} claims about other experiments were not run; they are not counted here.")
    if result.elsewhere:
        rows = [
            {
                "claim": item.claim.id,
                "world": item.world,
                "what is claimed": item.claim.statement,
                "verdict": f"{item.finding.verdict}: {item.finding.reason}",
            }
            for item in result.elsewhere
        ]
        frame = pl.DataFrame(rows)
        columns = {name: Column(name, kind="text") for name in frame.columns}
        yield Table(frame, "Claims in worlds that were not run", columns)


def verdicts(result: Reproduction) -> pl.DataFrame:
    """Return the judged claims in the format of the page."""
    shown = [item for item in result.counted if _is_selected(item)] or result.counted
    rows = claims_frame(shown).drop("sensitivity", "assumptions").to_dicts()
    for row, item in zip(rows, shown, strict=True):
        row["section"], row["check"] = item.claim.section, item.claim.check
        row["assumptions"] = list(item.assumptions)
        row["reason"] = _reason(item)
        row["sensitivity"] = [{"reading": n, "verdict": str(v)} for n, v in item.sensitivity.items()]
    return pl.DataFrame(rows, infer_schema_length=None)


def _is_selected(item: ClaimResult) -> bool:
    """Return whether the experiments of a claim were selected."""
    return item.finding.reason != "not run"


def _reason(item: ClaimResult) -> str:
    finding = item.finding
    claimed = f"Claimed: {finding.claimed}." if finding.claimed else ""
    lasting = f"Runs of {item.lasting}." if item.lasting else ""
    met = f"{finding.met} of {finding.parts} comparisons are on its side." if finding.parts > 1 else ""
    over = f"Over all readings: {item.standing}." if item.standing else ""
    cause = f"Why: {item.cause}" if item.cause else ""
    return " ".join(filter(None, (finding.reason.rstrip(".") + ".", met, claimed, lasting, over, cause)))


def _published(result: Reproduction) -> Iterator[Block]:
    """Show the printed tables with ours, then the numbers without a counterpart with the reason."""
    for printed in tables.tables(result.published):
        yield from tables.blocks(printed, result.paper.reasons)
    alone = result.published.filter(pl.col("ours").is_null())
    if alone.height:
        names = ("table_or_figure", "metric", "algorithm", "parameter_set", "statistic", "unit", "why")
        columns = {name: Column(name.replace("_", " "), kind="text") for name in names}
        columns["published"] = Column(digits=4)
        yield Table(alone, "Printed numbers without a counterpart", columns)


def _numbers(result: Reproduction) -> Iterator[Block]:
    for experiment in result.paper.experiments:
        runs = select(result.metrics, experiment.id)
        if runs.height and experiment.arms:
            yield numbers(experiment, runs, result.paper.columns or COLUMNS)


def numbers(
    experiment: Experiment, runs: pl.DataFrame, metrics: Mapping[str, tuple[str, str]] = COLUMNS
) -> Table:
    """Return the table of metrics (name to heading and unit) of one experiment."""
    table = estimates(runs, list(metrics))
    columns = {"arm": Column("arm"), "n": Column("seeds", kind="seed")}
    for name, (title, unit) in metrics.items():
        columns[name] = Column(title, unit, f"{name}_ci95")
    return Table(table, f"{experiment.id}: {experiment.title} ({experiment.figure})", columns)


def _readings(result: Reproduction) -> Iterator[Block]:
    words = other_readings(result)
    if words:
        yield Text(words)
    yes, rows = Verdict.REPRODUCED, []
    for reading in result.paper.readings:
        judged = [item for item in result.judged if reading.id in item.sensitivity]
        flipped = [item.claim.id for item in judged if reading.id in item.flips]
        here = sum(item.sensitivity[reading.id] is yes for item in judged)
        rows.append(
            {
                "reading": reading.id,
                "different interpretation": reading.title,
                "in place of": reading.assumption or None,
                "claims": len(judged) or None,
                "reproduced": here if judged else None,
                "as printed": sum(item.finding.verdict is yes for item in judged) if judged else None,
                "different verdict": ", ".join(flipped) or ("–" if judged else "not run"),
            }
        )
    yield Table(
        pl.DataFrame(rows, infer_schema_length=None),
        "Other readings of the paper: for the claims that each affects, the numbers reproduced under it and "
        "as printed, and the claims whose verdict differs",
    )


def _searched(result: Reproduction) -> Iterator[Block]:
    """Show what a search of readings found, if this version has one beside this folder."""
    found = stored(result.directory.parent / default_directory(result.paper).name)
    if not found:
        return
    yield Text(f"{found['summary']} `{found['command']}` repeats the search.")
    rows = [{name: one[name] for name in ("claim", "words", "evidence")} for one in found["claims"]]
    titles = {"claim": "claim", "words": "verdict over all readings", "evidence": "evidence"}
    columns = {name: Column(title, kind="text") for name, title in titles.items()}
    yield Table(pl.DataFrame(rows), "Each claim over all readings", columns)


def _assumptions(result: Reproduction) -> Iterator[Block]:
    frame = pl.DataFrame(result.paper.table("assumptions"))
    yield Table(frame, "Values that the paper does not state, and the assumptions made")


def _parameters(result: Reproduction) -> Iterator[Block]:
    seen: dict[str, str] = {}
    for experiment in result.paper.experiments:
        for arm in experiment.arms:
            seen.setdefault(arm.spec, f"{experiment.id}: {arm.name}")
        for model in experiment.models:
            seen.setdefault(model.spec, f"{experiment.id}: {model.name}")
    frame = pl.DataFrame({"first used in": list(seen.values()), "algorithm": list(seen)})
    yield Table(frame, "Every algorithm as it was run", {n: Column(kind="code") for n in frame.columns})
    printed = pl.DataFrame(result.paper.table("parameters")).select(
        "algorithm", "parameter", "value", "unit", "note"
    )
    yield Table(printed, "Parameters that the paper prints")


def _making(result: Reproduction) -> Iterator[Block]:
    known = facts(result.paper, result.selection, result.campaign)
    shown = {name.replace("_", " "): value for name, value in known.items() if name != "command"}
    yield Facts(
        {
            **shown,
            "id": result.id,
            "wall time": f"{result.seconds:.0f} s",
            "processor time": f"{result.cpu_seconds:.0f} s",
        }
    )
    yield Code(result.command, "The command to reproduce this page")
    if result.campaign.warnings:
        yield Note("Warnings about the real runs: " + "; ".join(result.campaign.warnings))
    if result.campaign.fresh < len(result.campaign.runs):
        kept = len(result.campaign.runs) - result.campaign.fresh
        yield Note(f"{kept} runs were found in the output folder and not repeated.")
