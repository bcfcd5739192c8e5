"""Copy the results of an evaluation: ``python docs/evaluation.py FOLDER`` fills ``docs/evaluation``.

The folder is that of a full ``sojourn evaluate`` of all algorithms. Its verdicts and values
are kept as CSV files, without the runs; ``README.md``, the matrix of algorithms and cases, and a page for
each algorithm are written from these files. Without a folder, the pages are written again.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from sojourn.metrics import label, load, text
from sojourn.study.evaluate.measures import MEASURES
from sojourn.study.evaluate.model import (
    BASELINE,
    BETTER,
    IDENTICAL,
    MIXED,
    NONE_SHOWN,
    UNKNOWN,
    WORSE,
    Evaluation,
    Judged,
)
from sojourn.study.evaluate.run import reopen

HERE = Path(__file__).parent / "evaluation"
#: Files with the data, and their columns.
CASES, VERDICTS, VALUES, PUBLISHED = "cases.csv", "verdicts.csv", "values.csv", "published.csv"
ABOUT = "about.json"
COLUMNS = {
    CASES: ("scenario", "case", "section", "title"),
    VERDICTS: ("algorithm", "case", "verdict", "better", "worse", "remarks"),
    VALUES: ("algorithm", "case", "metric", "n", "mean", "ci95", "difference", "low", "high", "verdict"),
    PUBLISHED: ("case", "source", "statement", "here"),
}
DELAY, GOODPUT = "mean_delay_s", "goodput_bps"
SYMBOLS = {BETTER: "+", WORSE: "\u2212", MIXED: "\u00b1", NONE_SHOWN: "\u00b7", IDENTICAL: "=", UNKNOWN: "?"}
INDEX = """<!-- Written by docs/evaluation.py; do not edit. -->

# All algorithms by RFC 7928

{algorithms} algorithms in {cases} cases of RFC 7928, each compared with drop tail under the same {seeds}
seeds: {runs} runs. Each name leads to a page with every value; the data are [`verdicts.csv`](verdicts.csv),
[`values.csv`](values.csv), [`cases.csv`](cases.csv) and [`published.csv`](published.csv).

| symbol | verdict against drop tail |
|---|---|
| + | better in at least one metric of the case, worse in none |
| \u00b1 | better in one metric, worse in another: a trade-off |
| \u2212 | worse in at least one metric, better in none |
| \u00b7 | no difference shown, which is no evidence that there is none |
| = | identical in every seed and metric |

Differences are paired by seed and significant at 95 % after Holm's correction over all metrics of a case
and all algorithms, which is stricter than an evaluation with few rivals. Parameters have their defaults.
[How to evaluate](../evaluate.md) your own beside them.

## The matrix

The first three columns count the cases. A cell has one symbol for each case of the scenario, in the order of
the list below.

{matrix}

Nearly every algorithm trades goodput for delay, so most cells are \u00b1; the next table shows by how much.

## Delay and goodput

Changes of the mean against drop tail, over all cases in which the metric is judged: the median, and in
brackets the smallest and the largest. `drr` and `prio` have one class here, as they do by default, which
makes them equal to drop tail.

| algorithm | mean delay ({delays} cases) | goodput ({goodputs} cases) |
|---|---|---|
{changes}

## The scenarios

| scenario | section | title | cases |
|---|---|---|---|
{scenarios}

{missing}

## What others published

RFC 7928 has no reference results. These are statements about such scenarios, made with other links and
buffers, and the means here:

| case | source | states | here |
|---|---|---|---|
{published}

Made by Sojourn {version} (core {core}) with

```sh
{command}
```
"""
PAGE = """<!-- Written by docs/evaluation.py; do not edit. -->

# {spec} by RFC 7928

Against drop tail in {cases} cases, {seeds} seeds: {counts}. [All algorithms](README.md);
[the algorithm](../algorithms/{file}.md).

The largest difference for the better and that for the worse, as shares of the mean with drop tail:

| case | verdict | better | worse | remarks |
|---|---|---|---|---|
{verdicts}

## Values

Means with 95 % intervals over seeds; the difference is paired by seed.

| case | metric | drop tail | here | difference | verdict |
|---|---|---|---|---|---|
{values}
"""
Row = dict[str, str]


def keep(evaluation: Evaluation, about: dict[str, Any], here: Path = HERE) -> None:
    """Write the data of an evaluation, and the pages from it."""
    here.mkdir(exist_ok=True)
    specs = [one for one in evaluation.plan.specs if one != BASELINE]
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in COLUMNS}
    for one in evaluation.judged:
        rows[CASES].append((one.entry.id, one.case.name, one.entry.section, one.entry.title))
        for spec in specs:
            cell = one.cell(spec)
            remarks = "; ".join(cell.remarks)
            rows[VERDICTS].append((spec, one.case.name, cell.verdict, cell.better, cell.worse, remarks))
        rows[VALUES] += _values(one, [BASELINE, *specs])
        rows[PUBLISHED] += [(one.case.name, it.source, it.statement, here) for it, here in one.published()]
    for name, header in COLUMNS.items():
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerows([header, *rows[name]])
        (here / name).write_text(written.getvalue(), encoding="utf-8")
    (here / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    for path, page in pages(here):
        path.write_text(page, encoding="utf-8")


def _values(one: Judged, specs: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield mean, half-width and difference from drop tail of each metric of a case."""
    differences = {(d.aqm, d.metric): d for d in one.comparison.differences}
    for spec in specs:
        for metric in one.comparison.metrics:
            estimate = one.results.estimate(spec, metric)
            found = differences.get((spec, metric))
            effect = (found.effect.mean, found.effect.low, found.effect.high) if found else (None,) * 3
            numbers = ["" if x is None else f"{x:.6g}" for x in (estimate.mean, estimate.ci95, *effect)]
            yield (spec, one.case.name, metric, estimate.n, *numbers, found.verdict if found else "")


def read(name: str, here: Path = HERE) -> list[Row]:
    """Return the rows of a file."""
    return list(csv.DictReader(io.StringIO((here / name).read_text(encoding="utf-8"))))


def pages(here: Path = HERE) -> Iterator[tuple[Path, str]]:
    """Yield each page with its path, made from the data."""
    load(list(MEASURES.values()))  # their names in tables
    cases, verdicts, values = (read(name, here) for name in (CASES, VERDICTS, VALUES))
    about = json.loads((here / ABOUT).read_text(encoding="utf-8"))
    specs = list(dict.fromkeys(row["algorithm"] for row in verdicts))
    published = read(PUBLISHED, here)
    yield here / "README.md", _index(cases, verdicts, values, published, specs, about)
    for spec in specs:
        mine = [row for row in verdicts if row["algorithm"] == spec]
        yield here / f"{_file(spec)}.md", _page(spec, cases, mine, values, about)


def _file(spec: str) -> str:
    return spec.split()[0]


def _index(
    cases: list[Row],
    verdicts: list[Row],
    values: list[Row],
    published: list[Row],
    specs: list[str],
    about: dict[str, Any],
) -> str:
    cell = {(row["algorithm"], row["case"]): SYMBOLS[row["verdict"]] for row in verdicts}
    scenarios: dict[str, list[Row]] = {}
    for row in cases:
        scenarios.setdefault(row["scenario"], []).append(row)
    matrix = [("algorithm", "+", "\u00b1", "\u2212", *scenarios), ("---",) * (4 + len(scenarios))]
    for spec in specs:
        mine = [row["verdict"] for row in verdicts if row["algorithm"] == spec]
        counts = [str(mine.count(verdict)) for verdict in (BETTER, MIXED, WORSE)]
        symbols = [" ".join(cell[spec, row["case"]] for row in rows) for rows in scenarios.values()]
        matrix.append((f"[{spec}]({_file(spec)}.md)", *counts, *symbols))
    described = [
        (name, rows[0]["section"], rows[0]["title"], ", ".join(row["case"] for row in rows))
        for name, rows in scenarios.items()
    ]
    changes = {spec: [_changes(spec, metric, values) for metric in (DELAY, GOODPUT)] for spec in specs}
    return INDEX.format(
        algorithms=len(specs),
        cases=len(cases),
        matrix=_lines(matrix),
        delays=len(changes[specs[0]][0]),
        goodputs=len(changes[specs[0]][1]),
        changes=_lines([(spec, *map(_range, both)) for spec, both in changes.items()]),
        scenarios=_lines(described),
        published=_lines([tuple(row.values()) for row in published]),
        **about,
    )


def _changes(spec: str, metric: str, values: list[Row]) -> list[float]:
    """Return the relative change of a metric against drop tail in each case that judges it."""
    rows = [row for row in values if row["metric"] == metric and row["mean"]]
    base = {row["case"]: float(row["mean"]) for row in rows if row["algorithm"] == BASELINE}
    own = {row["case"]: float(row["mean"]) for row in rows if row["algorithm"] == spec}
    return [own[case] / base[case] - 1 for case in own if base.get(case)]


def _range(changes: list[float]) -> str:
    if not changes:
        return ""
    middle, low, high = (_percent(one) for one in (median(changes), min(changes), max(changes)))
    return f"{middle} [{low}, {high}]"


def _percent(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-0 %", "0 %").replace("+0 %", "0 %").replace("-", "\u2212")


def _page(spec: str, cases: list[Row], mine: list[Row], values: list[Row], about: dict[str, Any]) -> str:
    found = {(row["case"], row["metric"]): row for row in values if row["algorithm"] == BASELINE}
    rows = [
        (
            row["case"],
            label(row["metric"]),
            *(
                _text(one["metric"], one["mean"], one["ci95"])
                for one in (found[row["case"], row["metric"]], row)
            ),
            _difference(row),
            row["verdict"],
        )
        for row in values
        if row["algorithm"] == spec
    ]
    counts = {word: sum(row["verdict"] == word for row in mine) for word in SYMBOLS}
    return PAGE.format(
        spec=spec,
        file=_file(spec),
        cases=len(cases),
        seeds=about["seeds"],
        counts=", ".join(f"{word} in {count}" for word, count in counts.items() if count),
        verdicts=_lines([tuple(row[name] for name in COLUMNS[VERDICTS][1:]) for row in mine]),
        values=_lines(rows),
    )


def _lines(rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _text(metric: str, value: str, ci95: str) -> str:
    return text(metric, float(value), float(ci95) if ci95 else None) if value else "none"


def _difference(row: Row) -> str:
    if not row["difference"]:
        return ""
    half = (float(row["high"]) - float(row["low"])) / 2 if row["low"] and row["high"] else None
    return text(row["metric"], float(row["difference"]), half)


def _about(folder: Path, evaluation: Evaluation) -> dict[str, Any]:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    cores: dict[str, list[str]] = {}
    for one in evaluation.judged:
        facts = json.loads((folder / one.case.name / "manifest.json").read_text(encoding="utf-8"))
        cores.setdefault(facts["core_version"], []).append(one.case.name)
    most = max(cores, key=lambda core: len(cores[core]))
    refused = [f"{one.case.name} ({one.entry.title}): {one.reason}" for one in evaluation.plan.refused]
    return {
        "version": manifest["version"],
        "command": manifest["command"],
        "seeds": evaluation.plan.seeds,
        "runs": sum(len(one.results.seeds) * len(evaluation.plan.specs) for one in evaluation.judged),
        "core": "; ".join(
            f"`{core}`" + ("" if core == most else f" for {', '.join(names)}")
            for core, names in sorted(cores.items(), key=lambda one: one[0] != most)
        ),
        "missing": "Not run: " + "; ".join(refused) + "." if refused else "Every scenario was run.",
    }


def main() -> None:
    """Keep the evaluation of a folder, or write the pages again."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        evaluation = reopen(folder)
        if evaluation.plan.quick or evaluation.plan.until_ci:
            sys.exit(f"{folder}: not a full evaluation")
        keep(evaluation, _about(folder, evaluation))
    for path, page in pages():
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
