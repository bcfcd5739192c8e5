"""What the wires of real links do to packets: the shell's options, and a scenario in the real world.

Mutants seen to fail: the impairments of the other direction; a scenario's wire that is left out; other random
numbers.
"""

from __future__ import annotations

import json

import pytest

import sojourn
from support import Cli

LINK = ("--rate", "20mbit", "--delay", "1ms", "--no-report", "--json")
PING = ("--", "ping", "-c", "4", "-i", "0.02", "-W", "1", "198.18.16.1")
SCENARIO = """
name = "wire"
duration = "2500ms"
conventions = "linux"
[dumbbell]
rate = "10Mbit/s"
delay = "2ms"
impairment = { loss = "30%", duplicate = "20%" }
[queue]
limit = "100p"
[[traffic]]
name = "cbr"
kind = "udp-cbr"
rate = "2Mbit/s"
size = "500B"
stop = "2s"
"""


@pytest.mark.usefixtures("places")
def test_each_direction_of_a_shell_has_its_impairments(process: Cli) -> None:
    """Packets from the program are copied, and answers are lost."""
    done = process("shell", *LINK, "--up-impair", "duplicate=100%", "--impair", "loss=1", *PING)
    assert " 100% packet loss" in done.stdout, done.stdout + done.stderr
    found = json.loads(done.stdout[done.stdout.index("\n{") :])
    assert (found["packets"]["copied"], found["packets"]["lost"]) == (4, 8)
    assert found["link"]["up_impair"] == ["duplicate=100%"]
    lines = [line.split() for line in done.stderr.splitlines()]
    assert ["lost", "0", "8"] in lines
    assert ["arrived", "twice", "4", "0"] in lines


@pytest.mark.usefixtures("places")
def test_a_real_wire_loses_the_packets_that_a_simulated_one_loses() -> None:
    """Both take the same random numbers: packet n of the wire has the same outcome, as far as it is sent."""
    found = []
    for world in ("real", "simulated"):
        (outcome,) = sojourn.run(
            sojourn.Scenario.from_toml(SCENARIO), ["droptail"], seeds=1, world=world
        ).outcomes
        wires = outcome.record.rows("links")
        assert outcome.metrics["link_losses"] == wires["lost_packets"][0]
        found.append((wires["packets"][0], wires["lost_packets"][0], wires["copied_packets"][0]))
    packets, lost, copied = (abs(real - simulated) for real, simulated in zip(*found, strict=True))
    assert lost <= packets
    assert copied <= packets
    assert 0.1 < found[0][1] / found[0][0] < 0.4
