"""Links that lose, delay, reorder and duplicate packets: their keys, their errors and their metrics.

Mutants seen to fail: the probabilities p and r exchanged; the reverse direction planned for the forward one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from sojourn.spec.impairment import delay_steps

SCENARIO = """
name = "impaired"
duration = "10s"
queue = {{ limit = "100p" }}
[dumbbell]
rate = "10Mbit"
delay = "10ms"
{impairment}
[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "4Mbit/s"
size = "500B"
"""
GRAPH = """
name = "graph"
duration = "5s"
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
delay = "10ms"
queue = { limit = "100p" }
reverse_impairment = { loss = "5%" }
[[traffic]]
name = "ftp"
kind = "tcp"
from = "a"
to = "b"
"""


def read(impairment: str, path: Path = Path("x.toml")) -> sojourn.Scenario:
    text = f"impairment = {{ {impairment} }}" if impairment else ""
    return sojourn.Scenario.from_toml(SCENARIO.format(impairment=text), str(path))


def planned(impairment: str) -> dict[str, object]:
    found: dict[str, object] = read(impairment).plan()["topology"]["dumbbell"]["impairment"]
    return found


def test_a_burst_is_a_gilbert_elliott_model() -> None:
    """A share of 20 %, 4 in a row: r = 1/4, p = r 0.2 / 0.8 = 1/16."""
    (model,) = planned('loss = "20%", loss_burst = 4')["loss"].values()  # type: ignore[attr-defined]
    assert model == pytest.approx({"p": 1 / 16, "r": 1 / 4, "good": 0, "bad": 1})
    given = planned('gilbert_elliott = { p = "1%", r = 0.3, loss_bad = "80%" }')["loss"]
    assert given == {"gilbert_elliott": {"p": 0.01, "r": 0.3, "good": 0.0, "bad": 0.8}}
    assert planned('loss = "1%"')["loss"] == {"random": 0.01}


def test_delays_are_drawn_or_read(tmp_path: Path) -> None:
    assert planned('jitter = "normal 5ms 2ms"')["delay"] == {"drawn": {"normal": [5e6, 2e6]}}
    assert planned('jitter = "pareto 5ms 1.5"')["delay"] == {"drawn": {"pareto": [5e6, 1.5]}}
    (tmp_path / "d.csv").write_text("time,delay\n0,0.01\n2.5,0\n")
    plan = read('jitter_file = "d.csv"', tmp_path / "x.toml").plan()
    steps = plan["topology"]["dumbbell"]["impairment"]["delay"]
    assert steps == {"steps": [[0, 10**7], [2_500_000_000, 0]]}


@pytest.mark.parametrize(
    ("impairment", "key", "problem"),
    [
        ('loss = "101%"', "impairment.loss", "0 to 1"),
        ("loss = -0.1", "impairment.loss", "0 to 1"),
        ('loss = "some"', "impairment.loss", "1%"),
        ("loss = true", "impairment.loss", "0 to 1"),
        ("loss_burst = 2", "impairment.loss_burst", "without loss"),
        ("loss = 0.5, loss_burst = 0.5", "impairment.loss_burst", "1"),
        ("loss = 0.9, loss_burst = 2", "impairment.loss_burst", "at least 9"),
        ("loss = 1, loss_burst = 2", "impairment.loss_burst", "below 1"),
        ("loss = 0.1, gilbert_elliott = { p = 0.1, r = 0.1 }", "impairment", "not both"),
        ("gilbert_elliott = { p = 0.1 }", "impairment.gilbert_elliott.r", "missing"),
        ("gilbert_elliott = { p = 2, r = 1 }", "impairment.gilbert_elliott.p", "0 to 1"),
        ("jitter = 5", "impairment.jitter", "no unit"),
        ('jitter = "normal 5ms"', "impairment.jitter", "2"),
        ('jitter = "norml 5ms 1ms"', "impairment.jitter", "normal"),
        ('jitter = "1ms", jitter_file = "a"', "impairment", "not both"),
        ("reorder = 0.1", "impairment.reorder", "jitter"),
        ("reorder_gap = 3", "impairment.reorder_gap", "without reorder"),
        ("duplicate = nan", "impairment.duplicate", "0 to 1"),
        ("corrupt = 0.1", "impairment.corrupt", "not a key"),
    ],
)
def test_impossible_values_are_refused(impairment: str, key: str, problem: str) -> None:
    with pytest.raises(sojourn.InputError, match=problem) as error:
        read(impairment)
    assert f"dumbbell.{key}" in str(error.value)


@pytest.mark.parametrize("text", ["", "1,0.1", "0,0.1\n0,0.2", "0,-1", "0,4000", "0,a\n1,b"])
def test_an_error_in_a_file_of_delays_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(sojourn.InputError, match=r"dumbbell\.impairment\.jitter_file"):
        read('jitter_file = "d.csv"', tmp_path / "x.toml").plan()


def test_a_header_is_no_delay() -> None:
    assert delay_steps("time,delay\n0,1") == [[0, 10**9]]


def test_losses_on_a_link_are_metrics_of_their_own() -> None:
    """10,000 datagrams, of which 3 % are lost: 300, with a deviation of 17."""
    scenario = read('loss = "3%", duplicate = "1%"')
    outcomes = execute(points(scenario, ["droptail", "red"], [1]))
    values = [one.metrics for one in outcomes]
    assert values[0]["link_losses"] == values[1]["link_losses"], "algorithms meet the same losses"
    assert 220 < values[0]["link_losses"] < 380
    assert values[0]["link_loss_ratio"] == pytest.approx(values[0]["link_losses"] / 10_000, rel=0.01)
    assert 60 < values[0]["link_copies"] < 140
    assert values[0]["drops"] == 0
    assert values[0]["cbr.loss_ratio"] == pytest.approx(values[0]["link_loss_ratio"], rel=0.01)
    (plain,) = execute(points(read(""), ["droptail"], [1]))
    assert not any("link" in name for name in plain.metrics)


def test_stored_results_have_the_losses(tmp_path: Path) -> None:
    made = sojourn.run(read('loss = "3%"'), seeds=1, out=tmp_path / "r")
    opened = sojourn.Results.open(tmp_path / "r")
    lost = made.runs["link_losses"].to_list()
    assert opened.runs["link_losses"].to_list() == lost
    (record,) = opened.records
    assert record.rows("links")["lost_packets"] == lost


def test_the_other_direction_of_a_link_is_impaired() -> None:
    scenario = sojourn.Scenario.from_toml(GRAPH)
    links = scenario.plan()["topology"]["graph"]
    assert ["impairment" in one for one in links] == [False, True]
    (outcome,) = execute(points(scenario, ["droptail"], [1]))
    assert outcome.metrics["link_losses"] > 10
    assert outcome.metrics["drops"] == sum(outcome.record.flows["dropped_packets"]), "acknowledgements"
    with pytest.raises(sojourn.InputError, match="duplex"):
        sojourn.Scenario.from_toml(GRAPH.replace("delay =", "duplex = false\ndelay ="))
