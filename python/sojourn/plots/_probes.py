"""State variables of an algorithm over time, below the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sojourn.format import scale
from sojourn.plots._decimate import decimate, time_end
from sojourn.plots.canvas import WIDTH, drawing, figure, plain_ticks, to_svg
from sojourn.plots.theme import INK, MUTED, pale, strong, style

_NOT_PROBES = frozenset({
    "aqm", "seed", "run_id", "time_s", "queue", "queue_packets", "queue_bytes", "queue_mean",
    "queue_mean_square", "arrivals", "drops", "marks", "departed_bytes",
})  # fmt: skip


def probe_names(frame: pl.DataFrame) -> list[str]:
    """List the columns of a trace that are an algorithm's probes and have a value.

    Parameters
    ----------
    frame
        A trace, as `probes` takes it.

    Returns
    -------
    list of str
        Names, in the order of the columns.
    """
    return [
        name
        for name, dtype in frame.schema.items()
        if name not in _NOT_PROBES and dtype.is_numeric() and frame[name].drop_nulls().drop_nans().len()
    ]


def probes(
    frame: pl.DataFrame,
    spec: str,
    *,
    names: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    queue: str = "queue_packets",
    queue_label: str = "queue (packets)",
    reference: float | None = None,
    shaded: Sequence[tuple[float, float]] = (),
    start: float = 0.0,
    title: str = "",
    panel_height: float = 0.85,
) -> str:
    """Draw the queue and, below it on the same time axis, each probe of one run.

    Parameters
    ----------
    frame
        The trace of one run: ``time_s``, `queue` and one column per probe.
    spec
        The algorithm, for its colour and name.
    names
        The probes from top to bottom; all that have a value if ``None``.
    units
        Units of the probes by name.
    queue, queue_label
        The column of the queue and its label.
    reference
        Reference of the queue; a dashed line.
    shaded
        Intervals of time with a disturbance.
    start
        Latest beginning of the time axis.
    title
        For screen readers.
    panel_height
        Inches per panel.

    Returns
    -------
    str
        SVG.
    """
    look = style(spec)
    shown = list(names) if names is not None else probe_names(frame)
    time = frame["time_s"].to_numpy()
    with drawing():
        fig = figure(WIDTH, 0.45 + panel_height * (1 + len(shown)))
        panels = fig.subplots(1 + len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for panel, name in zip(panels, [queue, *shown], strict=True):
            for low, high in shaded:
                panel.axvspan(low, high, color=pale(MUTED, 0.88), linewidth=0, zorder=0)
            values = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            finite = values[np.isfinite(values)]
            chosen = scale(finite.tolist(), (units or {}).get(name, ""))
            values = values * chosen.factor
            colour = strong(look.colour) if name != queue else pale(look.colour, 0.25)
            panel.plot(*decimate(time, values), color=colour, linewidth=0.9)
            heading = f"{name} ({chosen.unit})" if chosen.unit else name
            if name == queue:
                heading = queue_label
            panel.set_title(heading, fontsize=8, fontweight="normal", color=INK, pad=4)
            if len(finite) and finite.min() >= 0:
                panel.set_ylim(bottom=0)
            panel.margins(x=0)
            panel.locator_params(axis="y", nbins=3)
            plain_ticks(panel.yaxis)
        if reference is not None:
            panels[0].axhline(reference, color=MUTED, linewidth=0.8, dashes=(4, 3))
        if len(time):
            panels[-1].set_xlim(min(start, float(time[0])), time_end(time))
        panels[-1].set_xlabel("Time (s)")
        return to_svg(fig, title or f"State of {look.title} over time", f"Probes: {', '.join(shown)}.")
