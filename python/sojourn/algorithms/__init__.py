"""Algorithms in Python: a class, loaded from ``file.py:Class`` or given as an object.

`Aqm` is the base class, `Param` declares a parameter, `find` loads and registers a class, so that the core
can use it like a built-in algorithm. ``docs/own-algorithm.md`` describes their interface and cost.
"""

from sojourn.algorithms.base import CE, DROP, ECT0, ECT1, MARK, NOT_ECT, PASS, Aqm, drop_both
from sojourn.algorithms.loader import adopt, digests, find, names_in, shipped, spec_of, within_load
from sojourn.algorithms.param import Param

__all__ = [
    "CE",
    "DROP",
    "ECT0",
    "ECT1",
    "MARK",
    "NOT_ECT",
    "PASS",
    "Aqm",
    "Param",
    "adopt",
    "digests",
    "drop_both",
    "find",
    "names_in",
    "shipped",
    "spec_of",
    "within_load",
]
