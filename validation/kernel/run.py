"""``python -m validation.kernel.run``: compares the simulator with the kernel; writes ``REPORT.md`` here.

Every cell of `cells` runs with the same number of seeds in both worlds; a figure is the mean over the seeds.
Nothing is fitted, and no cell is left out of the report. Finished runs in ``--out`` are not repeated, so the
command continues after an interruption; ``--cells 24`` runs the first 24 cells, which cover every pair.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from sojourn import _core
from sojourn.api import run
from sojourn.study.compare_worlds.packets import Row, Target, rows
from sojourn.worlds.kernel.machine import require
from validation.kernel.cells import MORE, Cell, cells

HERE = Path(__file__).parent
#: One full packet at 10 Mbit/s, s.
PACKET = 1500 * 8 / 10e6
TARGETS = (
    Target("goodput_bps", 0.02),
    Target("drops", 0.1),
    Target("marks", 0.1),
    Target("mean_delay_s", 0.1, PACKET),
    Target("p95_delay_s", 0.1, PACKET),
)
#: Unit, factor and name of each metric in the report.
SHOWN = {
    "goodput_bps": ("goodput (Mbit/s)", 1e-6),
    "drops": ("drops", 1.0),
    "marks": ("marks", 1.0),
    "mean_delay_s": ("mean delay (ms)", 1e3),
    "p95_delay_s": ("95th-percentile delay (ms)", 1e3),
}
#: Losses that differ by fewer packets per run count as equal.
FEW = 3.0


def compare(cell: Cell, seeds: int, out: Path, workers: int | None) -> list[Row]:
    """Run a cell in both worlds; store the kernel's processor time beside its runs."""
    scenario = cell.scenario()
    before = _cpu()
    kernel = run(
        scenario, [cell.spec], seeds, world="kernel", out=out / cell.name / "kernel", workers=workers
    )
    used, file = _cpu() - before, out / cell.name / "cpu.json"
    if not file.exists():
        file.write_text(json.dumps(used), encoding="ascii")
    # The simulator's clock is that of the kernel that runs; the preset has the 250 Hz of distributions.
    tick = f"{1000 / int(require().description['hz']):g}ms"
    timed = scenario.with_(tcp={**scenario.tcp, "granularity": tick})
    simulated = run(timed, [cell.spec], seeds, out=out / cell.name / "simulated", workers=workers)
    return rows([simulated], kernel, TARGETS)


def _cpu() -> float:
    """Return the processor time of the processes that have ended, s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def within(row: Row) -> bool:
    """Return whether a figure is within its target."""
    if row.within or row.simulated is None or row.other is None:
        return row.within
    return row.metric in ("drops", "marks") and abs(row.simulated - row.other) <= FEW


def main() -> None:
    """Run the cells, write the report after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, help="only the first N cells")
    parser.add_argument("--more", action="store_true", help="other senders, CAKE, fq and sfq, into MORE.md")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/validation-kernel"))
    wanted = parser.parse_args()
    chosen = (list(MORE) if wanted.more else cells())[: wanted.cells]
    report = HERE / ("MORE.md" if wanted.more else "REPORT.md")
    found: dict[Cell, list[Row]] = {}
    start = time.monotonic()
    for number, cell in enumerate(chosen, 1):
        found[cell] = compare(cell, wanted.seeds, wanted.out, wanted.workers)
        missed = [row.metric for row in found[cell] if not within(row)]
        minutes = (time.monotonic() - start) / 60
        print(
            f"{number}/{len(chosen)} {cell.name}: {', '.join(missed) or 'ok'} ({minutes:.0f} min)", flush=True
        )
        report.write_text(_report(found, wanted.seeds, wanted.out, wanted.more), encoding="utf-8")


def _report(found: dict[Cell, list[Row]], seeds: int, out: Path, more: bool) -> str:
    kernel = require().description
    head = "| cell | metric | simulated | spread | kernel | % | |\n|---|---|---:|---:|---:|---:|---|"
    lines = []
    for cell, of_cell in found.items():
        for row in of_cell:
            if not row.simulated and not row.other:
                continue
            name, factor = SHOWN[row.metric]
            share = "" if row.difference is None else f"{100 * row.difference:+.1f}"
            a, b = (f"{(value or 0.0) * factor:.4g}" for value in (row.simulated, row.other))
            word = "ok" if within(row) else "within the spread" if row.usual else "*"
            lines.append(
                f"| {cell.name} | {name} | {a} | {row.spread * factor:.2g} | {b} | {share} | {word} |"
            )
    tally = ["| metric | cells | within the target | also within the spread |", "|---|---:|---:|---:|"]
    for target in TARGETS:
        of_metric = [row for one in found.values() for row in one if row.metric == target.metric]
        mine = [row for row in of_metric if row.simulated or row.other]
        good = sum(within(row) for row in mine)
        usual = sum(within(row) or row.usual for row in mine)
        tally.append(f"| {SHOWN[target.metric][0]} | {len(mine)} | {good} | {usual} |")
    whole = sum(all(within(row) for row in one) for one in found.values())
    spent = [
        json.loads(file.read_text()) for cell in found if (file := out / cell.name / "cpu.json").exists()
    ]
    seconds = 30 * seeds * len(spent)
    share = sum(spent) / seconds if seconds else 0.0
    of = len(MORE if more else cells())
    command = "python -m validation.kernel.run --more" if more else "make validate-kernel"
    return f"""# The simulator and the Linux kernel compared

Written by `{command}`: {len(found)} of {of} cells with {seeds} seeds each, Linux
{kernel["version"]} with HZ = {kernel["hz"]}, configuration {kernel["config"][:12]}, {kernel["compiler"]},
core {_core.CORE_VERSION}. One simulated second of the kernel at 10 Mbit/s took {share:.2f} CPU seconds. What
is compared, and causes of differences: [README.md](README.md).

Every figure of a cell is within its target in {whole} of {len(found)} cells.

{chr(10).join(tally)}

`spread` is the standard deviation of single simulated runs; *ok* is a mean within its target, *within the
spread* one outside it, but within three of these deviations; `%` is the kernel's figure relative to the
simulated one.

{head}
{chr(10).join(lines)}
"""


if __name__ == "__main__":
    main()
