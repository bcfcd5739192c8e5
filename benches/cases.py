"""The benchmark cases: scenarios, and the commands of their twins in ns-2 and ns-3."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sojourn

HERE = Path(__file__).parent
#: The ns-2 script of the dumbbell, the same as in validation.
ORACLE = HERE.parent / "validation/ns2/oracle.tcl"


@dataclass(frozen=True)
class Case:
    """A scenario, an algorithm, and the arguments of its twins in ns-2 and ns-3 (None: there is none)."""

    name: str
    file: str
    spec: str
    ns2: list[str] | None = None
    ns3: list[str] | None = None
    #: Keys of the scenario with other values.
    changes: dict[str, Any] = field(default_factory=dict)
    #: The dumbbell's rate and its number of flows, if they are changed.
    rate: str | None = None
    flows: int | None = None
    #: Start of these flows; None: as in the scenario.
    start: str | None = None
    #: Duration (s) of the run whose instructions are counted; callgrind is fifty times slower.
    counted: str | None = None
    #: Whether memory is measured.
    memory: bool = False
    #: Whether `--check` bounds its instructions.
    bounded: bool = False

    def scenario(self, duration: str | None = None, part: int = 1, times: int = 1) -> sojourn.Scenario:
        """Return the scenario, or a `part`-th of its flows and rate, or `times` as many flows."""
        scenario = sojourn.load(HERE / self.file).with_(**{**self.changes, "warmup": "0s"})
        if duration is not None:
            scenario = scenario.with_(duration=duration)
        if self.flows is not None and self.rate is not None:
            data = scenario.model_dump(by_alias=True, exclude_none=True)
            number, unit = re.fullmatch(r"(\d+)(.*)", self.rate).groups()
            dumbbell = {**data["dumbbell"], "rate": f"{int(number) * 1000 // part}{unit}".replace("G", "M")}
            traffic = [{**data["traffic"][0], "count": self.flows * times // part}]
            if self.start is not None:
                traffic[0]["start"] = self.start
            scenario = scenario.with_(dumbbell=dumbbell, traffic=traffic)
        return scenario

    @property
    def seconds(self) -> float:
        """The duration of the scenario."""
        return float(self.scenario().duration.removesuffix("s"))


def oracle(aqm: str, *more: str) -> list[str]:
    """Return the script and arguments of the ns-2 dumbbell with 40 flows."""
    options = {"-N": "40", "-accdelays": "10,10,10,10,10", "-buf": "100", "-aqm": aqm}
    return [str(ORACLE), *(word for option in options.items() for word in option), *more]


def twin(name: str, *more: str) -> list[str]:
    """Return another script and its arguments."""
    return [str(HERE / "ns2" / name), *more]


RED = "red min_th 15 max_th 45 max_p 0.1 w_q 0.002"
MANY = "red min_th 1500p max_th 4500p max_p 0.1 w_q 0.0001"
WEB = "red min_th 35p max_th 150p max_p 0.1 w_q 0.002"
DUMBBELL, SACK = "dumbbell-40.toml", "dumbbell-40-sack.toml"
BRIEF = {"duration": "3s"}
#: Algorithms and schedulers with their defaults, all flows in one class.
OTHERS = (
    "pie", "cobalt", "avqred", "raqm", "choke", "fq_codel", "dualpi2", "fq_pie", "drr", "bio", "rio", "sfb",
    "ldc",
)  # fmt: skip
SLOW = {"conventions": "ns2", "duration": "3000s", "trace": {"interval": "10ms"}}
CASES = [
    Case("dumbbell-40-red", DUMBBELL, RED, oracle("RED"), ["--aqm=red"], bounded=True),
    Case("dumbbell-40-droptail", DUMBBELL, "droptail", oracle("DropTail"), ["--aqm=droptail"], bounded=True),
    Case("dumbbell-40-codel", DUMBBELL, "codel", None, ["--aqm=codel"], bounded=True),
    Case(
        "dumbbell-40-sack-red",
        SACK,
        RED,
        oracle("RED", "-tcp", "Sack1"),
        ["--aqm=red", "--sack=1"],
        bounded=True,
    ),
    Case(
        "dumbbell-40-sack-droptail",
        SACK,
        "droptail",
        oracle("DropTail", "-tcp", "Sack1"),
        ["--aqm=droptail", "--sack=1"],
        bounded=True,
    ),
    Case("dumbbell-40-sack-codel", SACK, "codel", None, ["--aqm=codel", "--sack=1"], bounded=True),
    Case("dumbbell-40-pi", DUMBBELL, "pi", oracle("PI")),
    *(Case(f"dumbbell-40-{spec}", DUMBBELL, spec, bounded=True) for spec in OTHERS),
    *(
        Case(f"linux-40-1g-{spec}", "linux-40-1g.toml", spec, counted="3s", bounded=True)
        for spec in ("droptail", "dualpi2", "fq_codel")
    ),
    *(
        Case(f"linux-40-10m-{spec}", "linux-40-10m.toml", spec, bounded=True)
        for spec in ("droptail", "codel", "fq_codel")
    ),
    Case("flows-10000-1g", "many.toml", MANY, rate="1Gbit/s", flows=10_000, counted="1s", memory=True),
    Case(
        "flows-10000-10g",
        "many.toml",
        MANY,
        changes=BRIEF,
        rate="10Gbit/s",
        flows=10_000,
        counted="500ms",
        memory=True,
    ),
    Case(
        "flows-100000-10g",
        "many.toml",
        MANY,
        changes=BRIEF,
        rate="10Gbit/s",
        flows=100_000,
        counted="500ms",
        memory=True,
    ),
    # Simultaneous events must not be scanned one by one: that would take ten times the instructions.
    Case(
        "flows-40000-at-once",
        "many.toml",
        MANY,
        changes=BRIEF,
        rate="10Gbit/s",
        flows=40_000,
        start="0s",
        counted="200ms",
        bounded=True,
    ),
    Case("two-way", "two-way.toml", RED, twin("two-way.tcl"), bounded=True),
    Case("gfc2-greedy", "gfc2-greedy.toml", "droptail", twin("gfc2.tcl", "-greedy", "1")),
    Case(
        "gfc2",
        "../examples/gfc2.toml",
        "droptail",
        twin("gfc2.tcl"),
        changes=SLOW,
        counted="300s",
        bounded=True,
    ),
    Case("web", "../examples/web.toml", WEB, twin("web.tcl"), changes={"conventions": "ns2"}),
]
