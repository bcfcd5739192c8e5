"""Algorithms in Python: a class, loaded from ``file.py:Class`` or given as an object.

`Aqm` is the base class, `Param` declares a parameter, `find` loads and registers a class whose code is
permitted, so that the core can use it like a built-in algorithm. ``docs/own-algorithm.md`` describes their
interface and cost, ``SECURITY.md`` when code is executed.
"""

from sojourn.algorithms.base import CE, DROP, ECT0, ECT1, MARK, NOT_ECT, PASS, Aqm, drop_both
from sojourn.algorithms.execution import function_of, within_load
from sojourn.algorithms.exports import exported
from sojourn.algorithms.identity import digests, identified_by, names_in
from sojourn.algorithms.loader import (
    adopt,
    code_of,
    describe,
    find,
    look,
    remember,
    renew,
    replaced,
    shipped,
    spec_of,
)
from sojourn.algorithms.param import Param
from sojourn.algorithms.permission import (
    REMEDY,
    every_file_is_permitted,
    is_permitted,
    may_execute,
    permit,
    permit_all,
    permitting,
)
from sojourn.algorithms.sources import Code, Part, collect, read_source, version_of

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
    "Code",
    "Param",
    "Part",
    "adopt",
    "code_of",
    "collect",
    "describe",
    "digests",
    "drop_both",
    "every_file_is_permitted",
    "exported",
    "find",
    "function_of",
    "identified_by",
    "is_permitted",
    "look",
    "may_execute",
    "names_in",
    "permit",
    "permit_all",
    "permitting",
    "read_source",
    "remember",
    "renew",
    "replaced",
    "shipped",
    "spec_of",
    "version_of",
    "within_load",
]
