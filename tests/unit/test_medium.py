"""Media of links: the scenario's keys, the core's plan, refusals in other worlds.

Mutants seen to fail: the defaults of contention in the plan of grants; the medium of the other direction; a
medium without a queue accepted; the real world runs it without one.
"""

from __future__ import annotations

from typing import Any

import pytest

import sojourn

DUMBBELL = """
name = "medium"
duration = "5s"
warmup = "1s"
[dumbbell]
rate = "10Mbit/s"
rtt = "20ms"
{keys}
[queue]
limit = "100p"
[[traffic]]
name = "ftp"
kind = "tcp"
"""
GRAPH = """
name = "medium"
duration = "5s"
[measure]
queue = "A-B"
[[link]]
from = "A"
to = "B"
rate = "10Mbit/s"
delay = "5ms"
{keys}
[[traffic]]
name = "ftp"
kind = "tcp"
from = "A"
to = "B"
"""
GRANTS = 'access = "grants", cycle = "2ms", delay = "4ms"'
QUEUE = '{ limit = "50p" }'


def planned(text: str, keys: str) -> Any:
    return sojourn.Scenario.from_toml(text.format(keys=keys), "x.toml").plan()["topology"]


def test_a_medium_is_part_of_its_queue() -> None:
    found = planned(DUMBBELL, f"medium = {{ {GRANTS} }}")["dumbbell"]
    assert found["queue"]["medium"] == {"grants": {"cycle": 2_000_000, "delay": 4_000_000}}
    found = planned(DUMBBELL, f'reverse_queue = {QUEUE}\nreverse_medium = {{ access = "contention" }}')
    overhead = {"uniform": [50_000, 250_000]}
    usual = {"contention": {"packets": 64, "time": 4_000_000, "overhead": overhead}}
    assert found["dumbbell"]["reverse_queue"]["medium"] == usual
    assert "medium" not in found["dumbbell"]["queue"]


def test_a_link_has_one_for_each_direction() -> None:
    keys = f"queue = {QUEUE}\nreverse_queue = {QUEUE}\nreverse_medium = {{ {GRANTS} }}"
    forward, back = planned(GRAPH, keys)["graph"]
    assert "medium" not in forward["queue"]
    assert "grants" in back["queue"]["medium"]


@pytest.mark.parametrize(
    ("text", "keys", "expected"),
    [
        (DUMBBELL, 'medium = { access = "token" }', "contention, grants"),
        (DUMBBELL, 'medium = { access = "grants", cycle = "2ms" }', "dumbbell.medium.delay is missing"),
        (DUMBBELL, f"medium = {{ {GRANTS}, packets = 3 }}", "packets is for access = 'contention'"),
        (DUMBBELL, 'medium = { access = "contention", cycle = "2ms" }', "cycle is for access = 'grants'"),
        (DUMBBELL, 'medium = { access = "contention", packets = 0 }', "medium.packets"),
        (DUMBBELL, 'medium = { access = "contention", overhead = "soon" }', "medium.overhead"),
        (DUMBBELL, f"reverse_medium = {{ {GRANTS} }}", "reverse_medium needs a queue with a limit"),
        (GRAPH, f"medium = {{ {GRANTS} }}", "medium needs a queue with a limit"),
        (GRAPH, f"duplex = false\nreverse_medium = {{ {GRANTS} }}", "reverse_medium is given, but duplex"),
    ],
)
def test_mistakes(text: str, keys: str, expected: str) -> None:
    with pytest.raises(sojourn.InputError, match=expected):
        planned(text, keys)


@pytest.mark.parametrize("world", ["real", "fluid"])
def test_other_worlds_refuse_it(world: str) -> None:
    scenario = sojourn.Scenario.from_toml(DUMBBELL.format(keys=f"medium = {{ {GRANTS} }}"), "x.toml")
    with pytest.raises(sojourn.InputError, match=r"dumbbell\.medium"):
        sojourn.run(scenario, ["pie"], seeds=1, world=world)


def test_a_run_shows_what_a_short_target_costs() -> None:
    """CoDel takes the time of a grant for congestion."""
    scenario = sojourn.Scenario.from_toml(DUMBBELL.format(keys=f"medium = {{ {GRANTS} }}"), "x.toml")
    specs = ["codel target 2ms", "codel target 20ms"]
    results = sojourn.run(scenario, specs, seeds=2)
    short, long = (results.estimate(spec, "utilization").mean for spec in specs)
    assert short is not None
    assert long is not None
    assert short < 0.9
    assert long > 0.95
    assert results.fast_path == "no, a medium by contention or grants"
