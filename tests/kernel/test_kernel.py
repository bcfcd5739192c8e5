"""The world ``kernel``: its network, its build, and runs in a real User Mode Linux."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import InputError
from sojourn.runner.check import check
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario
from sojourn.worlds import Case, Made
from sojourn.worlds.hosts.jobs import layout
from sojourn.worlds.kernel import build, machine
from sojourn.worlds.kernel.network import job
from sojourn.worlds.kernel.world import WORLD, Run, controls, disciplines
from support import SMALL, until

CONTROLS = ("reno", "cubic", "dctcp", "bbr", "vegas", "westwood")


def scenario(**changes: Any) -> Scenario:
    """Return six flows and a constant stream, for two seconds."""
    return Scenario.from_toml(SMALL, "small.toml").with_(**{"duration": "2s", "warmup": "500ms", **changes})


def made(one: Scenario, spec: str, seed: int = 1) -> Made:
    """Run once."""
    cases: list[Case] = [Point(one, spec, seed, "kernel")]
    WORLD.supports(cases)
    running = WORLD.run(iter(cases), None, True, 1, None)
    found: list[Any] = []
    while not found:
        found = running.poll(1.0)
    ((_, result),) = found
    assert isinstance(result, Made), result
    return result


def digest(result: Made) -> str:
    """Return a hash of every column of a record."""
    return hashlib.sha256(repr(result.data).encode()).hexdigest()


# The network, without a kernel.


def test_the_measured_queue_is_behind_a_shaper_at_the_rate_of_the_bottleneck() -> None:
    found = job(layout(scenario(), "pie target 12ms", 1, CONTROLS))
    shaper, share, _bands, queue, _held = found["tc"]["R1"][-5:]
    assert "dev q0 root handle 1: stab overhead -14" in shaper
    assert "htb rate 2000000bit burst 1b" in share
    assert queue.startswith("qdisc add dev q0 parent 2:1 handle 10: pie limit 30 target 12ms")


def test_every_link_has_its_rate_and_delay_in_both_directions() -> None:
    found = job(layout(scenario(), "codel", 1, CONTROLS))
    links = [line for lines in found["tc"].values() for line in lines if "netem" in line]
    access = [line for line in links if "rate 10000000bit -14" in line]
    assert len(access) == 2 * 8, "six clients, one of the stream, one server"
    assert sum("delay 20000.000us" in line for line in access) == 2 * 3
    bottleneck = [line for line in links if "rate 2000000bit -14" in line]
    assert ["dev w1" in one or "dev q1" in one for one in bottleneck] == [True, True]
    assert all("delay 5000.000us" in one for one in bottleneck)


def test_a_queue_that_tc_lacks_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(InputError, match=r"'raqm.*' is not in Linux.*codel, droptail"):
        job(layout(scenario(), "raqm", 1, CONTROLS))


# The build, without a compiler.


def test_one_line_names_every_missing_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SOJOURN_KERNELS", str(tmp_path / "kernels"))
    with pytest.raises(InputError) as error:
        build.build()
    assert "flex, bison, bc" in str(error.value)
    assert "apt-get install" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_the_source_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "TOOLS", {})
    monkeypatch.setenv("SOJOURN_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setenv("KERNEL_SOURCE", str(tmp_path))
    with pytest.raises(InputError, match=r"KERNEL_SOURCE.*is not the source of Linux"):
        build.build()


def test_a_machine_without_a_kernel_refuses_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOJOURN_KERNELS", str(tmp_path))
    with pytest.raises(InputError, match=r"there is no kernel yet.*make kernel"):
        check([Point(scenario(), "codel", 1, "kernel")])


# Runs.


@pytest.mark.usefixtures("kernel")
def test_the_same_seed_gives_the_same_bits() -> None:
    """RED draws from the kernel's generator; a client's congestion window depends on every draw."""
    spec = "red min_th 3p max_th 12p max_p 0.5 w_q 0.125"
    first, again, other = (made(scenario(), spec, seed) for seed in (1, 1, 2))
    assert first.data["queues"][0]["drops"] != [0, 0, 0, 0, 0]
    assert digest(first) == digest(again)
    assert digest(first) != digest(other)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("spec", ["droptail", "codel", "fq_codel", "pie"])
def test_the_record_has_the_counts_of_the_kernel(spec: str) -> None:
    """The kernel counts the packets and drops of its queue itself, over the whole run."""
    whole = scenario(warmup="0s")
    run = Run(layout(whole, spec, 1, controls(machine.require())))
    try:
        until(run.finished)
        shown = json.loads(json.loads((run.folder / "results.json").read_text())["queues"]["R1"])
        data, _ = run.data()
    finally:
        run.close()
    (theirs,) = (one for one in shown if one["dev"] == "q0" and one["handle"] == "10:")
    ours = data["queues"][0]
    # Its counters go on for a second after the end of the run.
    assert 0 < ours["departures"] <= theirs["packets"]
    assert sum(ours["drops"]) <= theirs["drops"]
    assert ours["arrivals"] >= ours["departures"] + sum(ours["drops"])
    assert ours["max_packets"] <= 30
    assert ours["departed_bytes"] * 8 <= ours["capacity_bits"]


@pytest.mark.usefixtures("kernel")
def test_marks_are_those_that_receivers_saw() -> None:
    marked = scenario(queue={"limit": "30p", "aqm": "codel", "ecn": True}, tcp={"ecn": True}, warmup="0s")
    result = made(marked, "codel")
    marks = sum(result.data["queues"][0]["marks"])
    hosts = result.data["hosts"]
    seen = sum(one.get("IpExtInCEPkts", 0) for name, one in hosts.items() if name.startswith("right"))
    # Marked packets may still be in flight at the end.
    assert marks > 0
    assert 0 <= marks - seen <= 3


@pytest.mark.usefixtures("kernel")
def test_a_single_packet_takes_the_time_of_its_links() -> None:
    """500 B: 0.4 ms on each access link, 2 ms on the bottleneck, and 5 + 5 + 5 ms of propagation."""
    alone = scenario()
    stream = alone.model_dump(by_alias=True, exclude_none=True)["traffic"][1]
    result = made(alone.with_(traffic=[{**stream, "rate": "20kbit/s"}]), "droptail")
    flows = result.data["flows"]
    (packets,), (delay,) = (memoryview(flows[one]).cast("Q") for one in ("received_packets", "delay_ns"))
    assert delay / packets == pytest.approx(17.8e6, abs=2e3)
    assert result.data["queues"][0]["delay_max_ns"] == 0


@pytest.mark.usefixtures("kernel")
def test_receivers_of_datagrams_measure_the_same_time() -> None:
    """84 B: 67.2 us on each access link, 336 us on the bottleneck, 15 ms of propagation; back the same."""
    alone = scenario().with_(traffic=[{"name": "ping", "kind": "probe", "start": "10ms"}])
    found = made(alone, "droptail").data["deliveries"]
    rows = {name: memoryview(found[name]).cast("Q")[0] for name in found if name != "flow"}
    assert rows["delay_min_ns"] == pytest.approx(15.4704e6, abs=4e3)
    assert rows["echoes"] > 10
    assert rows["round_trip_ns"] / rows["echoes"] == pytest.approx(30.9408e6, abs=8e3)
    assert rows["jitter_ns"] / rows["jitter_pairs"] < 4e3
    assert rows["lost_packets"] == rows["reordered_packets"] == 0


@pytest.mark.usefixtures("kernel")
def test_the_kernel_has_the_wanted_disciplines_and_controls() -> None:
    kernel = machine.require()
    wanted = "pfifo bfifo red sfb choke codel fq_codel pie fq_pie fq cake prio drr htb tbf netem"
    assert set(wanted.split()) <= set(disciplines(kernel))
    assert {"reno", "cubic", "bbr", "dctcp", "vegas", "westwood", "htcp"} <= set(controls(kernel))


@pytest.mark.usefixtures("kernel")
def test_a_discipline_that_this_kernel_lacks_is_refused() -> None:
    if "dualpi2" in disciplines(machine.require()):
        return
    with pytest.raises(InputError, match=r"'dualpi2' is not in Linux 6.*codel"):
        WORLD.supports([Point(scenario(), "dualpi2", 1, "kernel")])


@pytest.mark.usefixtures("kernel")
def test_dctcp_uses_ecn() -> None:
    """Linux accepts an ECN-capable SYN only on a listening socket that has DCTCP, too."""
    traffic = scenario().model_dump(by_alias=True, exclude_none=True)["traffic"]
    marked = scenario(
        queue={"limit": "30p", "aqm": "codel", "ecn": True},
        tcp={"ecn": True},
        traffic=[{**traffic[0], "variant": "dctcp"}, traffic[1]],
    )
    assert sum(made(marked, "codel").data["queues"][0]["marks"]) > 0
