"""The check of every claim about the fluid model; the claims are in ``data/claims.csv``."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np

from sojourn.papers.avqred2007.equations import UNITS, experiment, readings, system
from sojourn.papers.checks import Below, Check, Computed, Within
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.experiment import Reading
from sojourn.papers.judge import All, WithRemark
from sojourn.papers.terms import Quantity
from sojourn.worlds.fluid.avqred import ARED1, AVQRED3, BITS, RED2, R, System, integrate, population
from sojourn.worlds.fluid.marking import Floats

TITLES = {
    "queue_mean": "mean queue",
    "queue_std": "std. dev. of the queue",
    "arrivals_mean": "mean arrival rate",
    "utilisation_mean": "mean utilisation",
    "utilisation_std": "std. dev. of the utilisation",
}
#: Targets of utilisation at which the closed form of the queue is checked.
TARGETS = (0.90, 0.93, 0.95, 0.98)
#: The other readings that change AVQRED's equilibrium; other values of tau are among the targets.
AT_REST = ("l delayed", "s unbounded", "tau percent", "u_max=21Mbit/s", "u every 33ms")
STEADY = (
    "At equilibrium both lambda and lambda (1 - p) fall with p, so that a higher arrival rate and a lower "
    "utilisation exclude each other: Figs. 7 and 8 cannot both be read as the paper reads them"
)


def quantity(metric: str, arm: str) -> Quantity:
    """Return a metric of one of the three arms."""
    return Quantity(metric, arm, "avq-fluid", UNITS[metric.rpartition("_")[0]], TITLES[metric])


def checks() -> dict[str, Check]:
    """Return the check of every claim by its id."""
    others = ("RED", "ARED")

    def ours(metric: str) -> Quantity:
        return quantity(metric, "AVQRED")

    utilisation, unsteady = ours("utilisation_mean"), ours("utilisation_std")
    return {
        "AVQ-32": All(tuple(Below(ours("queue_mean"), quantity("queue_mean", one)) for one in others)),
        "AVQ-33": All(tuple(Below(quantity("queue_std", one), ours("queue_std")) for one in others)),
        "AVQ-34": WithRemark(
            All(tuple(Below(quantity("arrivals_mean", one), ours("arrivals_mean")) for one in others)), STEADY
        ),
        "AVQ-35": All(
            (
                Below(utilisation, quantity("utilisation_mean", "RED")),
                Within(utilisation, 0.93, 1.0, quantity("utilisation_mean", "RED"), ratio=True),
            )
        ),
        "AVQ-36": All(
            (
                Below(unsteady, quantity("utilisation_std", "RED")),
                Below(quantity("utilisation_std", "RED"), unsteady, factor=1 / (1 - 0.128)),
            )
        ),
        "AVQ-37": Computed(
            rests_at_the_closed_form,
            under={name: partial(rests_at_the_closed_form, name) for name in AT_REST},
        ),
        "AVQ-38": Computed(arrivals_follow_the_square_root),
    }


def _read(name: str) -> tuple[System, str]:
    """Return AVQRED 3 under another reading ("": as corrected), and the quantity that is then the
    utilisation.
    """
    reading = next((one for one in readings() if one.id == name), Reading("", ""))
    models = {model.name: system(model.parameters) for model in reading.models(experiment())}
    return models.get("AVQRED", AVQRED3), reading.metrics.get("utilisation_mean", "utilisation_mean")


@cache
def _at_rest() -> dict[str, tuple[Floats, Floats]]:
    """Return the equilibrium queues and the utilisations as fractions of u at all targets, by reading.

    u is constant and no flow is replaced. The unit of the targets is that of the reading's own tau.
    """
    read = {name: _read(name) for name in ("", *AT_REST)}
    systems = [
        replace(one, tau=target * one.tau / AVQRED3.tau, least=1.0, churn=0.0)
        for one, _ in read.values()
        for target in TARGETS
    ]
    found = integrate(systems, [1], duration=20.0, since=15.0, ramp=False)
    rows = {name: slice(i * len(TARGETS), (i + 1) * len(TARGETS)) for i, name in enumerate(read)}
    return {
        name: (
            found.mean["queue"][rows[name], 0],
            found.mean[metric.removesuffix("_mean")][rows[name], 0] * BITS / one.rate,
        )
        for name, (one, metric) in read.items()
    }


def rests_at_the_closed_form(reading: str = "") -> Finding:
    """Judge AVQ-37: at equilibrium the queue is tau / (1 - tau) and the utilisation tau u."""
    queues, used = _at_rest()[reading]
    wanted = np.array([tau / (1 - tau) for tau in TARGETS])
    away = abs(queues / wanted - 1)
    slack = abs(used / np.array(TARGETS) - 1)
    words = ", ".join(f"tau {tau}: {q:.2f}" for tau, q in zip(TARGETS, queues, strict=True))
    verdict = Verdict.REPRODUCED if max(away.max(), slack.max()) <= 0.02 else Verdict.NOT_REPRODUCED
    return Finding(
        verdict,
        float(away.max()),
        n=len(TARGETS),
        measure="largest distance from tau / (1 - tau), as a share",
        claimed="<= 0.02",
        reason=f"mean queue by {words}; utilisation within {slack.max():.1e} of tau u",
    )


@cache
def arrivals_follow_the_square_root() -> Finding:
    """Judge AVQ-38: lambda = (m/R) sqrt(2 (1 - p)/p) with constant u and no churn."""
    systems = [replace(one, least=1.0, churn=0.0, max_p=1.0) for one in (RED2, ARED1, AVQRED3)]
    found = integrate(systems, [1], duration=20.0, since=15.0, ramp=False)
    p = found.signal[:, 0]
    window = found.arrivals[-1, :, 0] * R / population(1e9)
    away = float(abs(window - np.sqrt(2 * (1 - p) / p)).max())
    words = ", ".join(f"{one.algorithm} {value:.4f}" for one, value in zip(systems, p, strict=True))
    verdict = Verdict.REPRODUCED if away <= 1e-3 else Verdict.NOT_REPRODUCED
    return Finding(
        verdict,
        away,
        n=len(systems),
        measure="largest |lambda R/m - sqrt(2 (1-p)/p)|",
        claimed="<= 1e-3",
        reason=f"p at rest: {words}",
    )
