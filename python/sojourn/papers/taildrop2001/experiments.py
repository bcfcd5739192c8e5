"""The experiments of the paper: four mechanisms at ten loads, and three variations.

Every load has its own buffer and thresholds (Figs. 3a and 4a), read from the table of printed parameters.
Claims about the testbed are judged on its simulated twin, with the packet sizes and the TCP of the testbed's
hosts; the paper's own simulation has those of ns-2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from sojourn.papers.claims import rows
from sojourn.papers.experiment import Arm, Experiment
from sojourn.spec.scenario import Scenario

TESTBED, FTP, WEB = "td-fig3-ftp-testbed", "td-fig3-ftp-sim", "td-fig4-web-sim"
BUFFER, LIMITS, WEIGHT, FUNCTION = "td-ftp-td-buffer", "td-web-load-limits", "td-web-wq", "td-fig1-dropfunc"

MECHANISMS = ("TD", "REDstd", "GREDstd", "REDopt")
RED = MECHANISMS[1:]
#: Loads: FTP flows, web sessions, sessions at which w_q varies.
FLOWS = (16, 32, 64, 128, 256)
SESSIONS = (800, 1000, 1200, 1300, 1400)
WEIGHED = (1200, 1400)
#: Sessions beyond the paper's range and one load within it, with runs of the same length; each with its
#: mechanisms and the load whose thresholds it uses.
BEYOND = {
    600: (800, ("TD",)),
    700: (800, MECHANISMS),
    1200: (1200, MECHANISMS),
    1600: (1400, MECHANISMS),
    1800: (1400, ("TD",)),
}
#: Grids not given in the paper: buffers of tail drop (packets), weights of REDopt.
BUFFERS = (90, 110, 130, 150, 170, 190, 210)
WEIGHTS = ("printed", "0.0005", "0.002", "0.01")

_NETWORK = ("A-TD-1", "A-TD-2", "A-TD-5", "A-TD-6", "A-TD-7")
_RED = ("A-TD-3", "A-TD-4")
_NS2 = ("A-TD-10", "A-TD-19")
_FTP = (*_NETWORK, *_RED, *_NS2, "A-TD-12")
_WEB = (*_NETWORK, *_RED, *_NS2, *(f"A-TD-{i}" for i in range(13, 19)), "A-TD-21")


@dataclass(frozen=True)
class Setting:
    """A mechanism at a load, as printed: packets, and for RED the thresholds."""

    buffer: int
    min_th: int = 0
    max_th: int = 0
    max_p: str = ""
    w_q: str = ""

    @property
    def middle(self) -> float:
        """The midpoint of the thresholds, in packets."""
        return (self.min_th + self.max_th) / 2

    @property
    def width(self) -> int:
        """The distance of the thresholds, in packets."""
        return self.max_th - self.min_th


@cache
def printed() -> dict[tuple[str, int], Setting]:
    """Return the settings of Figs. 3(a) and 4(a) by mechanism and load; all loads are distinct."""
    words: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows(resources.files(__package__) / "data" / "parameters.csv"):
        if row["load_value"]:
            key = row["algorithm"], int(row["load_value"])
            words.setdefault(key, {})[row["parameter"]] = row["value"]
    found: dict[tuple[str, int], Setting] = {}
    for (name, load), one in words.items():
        whole = {key: int(value) for key, value in one.items() if key in ("buffer", "min_th", "max_th")}
        setting = Setting(**whole, max_p=one.get("max_p", ""), w_q=one.get("w_q", ""))
        for mechanism in ("REDstd", "GREDstd") if name == "(G)REDstd" else (name,):
            found[mechanism, load] = setting
    return found


@cache
def scenario(name: str, count: int, duration: str | None = None) -> Scenario:
    """Return one of the paper's scenarios under a load."""
    file = resources.files(__package__) / "scenarios" / f"{name}.toml"
    found = Scenario.from_toml(file.read_text(encoding="utf-8"), f"{name}.toml")
    return lasting(found.with_(traffic=_counted(found, count)), duration or found.duration)


def _counted(found: Scenario, count: int) -> list[dict[str, Any]]:
    data = [one.model_dump(by_alias=True, exclude_none=True) for one in found.traffic]
    return [one if one["name"] == "udp" else {**one, "count": count} for one in data]


def lasting(found: Scenario, duration: str) -> Scenario:
    """Return a scenario with another duration."""
    return found.with_(duration=duration)


def arm(mechanism: str, load: int, where: Scenario, name: str = "", setting: int = 0) -> Arm:
    """Return a mechanism with the settings printed for `load` (or for the load `setting`)."""
    one = printed()[mechanism, setting or load]
    words = {"limit": f"{one.buffer}p"}
    if mechanism != "TD":
        gentle = "on" if mechanism == "GREDstd" else "off"
        words |= {"min_th": f"{one.min_th}p", "max_th": f"{one.max_th}p", "max_p": one.max_p, "w_q": one.w_q}
        words |= {"gentle": gentle}
    return Arm(name or f"{mechanism} {load}", where, "droptail" if mechanism == "TD" else "red", words)


def shorter(duration: str) -> Any:
    """Return the function that shortens an arm for a quick run."""
    return lambda one: one.within(lasting(one.scenario, duration))


def experiments() -> list[Experiment]:
    """Return every experiment of the paper, the computed one first."""
    return [_function(), _testbed(), _ftp(), _buffer(), _web(), _limits(), _weight()]


def _function() -> Experiment:
    title = "The drop functions of RED and gentle RED"
    return Experiment(FUNCTION, title, "Fig. 1", (), ("A-TD-3",), world="analytic")


def _testbed() -> Experiment:
    return Experiment(
        TESTBED,
        "Long FTP flows on the testbed, 500 s a run",
        "Figs. 2(a), 3",
        tuple(arm(name, load, scenario(TESTBED, load)) for load in FLOWS for name in MECHANISMS),
        (*_NETWORK, *_RED, "A-TD-8", "A-TD-9", "A-TD-10", "A-TD-11", "A-TD-20"),
        also=("real",),
        quick_seeds=10,
        short=shorter("250s"),
    )


def _ftp() -> Experiment:
    return Experiment(
        FTP,
        "Long FTP flows, the paper's simulation, 500 s a run",
        "Fig. 2(b), section 3.4",
        tuple(arm(name, load, scenario(FTP, load)) for load in FLOWS for name in MECHANISMS),
        (*_FTP, "A-TD-20"),
        short=shorter("250s"),
    )


def _buffer() -> Experiment:
    return Experiment(
        BUFFER,
        "Tail drop with smaller buffers, 500 s a run",
        "Section 4",
        tuple(
            Arm(f"TD {load} B={size}", scenario(FTP, load), "droptail", {"limit": f"{size}p"})
            for load in FLOWS
            for size in BUFFERS
        ),
        (*_FTP, "A-TD-23"),
        short=shorter("250s"),
    )


def _web() -> Experiment:
    return Experiment(
        WEB,
        "Web traffic, 2000 s a run",
        "Fig. 4, Table 1",
        tuple(arm(name, load, scenario(WEB, load)) for load in SESSIONS for name in MECHANISMS),
        _WEB,
        most_seeds=10,
        short=shorter("500s"),
    )


def _limits() -> Experiment:
    return Experiment(
        LIMITS,
        "Fewer sessions than the paper's, and more, 1000 s a run",
        "Section 5",
        tuple(
            arm(name, load, scenario(WEB, load, "1000s"), setting=like)
            for load, (like, names) in BEYOND.items()
            for name in names
        ),
        (*_WEB, "A-TD-22"),
        most_seeds=10,
        short=shorter("500s"),
    )


def _weight() -> Experiment:
    def weighed(load: int, weight: str) -> Arm:
        one = arm("REDopt", load, scenario(WEB, load), f"{load} w_q={weight}")
        return one if weight == "printed" else one.having(w_q=weight)

    return Experiment(
        WEIGHT,
        "REDopt with other queue weights under web traffic, 2000 s a run",
        "Section 5, consecutive losses",
        tuple(weighed(load, weight) for load in WEIGHED for weight in WEIGHTS),
        (*_WEB, "A-TD-24"),
        most_seeds=10,
        short=shorter("500s"),
    )
