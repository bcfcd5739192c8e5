"""The check of every claim of the paper, by its id; the claims are in ``data/claims.csv``.

Windows, margins and fractions are those of the column ``check``; none was chosen after seeing a result. Times
and ratios are compared by logarithms, queues and goodputs by differences. "Faster" and "more stable than PI
and REM" means than each of them.
"""

from __future__ import annotations

from sojourn.papers.checks import Below, Check, Computed, ShareOfSeeds, Within
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.raqm2005 import curves, inspection, theorems
from sojourn.papers.raqm2005.experiments import ADAPTIVE, CROWDS, FIGURES, SHARES, STATIC, TARGETS
from sojourn.papers.terms import Derived, Quantity
from sojourn.papers.trend import RankCorrelation

OTHERS = ("PI", "REM")
#: Packets that the link sends in a second.
PACKETS = 10e6 / 8 / 500
#: Titles of metrics; the window is 50 s to 200 s if none is named.
TITLES = {
    "queue_mean[0,20]": "mean queue from 0 s to 20 s",
    "queue_mean[50,200]": "mean queue",
    "queue_mean[100,200]": "mean queue from 100 s",
    "queue_std[50,200]": "std. dev. of the queue",
    "queue_rms[50,200]": "rms distance from q_0",
    "queue_rms[20,200]": "rms distance from q_0, from 20 s",
    "queue_at_ends[50,200]": "share of time with the queue empty or at 95 p or more",
    "drop_ratio[100,200]": "drop ratio from 100 s",
    "p_k_min[100,200]": "least p_k from 100 s",
    "overshoot": "overshoot",
    "overshoot_duration": "duration of the overshoot",
    "response_time": "response time",
    "recovery_50s": "recovery from the change at 50 s",
    "recovery_150s": "recovery from the change at 150 s",
}
BUFFER = (
    "The start fills the buffer, and the buffer ends every overshoot: 50 p for PI and RAQM, 49 p for REM, "
    "whose limit counts the packet in service as in ns-2"
)


def checks() -> dict[str, Check]:
    """Return the check of every claim by its id."""
    found: dict[str, Check] = {f"RAQM-{i:02}": Computed(find) for i, find in enumerate(COMPUTED, 1)}
    found |= _gains_and_periods()
    for number, experiment in zip(range(18, 36, 3), FIGURES, strict=True):
        found[f"RAQM-{number}"] = holds(experiment)
        found[f"RAQM-{number + 1}"] = steadier(experiment)
        found[f"RAQM-{number + 2}"] = faster(experiment)
    found |= _figures_in_words() | _targets() | _hybrid()
    found["RAQM-48"] = Computed(inspection.work_per_packet)
    found["RAQM-49"] = Within(
        packets("queue_mean[50,200]", "RAQM", "raqm-fig5a"),
        -5,
        5,
        packets("queue_mean[50,200]", "RAQM p_0=2e-5", "raqm-fig5a"),
    )
    found["RAQM-50"] = settles_at_the_loss_ratio("raqm-fig5b")
    return dict(sorted((found | _rates()).items()))


COMPUTED = (
    theorems.bound_above_four,
    theorems.bound_tends_to_four,
    theorems.bound_grows_at_the_ends,
    theorems.bound_as_tabulated,
    theorems.g_increases,
    theorems.one_fixed_point,
    theorems.decreases_below_the_bound,
    theorems.increases_above_the_bound,
    theorems.static_gain_bound,
    theorems.faster_with_a_larger_gain,
    theorems.alpha_hat_above_four,
    theorems.static_with_unresponsive_traffic,
    theorems.adaptive_with_unresponsive_traffic,
    theorems.lyapunov_identity,
)


def packets(metric: str, arm: str, experiment: str) -> Quantity:
    """Return a quantity in packets."""
    return Quantity(metric, arm, experiment, "packets", TITLES[metric])


def seconds(metric: str, arm: str, experiment: str) -> Quantity:
    """Return a quantity in seconds."""
    return Quantity(metric, arm, experiment, "s", TITLES[metric])


def holds(experiment: str) -> Check:
    """RAQM holds the queue at the expected 50 packets."""
    mean = packets("queue_mean[50,200]", "RAQM", experiment)
    return ShareOfSeeds("|mean queue - 50 p| <= 15 p", lambda queue: abs(queue - 50) <= 15, (mean,))


def below_others(metric: str, experiment: str, log: bool = False) -> Check:
    """Return the check that a metric is smaller with RAQM than with PI and than with REM."""
    unit = seconds if log else packets
    raqm = unit(metric, "RAQM", experiment)
    return All(tuple(Below(raqm, unit(metric, other, experiment), log=log) for other in OTHERS))


def steadier(experiment: str) -> Check:
    """RAQM is more stable than PI and REM; the rms distance from q_0 is reported as well."""
    return WithSecondary(
        below_others("queue_std[50,200]", experiment), also=below_others("queue_rms[50,200]", experiment)
    )


def faster(experiment: str) -> Check:
    """RAQM responds faster, with a shorter overshoot, than PI and REM."""
    return All(
        (
            below_others("response_time", experiment, log=True),
            below_others("overshoot_duration", experiment, log=True),
        )
    )


def _gains_and_periods() -> dict[str, Check]:
    where = "raqm-static-vs-adaptive"

    def period(time: str, case: str) -> Quantity:
        return packets("queue_rms[50,200]", f"RAQM T={time} {case}", "raqm-T-sweep")

    return {
        "RAQM-15": Below(
            seconds("response_time", "static m=2", where),
            seconds("response_time", "static m=0.5", where),
            log=True,
        ),
        "RAQM-16": All(
            (
                Below(
                    seconds("response_time", "adaptive eps=0.9", where),
                    seconds("response_time", "static m=0.5", where),
                    log=True,
                    strict=False,
                ),
                Below(
                    packets("queue_std[50,200]", "adaptive eps=0.9", where),
                    packets("queue_std[50,200]", "static m=0.5", where),
                    factor=1.2,
                    strict=False,
                ),
            )
        ),
        "RAQM-17": All(
            tuple(
                Within(period(time, case), 0.75, 1.25, period("1s", case), ratio=True)
                for case in ("case 1", "case 2")
                for time in ("0.25s", "0.5s")
            )
        ),
    }


def _rates() -> dict[str, Check]:
    """Return the checks of the queue-independent mode, and of Theorems 4 and 5 in packets."""
    where, unresponsive = "raqm-rate", "raqm-unresponsive"
    names = [(f"gamma={share} N={flows}", float(share)) for flows in CROWDS for share in SHARES]

    def share(name: str, wanted: float) -> Derived:
        arrivals = Quantity("arrivals_per_s[50,200]", name, where, "packets/s")
        return Derived("input rate / r_0", (arrivals,), lambda one: one / (wanted * PACKETS), who=name)

    def used(name: str, wanted: float) -> Derived:
        utilisation = Quantity("utilization", name, where)
        return Derived("utilisation / (r_0 / C)", (utilisation,), lambda one: one / wanted, who=name)

    def varies(name: str) -> Quantity:
        title = "coefficient of variation of the input rate over periods"
        return Quantity("arrivals_cv[100,200]", name, unresponsive, title=title)

    def stable(gains: tuple[str, ...]) -> Check:
        pairs = ((varies(f"{gain} + UDP"), varies(gain)) for gain in gains)
        return All(tuple(Below(a, b, log=True, factor=1.25, strict=False) for a, b in pairs))

    return {
        "RAQM-51": All(tuple(Within(share(*one), 0.95, 1.05) for one in names)),
        "RAQM-52": All(tuple(Within(used(*one), 0.95, 1.05) for one in names)),
        "RAQM-53": stable(tuple(f"static m={m}" for m in STATIC if float(m) < 4)),
        "RAQM-54": stable(tuple(f"adaptive eps={eps}" for eps in ADAPTIVE)),
        "RAQM-55": Below(varies("static m=2"), varies("static m=5"), log=True),
    }


def _figures_in_words() -> dict[str, Check]:
    small, many, large = "raqm-fig5a", "raqm-fig5b", "raqm-fig6a"
    slow, slower = (
        Quantity("response_time", "PI", where, "s", TITLES["response_time"], note)
        for where, note in ((small, "N=40"), (many, "N=400"))
    )
    at_ends = Quantity("queue_at_ends[50,200]", "REM", large, title=TITLES["queue_at_ends[50,200]"])
    spread = tuple(packets("queue_std[50,200]", name, large) for name in ("REM", "RAQM"))
    return {
        "RAQM-36": WithRemark(
            All(
                (
                    *(
                        Below(packets("overshoot", "RAQM", many), packets("overshoot", other, many))
                        for other in OTHERS
                    ),
                    Below(slow, slower, log=True),
                )
            ),
            BUFFER,
        ),
        "RAQM-37": ShareOfSeeds(
            "mean queue over 0 s to 20 s > 90 p",
            lambda queue: queue > 90,
            (packets("queue_mean[0,20]", "PI", many),),
        ),
        "RAQM-38": ShareOfSeeds(
            "empty or at least 95 p for over 40 % of the time, and std over 1.5 times RAQM's",
            lambda share, rem, raqm: share > 0.4 and rem > 1.5 * raqm,
            (at_ends, *spread),
        ),
    }


def _targets() -> dict[str, Check]:
    where = "raqm-fig8"

    def goodput(name: str, target: int) -> Quantity:
        return Quantity("goodput", f"{name} q_0={target}", where)

    def along_the_queue(metric: str, rises: bool = True) -> Check:
        both = curves.halves(curves.cells(metric, "RAQM", where))
        return RankCorrelation(f"mean queue and {metric}(RAQM)", both[1], 0.7, rises, both[0])

    def average(name: str) -> Derived:
        cells = tuple(goodput(name, target) for target in TARGETS)
        return Derived("goodput averaged over q_0", cells, lambda *g: sum(g) / len(g), who=name)

    return {
        "RAQM-39": All(
            tuple(Below(*curves.at_equal_queue("goodput", other, "RAQM", where)) for other in OTHERS)
        ),
        "RAQM-40": All(
            tuple(
                Below(*curves.at_equal_queue("drop_ratio", "RAQM", other, where), log=True)
                for other in OTHERS
            )
        ),
        "RAQM-41": WithSecondary(
            Within(curves.at_queue("goodput", "RAQM", 20, where), 0.94, 0.98),
            also=Within(curves.nearest_queue("RAQM", 20, where), 16, 24),
        ),
        "RAQM-42": All(tuple(Below(goodput(other, 90), goodput(other, 60)) for other in OTHERS)),
        "RAQM-43": Below(goodput("RAQM", 60), goodput("RAQM", 90), offset=0.005, strict=False),
        "RAQM-44": WithSecondary(along_the_queue("goodput"), also=along_the_queue("drop_ratio", rises=False)),
        "RAQM-47": All(tuple(Below(average(other), average("RAQM")) for other in OTHERS)),
    }


def _hybrid() -> dict[str, Check]:
    where = "raqm-fig9"
    recoveries = ("recovery_50s", "recovery_150s")
    return {
        "RAQM-45": below_others("queue_rms[20,200]", where),
        "RAQM-46": All(tuple(below_others(time, where, log=True) for time in recoveries)),
    }


def settles_at_the_loss_ratio(experiment: str) -> Check:
    """Return the derived claim: p_k settles at 1 and the queue at q_0 times the loss ratio."""
    quantities = (
        packets("queue_mean[100,200]", "RAQM", experiment),
        Quantity("drop_ratio[100,200]", "RAQM", experiment, title=TITLES["drop_ratio[100,200]"]),
    )
    distance = Derived(
        "mean queue - 50 packets x drop ratio, from 100 s",
        quantities,
        lambda queue, ratio: queue - 50 * ratio,
        "packets",
        who="RAQM",
    )
    return ShareOfSeeds(
        "|mean queue - 50 p x drop ratio| <= 5 p and p_k = 1 throughout",
        lambda away, least: abs(away) <= 5 and least >= 1,
        (distance, Quantity("p_k_min[100,200]", "RAQM", experiment)),
    )
