"""The result of a search: one point per setting, the Pareto front, the chosen setting and the baseline."""

from __future__ import annotations

import polars as pl

from sojourn.plots.canvas import WIDTH, drawing, figure, legend, to_svg, y_title
from sojourn.plots.theme import INK, MUTED, algorithm, styles


def front(
    frame: pl.DataFrame,
    aims: list[tuple[str, str, float]],
    *,
    chosen: str,
    baseline: str,
    title: str = "Settings tried",
    width: float = WIDTH,
    height: float = 3.0,
) -> str:
    """Draw the first objective against each other one; a single objective against the number of the trial.

    Parameters
    ----------
    frame
        One row per setting: ``trial``, ``aqm``, ``state``, ``on_front`` and a column for each objective.
    aims
        Column, label and factor of each objective.
    chosen, baseline
        Specs to highlight.
    title
        For screen readers.
    width, height
        Inches.

    Returns
    -------
    str
        SVG.
    """
    first, *others = aims
    panels = [(first, other) for other in others] or [(("trial", "Trial", 1.0), first)]
    names = list(dict.fromkeys(algorithm(spec) for spec in frame["aqm"]))
    looks = styles(names)
    with drawing():
        fig = figure(width, height)
        drawn = fig.subplots(1, len(panels), squeeze=False)[0]
        for axes, (across, up) in zip(drawn, panels, strict=True):
            for name in names:
                rows = frame.filter(pl.col("aqm").map_elements(algorithm, pl.String) == name)
                colour = looks[name].colour
                kinds = (
                    ("stopped early", rows.filter(state="stopped"), {"marker": "x", "alpha": 0.5}),
                    (
                        "tried",
                        rows.filter(~pl.col("on_front"), state="finished"),
                        {"marker": "o", "alpha": 0.35},
                    ),
                    ("on the Pareto front", rows.filter(on_front=True), {"marker": "o"}),
                )
                for label, some, style in kinds:
                    (dots,) = axes.plot(
                        some[across[0]] * across[2], some[up[0]] * up[2], color=colour, linestyle="none",
                        markersize=4, label=f"{looks[name].title}, {label}" if some.height else None, **style,
                    )  # fmt: skip
                    fig.names[dots] = some["aqm"].to_list()
            for spec, text, offset in ((baseline, "baseline", (7, -9)), (chosen, "chosen", (0, 9))):
                row = frame.filter(aqm=spec)
                if not row.height or (spec == chosen == baseline and text == "baseline"):
                    continue
                at = row[across[0]][0] * across[2], row[up[0]][0] * up[2]
                axes.plot(*at, "o", markersize=9, markerfacecolor="none", color=INK, markeredgewidth=0.9)
                axes.annotate(
                    text, at, xytext=offset, textcoords="offset points", fontsize=7, color=MUTED,
                    ha="left" if offset[0] else "center",
                )  # fmt: skip
            axes.set_xlabel(across[1])
            y_title(axes, up[1])
            axes.margins(0.08)
        handles, labels = drawn[0].get_legend_handles_labels()
        legend(fig, dict(zip(labels, handles, strict=True)), most=3)
        return to_svg(fig, title)
