"""Completion times by class of size.

Mutants seen to fail: a transfer of exactly the end of a class in the next one; unfinished transfers left out
of percentiles.
"""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.metrics.sizes import by_size
from sojourn.report.results import _completion_times


def transfers(*rows: tuple[int, float | None]) -> pl.DataFrame:
    sizes, times = zip(*rows, strict=True)
    return pl.DataFrame({"aqm": "pi", "seed": 1, "bytes": sizes, "completion_time_s": times})


def test_classes_end_with_their_size() -> None:
    frame = by_size(transfers((14_000, 1.0), (14_001, 2.0), (2_000_000, 3.0)))
    assert frame["size"].to_list() == ["up to 14kB", "14kB to 100kB", "above 1MB"]
    assert frame["p50_s"].to_list() == [1, 2, 3]


def test_unfinished_transfers_count_as_the_longest() -> None:
    frame = by_size(transfers((1, 1.0), (1, 2.0), (1, None), (1, 3.0), (9_000, None)), ["8kB", "20kB"])
    assert frame["count"].to_list() == [4, 1]
    assert frame["unfinished"].to_list() == [1, 1]
    assert frame["p50_s"].to_list() == [3, None]
    assert frame["p95_s"].to_list() == [None, None]


@pytest.mark.parametrize("edges", [[], ["1MB", "14kB"], ["14kB", "14kB"]])
def test_edges_that_do_not_ascend_are_refused(edges: list[str]) -> None:
    with pytest.raises(InputError, match="edges"):
        by_size(transfers((1, 1.0)), edges)


def test_a_percentile_that_did_not_finish_in_a_seed_has_no_mean() -> None:
    """The mean of the other seeds would be too small. Seen to fail: a mean of 1 s."""
    seeds = [transfers((1, time)).with_columns(seed=i) for i, time in enumerate((1.0, None, 1.0))]
    every = pl.concat(seeds, how="vertical_relaxed")
    results = SimpleNamespace(objects=lambda: every, by_size=lambda: by_size(every))
    _, table = _completion_times(results, ["pi"])  # type: ignore[arg-type]
    assert table.frame.select("p50_s", "p50_s_ci95", "unfinished").row(0) == (None, None, 1)  # type: ignore[union-attr]


def test_results_have_their_transfers_by_size(small: sojourn.Scenario) -> None:
    short = """
[[traffic]]
name = "short"
kind = "tcp-short"
arrivals = "5/s"
size = "uniform 2kB 30kB"
"""
    scenario = sojourn.Scenario.from_toml(small.to_toml() + short)
    results = sojourn.run(scenario, ["droptail", "pi"], seeds=2)
    frame, every = results.by_size(), results.objects()
    assert frame["count"].sum() == every.height
    assert frame.select("aqm", "seed").unique().height == 4
    least = every.filter(pl.col("bytes") <= 14_000, pl.col("aqm") == "pi", pl.col("seed") == 1)
    row = frame.filter(pl.col("size") == "up to 14kB", pl.col("aqm") == "pi", pl.col("seed") == 1)
    assert (row["count"][0], row["unfinished"][0]) == (least.height, least["completion_time_s"].null_count())
    with pytest.raises(InputError, match="trace 'flows' was not recorded"):
        results.plot.flows()
    figure = results.plot.completion_times("short")
    assert len(figure.axes[0].get_lines()) == 2
    with pytest.raises(InputError, match="has no transfers"):
        results.plot.completion_times("nothing")
