"""``python -m validation.linux.run``: compares queue disciplines of Linux 6.1 with ours, ten seeds each.

Writes ``validation/linux/REPORT.md``. Each row of the reference is one run of the kernel (README.md).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sojourn
from sojourn import _core
from sojourn.record import Record
from sojourn.runner.execute import execute
from sojourn.runner.point import Point
from sojourn.stats import mean_ci

HERE = Path(__file__).parent
SEEDS = range(1, 11)
#: Target of each metric: largest relative difference from the kernel's figure.
TARGETS = {"received_mbps": 0.02, "drops": 0.25, "delay_ms": 0.2}
#: Time of a probe of 98 bytes through both links with empty queues, ns.
EMPTY = 98 * 8 * (100 + 0.1)


@dataclass(frozen=True)
class Row:
    """One figure: ours with the half-width of its 95 % interval, and Linux's."""

    case: str
    metric: str
    ours: float
    ci: float
    linux: float

    @property
    def within(self) -> bool:
        """Whether ours is within the target."""
        return abs(self.ours / self.linux - 1) <= TARGETS[self.metric]


def measures(record: Record) -> Mapping[str, float | None]:
    """Return the equivalents of the kernel's tools: iperf3's receiver, the qdisc's counter, ping."""
    flows = record.flows
    probe = max(range(len(flows["traffic"])), key=lambda i: flows["traffic"][i])
    rates = [8e-6 * b / record.seconds for i, b in enumerate(flows["goodput_bytes"]) if i != probe]
    delay = flows["delay_ns"][probe] / flows["received_packets"][probe]
    return {
        "received_mbps": sum(rates),
        "drops": float(sum(record.queues[0]["drops"])),
        "delay_ms": (delay - EMPTY) * 1e-6,
    }


measures.version = "1"  # type: ignore[attr-defined]


def reference() -> dict[str, dict[str, float]]:
    """Return the kernel's figures by case."""
    with (HERE / "reference.csv").open() as file:
        return {row["case"]: {key: float(row[key]) for key in TARGETS} for row in csv.DictReader(file)}


def rows(case: str, seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Run one case and compare it."""
    scenario = sojourn.load(HERE / f"scenarios/{case}.toml")
    aqm = next(link.queue.aqm for link in scenario.link if link.queue)
    outcomes = list(execute((Point(scenario, aqm, seed) for seed in seeds), reduce=measures))
    found = []
    for metric, linux in reference()[case].items():
        ours = mean_ci([o.metrics[metric] or 0.0 for o in outcomes])
        found.append(Row(case, metric, ours.mean or 0.0, ours.ci95 or 0.0, linux))
    return found


def main() -> None:
    """Run every case and write the report."""
    found = [row for case in reference() for row in rows(case)]
    lines = ["| case | metric | ours | Linux | % | |", "|---|---|---:|---:|---:|---|"]
    for row in found:
        percent = 100 * (row.ours / row.linux - 1)
        lines.append(
            f"| {row.case} | {row.metric} | {row.ours:.4g} ± {row.ci:.2g} | {row.linux:g} "
            f"| {percent:+.1f} | {'ok' if row.within else '*'} |"
        )
    last = f"figures within target: {sum(row.within for row in found)} of {len(found)}"
    text = f"""# Agreement with Linux 6.1

Written by `make validate`: {len(SEEDS)} seeds of ours (core {_core.CORE_VERSION}), one run of the
kernel; means with 95 % intervals. Targets: received rate 2 %, drops 25 %, delay 20 %; `*` marks a figure
out of target. How it was measured: [README.md](README.md).

"""
    (HERE / "REPORT.md").write_text(text + "\n".join(lines) + f"\n\n{last}\n")
    print(last)


if __name__ == "__main__":
    main()
