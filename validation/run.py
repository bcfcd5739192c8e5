"""``make validate``: forty scenarios beside ns-2's results, with both intervals.

Runs every scenario of ``validation/ns2/scenarios`` that has a reference, writes ``validation/REPORT.md``
and its pictures. What is done is kept in ``results/validation`` and not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import sojourn
from sojourn.series import queue_mean
from sojourn.study.execute import execute
from sojourn.study.plan import Point
from sojourn.study.store import Store
from validation import report
from validation.cells import METRICS, Cell, cell

HERE = Path(__file__).parent
REFERENCE = HERE / "ns2/reference"
STORE = HERE.parent / "results/validation"
Rows = dict[str, list[dict[str, float]]]


def main() -> None:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(prog="validate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", help="cases whose name contains this")
    args = parser.parse_args()
    wanted = {k: v for k, v in references("results.jsonl").items() if (args.only or "") in k}
    jitter = {k: v for k, v in references("jitter.jsonl").items() if (args.only or "") in k}
    transient = {k: v for k, v in references("transients.jsonl").items() if (args.only or "") in k}
    points = [p for name in (*wanted, *jitter) for p in points_of(name, args.seeds)]
    ours = collect(points)
    cells = [c for name, rows in wanted.items() for c in compare(name, ours[name], rows)]
    jittered = [c for name, rows in jitter.items() for c in compare(name, ours[name], rows)]
    windows = {name: (transients(name, args.seeds), rows) for name, rows in transient.items()}
    text = report.write(HERE, cells, jittered, windows, args.seeds)
    print(text.splitlines()[-1])


def references(name: str) -> Rows:
    """ns-2's rows of a file, by case."""
    path = REFERENCE / name
    rows: Rows = defaultdict(list)
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        rows[row["id"]].append(row)
    return dict(rows)


def points_of(name: str, seeds: int) -> list[Point]:
    """Make the runs of one case."""
    scenario = sojourn.load(HERE / f"ns2/scenarios/{name}.toml")
    spec = scenario.queue.aqm if scenario.queue else "droptail"
    return [Point(scenario, spec, seed) for seed in range(1, seeds + 1)]


def collect(points: list[Point]) -> Rows:
    """Our metrics by case."""
    rows: Rows = defaultdict(list)
    store = Store(STORE, traces=False)
    for outcome in execute(points, store, on_progress=progress):
        rows[outcome.point.scenario.name].append({k: v or 0.0 for k, v in outcome.metrics.items()})
    return rows


def compare(name: str, ours: list[dict[str, float]], ns2: list[dict[str, float]]) -> list[Cell]:
    """Every metric of one case."""
    found = []
    for metric, theirs in METRICS.items():
        factor = 1e-6 if metric == "goodput_bps" else 1.0
        # ns-2's Jain index is over TCP flows, its goodput TCP's; so are these.
        key = "tcp.goodput_bps" if metric == "goodput_bps" else metric
        found.append(cell(name, metric, [row[key] * factor for row in ours], [row[theirs] for row in ns2]))
    return found


def transients(name: str, seeds: int) -> list[list[float]]:
    """Measure the mean queue in windows of ten seconds, seed by seed."""
    scenario = sojourn.load(HERE / f"ns2/scenarios/{name}.toml").with_(trace={"interval": "100ms"})
    spec = scenario.queue.aqm if scenario.queue else "pi"
    points = [Point(scenario, spec, seed) for seed in range(1, seeds + 1)]
    return [
        [queue_mean(outcome.record.series(), start, start + 10) or 0.0 for start in range(0, 200, 10)]
        for outcome in execute(points, on_progress=progress)
    ]


def progress(share: float, done: int, total: int) -> None:
    """Draw a line on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if share >= 1 else ""
        print(f"\r{done} of {total} runs, {100 * share:.0f} %", end=end, file=sys.stderr)


if __name__ == "__main__":
    main()
