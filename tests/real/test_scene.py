"""A scenario as a testbed: conversion, refusals, and demand that depends on the seed alone."""

import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.worlds.hosts import random_streams
from sojourn.worlds.hosts.jobs import layout
from support import SMALL

REAL = SMALL.replace('header = "40B"', 'header = "66B"\nvariant = "sack"')


def scenario(text: str = REAL, **changes: object) -> sojourn.Scenario:
    return sojourn.Scenario.from_toml(text, "small.toml").with_(**changes)


def test_each_flow_has_a_host_and_each_namespace_a_job() -> None:
    found = layout(scenario(), "red", 1)
    left = [host for host in found.hosts if host.side == "left"]
    assert [host.delay for host in left[:3]] == [5_000_000, 20_000_000, 5_000_000]
    assert [host.address for host in left[:2]] == ["10.64.0.1", "10.64.0.2"]
    assert len(left) == 7  # six of ftp, one of cbr
    assert [host.address for host in found.hosts if host.side == "right"] == ["10.65.0.1"]
    assert set(found.jobs) == {("left", i) for i in range(7)} | {("right", 0)}
    assert found.jobs["right", 0]["sinks"] == [
        ["tcp", 2000, "reno", False],
        ["udp", 2001, None, False],
    ]


def test_every_flow_has_its_own_five_tuple() -> None:
    found = layout(scenario(), "red", 1)
    assert sorted(found.tuples.values()) == [(0, i) for i in range(6)] + [(1, 0)]
    assert found.tuples["tcp", "10.64.0.2", 20001, "10.65.0.1", 2000] == (0, 1)


def test_reverse_traffic_starts_at_the_servers() -> None:
    text = REAL.replace('name = "cbr"', 'name = "cbr"\ndirection = "reverse"')
    found = layout(scenario(text), "red", 1)
    assert ("udp", "10.65.0.1", 20000, "10.64.0.7", 2001) in found.tuples


def test_sizes_on_the_wire_are_the_scenarios() -> None:
    found = layout(scenario(), "red", 1)
    flow = next(one for job in found.jobs.values() for one in job["tcp"])
    assert (found.overhead, found.timestamps, flow["mss"]) == (14, True, 500 + 12)
    stream = next(one for job in found.jobs.values() for one in job["udp"])
    assert stream["payload"] == 500 - 14 - 28
    assert stream["gap"] == 500 * 8e9 / 200e3


def test_starts_and_sizes_depend_on_the_seed_and_not_on_the_algorithm() -> None:
    def starts(spec: str, seed: int) -> list[int]:
        return [one["start"] for job in layout(scenario(), spec, seed).jobs.values() for one in job["tcp"]]

    assert starts("red", 1) == starts("droptail", 1)
    assert starts("red", 1) != starts("red", 2)
    assert all(0 <= one < 1e9 for one in starts("red", 1))


def test_initial_window_and_minimum_rto_are_route_options() -> None:
    assert layout(scenario(), "red", 1).route == "default"
    web = REAL.replace('kind = "tcp"', 'kind = "web"\npage_gap = "1s"\nsize = "1kB"')
    assert layout(scenario(web), "red", 1).route == "default congctl reno"
    text = REAL.replace('variant = "sack"', 'variant = "sack"\ntcp = { initial_window = 2, min_rto = "1s" }')
    assert layout(scenario(text), "red", 1).route == "default initcwnd 2 rto_min 1000ms"


def test_a_ramp_adds_up_its_steps() -> None:
    text = REAL.replace('start = "uniform 0s 1s"', 'stagger = { every = "500ms", by = 2 }')
    jobs = layout(scenario(text), "red", 1).jobs.values()
    starts = {one["flow"][1]: one["start"] for job in jobs for one in job["tcp"]}
    assert [starts[i] for i in range(6)] == [0, 0, 500_000_000, 500_000_000, 10**9, 10**9]


def test_random_draws_have_their_means() -> None:
    for shape, mean in (
        ({"constant": 7}, 7.0),
        ({"uniform": [2, 6]}, 4.0),
        ({"exponential": 3.0}, 3.0),
        ({"pareto": [6.0, 3.0]}, 6.0),
        ({"lomax": [5.0, 3.5]}, 5.0),
    ):
        values = [random_streams.draw(shape, random_streams.stream(1, "test", i)) for i in range(20000)]
        assert sum(values) / len(values) == pytest.approx(mean, rel=0.03), shape


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('conventions = "rfc"', 'conventions = "ns2"', "conventions = 'ns2' is not possible"),
        (
            'variant = "sack"',
            'variant = "sack"\ntcp = { max_rto = "1s" }',
            "traffic[1].tcp.max_rto cannot be set: the kernel decides it",
        ),
        ('header = "66B"', 'header = "41B"', "header = '41B' is not possible in the real world"),
        ('payload = "500B"', 'payload = "50B"', "payload = '50B' is not possible in the real world"),
        ('size = "500B"', 'size = "uniform 100B 500B"', "traffic[2].size = 'uniform 100B 500B'"),
        ('size = "500B"', 'size = "30B"', "traffic[2].size = 30 B is too small"),
        ('kind = "udp-cbr"', 'kind = "udp-onoff"\non = "1s"\noff = "1s"', "traffic[2].kind = 'udp-onoff'"),
        ('duration = "6s"', 'duration = "6s"\ntrace = { cwnd = true }', "trace.cwnd is not possible"),
    ],
)
def test_features_without_real_hosts_are_refused(old: str, new: str, words: str) -> None:
    assert old in REAL
    with pytest.raises(InputError) as error:
        layout(scenario(REAL.replace(old, new)), "red", 1)
    text = str(error.value)
    assert text.startswith("small.toml: ")
    assert words in text
    assert "allowed: " in text


def test_other_topologies_are_refused() -> None:
    graph = sojourn.load("examples/parkinglot.toml")
    with pytest.raises(InputError, match=r"link is not possible in the real world; allowed: .dumbbell."):
        layout(graph, "red", 1)
