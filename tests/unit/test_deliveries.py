"""What receivers of real datagrams observed, as the tables of a record, by the rules of a simulated run.

Mutants seen to fail: the window is ignored, by arrivals or by echoes; the deadline of the game is not used.
"""

from __future__ import annotations

from array import array

import pytest

import sojourn
from sojourn import _core
from sojourn.record import numbers
from sojourn.record.record import TYPES

SCENARIO = """
name = "datagrams"
duration = "20s"
warmup = "2s"

[dumbbell]
rate = "10Mbit/s"
rtt = "20ms"

[queue]
aqm = "droptail"
limit = "50p"

[[traffic]]
name = "stream"
kind = "udp-cbr"
rate = "100kbit/s"
size = "200B"

[[traffic]]
name = "game"
kind = "game"
deadline = "15ms"

[[traffic]]
name = "ping"
kind = "probe"
"""
MS = 1_000_000


def flow(
    traffic: int, row: int, arrivals: list[tuple[int, int]], echoes: list[tuple[int, int]]
) -> tuple[int, int, list[bytes]]:
    """A flow from numbers and delays in ms, sent at n seconds, and echoes (sent, returned) in ms."""
    sent = [number * 1000 * MS for number, _ in arrivals]
    received = [one + delay * MS for one, (_, delay) in zip(sent, arrivals, strict=True)]
    first, second = (array("Q", [one[i] * MS for one in echoes]).tobytes() for i in (0, 1))
    columns = (array("I", [number for number, _ in arrivals]), array("Q", sent), array("Q", received))
    return traffic, row, [*(one.tobytes() for one in columns), first, second]


def table(found: dict[str, dict[str, bytes]], name: str) -> dict[str, list[int]]:
    return {key: list(numbers(found[name][key], code)) for key, code in TYPES[name].items()}


def test_the_counters_are_those_of_the_receivers() -> None:
    """By hand. Numbers 4 and 5 are missing when 6 arrives; 5 comes late. Delays 10, 12, 11 and 1030 ms: their
    differences are 2, 1 and 1019 ms, and 20 ms to the one before the window. Of the other two traffics, the
    numbers 0 to 2 are missing."""
    plan = sojourn.Scenario.from_toml(SCENARIO).plan_json()
    stream = [(0, 500), (1, 30), (2, 10), (3, 12), (6, 11), (5, 1030)]
    found = _core.deliveries(
        plan,
        [
            flow(0, 7, stream, []),
            flow(1, 8, [(3, 14), (4, 16), (5, 15)], []),
            flow(2, 9, [(3, 10)], [(1000, 1030), (3000, 3040), (4000, 4060)]),
        ],
    )
    rows = table(found, "deliveries")
    assert rows["flow"] == [7, 8, 9]
    assert (rows["lost_packets"], rows["reordered_packets"]) == ([2, 3, 3], [1, 0, 0])
    assert (rows["jitter_ns"][0], rows["jitter_pairs"][0]) == ((20 + 2 + 1 + 1019) * MS, 4)
    assert rows["delay_min_ns"] == [10 * MS, 14 * MS, 10 * MS]
    assert rows["late_packets"] == [0, 1, 0]
    assert (rows["echoes"], rows["round_trip_ns"][2]) == ([0, 0, 2], 100 * MS)
    assert table(found, "loss_periods") == {
        "traffic": [0, 1, 2],
        "length": [2, 3, 3],
        "count": [1, 1, 1],
    }
    assert sum(table(found, "one_way_delays")["count"]) == 4 + 3 + 1
    assert set(table(found, "round_trips")["traffic"]) == {2}


def test_a_traffic_that_the_plan_lacks_is_refused() -> None:
    plan = sojourn.Scenario.from_toml(SCENARIO).plan_json()
    with pytest.raises(ValueError, match="no traffic 3"):
        _core.deliveries(plan, [flow(3, 0, [], [])])
    with pytest.raises(ValueError, match="EOF while parsing"):
        _core.deliveries("", [])
