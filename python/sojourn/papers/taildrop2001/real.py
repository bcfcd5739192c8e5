"""The testbed with real hosts: current Linux TCP, the gateway in place of dummynet, runs of one minute."""

from __future__ import annotations

from functools import cache

from sojourn.papers.experiment import Arm
from sojourn.papers.real import Testbed
from sojourn.papers.taildrop2001.experiments import FLOWS, MECHANISMS, TESTBED, arm, scenario

SCENARIO = "td-fig3-ftp-real"
#: Loads of the default arms: light and medium.
USUAL = (16, 64)


def testbeds() -> dict[str, Testbed]:
    """Return the testbeds of the real world: by default all mechanisms at two loads."""
    names = {load: tuple(f"{mechanism} {load}" for mechanism in MECHANISMS) for load in FLOWS}
    usual = tuple(name for load in USUAL for name in names[load])
    return {TESTBED: Testbed(arms, usual, names[16])}


@cache
def arms() -> dict[str, Arm]:
    """Return every arm by its name."""
    found = [arm(name, load, scenario(SCENARIO, load)) for load in FLOWS for name in MECHANISMS]
    return {one.name: one for one in found}
