"""The check of every claim of the paper, by its id; the claims are in ``data/claims.csv``.

Margins and fractions are those of the column ``check``; none was chosen after seeing a result. "For all q"
joins one comparison for each queue size. Where a check names no size, that of the paper's traces (160
packets) decides.
"""

from __future__ import annotations

import math
from functools import partial

from sojourn.papers.bio2002 import curves, diffserv
from sojourn.papers.bio2002.experiments import SIZES, TRACED
from sojourn.papers.checks import Below, Check, Computed, ShareOfSeeds, Within
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import Trend

CASE1, CASE2, CASE3, SMALL3 = "bio-case1", "bio-case2", "bio-case3", "bio-case3-small"
#: Labels of the cases where two are compared.
NOTES = {
    CASE1: "large RTT, ECN",
    CASE2: "small RTT, ECN",
    CASE3: "large RTT, no ECN",
    SMALL3: "small RTT, no ECN",
}
TITLES = {
    "utilization": "throughput (share of the link)",
    "drop_ratio": "drop rate",
    "forced_ratio": "overflow drops / arrivals",
    "forced_share": "share of drops by overflow",
    "unforced_share": "share of drops by the algorithm",
    "queue_empty": "share of time with 2 packets or fewer",
    "queue_full": "share of time within 2 packets of the limit",
    "queue_90": "share of time at 90 % of the limit or more",
    "queue_std[0,70]": "std. dev. of the queue while sources start",
    "queue_std[100,200]": "std. dev. of the queue",
    "avg_swing": "swing of the average queue",
    "avg_at_max_th": "share of time with the average at max_th or above",
    "p_b_mean": "mean base probability",
    "idle_share": "share of time idle",
}
UNITS = dict.fromkeys(("queue_std[0,70]", "queue_std[100,200]", "avg_swing"), "packets")
#: "It is shown that RED can reach that efficiency only for large queues": the efficiency.
FULL = 0.98
WAITING = "RED and RIO wait after each mark (A-BIO-20)"


def checks() -> dict[str, Check]:
    """Return the check of every claim by its id."""
    found = _case1() | _case2() | _case3() | diffserv.checks()
    fewer = partial(curves.in_profile, curves.FLOWS // (2 * curves.NODES))
    found |= {
        "BIO-41": Computed(curves.in_profile, under={"100 flows": fewer}),
        "BIO-42": Computed(curves.drop_curves),
    }
    return {name: _named(check) for name, check in sorted(found.items())}


def _named(check: Check) -> Check:
    """Return the check, with a remark on the most influential reading if it uses RED or RIO."""
    marks = any(arm.startswith(("RED", "RIO")) for _, arm in check.sources)
    return WithRemark(check, WAITING) if marks else check


def of(metric: str, algorithm: str, size: int, case: str, beside: bool = False) -> Quantity:
    """Return a metric of RED or BLUE with a queue of one size; `beside`: next to another case."""
    title, note = TITLES[metric], NOTES[case] if beside else ""
    return Quantity(metric, f"{algorithm} {size}p", case, UNITS.get(metric, ""), title, note)


def _case1() -> dict[str, Check]:
    return {
        "BIO-01": All(tuple(lower("utilization", "RED", "BLUE", size, CASE1) for size in SIZES)),
        "BIO-02": Within(_best("BLUE", 100), FULL, math.inf),
        "BIO-03": ShareOfSeeds("more than 2", lambda ratio: ratio > 2, (_needed(),)),
        "BIO-04": Trend(
            "throughput along the queue size", tuple(of("utilization", "RED", size, CASE1) for size in SIZES)
        ),
        "BIO-05": ShareOfSeeds(
            "over 5 % of the time within 2 packets of empty, and over 5 % within 2 of full",
            lambda empty, full: empty > 0.05 and full > 0.05,
            tuple(of(metric, "RED", TRACED, CASE1) for metric in ("queue_empty", "queue_full")),
        ),
        "BIO-06": ShareOfSeeds(
            "the average swings over more than half of the queue",
            lambda swing: swing > 0.5 * TRACED,
            (of("avg_swing", "RED", TRACED, CASE1),),
        ),
        "BIO-07": lower("queue_std[100,200]", "BLUE", "RED", TRACED, CASE1),
        "BIO-08": ShareOfSeeds(
            "larger while sources start than after 100 s",
            lambda early, late: early > late,
            tuple(of(f"queue_std[{part}]", "BLUE", TRACED, CASE1) for part in ("0,70", "100,200")),
        ),
        "BIO-09": All(tuple(lower("drop_ratio", "BLUE", "RED", size, CASE1) for size in SIZES)),
        "BIO-10": All(
            (
                Trend(
                    "drop rate along the queue size",
                    tuple(of("drop_ratio", "BLUE", size, CASE1) for size in SIZES),
                    rises=False,
                ),
                Within(of("drop_ratio", "BLUE", 300, CASE1), -math.inf, 0.005),
            )
        ),
        "BIO-11": WithSecondary(
            mostly("forced_share", "RED", TRACED, CASE1),
            also=All(tuple(mostly("forced_share", "RED", size, CASE1) for size in SIZES if size != TRACED)),
        ),
    }


def _case2() -> dict[str, Check]:
    return {
        "BIO-12": All(
            tuple(
                lower("utilization", "BLUE", "RED", size, CASE2, strict=False)
                for size in SIZES
                if size < TRACED
            )
        ),
        "BIO-13": All(tuple(alike("RED", "BLUE", size, CASE2, 0.01) for size in SIZES if size > TRACED)),
        "BIO-14": mostly("queue_90", "RED", TRACED, CASE2),
        "BIO-15": ShareOfSeeds(
            "the average is at max_th for over half of the time, and the mean of p_b is above 0.9",
            lambda share, mean: share > 0.5 and mean > 0.9,
            tuple(of(metric, "RED", TRACED, CASE2) for metric in ("avg_at_max_th", "p_b_mean")),
        ),
        "BIO-16": All(tuple(cases("utilization", "RED", size, CASE1, CASE2) for size in SIZES)),
        "BIO-17": All(
            tuple(
                Within(
                    of("utilization", "BLUE", size, CASE2, beside=True),
                    0.97,
                    1.03,
                    of("utilization", "BLUE", size, CASE1, beside=True),
                    ratio=True,
                )
                for size in SIZES
            )
        ),
        "BIO-18": All(
            tuple(
                lower("drop_ratio", "BLUE", "RED", size, CASE2, factor=0.5) for size in SIZES if size >= 100
            )
        ),
        "BIO-19": ShareOfSeeds(
            "idle with large round-trip times, less than a tenth of it with small ones",
            lambda large, small: large > 0 and small < 0.1 * large,
            tuple(of("idle_share", "RED", TRACED, case, beside=True) for case in (CASE1, CASE2)),
        ),
    }


def _case3() -> dict[str, Check]:
    return {
        "BIO-20": _close(CASE3),
        "BIO-21": _a_bit_higher(CASE3),
        "BIO-22": cases("queue_std[100,200]", "RED", TRACED, CASE3, CASE1),
        "BIO-23": WithSecondary(
            cases("forced_ratio", "RED", TRACED, CASE3, CASE1),
            also=All(
                tuple(cases("forced_ratio", "RED", size, CASE3, CASE1) for size in SIZES if size != TRACED)
            ),
        ),
        "BIO-24": All(tuple(mostly("unforced_share", name, TRACED, CASE3) for name in ("RED", "BLUE"))),
        "BIO-25": cases("queue_std[100,200]", "BLUE", TRACED, CASE1, CASE3),
        "BIO-26": All(
            (
                *(cases("drop_ratio", name, s, CASE1, CASE3) for name in ("RED", "BLUE") for s in SIZES),
                cases("drop_ratio", "BLUE", TRACED, CASE1, CASE3, factor=0.2),
            )
        ),
        "BIO-27": All((_close(SMALL3), _a_bit_higher(SMALL3))),
    }


def _close(case: str) -> Check:
    """Return the check that the throughputs of RED and BLUE are close."""
    return All(tuple(alike("BLUE", "RED", size, case, 0.05) for size in SIZES))


def _a_bit_higher(case: str) -> Check:
    """Return the check that BLUE drops a little more than RED."""
    return All(
        (
            *(lower("drop_ratio", "RED", "BLUE", size, case) for size in SIZES),
            *(lower("drop_ratio", "BLUE", "RED", size, case, factor=1.3, strict=False) for size in SIZES),
        )
    )


def lower(
    metric: str, a: str, b: str, size: int, case: str, factor: float = 1.0, strict: bool = True
) -> Below:
    """Return the check that a metric of `a` is below `factor` times that of `b`; drop rates by logarithms."""
    ratio = metric == "drop_ratio"
    return Below(of(metric, a, size, case), of(metric, b, size, case), ratio, factor, strict=strict)


def cases(metric: str, algorithm: str, size: int, less: str, more: str, factor: float = 1.0) -> Below:
    """Return the check that a metric is smaller in case `less` than `factor` times that in case `more`."""
    a, b = (of(metric, algorithm, size, case, beside=True) for case in (less, more))
    return Below(a, b, metric.endswith("ratio"), factor)


def alike(a: str, b: str, size: int, case: str, margin: float) -> Within:
    """Return the check that two throughputs differ by no more than a margin."""
    one, other = of("utilization", a, size, case), of("utilization", b, size, case)
    return Within(one, 1 - margin, 1 + margin, other, ratio=True)


def mostly(metric: str, algorithm: str, size: int, case: str) -> ShareOfSeeds:
    """Return the check that a share is over a half."""
    return ShareOfSeeds("over a half", lambda share: share > 0.5, (of(metric, algorithm, size, case),))


def smallest(shares: tuple[float, ...]) -> float:
    """Return the least size that reaches 98 % utilization; one more than the largest if none does."""
    return next((size for size, share in zip(SIZES, shares, strict=True) if share >= FULL), SIZES[-1] + 1)


def _needed() -> Derived:
    """Return the ratio of RED's to BLUE's queue size at which the utilization reaches 98 %."""
    cells = tuple(of("utilization", name, size, CASE1) for name in ("RED", "BLUE") for size in SIZES)
    return Derived(
        "least queue size with 98 % of the link: RED's / BLUE's",
        cells,
        lambda *shares: smallest(shares[: len(SIZES)]) / smallest(shares[len(SIZES) :]),
    )


def _best(algorithm: str, largest: int) -> Derived:
    cells = tuple(of("utilization", algorithm, size, CASE1) for size in SIZES if size <= largest)
    title = f"most throughput of a queue of up to {largest} packets"
    return Derived(title, cells, lambda *shares: max(shares), who=algorithm)
