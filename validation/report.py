"""``validation/REPORT.md`` and its pictures: tables a family, the open cells, PI's way to its target."""

from __future__ import annotations

from pathlib import Path

from sojourn import _core
from sojourn.plots.canvas import drawing, figure, to_svg
from sojourn.study.stats import mean_ci
from validation.cells import CELLS, METRICS, Cell

FAMILIES = {
    "R": "NewReno, equal round-trip times, every link as fast as the bottleneck",
    "B": "Reno, unequal round-trip times, RED with max_p = 1, with and without ECN",
    "T": "SACK with constant-rate streams, large buffers",
}
Windows = dict[str, tuple[list[list[float]], list[dict[str, list[float]]]]]


def write(folder: Path, cells: list[Cell], jittered: list[Cell], windows: Windows, seeds: int) -> str:
    """Write the report and its pictures; return its text."""
    counted = [c for c in cells if c.counts]
    missed = [c for c in counted if not c.within]
    text = f"""# Agreement with ns-2 2.35

Written by `make validate`: {seeds} seeds of ours (core {_core.CORE_VERSION}), 5 of ns-2's;
means with 95 % intervals over [100 s, 200 s]. Targets and open differences are in
[README.md](README.md). `*` marks a cell out of target.
"""
    if missed:
        text += "\n## Out of target\n\n" + _table(missed)
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    for family, what in FAMILIES.items():
        own = [c for c in cells if c.case.startswith(family)]
        if own:
            picture = f"![Ours against ns-2, family {family}](pictures/{family}.svg)"
            text += f"\n## Family {family}: {what}\n\n{picture}\n\n"
            text += _table([c for c in own if c.ours or c.ns2])
            (pictures / f"{family}.svg").write_text(_diagonal(own, family))
    if jittered:
        text += """
## With a random delay before each packet

DropTail with equal round-trip times depends on who comes first at equal times; here both sides
delay each packet by up to 0.432 ms. Not counted.

"""
        text += _table([c for c in jittered if c.ours or c.ns2])
    if windows:
        text += "\n## PI on its way to the target: mean queue in windows of ten seconds (packets)\n\n"
        text += "![PI's queue over time](pictures/transient.svg)\n\n" + _transient_table(windows)
        (pictures / "transient.svg").write_text(_transient(windows))
    text += f"\ncells within target: {len(counted) - len(missed)} of {len(counted)}\n"
    (folder / "REPORT.md").write_text(text)
    return text


def _table(cells: list[Cell]) -> str:
    lines = ["| case | metric | ours | ns-2 | % | std. errors | |", "|---|---|---:|---:|---:|---:|---|"]
    for c in cells:
        percent = "" if c.percent is None else f"{c.percent:+.1f}"
        errors = "" if c.errors is None else f"{c.errors:+.1f}"
        verdict = "" if c.metric not in CELLS else "ok" if c.within else "*"
        lines.append(
            f"| {c.case} | {c.metric} | {c.ours:.5g} ± {c.ours_ci:.2g} | {c.ns2:.5g} ± {c.ns2_ci:.2g} "
            f"| {percent} | {errors} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def _diagonal(cells: list[Cell], family: str) -> str:
    """Ours against ns-2's, one panel a metric, both intervals; the diagonal is agreement."""
    names = [m for m in METRICS if any(c.metric == m and (c.ours or c.ns2) for c in cells)]
    with drawing():
        drawn = figure(7.2, 2.3 * -(-len(names) // 3))
        panels = drawn.subplots(-(-len(names) // 3), 3, squeeze=False).ravel()
        for panel in panels[len(names) :]:
            panel.axis("off")
        for panel, name in zip(panels, names, strict=False):
            own = [c for c in cells if c.metric == name and (c.ours or c.ns2)]
            x, y = [c.ns2 for c in own], [c.ours for c in own]
            low, high = min(x + y), max(x + y)
            pad = 0.06 * (high - low or 1)
            panel.plot([low - pad, high + pad], [low - pad, high + pad], color="0.6", linewidth=0.8)
            panel.errorbar(
                x, y, xerr=[c.ns2_ci for c in own], yerr=[c.ours_ci for c in own], fmt="o", markersize=3,
                linewidth=0.8, color="#0b6e5b",
            )  # fmt: skip
            panel.set_title(name)
            panel.set_xlabel("ns-2")
            panel.set_ylabel("ours")
        return to_svg(drawn, f"Ours against ns-2, family {family}")


def _transient(windows: Windows) -> str:
    with drawing():
        drawn = figure(7.2, 1.9 * len(windows))
        panels = drawn.subplots(len(windows), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (name, (ours, rows)) in zip(panels, windows.items(), strict=True):
            for label, runs, colour in (
                ("ours", ours, "#0b6e5b"),
                ("ns-2", [row["q_mean"] for row in rows], "#a85400"),
            ):
                estimates = [mean_ci(list(column)) for column in zip(*runs, strict=True)]
                x = [10 * i + 5 for i in range(len(estimates))]
                panel.errorbar(
                    x, [e.mean for e in estimates], yerr=[e.ci95 or 0 for e in estimates], label=label,
                    color=colour, markersize=3, marker="o", linewidth=1,
                )  # fmt: skip
            panel.set_title(name)
            panel.set_ylabel("queue (p)")
            panel.legend(loc="best")
        panels[-1].set_xlabel("Time (s)")
        return to_svg(drawn, "PI's mean queue in windows of ten seconds, ours and ns-2's")


def _transient_table(windows: Windows) -> str:
    lines = ["| case | window | ours | ns-2 | difference |", "|---|---|---:|---:|---:|"]
    for name, (ours, rows) in windows.items():
        theirs = [row["q_mean"] for row in rows]
        for i, (a, b) in enumerate(zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)):
            own, peer = mean_ci(list(a)), mean_ci(list(b))
            lines.append(
                f"| {name} | {10 * i} to {10 * i + 10} s | {own.mean:.1f} ± {own.ci95 or 0:.1f} "
                f"| {peer.mean:.1f} ± {peer.ci95 or 0:.1f} | {(own.mean or 0) - (peer.mean or 0):+.1f} |"
            )
    return "\n".join(lines) + "\n"
