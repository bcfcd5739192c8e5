"""Bars: one value per algorithm with its interval, one panel per metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal

import polars as pl
from matplotlib.axes import Axes

from sojourn.format import estimate, scale
from sojourn.metrics import find, label
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, to_svg
from sojourn.plots.theme import INK, Style, pale, styles


def bars(
    summary: pl.DataFrame,
    metrics: Sequence[str],
    *,
    by: str = "aqm",
    titles: Mapping[str, str] | None = None,
    sort: Literal["ascending", "descending"] | None = None,
    columns: int = 3,
    title: str = "",
    width: float = WIDTH,
) -> Svg:
    """Draw horizontal bars with 95 % intervals and their numbers, one panel per metric.

    Parameters
    ----------
    summary
        Columns `by`, ``metric``, ``unit``, ``mean``, ``ci95``: as returned by ``Results.summary()``.
    metrics
        The metrics, in the order of the panels; those without a known value are omitted.
    by
        The column of specs.
    titles
        Labels of quantities that are not metrics of the registry.
    sort
        Order of the bars by the first metric; the order of the frame if ``None``.
    columns
        Panels per row.
    title
        For screen readers.
    width
        Inches.

    Returns
    -------
    Svg
        SVG text.
    """
    known = set(summary.filter(pl.col("mean").is_not_null())["metric"])
    shown = [m for m in metrics if m in known]
    specs = _order(summary, shown, by, sort)
    looks = styles(specs)
    across = max(1, min(columns, len(shown)))
    down = max(1, ceil(len(shown) / across))
    with drawing():
        fig = figure(width, down * (0.42 + 0.2 * max(1, len(specs))))
        grid = fig.subplots(down, across, sharey=True, squeeze=False)
        for i, panel in enumerate(grid.flat):
            if i >= len(shown):
                panel.set_axis_off()
                continue
            rows = {r[by]: r for r in summary.filter(pl.col("metric") == shown[i]).iter_rows(named=True)}
            name = (titles or {}).get(shown[i]) or label(shown[i])
            _panel(panel, shown[i], name, [rows.get(spec) for spec in specs], [looks[s] for s in specs])
        return to_svg(fig, title or "Metrics by algorithm")


def _panel(
    panel: Axes,
    metric: str,
    name: str,
    rows: Sequence[Mapping[str, object] | None],
    looks: Sequence[Style],
) -> None:
    means = [_float(row, "mean") for row in rows]
    halves = [_float(row, "ci95") for row in rows]
    unit = next((str(row["unit"]) for row in rows if row), "")
    known = find(metric)
    chosen = known.display if known is not None else scale(means, unit)
    longest = 0.0
    for i, (mean, half, look) in enumerate(zip(means, halves, looks, strict=True)):
        if mean is None:
            panel.text(0, i, " unknown", va="center", color=INK, fontsize=7)
            continue
        value = mean * chosen.factor
        width = None if half is None else half * chosen.factor
        panel.barh(i, value, height=0.62, color=pale(look.colour, 0.3), linewidth=0)
        if width:
            panel.errorbar(value, i, xerr=width, color=INK, elinewidth=0.9, capsize=2, capthick=0.9)
        tip = value + (width or 0.0)
        panel.annotate(
            estimate(value, width), (max(tip, 0.0), i), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=7,
        )  # fmt: skip
        longest = max(longest, tip)
    panel.set_yticks(range(len(looks)), [look.title for look in looks])
    panel.set_ylim(len(looks) - 0.5, -0.5)
    panel.set_xlim(0, longest * 1.7 if longest > 0 else 1)
    panel.grid(visible=False)
    panel.spines["bottom"].set_visible(False)
    panel.tick_params(axis="x", bottom=False, labelbottom=False)
    panel.set_title(f"{name} ({chosen.unit})" if chosen.unit else name, fontsize=8, pad=3)


def _order(
    summary: pl.DataFrame, metrics: Sequence[str], by: str, sort: Literal["ascending", "descending"] | None
) -> list[str]:
    if sort is None or not metrics:
        return list(dict.fromkeys(summary[by].to_list()))
    rows = summary.filter(pl.col("metric") == metrics[0])
    return rows.sort("mean", descending=sort == "descending", nulls_last=True)[by].to_list()


def _float(row: Mapping[str, object] | None, key: str) -> float | None:
    value = None if row is None else row.get(key)
    return float(value) if isinstance(value, int | float) else None
