"""The smallest effect of interest of inequalities, declared for each claim in ``data/smallest.csv``.

A claim "a is less than b" does not state how much. With enough seeds any difference has an interval on one
side, so that a ratio of 1.0058 would refute it. The least share of b by which a has to differ is therefore
declared with the claims: 0.5 % of what a link carries (throughput, goodput, utilisation), 2 % of all else. An
inequality with a factor or an offset states its own bound and needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable

from sojourn.papers.checks import Below, Check
from sojourn.papers.claims import rows
from sojourn.papers.judge import All, AtLeast, WithRemark, WithSecondary

NAME = "smallest.csv"


def declared(checks: Mapping[str, Check], data: Traversable) -> dict[str, Check]:
    """Return `checks` with the smallest effects that a paper's `data` declares."""
    least = {row["claim_id"]: float(row["least"]) for row in rows(data / NAME)}
    return {name: having(check, least.get(name, 0.0)) for name, check in checks.items()}


def having(check: Check, least: float) -> Check:
    """Return a check whose inequalities have a smallest effect of interest."""
    if isinstance(check, Below):
        return replace(check, least=least) if check.bare else check
    if isinstance(check, All | AtLeast):
        return replace(check, parts=tuple(having(part, least) for part in check.parts))
    if isinstance(check, WithRemark | WithSecondary):
        return replace(check, check=having(check.check, least))
    return check


def inequalities(check: Check) -> list[Below]:
    """Return the inequalities of a check that a smallest effect is declared for."""
    if isinstance(check, Below):
        return [check] if check.bare else []
    if isinstance(check, All | AtLeast):
        return [one for part in check.parts for one in inequalities(part)]
    return inequalities(check.check) if isinstance(check, WithRemark | WithSecondary) else []
