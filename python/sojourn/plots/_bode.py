"""The gain of a loop over frequency: its size and its phase, with the margins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sojourn.plots.canvas import WIDTH, Svg, drawing, figure, plain_ticks, to_svg, y_title
from sojourn.plots.theme import MUTED, style


def bode(omega: ArrayLike, gain: ArrayLike, *, spec: str, title: str = "", width: float = WIDTH) -> Svg:
    """Draw size and phase of a loop's gain.

    Parameters
    ----------
    omega
        Frequencies in rad/s, ascending.
    gain
        The complex gain L at each.
    spec
        The algorithm, for the colour.
    title
        For screen readers.
    width
        Inches.

    Returns
    -------
    Svg
        SVG text. The loop is stable if the phase is above -180 degrees where the size falls to 1.
    """
    across, found = np.asarray(omega, dtype=np.float64), np.asarray(gain, dtype=np.complex128)
    size, phase = np.abs(found), np.degrees(np.unwrap(np.angle(found)))
    phase -= 360 * np.round(phase[0] / 360)
    drawn = (size < 1e3) & (size > 1e-3)
    with drawing():
        fig = figure(width, 3.6)
        upper, lower = fig.subplots(2, 1, sharex=True)
        for axes, values, level, name in (
            (upper, size, 1.0, "Size of the gain"),
            (lower, phase, -180.0, "Phase (degrees)"),
        ):
            axes.set_xscale("log")
            axes.plot(across[drawn], values[drawn], color=style(spec).colour)
            axes.axhline(level, color=MUTED, linewidth=0.8, dashes=(4, 3))
            axes.margins(x=0)
            y_title(axes, name)
        upper.set_yscale("log")
        lower.set_ylim(max(-900.0, float(phase[drawn].min(initial=-270.0))), 0)
        for axis in (upper.yaxis, lower.xaxis, lower.yaxis):
            plain_ticks(axis)
        lower.set_xlabel("Frequency (rad/s)")
        return to_svg(fig, title or f"Gain of the loop with {spec}")
