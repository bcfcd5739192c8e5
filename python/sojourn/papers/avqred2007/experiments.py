"""The simulations: the 20 settings on the testbed's twin, small queues, and neighbours of the settings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib import resources

from sojourn.errors import InputError
from sojourn.papers.avqred2007.settings import BEST, TABLE1, TUNED, Words, scaled
from sojourn.papers.experiment import Arm, Experiment
from sojourn.runner.check import check
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario

#: The testbed, its simulated twin, and the other experiments.
REAL, TWIN, SMALL, TUNING, ARITHMETIC = (
    "avq-emul",
    "avq-emul-sim",
    "avq-small-queue",
    "avq-tuning",
    "avq-arithmetic",
)
SHIFT = "avq-capacity-shift"
ASSUMED = tuple(f"A-AVQ-{i}" for i in (*range(1, 17), 26))
#: ARED as in Floyd et al. (2001) except for its bound of max_p; AVQRED with another minimum capacity.
PLAIN, LOW = "ARED1 plain", "AVQRED3 min 5"
#: Physical queue sizes (packets) and the algorithms that are run with them (assumed).
LIMITS = (8, 15, 30, 100)
ON_SMALL = ("AVQRED3", "RED2", "DropTail")
#: Those that appear in a claim.
JUDGED = ("AVQRED3 15p", "RED2 15p")
#: The algorithms of the experiment with shifts, and how the capacity shifts about the twin's mean (assumed).
ON_SHIFT = ("RED2", "GKVQ2", "AVQ3", "AVQRED3")
MOVES = {"every": "10s", "rate": "uniform 8Mbit/s 29.8Mbit/s"}
STILL, SHIFTING = "still", "shifting"
#: Seeds of the twin, and the most where an inequality is undecided; the paper has three runs per setting.
SEEDS, MOST = 5, 10
#: Durations of experiments that the paper does not show (short queues, neighbours), and of other readings and
#: ``--quick``.
SHORT, QUICK = "200s", "150s"


@cache
def scenario() -> Scenario:
    """Return the testbed's twin."""
    file = resources.files(__package__) / "scenarios" / f"{TWIN}.toml"
    return Scenario.from_toml(file.read_text(encoding="utf-8"), f"{TWIN}.toml")


@cache
def shortened(name: str) -> Scenario:
    """Return the twin under another name, with the duration `SHORT`."""
    return scenario().with_(name=name, source=name, duration=SHORT)


def lasting(duration: str, arm: Arm) -> Arm:
    """Return an arm with another duration."""
    return arm.within(arm.scenario.with_(duration=duration))


def setting(name: str, where: Scenario | None = None) -> Arm:
    """Return a setting of Table 1 on the testbed's twin."""
    return Arm(name, where or scenario(), *TABLE1[name], target=22)


@cache
def varied(name: str) -> tuple[tuple[str, Words], ...]:
    """Return a setting's neighbours: each printed parameter half and one and a half times as large.

    Invalid ones (a probability above 1, equal thresholds) are left out.
    """
    algorithm, words = TABLE1[name]
    found = []
    for parameter in TUNED[algorithm]:
        for factor in (0.5, 1.5):
            arm = Arm(name, scenario(), algorithm, {**words, parameter: scaled(words[parameter], factor)})
            with suppress(InputError, ValueError):
                check([Point(arm.scenario, arm.spec, 1)])
                found.append((f"{name} {parameter} x{factor:g}", dict(arm.parameters)))
    return tuple(found)


def experiments() -> list[Experiment]:
    """Return every experiment with packets, and the computed one."""
    return [
        Experiment(ARITHMETIC, "Tables 3 to 6, G and H from Table 2", "Tables 2 to 6", world="analytic"),
        Experiment(REAL, "The testbed", "Tables 2 to 6", assumptions=ASSUMED, world="real"),
        _twin(),
        _small_queue(),
        _tuning(),
        _shift(),
    ]


def _twin() -> Experiment:
    arms = [setting(name) for name in TABLE1]
    plain = setting("ARED1").having(hysteresis="1")
    low = setting("AVQRED3").having(min_capacity="5Mbit/s")
    arms += [replace(plain, name=PLAIN), replace(low, name=LOW)]
    return Experiment(
        TWIN,
        "Twenty settings of seven algorithms under 4000 connections",
        "Tables 2 to 6, Figs. 3 to 5",
        tuple(arms),
        ASSUMED,
        seeds=SEEDS,
        most_seeds=MOST,
        quick_seeds=SEEDS,
        short=partial(lasting, QUICK),
    )


def _small_queue() -> Experiment:
    arms = []
    for limit in LIMITS:
        for name in ON_SMALL:
            algorithm, words = TABLE1.get(name, ("droptail", {}))
            arms.append(Arm(f"{name} {limit}p", shortened(SMALL), algorithm, {"limit": f"{limit}p", **words}))
    return Experiment(
        SMALL,
        "AVQRED, RED and drop tail with short queues",
        "Section 3",
        tuple(arms),
        (*ASSUMED, "A-AVQ-27"),
        also=("real",),
        seeds=SEEDS,
        most_seeds=MOST,
        quick_seeds=SEEDS,
        short=lambda arm: lasting(QUICK, arm) if arm.name in JUDGED else None,
    )


def _tuning() -> Experiment:
    arms = []
    for name in BEST.values():
        algorithm, _ = TABLE1[name]
        arms.append(setting(name, shortened(TUNING)))
        arms += [Arm(title, shortened(TUNING), algorithm, words) for title, words in varied(name)]
    return Experiment(
        TUNING,
        "Each parameter of the best settings half and one and a half times as large",
        "Section 4.1.1",
        tuple(arms),
        (*ASSUMED, "A-AVQ-28"),
        also=("real",),
        seeds=3,
        most_seeds=3,
        quick_seeds=3,
        short=partial(lasting, QUICK),
    )


def moving(where: Scenario, **changes: str) -> Scenario:
    """Return a scenario whose capacity shifts."""
    data = where.model_dump(by_alias=True, exclude_none=True)
    bell = {**data["dumbbell"], "capacity": {**MOVES, **changes}, "rate": MOVES["rate"].split()[-1]}
    return where.with_(dumbbell=bell)


def _shift() -> Experiment:
    still = shortened(SHIFT)
    places = {STILL: still, SHIFTING: moving(still)}
    arms = [replace(setting(n, where), name=f"{n} {how}") for how, where in places.items() for n in ON_SHIFT]
    return Experiment(
        SHIFT,
        "A capacity that shifts every 10 s against one that varies about its mean",
        "Section 2.4",
        tuple(arms),
        (*ASSUMED, "A-AVQ-29"),
        seeds=SEEDS,
        most_seeds=MOST,
        quick_seeds=SEEDS,
        short=partial(lasting, QUICK),
    )
