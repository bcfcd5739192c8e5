"""Decimation hides no visible feature.

Seen to fail on these mutants: every n-th sample; only the maximum of a column; NaN taken as the maximum; the
last sample omitted; block means that count a sample at a boundary in the next block.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.plots._decimate import block_means, decimate

SERIES = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.integers(-5, 5).map(float), st.just(float("nan"))),
    min_size=0,
    max_size=400,
)


@given(values=SERIES, columns=st.integers(1, 40))
def test_extremes_of_every_column_survive(values: list[float], columns: int) -> None:
    x = np.arange(len(values), dtype=float) / 7
    y = np.array(values, dtype=float)
    kept_x, kept_y = decimate(x, y, columns)
    place = {position: i for i, position in enumerate(x)}
    indices = [place[position] for position in kept_x]
    assert indices == sorted(set(indices))
    assert np.array_equal(kept_y, y[indices], equal_nan=True)
    if len(values) <= 2 * columns + 2:
        assert len(kept_x) == len(values)
        return
    assert len(kept_x) <= 3 * columns + 2
    assert indices[0] == 0
    assert indices[-1] == len(values) - 1
    column = np.minimum((x - x[0]) / (x[-1] - x[0]) * columns, columns - 1).astype(int)
    for one in np.unique(column):
        inside = y[column == one]
        shown = y[[i for i in indices if column[i] == one]]
        known = inside[~np.isnan(inside)]
        if len(known):
            assert np.nanmin(shown) == known.min()
            assert np.nanmax(shown) == known.max()
        if len(known) < len(inside):
            assert np.isnan(shown).any()


def test_one_spike_in_twenty_thousand_samples_is_kept() -> None:
    y = np.full(20_000, 50.0)
    y[12_345] = 99.0
    y[12_346] = 1.0
    kept = decimate(np.arange(20_000) * 0.01, y)[1]
    assert len(kept) < 1300
    assert kept.max() == 99.0
    assert kept.min() == 1.0


def test_refuses_series_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="one length"):
        decimate([1, 2, 3], [1, 2])


def test_block_means_are_means_of_their_seconds() -> None:
    time = np.arange(1, 401) / 100
    x, y = block_means(time, np.repeat([1.0, 2.0, 3.0, 4.0], 100), 1.0)
    assert x.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_block_means_leave_out_what_is_unknown() -> None:
    x, y = block_means([0.5, 1.0, 1.5, 3.5], [1.0, float("nan"), float("nan"), 2.0], 1.0)
    assert x.tolist() == [0.5, 3.5]
    assert y.tolist() == [1.0, 2.0]
    assert len(block_means([], [], 1.0)[0]) == 0
