"""The report of ``sojourn evaluate``: the summary, where the algorithm fails, a chapter for each section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from sojourn import _core, plots
from sojourn.errors import InputError
from sojourn.plots import HALF
from sojourn.plots.theme import labels
from sojourn.report.comparison import differences
from sojourn.report.discussion import discussion, fair_comparison
from sojourn.report.document import (
    Block,
    Code,
    Column,
    Columns,
    Document,
    Facts,
    Figure,
    Note,
    Section,
    Table,
    Text,
)
from sojourn.report.results import parameters
from sojourn.runner.manifest import manifest_of
from sojourn.study.evaluate.catalogue import Assumption, Entry, catalogue
from sojourn.study.evaluate.model import (
    BASELINE,
    BETTER,
    MIXED,
    WORSE,
    Cell,
    Evaluation,
    Failure,
    Judged,
)

#: Titles of the RFC's sections.
CHAPTERS = {
    4: "General considerations",
    5: "Transport protocols",
    6: "Round-trip time fairness",
    7: "Burst absorption",
    8: "Stability",
    9: "Traffic profiles",
    10: "Several queues",
    11: "Implementation cost",
    12: "Operator control and auto-tuning",
}
TINTS = {BETTER: "near", MIXED: "middle", WORSE: "far"}
#: Failures with a figure; the others are in the table.
MOST_TRACES = 12


def for_evaluation(evaluation: Evaluation) -> Document:
    """Build the report of an evaluation.

    Parameters
    ----------
    evaluation
        The result of ``evaluate`` or ``reopen`` (`sojourn.study.evaluate.run`).

    Returns
    -------
    Document
        To be passed to `sojourn.report.render` or `sojourn.report.write`.
    """
    plan = evaluation.plan
    facts = manifest_of(evaluation.directory)
    runs = sum(one.results.runs.height for one in evaluation.judged)
    return Document(
        title=f"{labels(plan.specs)[plan.aqm]} by RFC 7928",
        subtitle=f"Evaluation of {plan.aqm} beside {', '.join(one for one in plan.specs if one != plan.aqm)}",
        command=str(facts.get("command", "")),
        kind="Evaluation",
        verdict=evaluation.verdict,
        blocks=[
            Section("Summary", _summary(evaluation)),
            Section("Where it fails", _failures(evaluation)),
            *_chapters(evaluation),
            Section("Assumptions", [_assumptions(catalogue().assumptions)]),
            Section("Disclosure", _disclosure(evaluation), lead="What section 4.1 asks to be stated."),
        ],
        highlights=[
            (str(len(plan.specs)), "algorithms"),
            (str(len(evaluation.judged)), "cases"),
            (str(runs), "runs"),
        ],
        footer=f"Sojourn {facts['version']}" if facts.get("version") else "",
    )


def summary_frame(evaluation: Evaluation) -> pl.DataFrame:
    """Return one row per case: its scenario, and for each algorithm verdict and size against drop tail.

    The columns of the evaluated algorithm come first; ``rival`` is its verdict against the first rival.
    """
    plan = evaluation.plan
    specs = [plan.aqm, *plan.rivals]
    rows: list[dict[str, str]] = []
    for one in evaluation.judged:
        row = {"case": one.case.name, "case below": f"{one.entry.section} {one.entry.title}"}
        cells = {spec: one.cell(spec) for spec in specs}
        if plan.rivals:
            cells["rival"] = one.cell(plan.aqm, plan.rivals[0])
        for name, cell in cells.items():
            row |= {name: cell.verdict, f"{name} below": cell.detail, f"{name} tint": _tint(cell)}
        rows.append(row)
    for refused in plan.refused:
        entry = refused.entry
        row = {"case": refused.case.name, "case below": f"{entry.section} {entry.title}"}
        rows.append({**row, plan.aqm: "cannot run", f"{plan.aqm} below": refused.reason})
    return pl.DataFrame(rows, infer_schema_length=None)


def _tint(cell: Cell) -> str:
    return "far" if cell.remarks else TINTS.get(cell.verdict, "")


def _summary(evaluation: Evaluation) -> list[Block]:
    plan = evaluation.plan
    if not evaluation.judged and not plan.refused:
        return [Text("The chosen scenarios are discussions without runs.")]
    frame, names = summary_frame(evaluation), labels(plan.specs)
    columns = {"case": Column("case", below="case below")}
    for spec in [plan.aqm, *plan.rivals, "rival"]:
        if spec in frame.columns:
            title = (
                f"{names[plan.aqm]} against {names[plan.rivals[0]]}"
                if spec == "rival"
                else f"{names[spec]} against {names[BASELINE]}"
            )
            tint, below = (f"{spec} {word}" if f"{spec} {word}" in frame.columns else "" for word in _CELL)
            columns[spec] = Column(title, kind="text", tint=tint, below=below)
    caption = (
        "Each algorithm in each case. Better: in at least one metric of the case, and worse in none; below: "
        "its largest differences for the better and for the worse, as shares of the other\u2019s mean. "
        "Differences are paired by seed and significant after Holm\u2019s correction for all metrics and "
        "algorithms of a case. No difference shown is no evidence that there is none."
    )
    blocks: list[Block] = [Table(frame, caption, columns)]
    if plan.refused:
        words = "; ".join(f"{one.case.name}: {one.reason}" for one in plan.refused)
        blocks.append(Note(f"Not run: {words}.", "warning"))
    if plan.quick:
        blocks.append(Note(f"A quick evaluation: short runs, {plan.seeds} seeds.", "warning"))
    return blocks


_CELL = ("tint", "below")


def _failures(evaluation: Evaluation) -> list[Block]:
    found = evaluation.failures
    if not evaluation.judged:
        return [Text("Nothing was run.")]
    if not found:
        return [Text(f"In no case is it shown to be worse than {BASELINE}, or unstable.")]
    rows = [{"case": one.judged.case.name, "how": "; ".join(one.reasons)} for one in found]
    columns = {"case": Column("case"), "how": Column("how it fails", kind="text")}
    blocks: list[Block] = [
        Table(pl.DataFrame(rows), f"Cases in which it is worse than {BASELINE}, or unstable.", columns)
    ]
    for one in found[:MOST_TRACES]:
        blocks += _trace(one, evaluation.plan.aqm)
    if len(found) > MOST_TRACES:
        blocks.append(Text(f"The figures show the first {MOST_TRACES} of {len(found)} cases."))
    return blocks


def _trace(failure: Failure, aqm: str) -> list[Block]:
    """Return the queue of the algorithm and of drop tail over time in a case where it fails."""
    results = failure.judged.results
    seed, (warmup, _) = results.seeds[0], results.scenario.seconds
    frame = pl.concat(
        [results.trace("queue", spec, seed) for spec in (aqm, BASELINE)], how="diagonal_relaxed"
    )
    if not frame.height:
        return []
    why = "; ".join(failure.reasons)
    name = failure.judged.case.name
    svg = plots.queue_traces(frame, shaded=[(0.0, warmup)], title=f"Queue in {name}")
    return [Figure(svg, f"{name}, seed {seed}: {why}. Shaded: the warm-up.")]


def _chapters(evaluation: Evaluation) -> list[Section]:
    """Return a chapter for each section of the RFC that has something."""
    entries = evaluation.plan.entries
    found = []
    for number, title in CHAPTERS.items():
        own = [one for one in entries if one.section.split(".")[0] == str(number)]
        parts = [_scenario(one, evaluation) for one in sorted(own, key=_by_section)]
        if number == 4 and evaluation.fair is not None:
            parts.insert(0, Section("4.3.1 Fair comparison", fair_comparison(evaluation)))
        if parts:
            found.append(Section(f"{number} {title}", parts))
    return found


def _by_section(entry: Entry) -> list[int]:
    return [int(word) for word in entry.section.split(".")]


def _scenario(entry: Entry, evaluation: Evaluation) -> Section:
    blocks: list[Block] = []
    if entry.topic:
        blocks += discussion(entry.topic, evaluation)
    blocks += [
        Note(f"{one.case.name} was not run: {one.reason}.", "warning")
        for one in evaluation.plan.refused
        if one.entry is entry
    ]
    if entry.assumptions:
        blocks.append(_assumptions(entry.assumptions))
    for one in evaluation.judged:
        if one.entry is entry:
            blocks += _case(one, evaluation)
    return Section(f"{entry.section} {entry.title} ({entry.id})", blocks, f"The RFC: {entry.weight}.")


def _assumptions(assumptions: Iterable[Assumption]) -> Table:
    rows = [{"name": one.name, "value": one.value, "reason": one.reason} for one in assumptions]
    columns = {"name": Column("assumption"), "value": Column("value"), "reason": Column("reason")}
    caption = "Values that the RFC leaves open."
    return Table(pl.DataFrame(rows, dict.fromkeys(columns, pl.String)), caption, columns)


def _case(judged: Judged, evaluation: Evaluation) -> list[Block]:
    """Return numbers and figures of one case."""
    results, plan = judged.results, evaluation.plan
    cell = judged.cell(plan.aqm)
    size = f": {cell.detail}" if cell.detail else ""
    blocks: list[Block] = [
        Text(f"**{judged.case.name}**: against {BASELINE} **{cell.verdict}**{size}."),
        differences(judged.comparison),
    ]
    if published := judged.published():
        rows = [{"source": one.source, "statement": one.statement, "here": here} for one, here in published]
        columns = {"source": Column("source"), "statement": Column("states"), "here": Column("here")}
        blocks.append(Table(pl.DataFrame(rows), "What others published about such a scenario.", columns))
    figures = [*_ellipses(judged), *_samples(judged, plan.specs)]
    blocks += [Columns(figures[i : i + 2]) for i in range(0, len(figures), 2)]
    if judged.unknown:
        blocks.append(Note(f"Without a value in any run: {', '.join(judged.unknown)}."))
    blocks += [Note(one, "warning") for one in results.warnings]
    blocks.append(
        Code(f"sojourn report {evaluation.directory / judged.case.name}", "The report of this case")
    )
    return blocks


def _ellipses(judged: Judged) -> list[Figure]:
    """Return the graph of section 2.7 for each traffic: a run is a point."""
    results = judged.results
    order = pl.DataFrame({"aqm": judged.comparison.aqms}).with_row_index("_order")
    runs = results.runs.join(order, on="aqm").sort("_order", "seed")
    figures = []
    for traffic in results.scenario.traffic:
        y, x = f"{traffic.name}.goodput_bps", f"{traffic.name}.mean_owd_s"
        if not {x, y} <= set(runs.columns) or not runs.drop_nulls([x, y]).height:
            continue
        title = f"{judged.case.name}: goodput against delay of {traffic.name}"
        caption = (
            f"{judged.case.name}, {traffic.name}: goodput against mean one-way delay, as in section 2.7. A "
            "dot is a run, the symbol the median, the ellipse the contour of one standard deviation."
        )
        figures.append(Figure(plots.ellipses(runs, x=x, y=y, title=title, width=HALF, height=2.6), caption))
    return figures


def _samples(judged: Judged, specs: Sequence[str]) -> list[Figure]:
    """Return the distributions of section 2.7: goodput each K round-trip times, and queueing delay."""
    results, name = judged.results, judged.case.name
    figures = []
    try:
        flows = results.trace("flows")
    except InputError:  # of a scenario without samples of flows
        flows = pl.DataFrame()
    warmup, _ = results.scenario.seconds
    endless = [one.name for one in results.scenario.traffic if one.kind == "tcp"]
    if flows.height:
        own = flows.filter(pl.col("traffic").is_in(endless) & (pl.col("time_s") > warmup))
        own = own.filter(pl.col("goodput_bps") > 0)
        order = pl.DataFrame({"aqm": list(specs)}).with_row_index("_order")
        own = own.join(order, on="aqm").sort("_order", maintain_order=True)
        if own.height:
            svg = plots.cdf(
                own, value="goodput_bps", unit="bit/s", x_label="Goodput", title=f"{name}: goodput",
                width=HALF, height=2.4,
            )  # fmt: skip
            figures.append(
                Figure(
                    svg,
                    f"{name}: goodput of each bulk flow in each second (K = 10), if it is not 0, all seeds.",
                )
            )
    delays = results.distribution("delay")
    if delays["count"].sum():
        svg = plots.histogram(delays, title=f"{name}: queueing delay", width=HALF, height=2.4)
        figures.append(Figure(svg, f"{name}: share of packets with at least this queueing delay, all seeds."))
    return figures


def _disclosure(evaluation: Evaluation) -> list[Block]:
    plan = evaluation.plan
    facts = manifest_of(evaluation.directory)
    entries = {
        "version": str(facts.get("version", "")),
        "core": str(facts.get("core_version", "")),
        "Python": str(facts.get("python", "")),
        "platform": str(facts.get("platform", "")),
        "seeds": plan.seeds if plan.until_ci is None else f"{plan.seeds} or more",
        "world": plan.world,
        "cases": [case.name for _, case in plan.runnable],
    }
    registry = {
        spec.split()[0]: _core.algorithm(spec.split()[0]) for spec in plan.specs if not _scheduler(spec)
    }
    registry |= {one["name"]: one for one in _core.schedulers()}
    again = [f"sojourn rerun {evaluation.directory / one.case.name}" for one in evaluation.judged]
    return [
        Facts({key: value for key, value in entries.items() if value}),
        *parameters(plan.specs, registry, "rfc"),
        Text(
            "Each case is a folder of results with its scenario, the code of the algorithms, and every run. "
            "`sojourn rerun` repeats every run from what is stored there and compares the results:"
        ),
        Code("\n".join(again)),
    ]


def _scheduler(spec: str) -> bool:
    return spec.split()[0] in {one["name"] for one in _core.schedulers()}
