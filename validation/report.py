"""Writes ``validation/REPORT.md`` and its pictures: cells out of target, a table per family, the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from sojourn import _core
from sojourn.plots.canvas import drawing, figure, plain_ticks, to_svg
from sojourn.stats import mean_ci
from validation.cells import CELLS, METRICS, Cell

FAMILIES = {
    "R": "NewReno, equal round-trip times, every link as fast as the bottleneck",
    "B": "Reno, unequal round-trip times, RED with max_p = 1, with and without ECN",
    "T": "SACK with constant-rate streams, large buffers",
    "A": "Adaptive RED with automatic and with given parameters",
    "O": "RIO, In and Out flows",
}
OURS, NS2 = "#0b6e5b", "#a85400"
#: Ours and ns-2's mean queue in windows, by seed, of each case.
Windows = Mapping[str, tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]]]


def write(
    folder: Path,
    compared: Mapping[str, Sequence[Cell]],
    windows: Windows,
    same: Mapping[str, tuple[int, int, int]],
    seeds: int,
) -> str:
    """Write the report and its pictures; return its text."""
    cells = compared["results"]
    counted = [c for c in cells if c.counts]
    missed = [c for c in counted if not c.within]
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    text = f"""# Agreement with ns-2 2.35

Written by `make validate`: {seeds} seeds of ours (core {_core.CORE_VERSION}), 5 of ns-2's unless stated
otherwise; means with 95 % intervals over [100 s, 200 s]. Targets and open differences are in
[README.md](README.md). `*` marks a cell out of target. Only the tables of the families are counted.

"""
    text += _summary(cells)
    if missed:
        text += "\n## Out of target\n\nWhy: [README.md](README.md#open-differences).\n\n" + _table(missed)
    for family, what in FAMILIES.items():
        own = [c for c in cells if c.case.startswith(f"{family}-")]
        if own:
            picture = f"![Ours against ns-2, family {family}](pictures/{family}.svg)"
            text += f"\n## Family {family}: {what}\n\n{picture}\n\n" + _table(own)
            (pictures / f"{family}.svg").write_text(_diagonal(own, family))
    if same:
        text += """
## Packet for packet

Forty flows over twenty hosts without randomness: each drop of 60 s is compared with ns-2's by time (10 us),
flow and sequence number, up to the first that differs.

"""
        text += _same(same)
    if compared["jitter"]:
        text += """
## With random send delays

With equal round-trip times the phase determines which packets find the buffer full; here both simulators
delay each packet by a random time of up to 0.432 ms (`overhead`).

"""
        text += _table(compared["jitter"])
    if compared["sensitivity"]:
        text += "\n## One change to a case of family R\n\nTwo seeds of ns-2's.\n\n"
        text += _table([c for c in compared["sensitivity"] if c.metric in CELLS])
    if windows:
        text += "\n## PI approaching its target: mean queue in windows of ten seconds (packets)\n\n"
        text += "![PI's queue over time](pictures/transient.svg)\n\n" + _transient_table(windows)
        (pictures / "transient.svg").write_text(_transient(windows))
    if compared["clock"]:
        text += """
## The same cases at another time of ns-2's clock

ns-2 started later (families R and A 600 s, family B 200 s), where its clock, a double, rounds the
transmission time of a packet in the other direction. Nothing else differs from the tables above.

"""
        text += _clock(compared["clock"], cells)
    text += f"\ncells within target: {len(counted) - len(missed)} of {len(counted)}\n"
    (folder / "REPORT.md").write_text(text)
    return text


def _summary(cells: Sequence[Cell]) -> str:
    lines = ["| family | " + " | ".join(CELLS) + " |", "|---" * (len(CELLS) + 1) + "|"]
    for family in FAMILIES:
        row = []
        for metric in CELLS:
            own = [c for c in cells if c.case.startswith(f"{family}-") and c.metric == metric and c.counts]
            row.append(f"{sum(c.within for c in own)} of {len(own)}" if own else "")
        lines.append(f"| {family} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _table(cells: Sequence[Cell]) -> str:
    lines = ["| case | metric | ours | ns-2 | % | std. errors | |", "|---|---|---:|---:|---:|---:|---|"]
    for c in cells:
        if c.ours == 0 and c.ns2 == 0:
            continue
        percent = "" if c.percent is None else f"{c.percent:+.1f}"
        errors = "" if c.errors is None else f"{c.errors:+.1f}"
        verdict = "" if not c.counts else "ok" if c.within else "*"
        lines.append(
            f"| {c.case} | {c.metric} | {c.ours:.5g} ± {c.ours_ci:.2g} | {c.ns2:.5g} ± {c.ns2_ci:.2g} "
            f"| {percent} | {errors} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def _same(same: Mapping[str, tuple[int, int, int]]) -> str:
    lines = ["| case | equal drops | ns-2's | ours |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {equal} | {theirs} | {ours} |" for name, (equal, theirs, ours) in same.items()]
    return "\n".join(lines) + "\n"


def _clock(later: Sequence[Cell], cells: Sequence[Cell]) -> str:
    usual = {(c.case, c.metric): c for c in cells}
    lines = ["| case | metric | ours | ns-2, later | ns-2 |", "|---|---|---:|---:|---:|"]
    for c in later:
        then = usual.get((c.case, c.metric))
        if then is not None and c.metric in CELLS and (c.ours or c.ns2):
            lines.append(
                f"| {c.case} | {c.metric} | {c.ours:.5g} ± {c.ours_ci:.2g} | {c.ns2:.5g} ± {c.ns2_ci:.2g} "
                f"| {then.ns2:.5g} ± {then.ns2_ci:.2g} |"
            )
    return "\n".join(lines) + "\n"


def _diagonal(cells: Sequence[Cell], family: str) -> str:
    """Draw our values against those of ns-2, one panel per metric, with both intervals."""
    names = [m for m in METRICS if any(c.metric == m and c.ours and c.ns2 for c in cells)]
    rows = -(-len(names) // 3)
    with drawing():
        drawn = figure(7.2, 2.3 * rows)
        panels = drawn.subplots(rows, 3, squeeze=False).ravel()
        for panel in panels[len(names) :]:
            panel.axis("off")
        for panel, name in zip(panels, names, strict=False):
            _panel(panel, name, [c for c in cells if c.metric == name and c.ours and c.ns2])
        return to_svg(drawn, f"Ours against ns-2, family {family}")


def _panel(panel: Axes, name: str, cells: Sequence[Cell]) -> None:
    x, y = [c.ns2 for c in cells], [c.ours for c in cells]
    low, high = min(x + y), max(x + y)
    if high > 30 * low:
        panel.set_xscale("log")
        panel.set_yscale("log")
        low, high = low / 1.4, high * 1.4
    else:
        pad = 0.06 * (high - low or 1)
        low, high = low - pad, high + pad
        panel.locator_params(nbins=5)
    for axis in (panel.xaxis, panel.yaxis):
        plain_ticks(axis)
        axis.set_minor_formatter(NullFormatter())
    panel.plot([low, high], [low, high], color="0.6", linewidth=0.8)
    panel.errorbar(
        x, y, xerr=[c.ns2_ci for c in cells], yerr=[c.ours_ci for c in cells], fmt="o", markersize=3,
        linewidth=0.8, color=OURS,
    )  # fmt: skip
    panel.set_xlim(low, high)
    panel.set_ylim(low, high)
    panel.set_title(name)
    panel.set_xlabel("ns-2")
    panel.set_ylabel("ours")


def _transient(windows: Windows) -> str:
    with drawing():
        drawn = figure(7.2, 1.9 * len(windows))
        panels = drawn.subplots(len(windows), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (name, (ours, theirs)) in zip(panels, windows.items(), strict=True):
            for label, runs, colour in (("ours", ours, OURS), ("ns-2", theirs, NS2)):
                estimates = [mean_ci(list(column)) for column in zip(*runs, strict=True)]
                x = [10 * i + 5 for i in range(len(estimates))]
                panel.errorbar(
                    x, [e.mean or math.nan for e in estimates], yerr=[e.ci95 or 0 for e in estimates],
                    label=label, color=colour, markersize=3, marker="o", linewidth=1,
                )  # fmt: skip
            panel.set_title(name)
            panel.set_ylabel("queue (p)")
            panel.legend(loc="best")
        panels[-1].set_xlabel("Time (s)")
        return to_svg(drawn, "PI's mean queue in windows of ten seconds, ours and ns-2's")


def _transient_table(windows: Windows) -> str:
    """Lay out windows; one agrees within 2 packets or 3 %, or if the intervals overlap."""
    lines = ["| case | window | ours | ns-2 | difference | |", "|---|---|---:|---:|---:|---|"]
    agreeing = total = 0
    for name, (ours, theirs) in windows.items():
        for i, (a, b) in enumerate(zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)):
            own, peer = mean_ci(list(a)), mean_ci(list(b))
            x, y = own.mean or 0.0, peer.mean or 0.0
            reach = max(2.0, 0.03 * y, (own.ci95 or 0.0) + (peer.ci95 or 0.0))
            agrees = abs(x - y) <= reach
            agreeing, total = agreeing + agrees, total + 1
            lines.append(
                f"| {name} | {10 * i} to {10 * i + 10} s | {x:.1f} ± {own.ci95 or 0:.1f} "
                f"| {y:.1f} ± {peer.ci95 or 0:.1f} | {x - y:+.1f} | {'ok' if agrees else '*'} |"
            )
    text = f"{agreeing} of {total} windows within 2 packets or 3 %, or with intervals that overlap.\n\n"
    return text + "\n".join(lines) + "\n"
