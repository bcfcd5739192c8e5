"""Adaptive video: metrics worked out by hand, whole runs, and keys that are refused.

Mutants seen to fail: a stall or a switch between the segments of two clients; segments in the order of all
requests; stalls before the window; a startup for each segment; playing outside the window.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import pytest

import sojourn
from sojourn import Scenario
from sojourn.errors import InputError
from sojourn.metrics.evaluation import compute
from sojourn.record import TYPES, UNFINISHED, Record

LINK = """
name = "videos"
duration = "60s"
conventions = "linux"
[dumbbell]
rate = "{rate}"
delay = "10ms"
[queue]
limit = "{limit}"
"""
VIDEO = '[[traffic]]\nname = "video"\nkind = "video"\n'
FTP = '[[traffic]]\nname = "ftp"\nkind = "tcp"\ncount = 4\n'
SECOND = 10**9


def outcome(traffic: str, rate: str = "20Mbit/s", limit: str = "100p") -> Any:
    """Return the outcome of one run."""
    scenario = Scenario.from_toml(LINK.format(rate=rate, limit=limit) + traffic)
    (found,) = sojourn.run(scenario, ["droptail"], seeds=1).outcomes
    return found


def metrics_of(rows: list[tuple[int, int, int | None, int]], warmup: int = 0) -> Mapping[str, Any]:
    """Return the metrics of segments of 4 s: client, request and playing in seconds, bitrate in Mbit/s."""
    record = outcome(VIDEO).record
    columns: dict[str, list[int]] = {name: [] for name in TYPES["segments"]}
    for client, start, play, rate in rows:
        at = UNFINISHED if play is None else play * SECOND
        values = (0, client, start * SECOND, at, at, rate * 10**6, 1000)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    codes = TYPES["segments"]
    packed = {name: struct.pack(f"<{len(column)}{codes[name]}", *column) for name, column in columns.items()}
    window = (warmup * SECOND, 60 * SECOND)
    return compute(Record({**record.data, "segments": packed, "window": window}, record.plan))


def test_what_a_viewer_notices_follows_from_the_times_of_playing() -> None:
    """Client 0 plays at 1, 5 and 12 s (a stall of 3 s) and stalls from 16 s to the end; client 1 from 4 s on.

    Of 4 segments played, three have 1 Mbit/s and one 2 Mbit/s; that is one switch. Client 2 never plays: it
    has waited since 30 s.
    """
    rows: list[tuple[int, int, int | None, int]] = [
        (0, 0, 1, 1), (0, 1, 5, 1), (1, 0, 4, 1), (0, 2, 12, 2), (0, 3, None, 2), (2, 30, None, 1),
    ]  # fmt: skip
    found = metrics_of(rows)
    assert found["video.startup_delay_s"] == pytest.approx((1 + 4 + 30) / 3)
    assert found["video.stalls"] == pytest.approx(2 / 3)
    assert found["video.stall_time_s"] == pytest.approx((3 + 44) / 3)
    assert found["video.stall_ratio"] == pytest.approx(47 / (47 + 16))
    assert found["video.bitrate_bps"] == pytest.approx(1.25e6)
    assert found["video.bitrate_switches"] == pytest.approx(1 / 3)


def test_only_the_window_counts() -> None:
    """From 10 s on: 2 s of a stall that began at 9 s, 4 s of playing, and a stall from 16 s on."""
    rows: list[tuple[int, int, int | None, int]] = [
        (0, 0, 1, 1), (0, 1, 5, 1), (0, 2, 12, 2), (0, 3, None, 2),
    ]  # fmt: skip
    found = metrics_of(rows, warmup=10)
    assert found["video.startup_delay_s"] is None
    assert found["video.stalls"] == 1
    assert found["video.stall_time_s"] == pytest.approx(2 + 44)
    assert found["video.stall_ratio"] == pytest.approx(46 / 50)
    assert (found["video.bitrate_bps"], found["video.bitrate_switches"]) == (2e6, 1)


def test_each_video_has_its_own_viewers() -> None:
    """The second traffic plays twice the bitrate, and starts later. Mutant: segments of all."""
    slow = 'ladder = ["1Mbit/s"]\n'
    fast = '[[traffic]]\nname = "film"\nkind = "video"\nladder = ["2Mbit/s"]\ncount = 2\n'
    found = outcome(VIDEO + slow + fast).metrics
    assert (found["video.bitrate_bps"], found["film.bitrate_bps"]) == (1e6, 2e6)
    assert found["video.startup_delay_s"] < found["film.startup_delay_s"]


def test_a_client_that_stops_does_not_stall() -> None:
    found = metrics_of([(0, 0, 1, 1), (0, 1, 5, 1)])
    assert (found["video.stalls"], found["video.stall_time_s"], found["video.stall_ratio"]) == (0, 0, 0)


def test_a_video_alone_plays_at_the_highest_bitrate() -> None:
    """90 s of the lowest bitrate fit into 20 Mbit/s 85 times: the buffer fills long before the end."""
    found = outcome(VIDEO)
    metrics, segments = found.metrics, found.record.segments
    assert metrics["video.stalls"] == 0
    assert segments["bitrate_bps"][0] == 235_000
    assert segments["bitrate_bps"][-1] == 5_800_000
    assert 0 < metrics["video.startup_delay_s"] < 0.5
    assert segments["traffic"].unique().to_list() == ["video"]
    waiting = segments.filter(segments["play_s"].is_null())
    assert 4 * len(waiting) <= 240, "not more than the buffer"


def test_downloads_beside_it_lower_its_bitrate() -> None:
    short = 'buffer = "24s"\nreservoir = "8s"\ncushion = "12s"\n'
    alone = outcome(VIDEO + short, rate="8Mbit/s").metrics
    beside = outcome(VIDEO + short + FTP, rate="8Mbit/s").metrics
    assert beside["video.bitrate_bps"] < 0.7 * alone["video.bitrate_bps"]
    assert beside["video.goodput_bps"] == pytest.approx(beside["video.bitrate_bps"], rel=0.5)


def test_metrics_of_a_stored_run_are_those_of_its_record(tmp_path: Any) -> None:
    """The segments are stored."""
    scenario = Scenario.from_toml(LINK.format(rate="5Mbit/s", limit="50p") + VIDEO + "count = 2\n" + FTP)
    results = sojourn.run(scenario, ["droptail", "red"], seeds=2, out=tmp_path / "a")
    stored = sojourn.open(tmp_path / "a").study
    for mine, theirs in zip(results.outcomes, stored.outcomes, strict=True):
        assert mine.metrics == theirs.metrics
        assert theirs.record.segments.equals(mine.record.segments)
        assert set(theirs.record.segments["index"]) == {0, 1}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('ladder = ["2Mbit/s", "1Mbit/s"]', "traffic.video.ladder = [2Mbit/s, 1Mbit/s] does not ascend"),
        ("ladder = []", "traffic.video.ladder"),
        ('payload = "uniform 100B 900B"', "traffic.video.payload"),
        ('buffer = "3s"', "traffic.video.buffer = '3s' does not hold a segment"),
        ('startup = "241s"', "traffic.video.startup"),
        ('reservoir = "200s"', "traffic.video.reservoir = '200s': with cushion = 126s more than the buffer"),
    ],
)
def test_wrong_keys_of_a_video_are_refused(lines: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Scenario.from_toml(LINK.format(rate="2Mbit/s", limit="10p") + VIDEO + lines + "\n")
    assert expected in str(caught.value)
