"""The canvas: creation of figures with common settings, and their conversion to SVG text."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast
from xml.sax.saxutils import escape

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sojourn.format import MINUS, SUPERSCRIPT
from sojourn.plots import frames
from sojourn.plots.theme import GRID, INK, MUTED

WIDTH = 7.2
"""Inches: the full width of a page."""
HALF = 3.5
"""Inches: half of a page, for two figures side by side."""

FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
"""Fonts of the reader's machine. The layout uses matplotlib's own, wider font, so that text fits."""

RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "lines.scale_dashes": True,
    "patch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.2,
    "path.simplify": False,
    "figure.dpi": 72.0,
    "savefig.dpi": 72.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
}
"""Settings of matplotlib for every figure, independent of the user's."""


class Picture(Figure):
    """A figure of matplotlib that keeps the settings `RC` when it is saved, and that notebooks display.

    Attributes
    ----------
    names : dict of Line2D to list of str
        Names of the points of some lines.
    cells : dict of Axes to Cells
        Values behind colours and contours.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.names: dict[Line2D, Sequence[str]] = {}
        self.cells: dict[Axes, frames.Cells] = {}

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure, as in matplotlib: on white, pixels at 200 per inch."""
        with drawing():
            super().savefig(fname, **{"facecolor": "white", "dpi": 200, **options})

    def _repr_svg_(self) -> str:
        return to_svg(self, "Figure")._repr_svg_()


class Svg(str):
    """A figure as SVG text, which notebooks display.

    Attributes
    ----------
    figure : Picture
        That of matplotlib, to style and to save.
    frames : list of dict or None
        Its axes, as `sojourn.plots.frames.describe` returns them.
    """

    figure: Picture
    frames: list[frames.Frame | None]

    def _repr_svg_(self) -> str:
        return self.replace("<svg ", '<svg style="background: #fff" ', 1)  # notebooks may be dark


@contextmanager
def drawing() -> Iterator[None]:
    """Apply only the settings `RC`; the user's settings of matplotlib are restored afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, RC))
        yield


def figure(width: float = WIDTH, height: float = 3.0) -> Picture:
    """Return an empty figure without pyplot and without global state.

    Parameters
    ----------
    width, height
        Inches.

    Returns
    -------
    Picture
        To be filled within `drawing` and passed to `to_svg`.
    """
    made = Picture(figsize=(width, height))
    FigureCanvasSVG(made)
    return made


def legend(fig: Figure, entries: Mapping[str, Artist] | None = None, most: int = 5) -> None:
    """Draw the legend above the figure, in at most `most` columns and in as many as its width has room for.

    Parameters
    ----------
    fig
        The figure.
    entries
        Artists by title; those with a label if None.
    most
        Maximum number of columns.
    """
    found = {} if entries is None else {"handles": list(entries.values()), "labels": list(entries)}
    for columns in range(most, 0, -1):
        drawn = fig.legend(**found, loc="outside upper right", ncols=columns)
        if columns == 1 or drawn.get_window_extent().width <= fig.bbox.width:
            return
        drawn.remove()


def y_title(axes: Axes, text: str) -> None:
    """Write the name of the y axis above it, horizontally.

    Parameters
    ----------
    axes
        The axes.
    text
        Name and unit.
    """
    axes.set_title(text, loc="left", fontsize=8.0, fontweight="normal", color=MUTED, pad=5)


def side_title(drawn: Figure, text: str) -> None:
    """Write the common name of the y axes of stacked panels along the left side.

    Parameters
    ----------
    drawn
        The figure.
    text
        Name and unit.
    """
    drawn.supylabel(text, fontsize=8.0, color=MUTED, rotation_mode="anchor", ha="center", va="top")


def plain_ticks(axis: Axis) -> None:
    """Write tick labels in full, without a common exponent at the end of the axis.

    Parameters
    ----------
    axis
        The x or y axis of some axes.
    """
    axis.set_major_formatter(lambda value, _: _tick(value))


def _tick(value: float) -> str:
    mantissa, _, exponent = f"{value:.6g}".partition("e")
    text = mantissa.replace("-", MINUS)
    if not exponent:
        return text
    power = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return {"1": power, f"{MINUS}1": f"{MINUS}{power}"}.get(text, f"{text}×{power}")


def to_svg(drawn: Picture, title: str, description: str = "") -> Svg:
    """Return a figure as SVG text; equal figures give equal bytes.

    The text is a single ``<svg>`` element without XML header, to be embedded in HTML. Text remains text and
    coordinates have two decimals. Only ids that are referenced are kept; they have a prefix made from the
    content, so that the ids of several figures on a page differ.

    Parameters
    ----------
    drawn
        A figure made by `figure`.
    title
        Title for screen readers.
    description
        Further text for screen readers, optional.

    Returns
    -------
    Svg
        The element.
    """
    buffer = io.StringIO()
    frames.tag(drawn)
    with drawing():
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        Figure.savefig(drawn, buffer, format="svg", metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(
        r"\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", text
    )  # would apply to the whole page
    text = short_numbers(text)
    text = _inherit_font(text)
    text = _flat(_own_ids(frames.attributes(text), title))
    made = Svg(_opening(text, title, description) + "\n")
    made.figure = drawn
    made.frames = frames.describe(drawn, drawn.names, drawn.cells)
    return made


_TAG = re.compile(r"<[a-zA-Z][^>]*>")
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?![\d.])")
_LONG_LINE = re.compile(r"(?<=M)-?[\d.]+ -?[\d.]+(?:L-?[\d.]+ -?[\d.]+){100,}")
_GEOMETRY = re.compile(r'\b(d|transform|x|y|x1|y1|x2|y2|width|height|points|viewBox|style)="([^"]*)"')


def short_numbers(text: str) -> str:
    """Round coordinates to two decimals of a point; leave out points that cannot be seen."""

    def shorter(match: re.Match[str]) -> str:
        rounded = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
        return "0" if rounded == "-0" else rounded

    def attribute(match: re.Match[str]) -> str:
        value = _NUMBER.sub(shorter, match[2])
        if match[1] == "d":
            value = re.sub(r"\s*\n\s*", "", value).replace(" L ", "L").replace(" M ", "M")
            value = re.sub(r"\s+", " ", value.replace("L ", "L").replace("M ", "M")).strip()
            value = _LONG_LINE.sub(_fewer_points, value)
        return f'{match[1]}="{value}"'

    return _TAG.sub(lambda tag: _GEOMETRY.sub(attribute, tag[0]), text)


def _fewer_points(line: re.Match[str]) -> str:
    """Leave out points equal to the one before, and those inside a vertical or a short horizontal part."""
    kept: list[tuple[str, str]] = []
    for text in line[0].split("L"):
        x, _, y = text.partition(" ")
        if kept and kept[-1] == (x, y):
            continue
        if len(kept) > 1 and _between(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append((x, y))
    return "L".join(f"{x} {y}" for x, y in kept)


def _between(before: tuple[str, str], point: tuple[str, str], after: tuple[str, str]) -> bool:
    """Return whether a point is inside a vertical part, or inside a horizontal one of less than a point."""
    if before[0] == point[0] == after[0]:
        return float(before[1]) <= float(point[1]) <= float(after[1]) or (
            float(before[1]) >= float(point[1]) >= float(after[1])
        )
    if before[1] == point[1] == after[1]:
        return float(before[0]) <= float(point[0]) <= float(after[0]) < float(before[0]) + 1.0
    return False


def _inherit_font(text: str) -> str:
    """Set the fonts once, on the root, and only size and weight elsewhere."""

    def shorter(match: re.Match[str]) -> str:
        words = match[1].split()
        size = next(w for w in words if w.endswith("px"))
        weight = next((f"; font-weight: {w}" for w in words if w in {"bold", "600", "700"}), "")
        return f"font-size: {size}{weight}"

    def tag(match: re.Match[str]) -> str:
        plain = re.sub(r"\bfont: ([^;\"]*)", shorter, match[0])
        plain = re.sub(r"font-family: [^;\"]*;? ?", "", plain)
        return re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", plain)

    return _TAG.sub(tag, text)


def _own_ids(text: str, title: str) -> str:
    """Remove ids without a reference; give the others a prefix of this figure."""
    used = set(re.findall(r'(?:url\(#|xlink:href="#)([^)"]+)', text))
    prefix = "f" + hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:8]
    numbers = {name: f"{prefix}-{i}" for i, name in enumerate(sorted(used))}

    def identity(match: re.Match[str]) -> str:
        return f' id="{numbers[match[1]]}"' if match[1] in used else ""

    def tag(match: re.Match[str]) -> str:
        inner = re.sub(r' id="([^"]*)"', identity, match[0])
        inner = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{numbers[m[1]]})", inner)
        return re.sub(r'xlink:href="#([^"]+)"', lambda m: f'href="#{numbers[m[1]]}"', inner)

    return _TAG.sub(tag, text)


def _flat(text: str) -> str:
    """Remove groups without attributes, and indentation."""
    kept: list[str] = []
    groups: list[bool] = []
    for part in re.split(r"(<g\b[^>]*>|</g>)", text):
        if part.startswith("<g"):
            has_attributes = re.fullmatch(r"<g\s*/?>", part) is None
            if not part.endswith("/>"):
                groups.append(has_attributes)
            kept.append(part if has_attributes else "")
        elif part == "</g>":
            kept.append(part if groups.pop() else "")
        else:
            kept.append(part)
    return re.sub(r"\s*\n\s*", "\n", "".join(kept))


def _opening(text: str, title: str, description: str) -> str:
    match = re.match(r"<svg[^>]*>", text)
    assert match is not None
    box = re.search(r'viewBox="([^"]*)"', match[0])
    assert box is not None
    width, height = box[1].split()[2:]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box[1]}" width="{width}pt" height="{height}pt" '
        f'role="img" font-family="{FONTS}" stroke-linejoin="round">\n<title>{escape(title)}</title>'
    )
    if description:
        head += f"\n<desc>{escape(description)}</desc>"
    return head + text[match.end() :].rstrip()
