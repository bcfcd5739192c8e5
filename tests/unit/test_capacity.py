"""Rates that change with time: parsing of traces, and the resulting throughput."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from sojourn.spec.link_trace import csv_steps, mahimahi_steps

SCENARIO = """
name = "varying"
duration = "2s"
queue = {{ limit = "100p" }}
[dumbbell]
rate = "10Mbit"
delay = "1ms"
access = {{ rate = "1Gbit", delay = "1ms" }}
server = {{ rate = "1Gbit", delay = "1ms" }}
capacity = {{ {capacity} }}
[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "20Mbit/s"
size = "1000B"
"""


def test_a_millisecond_of_mahimahi_ends_at_its_number() -> None:
    steps = mahimahi_steps("1\n1\n2\n2\n4\n")
    assert steps == [[2_000_000, 2 * 12_032_000], [1_000_000, 0], [1_000_000, 12_032_000]]


def test_a_csv_trace_sets_the_rate_from_each_time() -> None:
    assert csv_steps("time,rate\n0,1e6\n0.25,0\n1,2e6")[:2] == [[250_000_000, 10**6], [750_000_000, 0]]
    assert csv_steps("0,5")[0][1] == 5


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "0,1\n0,2", "line 2"),
        ("a.csv", "1,1", "start at 0"),
        ("a.csv", "0,1\n1,0", "its last rate is 0"),
        ("a.csv", "0,1\nx,2", "line 2"),
        ("a.csv", "", "no line"),
        ("a.up", "3\n2", "line 2"),
        ("a.up", "-1", "line 1"),
        ("a.up", "", "empty"),
        ("b.up", None, "cannot be read"),
    ],
)
def test_an_error_in_a_trace_names_its_line(
    tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    scenario = sojourn.Scenario.from_toml(
        SCENARIO.format(capacity=f'file = "{name}"'), str(tmp_path / "x.toml")
    )
    with pytest.raises(sojourn.InputError, match=problem) as error:
        scenario.plan()
    assert "dumbbell.capacity.file" in str(error.value)


def throughput(tmp_path: Path, capacity: str) -> float | None:
    scenario = sojourn.Scenario.from_toml(SCENARIO.format(capacity=capacity), str(tmp_path / "x.toml"))
    (outcome,) = execute(points(scenario, ["droptail"], [1]))
    assert outcome.metrics["utilization"] == pytest.approx(1, abs=0.01)
    return outcome.metrics["throughput_bps"]


def test_the_throughput_of_a_full_link_is_that_of_its_trace(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,4e6\n0.5,0\n1,6e6\n")
    assert throughput(tmp_path, 'file = "t.csv"') == pytest.approx(4e6, rel=0.01)
    (tmp_path / "t.down").write_text("".join(f"{ms}\n" for ms in range(2, 101, 2)))
    assert throughput(tmp_path, 'file = "t.down"') == pytest.approx(6.016e6, rel=0.01)
    drawn = throughput(tmp_path, 'every = "10ms", rate = "uniform 8Mbit 12Mbit"')
    assert drawn == pytest.approx(10e6, rel=0.03)


def test_a_capacity_table_has_one_source_of_rates() -> None:
    for capacity in ('file = "a", every = "1s", rate = "1Mbit"', 'every = "1s"', ""):
        with pytest.raises(sojourn.InputError, match="every and rate, or file"):
            sojourn.Scenario.from_toml(SCENARIO.format(capacity=capacity))


def test_an_algorithm_may_be_set_in_every_queue() -> None:
    path = Path(__file__).parents[2] / "examples/gfc2.toml"
    plan = sojourn.load(path).plan("red min_th 10kB max_th 30kB")
    specs = [link["queue"]["aqm"] for link in plan["topology"]["graph"] if link["queue"]]
    assert specs == ["red min_th 10kB max_th 30kB"] * 12
