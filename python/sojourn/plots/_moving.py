"""Queues in motion: an animated SVG of recorded queues, without a script.

The animation is that of the style sheet inside the figure. It stops for readers who prefer reduced motion
and in print; the figure then shows the mean of each queue.
"""

from __future__ import annotations

from html import escape

import numpy as np
import polars as pl

from sojourn.plots._decimate import Floats
from sojourn.plots.theme import GRID, INK, MUTED, pale, styles

#: Width of the figure; left and right end of a queue; height of a lane and of the curves below, in pixels.
WIDE, LEFT, RIGHT, LANE, CURVES = 360, 44, 310, 46, 74
#: Seconds between two positions of a queue.
STEP = 0.1


def moving(frame: pl.DataFrame, rate: float, *, start: float, end: float, title: str) -> str:
    """Draw the waiting bytes of each algorithm as a queue whose length follows the recorded one.

    Parameters
    ----------
    frame
        Columns ``aqm``, ``time_s`` and ``queue_bytes`` of one seed.
    rate
        Of the link, bit/s; the length of a queue is the time that it takes to send it.
    start, end
        The part of the run to show, in seconds; it is shown in real time, again and again.
    title
        For screen readers.

    Returns
    -------
    str
        SVG.
    """
    specs = list(dict.fromkeys(frame["aqm"].to_list()))
    looks = styles(specs)
    times = np.arange(start, end, STEP)
    waits: dict[str, Floats] = {}
    for spec in specs:
        rows = frame.filter(pl.col("aqm") == spec)
        held = np.searchsorted(rows["time_s"].to_numpy(), times, side="right") - 1
        waits[spec] = rows["queue_bytes"].cast(pl.Float64).to_numpy()[np.maximum(held, 0)] * 8e3 / rate
    most = max(float(own.max()) for own in waits.values()) or 1.0
    whole, seconds = RIGHT - LEFT, end - start
    base = LANE * len(specs) + CURVES
    rules, drawn = [], []
    for i, (spec, own) in enumerate(waits.items()):
        look, top, mean = looks[spec], LANE * i, float(own.mean())
        places = [f"transform:translateX({whole * (1 - one / most):.0f}px)" for one in (*own, own[0])]
        steps = "".join(f"{100 * k / len(own):.1f}%{{{place}}}" for k, place in enumerate(places))
        rules.append(f"@keyframes sojourn-queue-{i}{{{steps}}}")
        rules.append(f".sojourn-queue-{i}{{animation-name:sojourn-queue-{i}}}")
        ink = f"fill:{look.colour}"
        box = f'x="{LEFT}" y="{top + 18}" width="{whole}" height="16"'
        road = f'class="sojourn-road" y1="{top + 26}" y2="{top + 26}" style="stroke:{look.colour}"'
        drawn += [
            _text(LEFT, top + 13, look.title, "start", f'font-size="12" font-weight="bold" style="{ink}"'),
            _text(RIGHT, top + 13, f"a packet waits {mean:.0f} ms on average", "end"),
            f'<clipPath id="c{i}"><rect {box}/></clipPath>',
            f'<pattern id="p{i}" width="6" height="16" patternUnits="userSpaceOnUse" x="{LEFT}" '
            f'y="{top + 18}"><rect x="1" y="3" width="4" height="10" style="{ink}"/></pattern>',
            f'<line x1="0" x2="{LEFT}" {road}/><line x1="{RIGHT}" x2="{WIDE}" {road}/>',
            f'<rect {box} style="fill:{pale(look.colour, 0.88)};stroke:{MUTED};stroke-width:0.8"/>',
            f'<g clip-path="url(#c{i})"><rect class="sojourn-moves sojourn-queue-{i}" {box} '
            f'fill="url(#p{i})" transform="translate({whole * (1 - mean / most):.0f})"/></g>',
        ]
        across = LEFT + (times - start) / seconds * whole
        up = base - 16 - own / most * (CURVES - 30)
        line = " ".join(f"{x:.0f},{y:.1f}" for x, y in zip(across.tolist(), up.tolist(), strict=True))
        drawn.append(f'<polyline points="{line}" fill="none" style="stroke:{look.colour};stroke-width:1.1"/>')
    foot, top = base - 16, base - CURVES + 12
    drawn += [
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{foot}" y2="{foot}" style="stroke:{GRID}"/>',
        f'<line class="sojourn-moves sojourn-now" x1="{LEFT}" x2="{LEFT}" y1="{top}" y2="{foot}" '
        f'style="stroke:{INK};stroke-width:0.8"/>',
        _text(LEFT - 4, top + 8, f"{most:.0f} ms", "end"),
        _text(LEFT - 4, foot, "0", "end"),
        _text(LEFT, base - 4, f"{start:g} s"),
        _text(RIGHT, base - 4, f"{end:g} s", "end"),
        _text((LEFT + RIGHT) / 2, base - 4, "time in the queue", "middle"),
    ]
    style = (
        f".sojourn-moves{{animation:{seconds:g}s linear infinite}}.sojourn-now{{animation-name:sojourn-now}}"
        f"@keyframes sojourn-now{{to{{transform:translateX({whole}px)}}}}"
        ".sojourn-road{stroke-width:5;stroke-dasharray:4 3;animation:sojourn-road .5s linear infinite}"
        "@keyframes sojourn-road{to{stroke-dashoffset:-14}}"
    )
    still = "@media (prefers-reduced-motion:reduce),print{.sojourn-moves,.sojourn-road{animation:none}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {base}" role="img">'
        f"<title>{escape(title)}</title><style>{style}{''.join(rules)}{still}</style>{''.join(drawn)}</svg>"
    )


def _text(x: float, y: float, words: str, anchor: str = "start", look: str = "") -> str:
    look = look or f'font-size="10" style="fill:{MUTED}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" {look}>{escape(words)}</text>'
