"""The experiments of the paper: which algorithms run in which scenario, with which parameters.

PI and REM have ns-2's parameters as the paper prints them, RAQM its own; all three have the same target.
Every value stated in the paper is explicit here, so that no result depends on a default of the library.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from sojourn.papers.experiment import Arm, Experiment
from sojourn.spec.scenario import Scenario

#: "a = 0.00001822, b = 0.00001816, sampling frequency is 170".
PI = {"a": "0.00001822", "b": "0.00001816", "f_s": "170"}
#: "phi = 1.001, alpha = 0.1, gamma = 0.001, sampling interval is 2 ms"; the mean packet is assumed.
REM = {
    "phi": "1.001",
    "alpha": "0.1",
    "gamma": "0.001",
    "period": "2ms",
    "w_in": "1",
    "mean_packet": "500B",
}
#: "T and f' are set at 1.0 s and 0.1 ... initial value 2/r_0, r_0 is set to the link capacity"; eps,
#: the clamp and the floor are assumed.
RAQM = {
    "mode": "dependent",
    "alpha": "adaptive",
    "eps": "0.9",
    "m_0": "2",
    "rate": "10Mbit/s",
    "gamma": "1",
    "loss_corrected": "off",
    "count": "arrived",
    "period": "1s",
    "f_prime": "0.1",
    "p_0": "0.0002",
    "p_min": "0.00001",
    "x_min": "0.05",
    "x_max": "1.95",
}
#: The parameter of each algorithm that sets its target.
TARGET = {"pi": "q_ref", "rem": "b_star", "raqm": "q_0"}
#: The targets of Fig. 8.
TARGETS = (20, 30, 40, 50, 60, 70, 80, 90)
#: Measuring periods of the sweep (assumed grid).
PERIODS = ("0.1s", "0.25s", "0.5s", "1s", "2s")
#: Static gains m = alpha r_0, and adaptive shares of the bound (assumed grid).
STATIC = ("0.5", "1", "2", "3.5", "5")
ADAPTIVE = ("0.5", "0.9", "0.99")

#: Wanted rates of the queue-independent mode, as shares of the link (assumed grid), by number of flows.
SHARES = ("0.9", "0.95", "0.98")
CROWDS = {40: "raqm-fig5a", 400: "raqm-fig5b"}

#: The single figures: experiment, its round-trip times, number of flows.
FIGURES = {
    "raqm-fig5a": ("small round-trip time", 40),
    "raqm-fig5b": ("small round-trip time", 400),
    "raqm-fig6a": ("large round-trip time", 40),
    "raqm-fig6b": ("large round-trip time", 400),
    "raqm-fig7a": ("diverse round-trip times", 40),
    "raqm-fig7b": ("diverse round-trip times", 400),
}

_COMMON = tuple(f"A-RAQM-{i}" for i in (1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 17, 18))
_ALL = (*_COMMON[:5], "A-RAQM-6", *_COMMON[5:])


@cache
def scenario(name: str) -> Scenario:
    """Return one of the paper's scenarios, by the name of its file."""
    file = resources.files(__package__) / "scenarios" / f"{name}.toml"
    return Scenario.from_toml(file.read_text(encoding="utf-8"), f"{name}.toml")


def arm(title: str, where: Scenario, algorithm: str, target: int = 50, /, **parameters: str) -> Arm:
    """Return an algorithm with the paper's parameters, with some changed."""
    base = {"pi": PI, "rem": REM, "raqm": RAQM}[algorithm]
    words = {TARGET[algorithm]: f"{target}p", **base, **parameters}
    return Arm(title, where, algorithm, words, float(target))


def trio(where: Scenario, target: int = 50, suffix: str = "") -> tuple[Arm, ...]:
    """Return PI, REM and RAQM in one scenario with one target."""
    return tuple(arm(f"{name}{suffix}", where, name.lower(), target) for name in ("PI", "REM", "RAQM"))


def experiments() -> list[Experiment]:
    """Return every experiment of the paper, computed ones first."""
    return [*_computed(), *_figures(), _targets(), _hybrid(), _periods(), _gains(), _rates(), _unresponsive()]


def _computed() -> list[Experiment]:
    return [
        Experiment("raqm-fig1", "The bound c(x) on the scaled gain", "Fig. 1", world="analytic"),
        Experiment("raqm-fig3", "g(x) = x c(x)", "Fig. 3", world="analytic"),
        Experiment("raqm-theorems", "Lemmas and theorems on the scalar map", "Section 2", world="analytic"),
    ]


def _figures() -> list[Experiment]:
    found = []
    for name, (times, flows) in FIGURES.items():
        arms = trio(scenario(name))
        if name == "raqm-fig5a":
            arms = (*arms, arm("RAQM p_0=2e-5", scenario(name), "raqm", p_0="0.00002"))
        number = name.removeprefix("raqm-fig")
        figure = f"Fig. {number[0]}({number[1]})"
        found.append(Experiment(name, f"{flows} long flows, {times}", figure, arms, _ALL))
    return found


def _targets() -> Experiment:
    arms = [a for target in TARGETS for a in trio(scenario("raqm-fig8"), target, f" q_0={target}")]
    title = "Goodput and drop ratio against mean queue, 100 long flows"
    return Experiment("raqm-fig8", title, "Fig. 8", tuple(arms), (*_ALL, "A-RAQM-14"))


def _hybrid() -> Experiment:
    more = tuple(f"A-RAQM-{i}" for i in (10, 11, 12, 16))
    title = "Hybrid traffic: short flows and on/off UDP between 50 s and 150 s"
    return Experiment("raqm-fig9", title, "Fig. 9", trio(scenario("raqm-fig9")), (*_ALL, *more))


def _periods() -> Experiment:
    cases = {"case 1": scenario("raqm-fig5a"), "case 2": scenario("raqm-fig6a")}
    arms = [
        arm(f"RAQM T={period} {case}", where, "raqm", period=period)
        for case, where in cases.items()
        for period in PERIODS
    ]
    title = "Measuring period T of several round-trip times"
    return Experiment("raqm-T-sweep", title, "Section 2.4", tuple(arms), _COMMON)


def _gains() -> Experiment:
    title = "Static against adaptive gain, with and without a fifth of UDP"
    return Experiment("raqm-static-vs-adaptive", title, "Section 2.4", _with_and_without_udp(), _COMMON)


def _with_and_without_udp() -> tuple[Arm, ...]:
    cases = {"": scenario("raqm-fig5a"), " + UDP": scenario("raqm-fig5a-udp")}
    arms = []
    for suffix, where in cases.items():
        arms += [arm(f"static m={m}{suffix}", where, "raqm", alpha="static", m=m) for m in STATIC]
        arms += [arm(f"adaptive eps={eps}{suffix}", where, "raqm", eps=eps) for eps in ADAPTIVE]
    return tuple(arms)


def _rates() -> Experiment:
    arms = [
        arm(f"gamma={share} N={flows}", scenario(name), "raqm", mode="independent", gamma=share)
        for flows, name in CROWDS.items()
        for share in SHARES
    ]
    title = "Queue-independent mode: input rate and utilisation against the wanted rate"
    return Experiment("raqm-rate", title, "Sections 2.1 and 2.3", tuple(arms), _COMMON)


def _unresponsive() -> Experiment:
    """Return the arms of the gains again, for the two theorems about unresponsive flows."""
    title = "Theorems 4 and 5 in packets: how much the input rate varies with a fifth of UDP"
    return Experiment("raqm-unresponsive", title, "Theorems 4 and 5", _with_and_without_udp(), _COMMON)
