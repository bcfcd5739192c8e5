"""The frames of figures: a reader of the SVG gets the data back.

Seen to fail on these mutants: lines counted with the caps of intervals; the y axis not turned over;
half-widths of x and y exchanged.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import polars as pl
import pytest

from sojourn import plots


def read(svg: plots.Svg, frame: int, line: int) -> np.ndarray[Any, Any]:
    """Return the points of a line as the script of a page reads them: from the path and the axes."""
    root = ET.fromstring(svg)
    group = root.find(f".//*[@data-frame='{frame}']//*[@data-line='{line}']")
    assert group is not None
    path = next(one for one in group if one.tag.endswith("path"))
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", path.attrib["d"])]
    at = np.reshape(numbers, (-1, 2))
    found = svg.frames[frame]
    assert found is not None
    left, top, right, bottom = found["box"]
    columns = []
    for values, low, high, axis in ((at[:, 0], left, right, "x"), (at[:, 1], bottom, top, "y")):
        share, ends = (values - low) / (high - low), found[axis]
        if ends["log"]:
            columns.append(ends["low"] * (ends["high"] / ends["low"]) ** share)
        else:
            columns.append(ends["low"] + share * (ends["high"] - ends["low"]))
    return np.stack(columns, axis=1)


def test_a_curve_is_read_back() -> None:
    x = np.linspace(1, 9, 50)
    svg = plots.curve(x, x**2, x_label="x", y_label="y (ms)", y_limits=(0, 90))
    points = read(svg, 0, 0)
    assert points[:, 0] == pytest.approx(x, abs=1e-3)
    assert points[:, 1] == pytest.approx(x**2, abs=0.05)
    (frame,) = svg.frames
    assert frame is not None
    assert (frame["x"]["label"], frame["y"]["label"], frame["title"]) == ("x", "y (ms)", "")


def test_a_logarithmic_curve_is_read_back() -> None:
    delays = pl.DataFrame({"aqm": "pi", "delay_s": np.arange(1, 101) / 1e3, "count": [10] * 100})
    points = read(plots.histogram(delays), 0, 0)
    assert points[:, 0] == pytest.approx(np.arange(1, 101), abs=0.01)
    assert points[:, 1] == pytest.approx(np.arange(100, 0, -1) / 100, rel=2e-3)


def test_panels_share_an_axis() -> None:
    time = np.arange(1, 101) / 10
    frame = pl.concat(
        pl.DataFrame({"aqm": aqm, "seed": 1, "time_s": time, "queue_packets": time}) for aqm in ("pi", "red")
    )
    svg = plots.queue_traces(frame, reference=5, limit=10)
    first, second = svg.frames
    assert first is not None
    assert second is not None
    assert (first["title"], second["title"]) == ("PI", "RED")
    assert first["x"] == second["x"]
    assert second["x"]["shared"] == 0
    assert [one["name"] for one in second["lines"]] == ["samples", "mean over 1 s"]
    assert first["notes"] == [[None, pytest.approx(first["box"][3] - 0.48 * 71, abs=5)]]
    assert read(svg, 1, 0)[:, 1] == pytest.approx(time, abs=0.01)


def test_points_have_their_intervals() -> None:
    frame = pl.DataFrame(
        {"aqm": ["pi", "pi"], "x": [1.0, 2.0], "y": [3.0, 5.0], "x_ci95": [0.1, 0.2], "y_ci95": [0.5, 0.25]}
    )
    (found,) = plots.tradeoff(frame, x="x", y="y", by="aqm", x_label="x", y_label="y").frames
    assert found is not None
    (line,) = found["lines"]
    assert line["name"] == "PI"
    assert line["points"] == [[1.0, 2.0], [3.0, 5.0]]
    assert line["halves"] == {"x": [0.1, 0.2], "y": [0.5, 0.25]}


def test_cells_have_names_or_numbers() -> None:
    frame = pl.DataFrame({"aqm": "pi", "a": ["p", "q"], "b": ["r", "r"], "z": [1.5, None]})
    svg = plots.heat_map(
        frame, x="a", y="b", z="z", by="aqm", columns=["p", "q"], rows=["r"], x_label="a", y_label="b",
        z_label="z (ms)",
    )  # fmt: skip
    (found,) = svg.frames
    assert found is not None
    assert found["cells"] == {
        "x": [0.5, 1.5],
        "y": [0.5],
        "z": [[1.5, None]],
        "label": "z (ms)",
        "names": [["p", "q"], ["r"]],
    }
    x = np.geomspace(1, 100, 5)
    z = np.outer(x, x)
    (found,) = plots.contours(x, x, z, z > 9, levels=[10, 100], x_label="", y_label="", z_label="z").frames
    assert found is not None
    assert "names" not in found["cells"]
    assert found["cells"]["z"][4][4] == pytest.approx(1e4)


def test_bars_and_axes_without_numbers_have_no_frame() -> None:
    rows = [
        {"aqm": a, "metric": "mean_delay_s", "mean": 0.01, "ci95": 0.001, "unit": "s"} for a in ("pi", "red")
    ]
    assert plots.bars(pl.DataFrame(rows), ["mean_delay_s"]).frames == [None]
