"""``python -m validation.real.run``: compares simulated with real packets; writes ``REPORT.md`` here.

Thirty-six cases have one real run of 25 s and ten simulated ones each. The path of the five queue disciplines
of the kernel is rebuilt with real hosts for 40 s each. The requirements are those of ``--world real``.
Finished runs in ``--out`` are not repeated.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import sojourn
from sojourn import _core
from sojourn.api import run
from sojourn.spec.scenario import Scenario
from sojourn.study.compare_worlds.packets import Row, rows, simulate
from sojourn.worlds.real.gateway import lateness
from validation.linux.run import TARGETS, reference

HERE = Path(__file__).parent
RATES, FLOWS = ("10Mbit/s", "25Mbit/s"), (4, 20)
#: Thresholds as in the measurements of Linux (README.md); the others have their defaults.
SPECS = ("droptail", "red min_th 15 max_th 45 max_p 0.1 w_q 0.002", "pi q_ref 30", "codel", "pie")
#: Simulated runs of a case.
RUNS = 10
KERNEL = ("pfifo", "red", "codel", "pie", "fq_codel")
#: This discipline gives ping a queue of its own, so that its delay cannot be compared.
SPARED = "fq_codel"
#: Start of ping's measurement, s.
SETTLED = 5.0


def cases() -> Iterator[tuple[str, Scenario, list[str]]]:
    """Yield the name of each case, its scenario, and the algorithms."""
    base = sojourn.load(HERE / "dumbbell.toml")
    for rate in RATES:
        for count in FLOWS:
            for ecn in (False, True):
                data = base.model_dump(by_alias=True, exclude_none=True)
                data["dumbbell"]["rate"] = rate
                data["traffic"][0]["count"] = count
                data["queue"]["ecn"] = ecn
                name = f"{rate.removesuffix('/s')}, {count} flows{', ECN' if ecn else ''}"
                yield name, base.with_(**data), list(SPECS[1:] if ecn else SPECS)


def kernel(name: str, out: Path) -> dict[str, float]:
    """Return the equivalents of the kernel's tools for one run with real hosts and our algorithm."""
    linux = sojourn.load(HERE.parent / f"linux/scenarios/{name}.toml")
    queue = next(link.queue for link in linux.link if link.queue)
    base = sojourn.load(HERE / "dumbbell.toml")
    data = base.model_dump(by_alias=True, exclude_none=True)
    data["dumbbell"]["delay"] = "25ms"
    data["dumbbell"]["access"] = {"rate": "1Gbit/s", "delay": "0s", "nodes": 1}
    data["dumbbell"]["server"] = {"rate": "1Gbit/s", "delay": "0s", "nodes": 1}
    data["queue"] = queue.model_dump(by_alias=True, exclude_none=True)
    data["traffic"][0]["start"] = "uniform 0s 10ms"
    scenario = base.with_(**{**data, "name": f"kernel-{name}", "duration": "40s", "warmup": "0s"})
    results = run(scenario, [queue.aqm], 1, world="real", out=out / f"kernel-{name}")
    metrics = results.outcomes[0].metrics
    waiting = results.trace("queue").filter(pl.col("time_s") > SETTLED)["queue_bytes"].mean()
    assert isinstance(waiting, float)
    found = {
        "received_mbps": (metrics["goodput_bps"] or 0.0) / 1e6,
        "drops": metrics["drops"] or 0.0,
        "delay_ms": waiting * 8 / 10e6 * 1e3,
    }
    return {metric: value for metric, value in found.items() if name != SPARED or metric != "delay_ms"}


def main() -> None:
    """Run every case in both worlds, and the kernel's path; write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="real runs per case")
    parser.add_argument("--cases", type=int, nargs="*", help="run only these cases, by number from 0")
    parser.add_argument("--out", type=Path, default=Path("results/validation-real"))
    wanted = parser.parse_args()
    found: list[tuple[str, Row]] = []
    warnings: list[str] = []
    loads = [os.getloadavg()[0]]
    late: list[float] = []
    for number, (name, scenario, specs) in enumerate(cases()):
        if wanted.cases is not None and number not in wanted.cases:
            continue
        real = run(scenario, specs, wanted.repeats, world="real", out=wanted.out / str(number))
        loads.append(os.getloadavg()[0])
        simulated = simulate(scenario, specs, wanted.repeats, RUNS)
        found += [(name, row) for row in rows(simulated, real)]
        late += [value for record in real.records if (value := lateness(record)) is not None]
        warnings += [f"{name}: {warning}" for warning in real.warnings]
        print(f"{name}: " + ", ".join(row.verdict for case, row in found if case == name), flush=True)
    beside = {name: kernel(name, wanted.out) for name in KERNEL}
    (HERE / "REPORT.md").write_text(_report(found, beside, warnings, loads, late, wanted))
    print(_last(found))


def _report(
    found: list[tuple[str, Row]],
    beside: dict[str, dict[str, float]],
    warnings: list[str],
    loads: list[float],
    late: list[float],
    wanted: argparse.Namespace,
) -> str:
    lines = [
        "| case | algorithm | metric | simulated | spread | real | % | |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for case, row in found:
        if not row.simulated and not row.other:
            continue
        share = "" if row.difference is None else f"{100 * row.difference:+.1f}"
        a, b = (f"{value:.4g}" for value in (row.simulated or 0.0, row.other or 0.0))
        name = row.aqm.split()[0]
        lines.append(
            f"| {case} | {name} | {row.metric} | {a} | {row.spread:.2g} | {b} | {share} | {row.verdict} |"
        )
    theirs = ["| discipline | metric | real | Linux | % | |", "|---|---|---:|---:|---:|---|"]
    for name, values in beside.items():
        for metric, value in values.items():
            linux = reference()[name][metric]
            word = "ok" if abs(value / linux - 1) <= TARGETS[metric] else "*"
            theirs.append(
                f"| {name} | {metric} | {value:.4g} | {linux:g} | {100 * (value / linux - 1):+.1f} | {word} |"
            )
    chosen = "" if wanted.cases is None else f" --cases {' '.join(map(str, wanted.cases))}"
    warning_list = "\n".join(f"- {warning}" for warning in warnings) or "- none"
    punctual = ""
    if late:
        punctual = (
            f" In the worst run 99 of 100 packets left the gateway\nless than {max(late) * 1e3:.2f} ms late."
        )
    return f"""# Simulated and real packets compared

Written by `python -m validation.real.run --repeats {wanted.repeats}{chosen}`: {RUNS} simulated and
{wanted.repeats} real run(s) of each case, core {_core.CORE_VERSION}, Linux {platform.release()},
{os.cpu_count()} processors, load average {min(loads):.1f} to {max(loads):.1f} while it ran.{punctual} What is
compared, and why figures differ: [README.md](README.md).

{chr(10).join(lines)}

{_last(found)}

Warnings about the real runs:

{warning_list}

## Comparison with the kernel's own disciplines

{chr(10).join(theirs)}
"""


def _last(found: list[tuple[str, Row]]) -> str:
    kept = [row for _, row in found if row.simulated or row.other]
    words = ("agrees", "within the spread", "differs")
    counts = ", ".join(f"{sum(row.verdict == word for row in kept)} {word}" for word in words)
    return f"{len(kept)} figures: {counts}"


if __name__ == "__main__":
    main()
