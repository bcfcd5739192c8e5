"""The data of curves over time: no gaps that the samples do not have.

Seen to fail on these mutants: always `POINTS` parts; one part for two samples; a sum without the last sample.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sojourn.report import live


@pytest.mark.parametrize("samples", [2, 91, 200, live.POINTS, 3 * live.POINTS])
def test_every_part_has_a_value(samples: int) -> None:
    time = np.arange(1, samples + 1) / 10
    trace = pl.DataFrame({"aqm": "pi", "seed": 1, "time_s": time, "queue_packets": time * 2, "drops": 1})
    made = live.over_time(trace, ["pi"], [1], {}, None)
    assert made is not None
    data, seeds = made
    assert seeds == [1]
    assert len(data["x"]) == min(samples, live.POINTS)
    of = {one["label"]: one["runs"][0][0] for one in data["quantities"]}
    assert None not in of["queue, mean"]
    assert of["queue, largest sample"][-1] == pytest.approx(samples / 5, rel=1e-3)
    rate = np.array(of["drops"])
    assert rate.mean() == pytest.approx(10, rel=1e-3), "one in each 0.1 s"


def test_rates_of_flows_have_no_gaps() -> None:
    time = np.arange(1, 101) / 10
    samples = pl.DataFrame({"aqm": "pi", "seed": 1, "time_s": time, "flow": 0, "traffic": "ftp", "index": 0})
    made = live.rates(samples.with_columns(goodput_bps=pl.lit(1e6)), ["pi"], [1], None, 10.0)
    assert made is not None
    (curves,) = made[0]["charts"]
    assert curves["quantities"][0]["runs"] == [[[1] * 100]]
