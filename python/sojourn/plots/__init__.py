"""Figures: each function takes plain frames or arrays and returns SVG text, byte for byte the same.

One figure kind a file; colours, dashes, markers and short names of algorithms come from one table
(`sojourn.plots.theme`), so that an algorithm looks the same in every figure.
"""

from sojourn.plots.agreement import agreement
from sojourn.plots.bars import bars
from sojourn.plots.canvas import HALF, WIDTH, drawing, figure, to_svg
from sojourn.plots.contours import contours
from sojourn.plots.curve import Mark, Rule, curve
from sojourn.plots.decimate import block_means, decimate
from sojourn.plots.ellipses import ellipses
from sojourn.plots.front import front
from sojourn.plots.histogram import histogram
from sojourn.plots.orbits import bifurcation, iterates
from sojourn.plots.overlay import overlay
from sojourn.plots.probes import probe_names, probes
from sojourn.plots.queue_traces import queue_traces
from sojourn.plots.theme import ALGORITHMS, Style, label, labels, style, styles
from sojourn.plots.tradeoff import tradeoff

__all__ = [
    "ALGORITHMS",
    "HALF",
    "WIDTH",
    "Mark",
    "Rule",
    "Style",
    "agreement",
    "bars",
    "bifurcation",
    "block_means",
    "contours",
    "curve",
    "decimate",
    "drawing",
    "ellipses",
    "figure",
    "front",
    "histogram",
    "iterates",
    "label",
    "labels",
    "overlay",
    "probe_names",
    "probes",
    "queue_traces",
    "style",
    "styles",
    "to_svg",
    "tradeoff",
]
