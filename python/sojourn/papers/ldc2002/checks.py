"""The check of every claim of the paper, by its id; the claims are in ``data/claims.csv``.

Margins and fractions are those of the column ``check``; none was chosen after seeing a result. Times and
ratios are compared by logarithms where they are not 0, throughputs by differences. "The lowest of all" means
lower than each of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from sojourn.papers.checks import Below, Check, Computed, ShareOfSeeds, Within
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.ldc2002 import analytic, complexity
from sojourn.papers.ldc2002.cells import table
from sojourn.papers.ldc2002.experiments import (
    ALGORITHMS,
    AVERAGES,
    EXPONENTS,
    INTERVALS,
    LOADS,
    TARGETS,
    WEIGHTS,
)
from sojourn.papers.ldc2002.spread import Highest, RatioOfSpreads, SpreadBelow
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import RankCorrelation

GFC2, WEB, FTP, SWEEP = "ldc-tab3-4-gfc2", "ldc-simple-web-900", "ldc-tab5-ftp-weights", "ldc-sensitivity"
#: Titles and units of metrics.
TITLES = {
    "http_response_time_mean": ("mean response time", "s"),
    "http_response_time_max": ("longest response time", "s"),
    "udp_delay_mean": ("mean UDP delay", "s"),
    "udp_delay_max": ("longest UDP delay", "s"),
    "throughput_http": ("web throughput", "Mbit/s"),
    "throughput_udp": ("UDP throughput", "Mbit/s"),
    "throughput_ftp": ("FTP throughput", "Mbit/s"),
    "drop_ratio_http": ("web drop ratio", "%"),
    "drop_ratio_udp": ("UDP drop ratio", "%"),
    "drop_ratio_ftp": ("FTP drop ratio", "%"),
    "drop_ratio_total": ("drop ratio", "%"),
    "ftp_delay_mean": ("packet delay", "s"),
    "timeouts": ("time-outs", ""),
}
#: The eleven columns of Tables 3 and 4.
COLUMNS = tuple(TITLES)[:11]
#: Target delay of the FTP configuration, s.
TARGET = 0.2
#: Number of seeds in ``claims.csv`` where the published spread is as large as the difference.
MANY = 20


def of(metric: str, arm: str, experiment: str = GFC2) -> Quantity:
    """Return a metric of an arm."""
    title, unit = TITLES.get(metric, (metric.replace("_", " "), ""))
    return Quantity(metric, arm, experiment, unit, title)


def without(*names: str) -> tuple[str, ...]:
    """Return the algorithms except `names`."""
    return tuple(name for name in ALGORITHMS if name not in names)


def lowest(metric: str, arm: str, others: Sequence[str], experiment: str = GFC2, seeds: int = 10) -> Check:
    """Return the check that a metric of `arm` is below that of each of the others."""
    log = not metric.startswith("throughput")
    return All(
        tuple(
            Below(of(metric, arm, experiment), of(metric, other, experiment), log=log, seeds=seeds)
            for other in others
        )
    )


def highest(metric: str, arm: str, others: Sequence[str], experiment: str = GFC2) -> Check:
    """Return the check that a metric of `arm` is above that of each of the others."""
    log = not metric.startswith("throughput")
    return All(
        tuple(Below(of(metric, other, experiment), of(metric, arm, experiment), log=log) for other in others)
    )


def checks() -> dict[str, Check]:
    """Return the check of every claim by its id."""
    return dict(sorted((_responses() | _gfc2() | _pictures() | _weights() | _sweeps() | _computed()).items()))


def _responses() -> dict[str, Check]:
    """Response times: 20 seeds, since the published spread is as large as the differences."""
    time, plain = "http_response_time_mean", ("DropTail", "SRED", "BLUE")
    ends = 1 / 1.15, 1.15
    pairs = (("DropTail", "SRED"), ("DropTail", "BLUE"), ("SRED", "BLUE"))
    return {
        "LDC-01": lowest(time, "FRED", without("FRED"), seeds=MANY),
        "LDC-02": lowest(time, "LDC", without("LDC", "FRED"), seeds=MANY),
        "LDC-03": lowest(time, "LDC", ("DropTail",), seeds=MANY),
        "LDC-04": lowest("http_response_time_max", "LDC", ("DropTail",), seeds=MANY),
        "LDC-05": lowest(time, "REM", ("DropTail", "RED", "SRED", "BLUE"), seeds=MANY),
        "LDC-11": lowest(time, "RED", plain, seeds=MANY),
        "LDC-12": All(tuple(Within(of(time, a), *ends, b=of(time, b), ratio=True) for a, b in pairs)),
        "LDC-47": All(
            (
                lowest("udp_delay_mean", "LDC", ("DropTail",), WEB, MANY),
                lowest(time, "LDC", ("DropTail",), WEB, MANY),
            )
        ),
    }


def _gfc2() -> dict[str, Check]:
    http, udp, total = "throughput_http", "drop_ratio_udp", "drop_ratio_total"
    return {
        "LDC-06": All(
            tuple(lowest(metric, "REM", ("DropTail",)) for metric in ("throughput_http", "throughput_ftp"))
        ),
        "LDC-07": lowest(http, "LDC", without("LDC")),
        "LDC-08": highest(http, "FRED", without("FRED")),
        "LDC-09": All(tuple(Below(of(udp, other), of(udp, "FRED"), factor=0.5) for other in without("FRED"))),
        "LDC-10": lowest("throughput_udp", "FRED", without("FRED")),
        "LDC-13": All(tuple(lowest(total, name, ("RED", "FRED", "REM", "LDC")) for name in ("BLUE", "SRED"))),
        "LDC-14": lowest(total, "DropTail", without("DropTail")),
        "LDC-15": Highest(tuple(tuple(of(m, name) for name in ALGORITHMS) for m in COLUMNS), "DropTail"),
        "LDC-16": RatioOfSpreads(tuple(of("http_response_time_mean", name) for name in ALGORITHMS), 1.6),
        "LDC-17": lowest("udp_delay_mean", "LDC", without("LDC")),
        "LDC-18": lowest("udp_delay_max", "LDC", without("LDC")),
        "LDC-19": ShareOfSeeds(
            "longest UDP delay < 4 s", lambda delay: delay < 4, (of("udp_delay_max", "LDC"),)
        ),
        "LDC-20": All(
            tuple(
                SpreadBelow(of("udp_delay_max", "LDC"), of("udp_delay_max", name)) for name in without("LDC")
            )
        ),
        "LDC-21": All(
            tuple(highest(metric, "BLUE", without("BLUE")) for metric in ("udp_delay_mean", "udp_delay_max"))
        ),
        "LDC-22": lowest("udp_delay_mean", "REM", ("DropTail", "SRED", "BLUE")),
        "LDC-23": ShareOfSeeds(
            "no drop of FTP under DropTail and BLUE",
            lambda tail, blue: tail == 0 and blue == 0,
            (of("drop_ratio_ftp", "DropTail"), of("drop_ratio_ftp", "BLUE")),
        ),
        "LDC-24": table("Table 3", 0.30, seeds=5),
    }


def _pictures() -> dict[str, Check]:
    red, four, eight = (
        "ldc-fig2-red-trace",
        "ldc-fig4-load-vs-queue",
        "ldc-fig8-target-delay",
    )
    return {
        "LDC-25": WithSecondary(
            ShareOfSeeds(
                "the queueing delay never exceeds 1.6 s",
                lambda delay, _share: delay <= 1.6,
                (
                    Quantity("queueing_delay_max", "LDC", eight, "s", "longest queueing delay"),
                    Quantity("queueing_delay_above_target", "LDC", eight),
                ),
            ),
            also=ShareOfSeeds(
                "the averaged delay never exceeds 1.6 s",
                lambda delay: delay <= 1.6,
                (Quantity("averaged_delay_max", "LDC", eight, "s", "longest averaged delay"),),
            ),
        ),
        "LDC-27": moves("rises", "rises_below_full", "a full", "with a queue below 119 packets"),
        "LDC-28": moves("falls", "falls_not_idle", "an empty", "with packets waiting"),
        "LDC-29": ShareOfSeeds(
            "at some time the queue is below 6 packets and p above half of its largest",
            lambda share: share > 0,
            (Quantity("empty_while_p_high", "RED", red, title="share of such time"),),
        ),
        "LDC-30": ShareOfSeeds(
            "at some time in 80 s to 100 s the load exceeds 1.2 and p is below a quarter of its largest",
            lambda share: share > 0,
            (Quantity("load_high_while_p_low", "LDC(1,0)", four, title="share of such time"),),
        ),
        "LDC-31": ShareOfSeeds(
            "at some time in 80 s to 100 s the load is at most 1 and p above three quarters of its largest",
            lambda share: share > 0,
            (Quantity("p_high_while_load_low", "LDC(1,0)", four, title="share of such time"),),
        ),
    }


def moves(way: str, wrong: str, queue: str, otherwise: str) -> Check:
    """Return the check that BLUE's p_m rises (or falls) only with one state of the queue."""
    where = "ldc-fig1-blue-trace"
    counted = Derived(
        f"{way} {otherwise}",
        (Quantity(wrong, "BLUE", where), Quantity(way, "BLUE", where)),
        lambda amiss, all_: amiss if all_ else None,
        unknown=f"p_m never {way}",
    )
    return ShareOfSeeds(f"p_m {way} only with {queue} queue", lambda n: n == 0, (counted,))


def _weights() -> dict[str, Check]:
    delay, rate, drops = "ftp_delay_mean", "throughput_ftp", "drop_ratio_ftp"
    both, equal, queue, load = WEIGHTS
    falling = (queue, both, equal, load)
    return {
        "LDC-32": lowest(delay, both, (equal, queue, load), FTP),
        "LDC-33": Within(of(rate, both, FTP), 0.95, math.inf),
        "LDC-34": All(
            tuple(
                Below(of(delay, name, FTP), of(delay, load, FTP), log=True, factor=1 / 3)
                for name in (both, equal, queue)
            )
        ),
        "LDC-35": All(
            (highest(rate, load, (both, equal, queue), FTP), lowest(drops, load, (both, equal, queue), FTP))
        ),
        "LDC-36": Within(of(delay, queue, FTP), 0.9, 1.1, of(delay, equal, FTP), ratio=True),
        "LDC-37": All(
            tuple(Below(of(drops, b, FTP), of(drops, a, FTP), log=True) for a, b in pairwise(falling))
        ),
        "LDC-38": table("Table 5", 0.20, seeds=5),
        "LDC-39": Within(of(rate, both, FTP), 0.95, math.inf, of(rate, f"{both} D=0.8s", FTP), ratio=True),
    }


def _sweeps() -> dict[str, Check]:
    def steady(names: Sequence[str]) -> Check:
        first, *rest = names
        margins = {"throughput_ftp": (0.95, 1.05), "ftp_delay_mean": (0.85, 1.15)}
        return All(
            tuple(
                Within(of(metric, name, SWEEP), *ends, b=of(metric, first, SWEEP), ratio=True)
                for metric, ends in margins.items()
                for name in rest
            )
        )

    def good(names: Sequence[str]) -> Check:
        """Return the check of "good results": the throughput of Table 5's arm, delay below the target."""
        first = of("throughput_ftp", next(iter(WEIGHTS)), FTP)
        carried = (of("throughput_ftp", name, SWEEP) for name in names)
        return All(
            (
                *(Within(one, 0.95, math.inf, b=first, ratio=True) for one in carried),
                *(Within(of("ftp_delay_mean", name, SWEEP), -math.inf, TARGET) for name in names),
            )
        )

    low, high = "web D=0.5s", "web D=4s"
    targets = tuple(f"web D={target}" for target in TARGETS)
    return {
        "LDC-40": steady([f"n={n}" for n in EXPONENTS]),
        "LDC-41": steady([f"tau={tau}" for tau in INTERVALS]),
        "LDC-42": All(
            (
                Below(of("timeouts", high, SWEEP), of("timeouts", low, SWEEP)),
                Below(of("drop_ratio_total", high, SWEEP), of("drop_ratio_total", low, SWEEP), log=True),
            )
        ),
        "LDC-50": good([f"w_q={w_q} w_r={w_r}" for w_q, w_r in AVERAGES]),
        "LDC-51": good([f"R_target={load}" for load in LOADS]),
        "LDC-43": All(
            (
                RankCorrelation(
                    "D_target and the mean delay of web packets",
                    tuple(Quantity("http_delay_mean", name, SWEEP) for name in targets),
                    0.9,
                ),
                RankCorrelation(
                    "D_target and web throughput",
                    tuple(of("throughput_http", name, SWEEP) for name in targets),
                    0.0,
                ),
            )
        ),
    }


def _computed() -> dict[str, Check]:
    where = "ldc-tab6-complexity"
    lists = ShareOfSeeds(
        "SRED's list holds 1000 flows, FRED's no more than the 100 that are active",
        lambda zombies, active: zombies == 1000 and active <= 100,
        (
            Quantity("zombies_max", "SRED", where, "entries", "longest list of SRED"),
            Quantity("n_active_max", "FRED", where, "entries", "longest list of FRED"),
        ),
        seeds=1,
    )
    return {
        "LDC-26": Computed(analytic.target_queue),
        "LDC-44": Computed(analytic.bounded),
        "LDC-45": Computed(analytic.without_threshold),
        "LDC-46": WithRemark(
            Computed(analytic.concave), "The word of the paper is a slip: its Eq. 3 is convex"
        ),
        "LDC-48": Computed(complexity.updates),
        "LDC-49": All((Computed(complexity.constant_state), lists)),
    }
