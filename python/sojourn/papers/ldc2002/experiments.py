"""The experiments of the paper: which algorithms run in which scenario, with which parameters.

Table 2 of the paper and the assumptions are explicit, so that no result depends on a default of the library.
Thresholds are in packets of 1000 B: "packet mode", as in ns-2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources

from sojourn.papers.experiment import SEEDS, Arm, Experiment
from sojourn.spec.scenario import Scenario

#: Table 2; "buffer" is 120 packets. b* of REM and max_q of FRED are assumed.
TABLE2 = {
    "DropTail": ("droptail", {}),
    "RED": ("red", {"min_th": "10p", "max_th": "30p", "w_q": "0.002", "max_p": "0.1", "gentle": "on"}),
    "SRED": ("sred", {"form": "full", "p_max": "0.15", "m": "1000", "p": "0.25"}),
    "FRED": (
        "fred",
        {"min_q": "4p", "min_th": "10p", "max_th": "30p", "w_q": "0.002", "max_p": "0.1", "many_flow": "off"},
    ),
    "BLUE": ("blue", {"d1": "0.2", "d2": "0.02", "freeze_time": "0.1s"}),
    "REM": (
        "rem",
        {
            "alpha": "0.1",
            "gamma": "0.005",
            "phi": "1.001",
            "w_in": "0.002",
            "period": "2ms",
            "b_star": "20p",
            "mean_packet": "1000B",
        },
    ),
    "LDC": (
        "ldc",
        {
            "d_target": "4s",
            "w_q": "0.002",
            "w_r": "0.998",
            "n": "3",
            "r_target": "0.95",
            "tau": "2ms",
            "w_d": "0.75",
            "w_l": "0.25",
        },
    ),
}
ALGORITHMS = tuple(TABLE2)
#: Table 5: names as the paper's fractions, weights of delay and of load.
WEIGHTS = {
    "(3/4,1/4)": ("0.75", "0.25"),
    "(1/2,1/2)": ("0.5", "0.5"),
    "(1,0)": ("1", "0"),
    "(0,1)": ("0", "1"),
}
#: The grids of section 5.3 (assumed): the parameter's name there and its values, the default first.
EXPONENTS = ("3", "1", "2", "4", "6")
INTERVALS = ("2ms", "5ms", "10ms", "20ms", "50ms")
AVERAGES = tuple((w_q, w_r) for w_q in ("0.002", "0.02", "0.2") for w_r in ("0.998", "0.9", "0.8"))
LOADS = ("0.95", "0.9", "0.98")
TARGETS = ("0.5s", "1s", "2s", "4s", "8s")

_COMMON = ("A-LDC-1", "A-LDC-2", "A-LDC-9", "A-LDC-11", "A-LDC-26")
_LDC = ("A-LDC-7", "A-LDC-8", "A-LDC-27")
_OTHERS = ("A-LDC-6", "A-LDC-10", "A-LDC-28")
_WEB = ("A-LDC-3", "A-LDC-4", "A-LDC-5", "A-LDC-12", "A-LDC-13")
_FTP = ("A-LDC-23", "A-LDC-24", "A-LDC-25")


@cache
def scenario(name: str) -> Scenario:
    """Return one of the paper's scenarios, by the name of its file."""
    file = resources.files(__package__) / "scenarios" / f"{name}.toml"
    return Scenario.from_toml(file.read_text(encoding="utf-8"), f"{name}.toml")


@cache
def web(duration: str, interval: str = "off") -> Scenario:
    """Return the simple web configuration with another duration, sampled every `interval`."""
    return scenario("ldc-simple-web").with_(duration=duration, trace={"interval": interval})


def arm(title: str, where: Scenario, algorithm: str, /, **parameters: str) -> Arm:
    """Return an algorithm of Table 2 with some parameters changed."""
    name, words = TABLE2[algorithm]
    return Arm(title, where, name, {**words, **parameters})


def experiments() -> list[Experiment]:
    """Return every experiment of the paper, computed ones first."""
    return [*_computed(), _gfc2(), _web(), _weights(), _sensitivity(), *_traces(), _complexity()]


def _computed() -> list[Experiment]:
    return [
        Experiment("ldc-analytic", "Eqs. 1 to 3 and their shape", "Figs. 3, 5, 6", world="analytic"),
    ]


def _complexity() -> Experiment:
    """Return the runs that show the lists of SRED and FRED; the rest is counted on single instances."""
    where = scenario("ldc-tab5-ftp").with_(duration="100s", trace={"interval": "100ms"})
    arms = tuple(arm(name, where, name) for name in ("SRED", "FRED"))
    return Experiment(
        "ldc-tab6-complexity",
        "State and work of each algorithm",
        "Table 6",
        arms,
        seeds=1,
        most_seeds=1,
        quick_seeds=1,
    )


def _traces() -> list[Experiment]:
    """Single runs that the paper plots over time; the sampling resolves their claims."""
    assumed = (*_COMMON, *_WEB)
    found = [
        Experiment(
            "ldc-fig1-blue-trace",
            "BLUE's drop probability and queue",
            "Fig. 1",
            (arm("BLUE", web("900s", "5ms"), "BLUE"),),
            assumed,
        ),
        Experiment(
            "ldc-fig2-red-trace",
            "RED's drop probability and queue",
            "Fig. 2",
            (arm("RED", web("100s", "10ms"), "RED"),),
            (*assumed, "A-LDC-28"),
        ),
        Experiment(
            "ldc-fig4-load-vs-queue",
            "Queue, drop probability from the queue alone, and load",
            "Fig. 4",
            (arm("LDC(1,0)", web("100s", "2ms"), "LDC", w_d="1", w_l="0"),),
            (*assumed, *_LDC, "A-LDC-14"),
        ),
        Experiment(
            "ldc-fig8-target-delay",
            "LDC's queueing delay against a target of 1.6 s",
            "Fig. 8",
            (arm("LDC", web("300s", "10ms"), "LDC", d_target="1.6s"),),
            (*assumed, *_LDC, "A-LDC-15"),
        ),
    ]
    return [replace(one, quick_seeds=one.seeds) for one in found]


def _web() -> Experiment:
    return Experiment(
        "ldc-simple-web-900",
        "The simple web configuration, all algorithms",
        "Fig. 7(a), section 5.1",
        tuple(arm(name, web("900s"), name) for name in ALGORITHMS),
        (*_COMMON, *_WEB, *_LDC, *_OTHERS),
        seeds=20,
        quick_seeds=20,
    )


def gfc2_arm(name: str, /, where: Scenario | None = None, **parameters: str) -> Arm:
    """Return an algorithm at every port of GFC-2's routers."""
    found = arm(name, where or scenario("ldc-tab3-4-gfc2"), name, **parameters)
    return everywhere(found)


def everywhere(found: Arm) -> Arm:
    """Return an arm with its algorithm in every queue of its scenario, not only in the measured one."""
    links = found.scenario.model_dump(by_alias=True, exclude_none=True).get("link")
    if not links:
        return found
    for link in links:
        for queue in ("queue", "reverse_queue"):
            if queue in link:
                link[queue]["aqm"] = found.spec
    return found.within(found.scenario.with_(link=links))


def _gfc2() -> Experiment:
    more = tuple(f"A-LDC-{i}" for i in range(16, 23))
    return Experiment(
        "ldc-tab3-4-gfc2",
        "Seven algorithms on GFC-2 with web, CBR and FTP traffic",
        "Tables 3 and 4",
        tuple(gfc2_arm(name) for name in ALGORITHMS),
        (*_COMMON, "A-LDC-3", "A-LDC-4", "A-LDC-5", *_LDC, *_OTHERS, *more, "A-LDC-25"),
        seeds=20,
    )


def ftp(title: str, **parameters: str) -> Arm:
    """Return LDC in the FTP configuration, where its target is 0.2 s."""
    return arm(title, scenario("ldc-tab5-ftp"), "LDC", **{"d_target": "0.2s", **parameters})


def _weights() -> Experiment:
    arms = [ftp(name, w_d=w_d, w_l=w_l) for name, (w_d, w_l) in WEIGHTS.items()]
    arms.append(ftp("(3/4,1/4) D=0.8s", d_target="0.8s"))
    return Experiment(
        "ldc-tab5-ftp-weights",
        "Weights of the delay and of the load, 100 FTP flows",
        "Table 5",
        tuple(arms),
        (*_COMMON, *_LDC, *_FTP),
        quick_seeds=SEEDS,
    )


def _sensitivity() -> Experiment:
    arms = [
        *(ftp(f"n={n}", n=n) for n in EXPONENTS),
        *(ftp(f"tau={tau}", tau=tau) for tau in INTERVALS),
        *(ftp(f"w_q={w_q} w_r={w_r}", w_q=w_q, w_r=w_r) for w_q, w_r in AVERAGES),
        *(ftp(f"R_target={load}", r_target=load) for load in LOADS),
        *(arm(f"web D={target}", web("900s"), "LDC", d_target=target) for target in TARGETS),
    ]
    return Experiment(
        "ldc-sensitivity",
        "Exponent, interval, averages, target load (FTP); target delay (web)",
        "Section 5.3",
        tuple(arms),
        (*_COMMON, *_LDC, *_FTP, *_WEB, "A-LDC-29"),
    )
