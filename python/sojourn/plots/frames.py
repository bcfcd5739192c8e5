"""What a script needs to read values off a figure and to zoom into it: its axes, in the SVG's coordinates.

The curves themselves are not repeated: a script reads them from the paths of the SVG. `tag` names its groups
with ``data-frame``, ``data-line``, ``data-axis``, ``data-tick`` and ``data-note``. The types are in
``web/src/report/types.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from numpy.typing import ArrayLike

Frame = dict[str, Any]
"""One pair of axes."""

_GROUPS = re.compile(r' id="(?:(frame|line|axis|note)-(\w+)|([xy])tick_\d+)"')


@dataclass(frozen=True, slots=True)
class Cells:
    """Values on a grid that the figure shows as colours or contours.

    Attributes
    ----------
    x, y
        Positions of the columns and rows on the axes.
    z
        The values, row by row; NaN where unknown.
    label
        Name and unit of the values.
    names
        Names of columns and of rows, if the axes have no numbers.
    """

    x: ArrayLike
    y: ArrayLike
    z: ArrayLike
    label: str
    names: tuple[Sequence[str], Sequence[str]] | None = None


def tag(drawn: Figure) -> None:
    """Name the groups of a figure that `attributes` keeps; to be called before it is saved."""
    for i, axes in enumerate(drawn.axes):
        axes.set_gid(f"frame-{i}")
        axes.xaxis.set_gid("axis-x")
        axes.yaxis.set_gid("axis-y")
        for j, line in enumerate(_lines(axes)):
            line.set_gid(f"line-{j}")
        for j, text in enumerate(_notes(axes)):
            text.set_gid(f"note-{j}")


def attributes(svg: str) -> str:
    """Turn the ids of tagged groups into attributes, which may occur more than once on a page."""

    def attribute(match: re.Match[str]) -> str:
        return f' data-tick="{match[3]}"' if match[3] else f' data-{match[1]}="{match[2]}"'

    return _GROUPS.sub(attribute, svg)


def describe(
    drawn: Figure, names: dict[Line2D, Sequence[str]], cells: dict[Axes, Cells]
) -> list[Frame | None]:
    """Return the axes of a figure that has been saved; None for those without anything to read.

    Parameters
    ----------
    drawn
        The figure.
    names
        A name for each point of some lines.
    cells
        The grids of axes that have one.
    """
    return [_frame(drawn, axes, names, cells.get(axes)) for axes in drawn.axes]


def _frame(
    drawn: Figure, axes: Axes, names: dict[Line2D, Sequence[str]], cells: Cells | None
) -> Frame | None:
    lines = _lines(axes)
    if not axes.axison or not axes.get_visible() or not _is_scaled(axes) or not (lines or cells):
        return None
    height, box = drawn.bbox.height, axes.bbox
    title = axes.get_title("left") or axes.get_title("center")
    up = axes.get_ylabel() or _common(drawn, axes, "y")
    frame: Frame = {
        "box": _rounded([box.x0, height - box.y1, box.x1, height - box.y0]),
        "title": title if up else "",
        "x": _axis(drawn, axes, "x", axes.get_xlabel() or _common(drawn, axes, "x")),
        "y": _axis(drawn, axes, "y", up or title),
        "lines": [_line(line, _bars(axes).get(line), names.get(line)) for line in lines],
    }
    notes = [_anchor(drawn, axes, text) for text in _notes(axes)]
    if notes:
        frame["notes"] = notes
    if cells:
        frame["cells"] = {
            "x": _digits(cells.x),
            "y": _digits(cells.y),
            "z": [_digits(row, 4) for row in np.asarray(cells.z)],
            "label": cells.label,
            **({"names": [list(one) for one in cells.names]} if cells.names else {}),
        }
    return frame


def _is_scaled(axes: Axes) -> bool:
    """Return whether the x axis, or one that shares it, has numbers."""
    shared = axes.get_shared_x_axes().get_siblings(axes)
    return any(one.xaxis.get_tick_params().get("labelbottom", True) for one in shared)


def _axis(drawn: Figure, axes: Axes, name: str, label: str) -> dict[str, Any]:
    low, high = getattr(axes, f"get_{name}lim")()
    shared = getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes)
    return {
        "label": label,
        "low": float(f"{low:.7g}"),
        "high": float(f"{high:.7g}"),
        "log": getattr(axes, f"get_{name}scale")() == "log",
        "shared": min(drawn.axes.index(one) for one in shared),
    }


def _common(drawn: Figure, axes: Axes, name: str) -> str:
    """Return the label that the axis shares with the others of the figure."""
    shared = getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes)
    labels = [getattr(one, f"get_{name}label")() for one in shared]
    whole = drawn.get_supxlabel() if name == "x" else drawn.get_supylabel()
    return next(filter(None, labels), whole)


def _lines(axes: Axes) -> list[Line2D]:
    """Return the lines through data, not those across the axes and the caps of intervals."""
    caps = {cap for one in _errorbars(axes) for cap in one.lines[1]}
    return [line for line in axes.lines if line.get_transform() == axes.transData and line not in caps]


def _line(line: Line2D, bars: ErrorbarContainer | None, names: Sequence[str] | None) -> dict[str, Any]:
    label = str((bars or line).get_label() or "")
    found: dict[str, Any] = {"name": "" if label.startswith("_") else label}
    x, y = (np.asarray(one, dtype=np.float64) for one in line.get_data())
    if bars is not None:
        sides = list(bars.lines[2])
        halves = {
            name: [_half(segment, i) for segment in sides.pop(0).get_segments()]
            for i, (name, has) in enumerate((("x", bars.has_xerr), ("y", bars.has_yerr)))
            if has
        }
        found["halves"] = {name: _digits(values, 3) for name, values in halves.items()}
    if bars is not None or names is not None:
        found["points"] = [_digits(x), _digits(y)]
    if names is not None:
        found["names"] = list(names)
    return found


def _half(segment: Any, axis: int) -> float:
    ends = np.asarray(segment)[:, axis]
    return float(ends.max() - ends.min()) / 2


def _bars(axes: Axes) -> dict[Line2D, ErrorbarContainer]:
    return {one.lines[0]: one for one in _errorbars(axes)}


def _errorbars(axes: Axes) -> list[ErrorbarContainer]:
    return [one for one in axes.containers if isinstance(one, ErrorbarContainer)]


def _notes(axes: Axes) -> list[Annotation]:
    return [one for one in axes.texts if isinstance(one, Annotation)]


def _anchor(drawn: Figure, axes: Axes, text: Annotation) -> list[float | None]:
    """Return where a note points at; None along an axis that does not move it."""
    coords = text.xycoords
    across = coords in ("data", axes.get_xaxis_transform())
    up = coords in ("data", axes.get_yaxis_transform())
    x, y = axes.transData.transform(text.xy) if across and up else _blended(coords, text.xy)
    at: list[float | None] = list(_rounded([x, drawn.bbox.height - y]))
    return [at[0] if across else None, at[1] if up else None]


def _blended(transform: Any, xy: tuple[float, float]) -> tuple[float, float]:
    x, y = transform.transform(xy)
    return x, y


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(float(one), 2) for one in values]


def _digits(values: Any, digits: int = 6) -> list[float | None]:
    found = np.asarray(values, dtype=np.float64).tolist()
    return [float(f"{one:.{digits}g}") if np.isfinite(one) else None for one in found]
