"""The check of every claim of the paper, by its id.

``arithmetic`` checks the printed numbers, ``testbed`` the runs with packets, ``fluid`` the equations.
"""

from __future__ import annotations

from sojourn.papers.avqred2007 import arithmetic, fluid, testbed
from sojourn.papers.avqred2007.experiments import TWIN
from sojourn.papers.checks import Check


def checks() -> dict[str, Check]:
    """Return the check of every claim; those of the testbed are judged on its simulated twin."""
    found = testbed.Testbed(TWIN).checks() | arithmetic.checks() | fluid.checks()
    found |= testbed.shift()
    found |= {"AVQ-28": testbed.small_queue(), "AVQ-48": testbed.tuning()}
    return dict(sorted(found.items()))
