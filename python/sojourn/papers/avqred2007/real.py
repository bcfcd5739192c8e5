"""The testbed with real hosts: nginx, 4000 connections capped at 5 Mbit/s, a capacity that varies.

The simulated twin's scenario with the kernel's TCP and the initial window of 2007. The kernel's RACK-TLP and
its initial RTO of 1 s cannot be disabled; the twin has duplicate acknowledgements and 3 s. The hosts
therefore send more and lose more (60 %, not 50 %; a simulation with RACK-TLP and 1 s loses as much). The ramp
takes 20 s, not 100 s, and 60 s are measured.
"""

from __future__ import annotations

from functools import cache

from sojourn.papers.avqred2007.experiments import TWIN, scenario, setting
from sojourn.papers.avqred2007.settings import BEST, TABLE1
from sojourn.papers.experiment import Arm
from sojourn.papers.real import Testbed
from sojourn.spec.scenario import Scenario

NAME = "avq-emul"
#: All connections are established after 20 s; 20 s later the first of them have been replaced.
RAMP, WARMUP, DURATION = "1s", "40s", "100s"


def testbeds() -> dict[str, Testbed]:
    """Return the arms of the real world: by default the best setting of each algorithm."""
    return {TWIN: Testbed(arms, tuple(BEST.values()), ("RED2", "AVQRED3"))}


@cache
def place() -> Scenario:
    """Return the scenario."""
    twin = scenario()
    data = twin.model_dump(by_alias=True, exclude_none=True)
    http = {**data["traffic"][0], "tcp": {"initial_window": 2}, "stagger": {"every": RAMP, "by": 200}}
    return twin.with_(
        name=NAME, source=NAME, duration=DURATION, warmup=WARMUP, conventions="linux", traffic=[http]
    )


@cache
def arms() -> dict[str, Arm]:
    """Return every setting by its name."""
    return {name: setting(name, place()) for name in TABLE1}
