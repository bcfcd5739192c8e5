"""Statistics on plain numbers: estimates with intervals, tests, batch means, warm-up."""

from sojourn.stats.estimates import (
    Effect,
    Estimate,
    bootstrap,
    deviation,
    equivalent,
    holm,
    kaplan_meier,
    mean,
    mean_ci,
    paired,
    share_interval,
    sign_test,
    spearman,
    t_quantile,
    t_tail,
)

__all__ = [
    "Effect",
    "Estimate",
    "bootstrap",
    "deviation",
    "equivalent",
    "holm",
    "kaplan_meier",
    "mean",
    "mean_ci",
    "paired",
    "share_interval",
    "sign_test",
    "spearman",
    "t_quantile",
    "t_tail",
]
