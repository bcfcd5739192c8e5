"""Metrics: each formula against a hand-written record whose values can be verified by hand.

Mutants seen to fail: utilization from arrived instead of departed bytes; the standard deviation without
subtracting the squared mean; the percentile without interpolation in its bucket; transfers that started
before the window counted; unfinished transfers counted as finished; Jain's index over all flows.
"""

from __future__ import annotations

import struct
import sys
from typing import Any, get_args

import polars as pl
import pytest

from sojourn.metrics import (
    METRICS,
    View,
    compute,
    heading,
    label,
    percentile,
    shown,
    text,
    timeseries,
)
from sojourn.metrics.evaluation import OF_GROUPS
from sojourn.record import CAUSES, TYPES, UNFINISHED, Record

SECOND = 10**9


def column(code: str, *values: float) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


def flows(**columns: list[int]) -> dict[str, bytes]:
    count = len(columns["traffic"])
    names = [name for name in TYPES["flows"] if name not in ("traffic", "index", "crosses")]
    return {
        "traffic": column("I", *columns["traffic"]),
        "index": column("I", *range(count)),
        "crosses": column("B", *columns.get("crosses", [1] * count)),
        **{name: column("Q", *columns.get(name, [0] * count)) for name in names},
    }


def queue(name: str = "R1-R2", **changes: Any) -> dict[str, Any]:
    """A queue over 10 s at 1 Mbit/s: 1000 packets of 1000 B offered, 100 dropped, 50 marked."""
    return {
        "name": name,
        "spec": "red",
        "limit_packets": 100,
        "limit_bytes": 0,
        "capacity_bits": 10e6,
        "arrivals": 1000,
        "arrived_bytes": 1_000_000,
        "departures": 900,
        "departed_bytes": 900_000,
        "drops": [20, 70, 10, 0, 0],
        "dropped_bytes": 100_000,
        "marks": [0, 50, 0, 0, 0],
        "packet_ns": 40.0 * SECOND,
        "packet_squared_ns": 250.0 * SECOND,
        "byte_ns": 40_000.0 * SECOND,
        "max_packets": 17,
        "idle_ns": 2_800_000_000,
        "delay_sum_ns": 900 * 0.02 * SECOND,
        "delay_squared_ns": 900 * 0.0005 * SECOND**2,
        "delay_edges_ns": column("Q", 1024, 2048),
        "delay_counts": column("Q", 50, 50),
        "run_lengths": column("Q", 1, 3),
        "run_counts": column("Q", 70, 10),
        **changes,
    }


KINDS = {"tcp": {"tcp": {}}, "short": {"tcp_short": {}}, "web": {"web": {}}, "udp": {"udp_cbr": {}}}


def timed(rows: list[tuple[int, int, int]]) -> dict[str, bytes]:
    return {
        "traffic": column("I", *(r[0] for r in rows)),
        "index": column("I", *range(len(rows))),
        "start_ns": column("Q", *(r[1] for r in rows)),
        "end_ns": column("Q", *(r[2] for r in rows)),
        "bytes": column("Q", *(1 for _ in rows)),
    }


def record(
    kinds: dict[str, str],
    flow_columns: dict[str, bytes],
    objects: list[tuple[int, int, int]] | None = None,
    pages: list[tuple[int, int, int]] | None = None,
) -> Record:
    """A record over [10 s, 20 s]; objects and pages are (traffic, start, end)."""
    data = {
        "window": (10 * SECOND, 20 * SECOND),
        "events": 1,
        "queues": [queue(), queue("R2-R1", arrivals=10, drops=[1, 0, 0, 0, 0])],
        "flows": flow_columns,
        "objects": timed(objects or []),
        "pages": {**timed(pages or []), "objects": column("Q", *(1 for _ in pages or []))},
        "series": {"interval": 0, "queues": []},
    }
    traffic = [{"name": name, "kind": KINDS[kind], "reverse": False} for name, kind in kinds.items()]
    return Record(data, {"traffic": traffic, "topology": {"dumbbell": {}}})


@pytest.fixture
def values() -> dict[str, float | None]:
    return compute(
        record(
            {"ftp": "tcp", "cbr": "udp", "back": "tcp"},
            flows(
                traffic=[0, 0, 1, 2],
                crosses=[1, 1, 1, 0],
                queue_arrivals=[500, 300, 200, 77],
                queue_drops=[50, 30, 20, 7],
                queue_marks=[30, 20, 0, 0],
                sent_packets=[510, 290, 200, 99],
                retransmitted_packets=[51, 29, 0, 9],
                timeouts=[3, 1, 0, 8],
                goodput_bytes=[300_000, 100_000, 180_000, 555],
            ),
        )
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("utilization", 0.72),
        ("throughput_bps", 720_000),
        ("arrivals", 1000),
        ("drops", 100),
        ("marks", 50),
        ("drop_ratio", 0.1),
        ("mark_ratio", 0.05),
        ("overflow_ratio", 0.02),
        ("mean_queue_packets", 4),
        ("std_queue_packets", 3),  # sqrt(25 - 16)
        ("mean_queue_bytes", 4000),
        ("max_queue_packets", 17),
        ("mean_delay_s", 0.02),
        ("std_delay_s", 0.01),  # sqrt(0.0005 - 0.0004)
        ("mean_drop_run", 100 / 80),
        ("idle_share", 0.28),
        ("goodput_bps", 464_000),  # of the flows over the queue: 580,000 B
        ("timeouts", 4),
        ("retransmit_ratio", 0.08),
        ("jain_index", 16 / (2 * 10)),  # goodputs 3 and 1
        ("ftp.goodput_bps", 320_000),
        ("ftp.drop_ratio", 0.1),
        ("ftp.mark_ratio", 0.0625),
        ("cbr.goodput_bps", 144_000),
        ("back.goodput_bps", 444),
        ("back.timeouts", 8),
        ("tcp.goodput_bps", 320_000),
        ("tcp.arrivals", 800),
        ("tcp.timeouts", 4),
        ("udp.drop_ratio", 0.1),
        ("queues.R2-R1.drop_ratio", 0.1),
        ("queues.R2-R1.arrivals", 10),
    ],
)
def test_each_formula_by_hand(values: dict[str, float | None], name: str, expected: float) -> None:
    assert values[name] == pytest.approx(expected, rel=1e-12)


def test_p99_lies_on_the_line_inside_its_bucket(values: dict[str, float | None]) -> None:
    # 100 delays: half in [1024, 1040), half in [2048, 2080); the 99th is 49/50 through the second.
    assert values["p99_delay_s"] == pytest.approx((2048 + 32 * 0.98) / 1e9)


def test_the_percentile_of_exact_small_values() -> None:
    """A bucket of 1 ns holds one value, so that a delay of 0 is 0. Seen to fail with interpolation in it."""
    assert percentile([0], [100], 0.99) == 0.0
    assert percentile([0, 1, 2, 3], [25, 25, 25, 25], 0.5) == 1.0
    assert percentile([5], [10], 1.0) == 5.0
    assert percentile([127, 128], [1, 1], 0.5) == 127.0
    assert percentile([127, 128], [1, 1], 1.0) == 130.0
    assert percentile([], [], 0.5) is None


def test_a_percentile_is_at_most_the_largest_value() -> None:
    """Interpolation in the last bucket, [2048, 2080), would exceed a largest delay of 2050."""
    assert percentile([1024, 2048], [50, 50], 0.99, 2050) == 2050
    assert percentile([1024, 2048], [50, 50], 0.5, 2050) == 1040


def test_the_utilization_is_at_most_1() -> None:
    """A packet that began before the end counts in full."""
    one = record({"cbr": "udp"}, flows(traffic=[0]))
    one.data["queues"][0]["departed_bytes"] = 1_250_025
    assert compute(one)["utilization"] == 1.0


def test_metrics_that_do_not_apply_are_absent(values: dict[str, float | None]) -> None:
    assert "cbr.timeouts" not in values
    assert "cbr.jain_index" not in values
    assert "ftp.completion_time_mean_s" not in values
    assert not [name for name in values if name.startswith("queues.") and "goodput" in name]


def test_unknown_metrics_are_null() -> None:
    empty = record({"cbr": "udp"}, flows(traffic=[0]))
    empty.data["queues"][0].update(
        arrivals=0,
        departures=0,
        drops=[0] * 5,
        delay_edges_ns=b"",
        delay_counts=b"",
        run_counts=b"",
        run_lengths=b"",
    )
    values = compute(empty)
    for name in ("drop_ratio", "mark_ratio", "mean_delay_s", "std_delay_s", "p99_delay_s", "mean_drop_run"):
        assert values[name] is None, name
    assert values["timeouts"] is None
    assert values["jain_index"] is None


def test_completion_times_are_of_transfers_that_began_in_the_window_and_ended() -> None:
    values = compute(
        record(
            {"short": "short"},
            flows(traffic=[0, 0]),
            [
                (0, 9 * SECOND, 12 * SECOND),  # began before
                (0, 11 * SECOND, 12 * SECOND),
                (0, 12 * SECOND, 15 * SECOND),
                (0, 19 * SECOND, UNFINISHED),
            ],
        )
    )
    assert values["short.completion_time_mean_s"] == 2
    assert values["short.completion_time_max_s"] == 3
    assert values["short.completion_time_p50_s"] == 2
    assert values["short.completion_time_p99_s"] == pytest.approx(1 + 0.99 * 2)
    assert values["short.completed"] == 2
    assert values["short.unfinished"] == 1
    assert values["tcp.completion_time_mean_s"] == 2


def test_every_metric_is_described() -> None:
    for metric in METRICS.values():
        assert metric.formula, metric.name
        assert metric.source, metric.name
        assert metric.scope in ("queue", "flows", "tcp", "endless", *OF_GROUPS)
        assert metric.name.endswith(("_bps", "_s")) == (metric.unit in ("bit/s", "s")), metric.name
        assert metric.label, metric.name
        assert metric.label.lower() == metric.label or metric.name == "jain_index"
        assert metric.display.factor > 0
        assert bool(metric.display.unit) or not metric.unit, metric.name
        assert metric.digits >= 1
        assert metric.views <= set(get_args(View))
        assert metric.read.__name__.isidentifier()
        assert getattr(sys.modules[metric.read.__module__], metric.read.__name__) is metric.read
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)


def test_a_full_name_has_a_label() -> None:
    assert label("mean_queue_packets") == "mean queue"
    assert label("ftp.goodput_bps") == "ftp: goodput"
    assert label("queues.R1-R2.max_queue_packets") == "queue R1-R2: maximum queue"
    assert label("classes.1.p99_delay_s") == "class 1: 99th-percentile delay"
    assert label("settling_time_s") == "settling time"
    assert heading("ftp.goodput_bps") == "ftp: goodput (Mbit/s)"
    assert heading("timeouts") == "timeouts"
    assert text("drop_ratio", 0.0481, 0.0029) == "4.8\xa0±\xa00.3\xa0%"


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("utilization", "4.2"),
        ("throughput_bps", "4.2"),
        ("mean_queue_packets", "4.2"),
        ("max_queue_packets", "4.2"),
        ("drop_ratio", "2.3"),
        ("goodput_bps", "2.5"),
        ("mean_delay_s", "2.6"),
        ("p99_delay_s", "2.6"),
        ("completion_time_p95_s", "2.1"),
    ],
)
def test_metrics_cite_the_sections_of_rfc_7928(name: str, section: str) -> None:
    """Section 2.2 is start-up time, 2.4 loss synchronisation, 4.2 the metrics of a queue."""
    assert METRICS[name].source == f"RFC 7928, {section}"


def test_views_are_in_the_order_of_positions() -> None:
    assert shown("sweep") == ["utilization", "goodput_bps", "mean_delay_s", "p99_delay_s", "drop_ratio"]
    assert shown("bars") == ["goodput_bps", "mean_queue_packets", "p99_delay_s", "drop_ratio"]


def test_causes_are_those_of_the_core() -> None:
    assert CAUSES == ("overflow", "early", "forced", "flow-limit", "profile")


def series(values: list[float], interval: float = 0.01) -> pl.DataFrame:
    """A queue that has each value for one sample."""
    return pl.DataFrame(
        {
            "time_s": [interval * (i + 1) for i in range(len(values))],
            "queue_packets": values,
            "queue_mean": values,
            "queue_mean_square": [v * v for v in values],
        }
    )


def test_mean_and_deviation_over_a_part_of_a_series() -> None:
    wave = series([0.0, 10.0] * 100 + [100.0] * 100)
    assert timeseries.queue_mean(wave, 0, 2) == 5
    assert timeseries.queue_std(wave, 0, 2) == 5
    assert timeseries.queue_mean(wave, 2) == 100
    assert timeseries.queue_rms_about(wave, 7, 0, 2) == pytest.approx((0.5 * 49 + 0.5 * 9) ** 0.5)
    assert timeseries.queue_mean(wave, 50) is None


def test_overshoot_by_hand() -> None:
    # Below q0 = 50 for 5 s, 80 for 4 s, 40 until the end at 60 s, a late peak that does not count.
    wave = series([10.0] * 500 + [80.0] * 400 + [40.0] * 5000 + [200.0] * 100)
    assert timeseries.overshoot(wave, 50) == 30
    duration = timeseries.overshoot_duration(wave, 50)
    # The 1 s mean falls from 80 to 50 when 3/4 of its second lie at 40.
    assert duration.value == pytest.approx(4 + 0.75 - 0.01, abs=0.02)
    assert not duration.censored


def test_a_queue_that_never_reaches_its_level_does_not_overshoot() -> None:
    low = series([10.0] * 1000)
    assert timeseries.overshoot(low, 50) == 0
    assert timeseries.overshoot_duration(low, 50) == (0.0, False)


def test_an_unfinished_overshoot_is_censored() -> None:
    high = series([10.0] * 500 + [80.0] * 2500)
    duration = timeseries.overshoot_duration(high, 50)
    assert duration.censored
    assert duration.value == pytest.approx(25, abs=0.05)


def test_response_time_is_when_the_mean_stays_in_the_band() -> None:
    # In the band from 2 s to 4 s, then from 20 s on.
    wave = series([0.0] * 200 + [50.0] * 200 + [0.0] * 1600 + [50.0] * 2000)
    found = timeseries.response_time(wave, 50, band=20, hold=10)
    # At 20 s plus 3/5 of a second the 1 s mean is 30, the lower edge of the band.
    assert found.value == pytest.approx(20.6, abs=0.02)
    assert not found.censored
    assert timeseries.response_time(wave, 50, after=10).value == pytest.approx(10.6, abs=0.02)
    never = timeseries.response_time(series([0.0] * 3000), 50)
    assert never.censored
    assert never.value == pytest.approx(30)


def test_pages_and_their_objects_have_response_times() -> None:
    def at(*seconds: float) -> list[tuple[int, int, int]]:
        pairs = zip(seconds[::2], seconds[1::2], strict=True)
        return [(0, int(a * SECOND), UNFINISHED if b == 0 else int(b * SECOND)) for a, b in pairs]

    values = compute(
        record(
            {"web": "web"},
            flows(traffic=[0], crosses=[1], goodput_bytes=[1000]),
            objects=at(9, 11, 12, 13, 14, 18, 19, 0),
            pages=at(9, 11, 12, 18, 15, 17, 19, 0),
        )
    )
    assert values["web.page_time_mean_s"] == 4  # 6 and 2; one began before the window, one is unfinished
    assert values["web.page_time_p50_s"] == 4
    assert values["web.page_time_max_s"] == 6
    assert values["web.pages_completed"] == 2
    assert values["web.pages_unfinished"] == 1
    assert values["web.completion_time_mean_s"] == 2.5
    # In [10 s, 20 s]: 1 s of the first, 1 s, 4 s, and 1 s of the last.
    assert values["web.active_transfers"] == pytest.approx(0.7)
    assert values["web.timeouts"] == 0
    assert "web.jain_index" not in values
    assert values["tcp.pages_completed"] == 2
