"""Long lines of a picture have no points that cannot be seen; each curve of many has fewer.

Seen to fail on these mutants: points inside long horizontal parts left out; the top of a spike left out;
lines of less than 100 points changed; 600 columns for every curve of a figure.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sojourn import plots
from sojourn.plots.canvas import short_numbers

steps = st.lists(
    st.tuples(st.sampled_from((0.0, 0.25, 1.5)), st.sampled_from((0.0, 0.0, 1.0, -1.0, 25.0))),
    min_size=130,
    max_size=200,
)


def points(d: str) -> np.ndarray:
    """Return the points of a path."""
    return np.array([[float(n) for n in one.split()] for one in d.removeprefix("M").split("L")])


def shortened(line: np.ndarray) -> np.ndarray:
    """Return what remains of a line."""
    (d,) = re.findall(' d="([^"]*)"', short_numbers(f'<path d="M{"L".join(f"{x} {y}" for x, y in line)}"/>'))
    return points(d)


@given(steps)
def test_the_line_covers_the_same_points(moves: list[tuple[float, float]]) -> None:
    """Every point is on the line that remains; a value can be read at most one point of the picture away."""
    line = np.cumsum([(0.0, 0.0), (1.0, 1.0), *moves], axis=0)
    found = shortened(line)
    assert len(found) <= len(line)
    for point in line:
        assert _distance(found, point) < 1e-9
        assert np.min(np.abs(found[:, 0] - point[0])) <= 1.0


def _distance(line: np.ndarray, point: np.ndarray) -> float:
    start, step = line[:-1], np.diff(line, axis=0)
    length = (step**2).sum(axis=1)
    share = ((point - start) * step).sum(axis=1) / np.where(length > 0, length, 1)
    nearest = start + np.clip(share, 0, 1)[:, None] * step
    return float(np.hypot(*(nearest - point).T).min())


def test_constant_parts_are_short() -> None:
    across = np.arange(1000) / 4
    noise = np.random.default_rng(1).integers(0, 100, 1000)
    assert len(shortened(np.array([across, noise]).T)) == 1000
    constant = np.array([across, np.where(across == 3.75, 1.0, 0.0)]).T
    assert 300 < len(shortened(constant)) < 400
    assert len(shortened(constant[:90])) == 90


def test_many_curves_have_fewer_points_each() -> None:
    time = np.arange(20_000) / 100
    generator = np.random.default_rng(7)

    def largest(count: int) -> int:
        queue = [generator.integers(0, 100, len(time)) for _ in range(count)]
        rows = [
            pl.DataFrame({"aqm": f"red max_th {i + 50}p", "time_s": time, "queue_packets": one})
            for i, one in enumerate(queue)
        ]
        paths = re.findall(r' d="(M[^"MZz]*)"', plots.queue_traces(pl.concat(rows)))
        return max(len(points(one)) for one in paths)

    assert largest(6) == largest(1) > 1150
    assert largest(12) < 610
