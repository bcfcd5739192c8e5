"""Every world of the registry fulfils the interface, and nothing outside `worlds` knows a world by its name.

Mutants (each was seen to fail here): a world without `has_packets`, or with other parameters of `run`; a
comparison with "fluid" in the command line; the metrics of averages with all values; `explain` without the
new world; a world of averages compared as one of packets, and one of packets as averages.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn import worlds
from sojourn.errors import InputError
from sojourn.metrics import METRICS
from sojourn.runner.check import check
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.worlds import Case, Made, World, find
from sojourn.worlds.simulated.world import Simulated
from support import ROOT, SMALL, Cli

PROPERTIES = [name for name, one in vars(World).items() if isinstance(one, property)]
METHODS = [name for name, one in vars(World).items() if inspect.isfunction(one) and name[0] != "_"]
SPEC = "red min_th 5p max_th 15p"


@pytest.fixture(params=worlds.REGISTRY)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def test_a_world_has_every_property_and_method(name: str) -> None:
    world = find(name)
    assert len(PROPERTIES) >= 4
    assert {"version", "supports", "run", "metrics", "warnings"} <= set(METHODS)
    for one in PROPERTIES:
        assert isinstance(getattr(world, one), bool), one
    for one in METHODS:
        wanted = list(inspect.signature(getattr(World, one)).parameters)[1:]
        assert list(inspect.signature(getattr(world, one)).parameters) == wanted, one
    assert world.version() == world.version()
    assert (world.version() == "") == (name == worlds.DEFAULT), "the core's version is that of the default"


def test_a_world_of_averages_has_no_seeds(name: str) -> None:
    """Its one run is compared with packets over their seeds."""
    world = find(name)
    assert world.has_packets or not world.seeded
    assert world.seeded or not world.seeded_queue


def test_a_world_refuses_what_it_cannot_run(name: str) -> None:
    """An algorithm whose minimum threshold is above its maximum has a valid spec, but no valid plan."""
    wrong = Point(Scenario.from_toml(SMALL, "small.toml"), "red min_th 20p max_th 10p", 1, name)
    with pytest.raises(InputError, match=r"aqm .red min_th 20p max_th 10p.: red\.max_th is not above min_th"):
        check([wrong])


def test_a_world_runs_a_case(name: str, request: pytest.FixtureRequest) -> None:
    world = find(name)
    if world.real_time:
        request.getfixturevalue("namespaces")
    if name == "kernel":
        request.getfixturevalue("kernel")
    short = Scenario.from_toml(SMALL).with_(duration="2s", warmup="1s")
    case = Point(short, SPEC, 1, name)
    world.supports([case])
    running = world.run(iter([case]), None, True, 1, None)
    found: list[Any] = []
    while not found:
        found = running.poll(0.1)
        assert 0 <= running.progress() <= 1
    (number, made), *rest = found
    assert (number, rest) == (0, [])
    assert isinstance(made, Made), made
    assert made.data["queues"][0]["arrivals"] > 0
    absent = {one.name for one in METRICS.values() if name not in worlds.having(one)}
    # A metric of one traffic has its name in front: `tcp.mean_owd_s`.
    assert {one for one, value in made.metrics.items() if value is None} >= {
        one for one in made.metrics if one.rpartition(".")[2] in absent
    }
    assert bool(absent) != world.has_packets
    assert made.metrics["throughput_bps"]


def test_the_names_of_worlds_are_in_their_package_only() -> None:
    """Papers name the worlds of their experiments; code elsewhere asks a world for its properties."""
    package = ROOT / "python/sojourn"
    found = []
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in ("worlds", "papers"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in worlds.REGISTRY:
                found.append(f"{path.relative_to(package)}:{node.lineno}: {node.value!r}")
    assert found == []


class Copy(Simulated):
    """A fourth world: the simulator under another name."""

    def __init__(self, has_packets: bool) -> None:
        self.has_packets = has_packets  # type: ignore[misc]
        self.seeded = self.seeded_queue = has_packets  # type: ignore[misc]

    def version(self) -> str:
        return "1"

    def supports(self, cases: Sequence[Case]) -> None:
        for case in cases:
            assert case.seed == 1 or self.has_packets


@pytest.fixture(params=[True, False], ids=["packets", "averages"])
def fourth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return a world in a module of its own and one line of the registry."""
    module = types.ModuleType("fourth_world")
    module.WORLD = world = Copy(request.param)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(worlds.REGISTRY, "fourth", module.__name__)
    find.cache_clear()
    yield world
    find.cache_clear()


def test_a_new_world_needs_a_line_in_the_registry(fourth: World, cli: Cli, small_file: Path) -> None:
    words = ("run", small_file, "--aqm", SPEC, "--seeds", 2, "--world", "fourth", "--json", "--out", "one")
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((small_file.parent / "one/manifest.json").read_text())
    assert manifest["world"] == "fourth"
    assert manifest["seeds"] == ([1, 2] if fourth.seeded else [1])
    listed = cli("explain", "timeouts").stdout
    assert ("fourth" in listed) == fourth.has_packets
    assert "fourth" in cli("explain", "mean_delay_s").stdout
    words = ("compare-worlds", small_file, "--world", "fourth", "--seeds", 2, "--no-grid", "--json")
    done = cli(*words, "--out", "two")
    assert done.returncode == 0, done.stderr
    rows = {row["metric"]: row for row in json.loads(done.stdout)["metrics"]}
    assert rows["mean_delay_s"]["fourth"]
    assert ("verdict" in rows["mean_delay_s"]) == fourth.has_packets
