"""The checks of every claim about the testbed, made for one set of runs: the simulated twin, or real packets.

The claims are in ``data/claims.csv``; margins are those of its column ``check``. AVQRED 3 is compared with
the best setting of each other algorithm, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sojourn.papers.avqred2007.arithmetic import improvement
from sojourn.papers.avqred2007.experiments import (
    LOW,
    PLAIN,
    SEEDS,
    SHIFT,
    SHIFTING,
    SMALL,
    STILL,
    TUNING,
    varied,
)
from sojourn.papers.avqred2007.measures import TABLE2
from sojourn.papers.avqred2007.ranking import Ranking, by_both, place
from sojourn.papers.avqred2007.settings import BEST, OTHERS, SETTINGS, TABLE1
from sojourn.papers.avqred2007.steady import Steady
from sojourn.papers.checks import Below, Check, ShareOfSeeds, Within
from sojourn.papers.judge import All, WithSecondary
from sojourn.papers.terms import Derived, Quantity, Term

TITLES = {
    **TABLE2,
    "drop_ratio": ("loss ratio", ""),
    "mean_drop_run": ("drops in a row", "packets"),
    "mean_queue_packets": ("mean queue", "packets"),
    "arrivals_100ms": ("arrivals per 100 ms", "packets"),
    "overflow_share": ("share of drops by overflow", ""),
    "v_capacity": ("virtual capacity", "bit/s"),
    "max_p": ("mean max_p", ""),
}
OURS = BEST["AVQRED"]
#: Mean packet of the paper's arithmetic, bytes.
PACKET = 1400
#: A virtual queue holds 10 ms of its capacity, which may depart in addition: as a fraction of the shortest
#: run.
BURST = 0.010 / 50


@dataclass(frozen=True)
class Testbed:
    """One set of runs of the 20 settings.

    Attributes
    ----------
    experiment : str
        Id of the experiment with the runs.
    seeds : int
        Fewest runs of a setting on which a claim is decided.
    """

    experiment: str
    seeds: int = SEEDS

    def of(self, metric: str, setting: str) -> Quantity:
        """Return a metric of a setting."""
        title, unit = TITLES[metric]
        return Quantity(metric, setting, self.experiment, unit, title)

    def below(self, metric: str, a: str, b: str, factor: float = 1.0, strict: bool = True) -> Below:
        """Return the check that the metric of `a` is less than `factor` times that of `b`."""
        one, other = self.of(metric, a), self.of(metric, b)
        return Below(one, other, log=True, factor=factor, strict=strict, seeds=self.seeds)

    def ours_below(self, metric: str, factor: float, *algorithms: str) -> Check:
        """Return the check that AVQRED 3 has at most `factor` times the metric of the best of each other."""
        return All(
            tuple(self.below(metric, OURS, BEST[a], factor, factor == 1) for a in algorithms or OTHERS)
        )

    def ratio(self, metric: str, low: float, high: float, *algorithms: str) -> All:
        """Return the check that AVQRED 3 has `low` to `high` times the metric of each other algorithm."""
        return All(
            tuple(
                Within(self.of(metric, OURS), low, high, self.of(metric, BEST[a]), True, self.seeds)
                for a in algorithms
            )
        )

    def rising(self, metric: str, *settings: str) -> Check:
        """Return the check that a metric rises from each setting to the next."""
        return All(tuple(self.below(metric, a, b) for a, b in pairwise(settings)))

    def within(self, term: Term, low: float, high: float) -> Within:
        """Return the check that a number lies in a margin."""
        return Within(term, low, high, seeds=self.seeds)

    def checks(self) -> dict[str, Check]:
        """Return the check of every claim about the 20 settings."""
        return self._utilisation() | self._delay() | self._drops() | self._ranks() | self._other()

    def _utilisation(self) -> dict[str, Check]:
        near = ("RED", "ARED", "PI")
        less = tuple(self.below("utilisation", OURS, BEST[a]) for a in near)
        virtual = ("GKVQ", "AVQ")
        return {
            "AVQ-02": All((*self.ratio("utilisation", 0.95, 1.0, *near).parts, *less)),
            "AVQ-03": self.ours_below("util_std", 0.91, "RED", "ARED", "BLUE", "PI"),
            "AVQ-04": All(
                (
                    *(self.below("util_std", BEST[a], OURS) for a in virtual),
                    *(self.below("utilisation", BEST[a], OURS, 0.85) for a in virtual),
                )
            ),
            "AVQ-05": self.below("utilisation", BEST["BLUE"], OURS),
            "AVQ-16": All(
                tuple(
                    self.within(self._share_of_capacity(name), 0.94, 1.0 + BURST)
                    for name in SETTINGS
                    if TABLE1[name][0] in ("gkvq", "avq")
                )
            ),
            "AVQ-22": All(tuple(self.below("util_std", "AVQRED2", a) for a in ("AVQRED1", "AVQRED3"))),
        }

    def _share_of_capacity(self, setting: str) -> Derived:
        rate = float(TABLE1[setting][1]["rate"].removesuffix("Mbit/s"))
        of = (self.of("utilisation", setting),)
        return Derived("utilisation / virtual capacity", of, lambda used: used / rate, who=setting)

    def _delay(self) -> dict[str, Check]:
        queues = [name for name in SETTINGS if name.startswith(("RED", "ARED", "PI"))]
        gkvq = ("GKVQ1", "GKVQ2", "GKVQ3")
        return {
            "AVQ-06": self.ours_below("delay", 0.75),
            "AVQ-07": All(
                (
                    *self.ratio("delay_std", 1.0, 1.2, "RED", "ARED").parts,
                    *(self.below("delay_std", BEST[a], OURS) for a in ("RED", "ARED")),
                )
            ),
            "AVQ-08": self.ours_below("delay_std", 0.7, "BLUE", "GKVQ", "AVQ", "PI"),
            "AVQ-15": All((self.below("delay", "RED2", "BLUE1", 0.2), self.below("drops", "BLUE1", "RED2"))),
            "AVQ-17": All((self.rising("delay", *gkvq), self.rising("delay_std", *gkvq))),
            "AVQ-18": self.rising("delay", "RED2", "RED1", "RED3"),
            "AVQ-20": All(tuple(self.within(self.of("delay", name), 7, 13) for name in queues)),
        }

    def _drops(self) -> dict[str, Check]:
        steady = ("RED", "ARED", "GKVQ", "AVQ", "PI")
        return {
            "AVQ-09": self.ratio("drops", 0.80, 0.92, "GKVQ", "AVQ"),
            "AVQ-10": self.ratio("drops", 0.98, 1.02, "RED", "ARED", "BLUE", "PI"),
            "AVQ-11": self.ours_below("drops", 1, "RED", "ARED"),
            "AVQ-12": self.ours_below("drop_std", 0.75, *steady),
            "AVQ-13": self.below("drop_std", BEST["BLUE"], OURS),
            "AVQ-19": All((self.below("drop_std", "RED1", "RED3"), self.below("drop_std", "ARED1", "ARED2"))),
            "AVQ-23": WithSecondary(
                self.within(self._range("arrivals_100ms"), -math.inf, 1.08),
                also=self.within(self._derived_range(), -math.inf, 1.08),
            ),
            "AVQ-24": All(tuple(self.within(self.of("drop_ratio", name), 0.44, 0.63) for name in SETTINGS)),
            "AVQ-26": self.ours_below("mean_drop_run", 1, *steady),
        }

    def _range(self, metric: str) -> Derived:
        of = tuple(self.of(metric, name) for name in SETTINGS)
        return Derived(f"{of[0].what}: most / least of 20 settings", of, _spread)

    def _derived_range(self) -> Derived:
        """Return the same computed from the columns of Table 2: "utilisation / (8 * 1400 B) + drops"."""
        of = tuple(self.of(metric, name) for metric in ("utilisation", "drops") for name in SETTINGS)
        count = len(SETTINGS)

        def spread(*values: float) -> float:
            pairs = zip(values[:count], values[count:], strict=True)
            return _spread(*(used * 1e6 * 0.1 / 8 / PACKET + lost for used, lost in pairs))

        return Derived("arrivals from columns A and E: most / least of 20 settings", of, spread)

    def _ranks(self) -> dict[str, Check]:
        ranking = Ranking(self.experiment, SETTINGS)
        ours = [name for name in SETTINGS if name.startswith("AVQRED")]

        def against(sums: dict[str, int]) -> float:
            return sums["AVQRED3"] / min(sums["AVQRED1"], sums["AVQRED2"])

        second = "place of the second-best AVQRED setting among 20"
        third = "G of AVQRED 3 / least G of AVQRED 1 and 2"
        return {
            "AVQ-01": All(
                by_both(second, ranking, lambda g: place(g, ours, 2), lambda p: p == 2, "2", self.seeds)
            ),
            "AVQ-21": All(by_both(third, ranking, against, lambda x: x < 1, "< 1", self.seeds)),  # type: ignore[arg-type]
        }

    def _other(self) -> dict[str, Check]:
        plain = self.of("mean_queue_packets", PLAIN), self.of("max_p", PLAIN)
        found = tuple(self.of("v_capacity", name) for name in (LOW, OURS))
        apart = Derived("virtual capacity: min 5 Mbit/s - min 13 Mbit/s", found, _apart, "Mbit/s")
        return {
            "AVQ-14": All(tuple(self.within(self.overall(a), 8, 26) for a in OTHERS)),
            "AVQ-25": Steady(
                tuple(
                    self.of(metric, name)
                    for metric in ("utilisation", "util_std", "delay", "drops")
                    for name in SETTINGS
                )
            ),
            "AVQ-27": All(
                (
                    self.within(plain[0], 30, math.inf),
                    Below(plain[1], self.of("drop_ratio", PLAIN), log=True, seeds=self.seeds),
                )
            ),
            "AVQ-29": ShareOfSeeds(
                "apart by at most 0.5 Mbit/s", lambda x: abs(x) <= 0.5, (apart,), self.seeds
            ),
        }

    def improvement(self, metric: str, against: str) -> Derived:
        """Return a row of Tables 3 to 5 against an algorithm, in per cent."""
        of = (self.of(metric, OURS), self.of(metric, BEST[against]))
        what = f"improvement of {of[0].what}"
        return Derived(what, of, lambda a, b: improvement(metric, a, b), "%", f"AVQRED over {against}")

    def overall(self, against: str) -> Derived:
        """Return Table 6 against an algorithm: the mean of the six rows, in per cent."""
        of = tuple(self.of(metric, name) for name in (OURS, BEST[against]) for metric in TABLE2)

        def mean(*values: float) -> float:
            half = len(TABLE2)
            rows = zip(TABLE2, values[:half], values[half:], strict=True)
            return math.fsum(improvement(metric, a, b) for metric, a, b in rows) / half

        return Derived("overall improvement", of, mean, "%", f"AVQRED over {against}")


def _spread(*values: float) -> float:
    return max(values) / min(values)


def _apart(low: float, high: float) -> float:
    return (low - high) / 1e6


def small_queue() -> Check:
    """Return the check of AVQ-28: with a buffer of 15 p RED drops by overflow, AVQRED does not."""
    ours, red = (
        Quantity("overflow_share", f"{name} 15p", SMALL, title=TITLES["overflow_share"][0])
        for name in ("AVQRED3", "RED2")
    )
    return All((Within(ours, -math.inf, 0.1, seeds=SEEDS), Within(red, 0.5, math.inf, seeds=SEEDS)))


def tuning() -> Check:
    """Return the check of AVQ-48: each best setting is no worse than the median of its neighbours."""
    parts: list[Check] = []
    for setting in BEST.values():
        names = [name for name, _ in varied(setting)]
        parts += by_both(
            f"G of {setting} / median of its {len(names)} neighbours",
            Ranking(TUNING, (setting, *names)),
            lambda sums, own=setting, others=tuple(names): sums[own] / _median([sums[n] for n in others]),  # type: ignore[misc]
            lambda x: x <= 1,
            "<= 1",
            seeds=3,
        )
    return All(tuple(parts))


def _median(values: Sequence[int]) -> float:
    order, half = sorted(values), len(values) // 2
    return float(order[half]) if len(order) % 2 else (order[half - 1] + order[half]) / 2


def shift() -> dict[str, Check]:
    """Return the checks of what a shift of the processing allocation does."""
    bed, virtual = Testbed(SHIFT), ("GKVQ2", "AVQ3")

    def more(name: str) -> Below:
        return bed.below("delay", f"{name} {STILL}", f"{name} {SHIFTING}", 0.5, strict=False)

    overflow = (bed.of("overflow_share", f"{name} {SHIFTING}") for name in virtual)
    ours = f"{OURS} {SHIFTING}"
    return {
        "AVQ-49": All(tuple(more(name) for name in virtual)),
        "AVQ-50": All(tuple(bed.within(one, 0.001, math.inf) for one in overflow)),
        "AVQ-51": All(tuple(bed.below("delay", ours, f"{name} {SHIFTING}") for name in virtual)),
    }
