"""Algorithms that users write in Python: a class, loaded from ``file.py:Class`` or given as it is.

`Aqm` is what one subclasses, `Param` declares a parameter, `find` loads and registers a class so that the
core knows it like a built-in algorithm. What they cost and what they may do: ``docs/own-algorithm.md``.
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
