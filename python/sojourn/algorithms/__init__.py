"""Algorithms in Python: a class, loaded from ``file.py:Class`` or given as an object.

`Aqm` is the base class, `Param` declares a parameter, `find` loads and registers a class whose code is
permitted, so that the core can use it like a built-in algorithm. ``docs/own-algorithm.md`` describes their
interface and cost, ``SECURITY.md`` when code is executed.
"""

from sojourn.algorithms.base import CE, DROP, ECT0, ECT1, MARK, NOT_ECT, PASS, Aqm, drop_both
from sojourn.algorithms.exports import exported
from sojourn.algorithms.loader import (
    adopt,
    describe,
    digests,
    find,
    function_of,
    look,
    names_in,
    remember,
    shipped,
    spec_of,
    within_load,
)
from sojourn.algorithms.param import Param
from sojourn.algorithms.permission import REMEDY, may_execute, permit, permit_all, permitting

__all__ = [
    "CE",
    "DROP",
    "ECT0",
    "ECT1",
    "MARK",
    "NOT_ECT",
    "PASS",
    "REMEDY",
    "Aqm",
    "Param",
    "adopt",
    "describe",
    "digests",
    "drop_both",
    "exported",
    "find",
    "function_of",
    "look",
    "may_execute",
    "names_in",
    "permit",
    "permit_all",
    "permitting",
    "remember",
    "shipped",
    "spec_of",
    "within_load",
]
