"""Rates of flows over time: one panel per algorithm, one pale line per flow, their mean as a strong line."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sojourn.metrics import display
from sojourn.plots._decimate import decimate, time_end
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, side_title, to_svg
from sojourn.plots.theme import SHADE, pale, strong, styles


def flow_rates(
    frame: pl.DataFrame,
    *,
    value: str = "goodput_bps",
    y_label: str = "Goodput of each flow",
    shaded: Sequence[tuple[float, float]] = (),
    title: str = "Rates of flows over time",
) -> Svg:
    """Draw a rate of every flow over time.

    Parameters
    ----------
    frame
        Columns ``aqm`` (specs), ``time_s``, ``flow`` and `value` of one seed, as of
        ``Results.trace("flows")``.
    value
        The column to draw.
    y_label
        Name of the value, without unit.
    shaded
        Intervals of time with a disturbance, shaded.
    title
        For screen readers.

    Returns
    -------
    Svg
        SVG text.
    """
    specs = list(dict.fromkeys(frame["aqm"].to_list()))
    looks, shown = styles(specs), display(value)
    # The connections of a flow at one time are one rate.
    rates = frame.group_by("aqm", "flow", "time_s", maintain_order=True).agg(
        pl.col(value).sum() * shown.factor
    )
    rates = rates.sort("time_s", maintain_order=True)
    with drawing():
        fig = figure(WIDTH, 0.5 + 1.3 * max(1, len(specs)))
        axes = fig.subplots(max(1, len(specs)), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for spec, panel in zip(specs, axes, strict=False):
            rows, look = rates.filter(pl.col("aqm") == spec), looks[spec]
            for low, high in shaded:
                panel.axvspan(low, high, color=SHADE, linewidth=0, zorder=0)
            for _, one in rows.group_by("flow", maintain_order=True):
                x, y = decimate(one["time_s"].to_numpy(), one[value].cast(pl.Float64).to_numpy())
                panel.plot(x, y, color=pale(look.colour, 0.55), linewidth=0.6)
            mean = rows.group_by("time_s", maintain_order=True).agg(pl.col(value).mean())
            x, y = decimate(mean["time_s"].to_numpy(), mean[value].cast(pl.Float64).to_numpy())
            panel.plot(x, y, color=strong(look.colour), linewidth=1.2)
            panel.set_title(look.title, loc="left", color=strong(look.colour), pad=3)
            panel.margins(x=0)
        axes[-1].set_xlabel("Time (s)")
        axes[-1].set_ylim(bottom=0)
        axes[-1].set_xlim(0, time_end(rates["time_s"].to_numpy()))
        side_title(fig, f"{y_label} ({shown.unit})")
        return to_svg(fig, title, f"One panel each for {', '.join(looks[s].title for s in specs)}.")
