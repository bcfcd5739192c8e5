"""The experiments of the paper: which algorithms run in which scenario, with which parameters.

Every value stated in the paper is explicit here, so that no result depends on a default of the library. RED's
`wait` comes from the ns-2 conventions of the scenario.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from sojourn.papers.bio2002 import diffserv
from sojourn.papers.experiment import Arm, Experiment
from sojourn.spec.scenario import Scenario

#: Queue sizes of Figs. 5, 7, 9 and 11 to 13 in packets (assumed; 160 is named), and that of the traces.
SIZES = (20, 40, 60, 80, 100, 120, 160, 200, 300)
TRACED = 160
#: "d_i = 0.0005, d_d = 0.001 and freeze_time = 10 ms".
BLUE = {"d1": "0.0005", "d2": "0.001", "freeze_time": "10ms"}

#: The cases: title, figure, assumptions beyond those common to all.
CASES = {
    "bio-case1": ("Large round-trip times, ECN", "Figs. 5 to 8", (1, 5)),
    "bio-case2": ("Small round-trip times, ECN", "Figs. 9 to 11", (5,)),
    "bio-case3": ("Large round-trip times, no ECN", "Figs. 12 to 15", (1,)),
    "bio-case3-small": ("Small round-trip times, no ECN", "Section 3.3", ()),
}
_CASES = (2, 3, 4, 6, 7, 8, 9, 10, 11, 19, 20)


@cache
def scenario(name: str) -> Scenario:
    """Return one of the paper's scenarios, by the name of its file."""
    file = resources.files(__package__) / "scenarios" / f"{name}.toml"
    return Scenario.from_toml(file.read_text(encoding="utf-8"), f"{name}.toml")


def red(size: int) -> dict[str, str]:
    """Return RED's parameters: "min_th = q_size/4 and max_th = 3 min_th", max_p 1, w_q 0.002."""
    return {
        "limit": f"{size}p",
        "min_th": f"{size // 4}p",
        "max_th": f"{3 * size // 4}p",
        "max_p": "1",
        "w_q": "0.002",
        "gentle": "off",
    }


def pair(where: Scenario, size: int) -> tuple[Arm, Arm]:
    """Return RED and BLUE with queues of one size."""
    blue = {"limit": f"{size}p", **BLUE}
    return Arm(f"RED {size}p", where, "red", red(size)), Arm(f"BLUE {size}p", where, "blue", blue)


def experiments() -> list[Experiment]:
    """Return every experiment of the paper, the computed one first."""
    curves = Experiment("bio-curves", "Drop curves of RED and RIO", "Figs. 2 and 16", world="analytic")
    return [curves, *_cases(), diffserv.experiment(scenario(diffserv.ID))]


def _cases() -> list[Experiment]:
    found = []
    for name, (title, figure, more) in CASES.items():
        arms = tuple(arm for size in SIZES for arm in pair(scenario(name), size))
        assumptions = tuple(f"A-BIO-{i}" for i in sorted((*_CASES, *more)))
        found.append(Experiment(name, title, figure, arms, assumptions))
    return found
