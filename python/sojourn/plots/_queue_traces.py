"""The queue over time: one panel per algorithm, on common axes, as in the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from matplotlib.axes import Axes

from sojourn.plots._decimate import block_means, decimate, shared_columns, time_end
from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, side_title, to_svg
from sojourn.plots.theme import MUTED, SHADE, Style, pale, strong, styles


def queue_traces(
    frame: pl.DataFrame,
    *,
    value: str = "queue_packets",
    by: str = "aqm",
    reference: float | None = None,
    reference_label: str = "q₀",
    limit: float | None = None,
    shaded: Sequence[tuple[float, float]] = (),
    shaded_label: str = "",
    smooth: float | None = 1.0,
    notes: Mapping[str, str] | None = None,
    start: float | None = None,
    end: float | None = None,
    y_label: str = "Queue (packets)",
    title: str = "Queue length over time",
    panel_height: float = 1.1,
) -> Svg:
    """Draw the queue over time, one panel per spec, all panels on the same axes.

    Parameters
    ----------
    frame
        Columns `by` (algorithm specs), ``time_s``, `value` and, optionally, ``seed``: of several seeds
        the smallest is drawn. Panels follow the order of first appearance.
    value
        The column to draw.
    by
        The column of specs.
    reference
        Reference of the queue; a dashed line.
    reference_label
        The name of that line.
    limit
        The size of the buffer; the axis ends there.
    shaded
        Intervals of time with a disturbance, shaded.
    shaded_label
        Label of the disturbance.
    smooth
        Length in seconds of the blocks whose means the strong line shows, over the pale samples; ``None``
        draws the samples alone.
    notes
        A short text for the right end of a panel's heading, by spec.
    start, end
        The part of the time axis to draw; all of it if not given.
    y_label
        Name and unit of the value.
    title
        For screen readers.
    panel_height
        Inches per panel.

    Returns
    -------
    Svg
        SVG text.
    """
    specs = list(dict.fromkeys(frame[by].to_list()))
    looks = styles(specs)
    with drawing():
        fig = figure(WIDTH, 0.5 + panel_height * max(1, len(specs)))
        axes = fig.subplots(max(1, len(specs)), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for i, (spec, panel) in enumerate(zip(specs, axes, strict=False)):
            rows = _first_seed(frame.filter(pl.col(by) == spec))
            rows = _between(rows, start, end)
            for low, high in shaded:
                panel.axvspan(low, high, color=SHADE, linewidth=0, zorder=0)
            _trace(panel, rows, value, looks[spec], smooth, shared_columns(len(specs)))
            if reference is not None:
                panel.axhline(reference, color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=4)
            panel.margins(x=0)
            _heading(panel, looks[spec], (notes or {}).get(spec, ""))
            if i == 0 and shaded and shaded_label:
                middle = sum(shaded[0]) / 2
                panel.text(
                    middle, 0.96, shaded_label, transform=panel.get_xaxis_transform(), ha="center", va="top",
                    fontsize=7.5, color=MUTED,
                )  # fmt: skip
        last = axes[-1]
        last.set_xlabel("Time (s)")
        top = limit if limit is not None else _largest(frame, value)
        last.set_ylim(0, (top or 1.0) * 1.04)
        last.set_xlim(
            left=start if start is not None else min(0.0, _first(frame)),
            right=end if end is not None else time_end(frame["time_s"].to_numpy()),
        )
        last.locator_params(axis="y", nbins=4, steps=[1, 2, 2.5, 5, 10])
        if reference is not None:
            axes[0].annotate(
                f"{reference_label} = {reference:g}", (1, reference), xycoords=axes[0].get_yaxis_transform(),
                xytext=(4, 0), textcoords="offset points", va="center", color=MUTED, fontsize=7.5,
            )  # fmt: skip
        side_title(fig, y_label)
        return to_svg(fig, title, f"One panel each for {', '.join(looks[s].title for s in specs)}.")


def _trace(
    panel: Axes, rows: pl.DataFrame, value: str, look: Style, smooth: float | None, columns: int
) -> None:
    time, values = rows["time_s"].to_numpy(), rows[value].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    samples = decimate(time, values, columns)
    if smooth is None:
        panel.plot(*samples, color=look.colour, linewidth=0.8)
        return
    panel.plot(*samples, color=pale(look.colour, 0.55), linewidth=0.6, label="samples")
    means = block_means(time, values, smooth)
    panel.plot(*means, color=strong(look.colour), linewidth=1.2, label=f"mean over {smooth:g} s")


def _heading(panel: Axes, look: Style, note: str) -> None:
    panel.set_title(look.title, loc="left", color=strong(look.colour), pad=3)
    if note:
        panel.set_title(note, loc="right", color=MUTED, fontsize=7.5, fontweight="normal", pad=3)


def _first_seed(rows: pl.DataFrame) -> pl.DataFrame:
    if "seed" in rows.columns and rows.height:
        return rows.filter(pl.col("seed") == rows["seed"].min())
    return rows


def _between(rows: pl.DataFrame, start: float | None, end: float | None) -> pl.DataFrame:
    if start is not None:
        rows = rows.filter(pl.col("time_s") >= start)
    return rows if end is None else rows.filter(pl.col("time_s") <= end)


def _first(frame: pl.DataFrame) -> float:
    first = frame["time_s"].min()
    return float(first) if isinstance(first, int | float) else 0.0


def _largest(frame: pl.DataFrame, value: str) -> float | None:
    largest = frame[value].cast(pl.Float64).max()
    return float(largest) if isinstance(largest, float) and largest > 0 else None
