"""``make validate``: compares 54 scenarios with ns-2's results, with both intervals.

Runs every scenario of ``validation/ns2/scenarios`` that has a reference, writes ``validation/REPORT.md`` and
its pictures. Finished runs are kept in ``results/validation`` and not repeated. The exit code is 1 if fewer
than nine cells in ten are within their target.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import sojourn
from sojourn.metrics.timeseries import queue_mean
from sojourn.record import Record
from sojourn.runner.execute import execute
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from validation import report
from validation.cells import METRICS, Cell, cell

HERE = Path(__file__).parent
REFERENCE = HERE / "ns2/reference"
STORE = HERE.parent / "results/validation"
#: Kinds of references whose cells count.
COUNTED = ("results", "tuned", "classes")
#: Transients are compared in windows of this many seconds.
WINDOW = 10
Rows = dict[str, list[dict[str, float]]]


def main() -> None:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(prog="validate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="of each case (20)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    args = parser.parse_args()
    seeds = range(1, args.seeds + 1)
    given = {kind: references(kind, args.only) for kind in ("jitter", "sensitivity", "clock")}
    given["results"] = counted(args.only)
    names = dict.fromkeys(name for kind in given.values() for name in kind)
    store = Store(STORE, traces=False)
    ours = collect((p for name in names for p in points_of(name, seeds)), store)
    compared = {
        kind: [c for name, rows in cases.items() for c in compare(name, ours[name], rows)]
        for kind, cases in given.items()
    }
    windows = {
        name: (transients(name, seeds, store), rows) for name, rows in _transient_rows(args.only).items()
    }
    same = {name: same_drops(name) for name in references("many", args.only)}
    whole = not args.only and args.seeds >= 20
    text = report.write(HERE if whole else STORE, compared, windows, same, args.seeds)
    if not whole:
        print(f"only a part: the report is {STORE / 'REPORT.md'}", file=sys.stderr)
    print(text.splitlines()[-1])
    cells = [c for c in compared["results"] if c.counts]
    sys.exit(sum(c.within for c in cells) < 0.9 * len(cells))


def references(kind: str, only: str = "") -> Rows:
    """Return ns-2's rows of a kind, by case."""
    rows: Rows = defaultdict(list)
    for line in (REFERENCE / f"{kind}.jsonl").read_text().splitlines():
        row = json.loads(line)
        if only in row["id"]:
            rows[row["id"]].append(row)
    return dict(rows)


def counted(only: str = "") -> Rows:
    """Return ns-2's rows of the cases whose cells count."""
    return {name: rows for kind in COUNTED for name, rows in references(kind, only).items()}


def _transient_rows(only: str) -> dict[str, list[list[float]]]:
    """Return ns-2's mean queues in windows, by case and seed."""
    return {
        name: [row["q_mean"] for row in rows]  # type: ignore[misc]
        for name, rows in references("transients", only).items()
    }


def points_of(name: str, seeds: Iterable[int], **changes: object) -> list[Point]:
    """Return the runs of one case."""
    scenario = sojourn.load(HERE / f"ns2/scenarios/{name}.toml").with_(
        **{"trace": {"interval": "off"}, **changes}
    )
    assert scenario.queue is not None
    return [Point(scenario, scenario.queue.aqm, seed) for seed in seeds]


def collect(points: Iterable[Point], store: Store | None = None) -> Rows:
    """Return our metrics by case."""
    rows: Rows = defaultdict(list)
    for outcome in execute(points, store, on_progress=progress):
        rows[outcome.point.scenario.name].append({k: v or 0.0 for k, v in outcome.metrics.items()})
    return rows


def compare(name: str, ours: list[dict[str, float]], ns2: list[dict[str, float]]) -> list[Cell]:
    """Compare every metric of one case."""
    found = []
    for metric, theirs in METRICS.items():
        # ns-2 gives TCP's goodput in Mbit/s; its Jain index is over TCP flows, ours over endless ones.
        key = "tcp.goodput_bps" if metric == "goodput_bps" else metric
        unit = 1e6 if metric.endswith("goodput_bps") else 1.0
        if theirs in ns2[0]:
            found.append(cell(name, metric, [row[key] for row in ours], [unit * row[theirs] for row in ns2]))
    return found


def means(record: Record) -> Mapping[str, float | None]:
    """Return the mean queue of each window."""
    series = record.series()
    return {f"window_{start}": queue_mean(series, start, start + WINDOW) for start in range(0, 200, WINDOW)}


means.version = "1"  # type: ignore[attr-defined]


def transients(name: str, seeds: Iterable[int], store: Store | None) -> list[list[float]]:
    """Return the mean queue in windows of ten seconds, seed by seed."""
    points = points_of(name, seeds, trace={"interval": "100ms"})
    outcomes = execute(points, store, on_progress=progress, reduce=means)
    return [[o.metrics[f"window_{start}"] or 0.0 for start in range(0, 200, WINDOW)] for o in outcomes]


def same_drops(name: str) -> tuple[int, int, int]:
    """Compare every drop of a case without randomness.

    Returns the number of drops that are equal in both (packet and time) up to the first difference, the
    number of ns-2's drops, and the number of ours.
    """
    with (REFERENCE / f"many/{name}.drops.csv").open() as file:
        theirs = [(float(r["time_s"]), int(r["flow"]), int(r["sequence"])) for r in csv.DictReader(file)]
    (outcome,) = execute(points_of(name, [1], trace={"interval": "off", "drops": True}))
    frame = outcome.record.drops
    ours = list(zip(frame["time_s"], frame["flow"], frame["sequence"], strict=True))
    equal = 0
    for a, b in zip(ours, theirs, strict=False):
        if abs(a[0] - b[0]) > 1e-5 or a[1:] != b[1:]:
            break
        equal += 1
    return equal, len(theirs), len(ours)


def progress(share: float, done: int, total: int) -> None:
    """Draw a line on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if share >= 1 else ""
        print(f"\r{done} of {total} runs, {100 * share:.0f} %", end=end, file=sys.stderr)


if __name__ == "__main__":
    main()
