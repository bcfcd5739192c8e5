"""Figures: each function takes plain frames or arrays and returns SVG text, byte for byte reproducible.

One kind of figure per file. Colours, dashes, markers and short names of algorithms come from
`sojourn.plots.theme`; labels and units of metrics come from `sojourn.metrics`.
"""

from sojourn.plots._agreement import agreement
from sojourn.plots._bars import bars
from sojourn.plots._bode import bode
from sojourn.plots._contours import contours
from sojourn.plots._curve import Mark, Rule, curve
from sojourn.plots._decimate import block_means, decimate
from sojourn.plots._ellipses import ellipses
from sojourn.plots._flow_rates import flow_rates
from sojourn.plots._front import front
from sojourn.plots._heat_map import heat_map
from sojourn.plots._histogram import histogram
from sojourn.plots._moving import moving
from sojourn.plots._overlay import overlay
from sojourn.plots._probes import probe_names, probes
from sojourn.plots._queue_traces import queue_traces
from sojourn.plots._spread import boxes, cdf
from sojourn.plots._tradeoff import tradeoff
from sojourn.plots.canvas import HALF, WIDTH, Picture, Svg, drawing, figure, to_svg
from sojourn.plots.orbits import bifurcation, iterates
from sojourn.plots.theme import ALGORITHMS, Style, label, labels, style, styles

__all__ = [
    "ALGORITHMS",
    "HALF",
    "WIDTH",
    "Mark",
    "Picture",
    "Rule",
    "Style",
    "Svg",
    "agreement",
    "bars",
    "bifurcation",
    "block_means",
    "bode",
    "boxes",
    "cdf",
    "contours",
    "curve",
    "decimate",
    "drawing",
    "ellipses",
    "figure",
    "flow_rates",
    "front",
    "heat_map",
    "histogram",
    "iterates",
    "label",
    "labels",
    "moving",
    "overlay",
    "probe_names",
    "probes",
    "queue_traces",
    "style",
    "styles",
    "to_svg",
    "tradeoff",
]
