"""Sojourn, a laboratory for active queue management.

A scenario describes links, queues and traffic. ``run`` simulates it under several algorithms with the same
seeds; the results have confidence intervals.

Examples
--------
>>> import sojourn
>>> sojourn.aqm("droptail", limit="50p")
'droptail limit 50p'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sojourn._core import CORE_VERSION, VERSION

if TYPE_CHECKING:
    from sojourn import explore
    from sojourn.algorithms import CE, DROP, ECT0, ECT1, MARK, NOT_ECT, PASS, Aqm, Param, drop_both
    from sojourn.api import run
    from sojourn.errors import InputError, RunFailed, SojournError
    from sojourn.metrics.own import metric
    from sojourn.record import Record
    from sojourn.results import Results
    from sojourn.spec.aqm_spec import aqm
    from sojourn.spec.scenario import Scenario, load
    from sojourn.study.compare import Comparison, compare
    from sojourn.study.folder import Folder
    from sojourn.study.folder import open as open  # noqa: A004 - called as sojourn.open
    from sojourn.worlds.simulated.dask import Dask

__version__ = VERSION
__all__ = [
    "CE",
    "CORE_VERSION",
    "DROP",
    "ECT0",
    "ECT1",
    "MARK",
    "NOT_ECT",
    "PASS",
    "Aqm",
    "Comparison",
    "Dask",
    "Folder",
    "InputError",
    "Param",
    "Record",
    "Results",
    "RunFailed",
    "Scenario",
    "SojournError",
    "aqm",
    "compare",
    "drop_both",
    "explore",
    "load",
    "metric",
    "run",
]

#: The module of each name below, imported when the name is first used: commands and workers need few of them.
_HOME = {
    "Aqm": "sojourn.algorithms",
    "CE": "sojourn.algorithms",
    "Comparison": "sojourn.study.compare",
    "DROP": "sojourn.algorithms",
    "Dask": "sojourn.worlds.simulated.dask",
    "ECT0": "sojourn.algorithms",
    "ECT1": "sojourn.algorithms",
    "Folder": "sojourn.study.folder",
    "InputError": "sojourn.errors",
    "MARK": "sojourn.algorithms",
    "NOT_ECT": "sojourn.algorithms",
    "PASS": "sojourn.algorithms",
    "Param": "sojourn.algorithms",
    "Record": "sojourn.record",
    "Results": "sojourn.results",
    "RunFailed": "sojourn.errors",
    "Scenario": "sojourn.spec.scenario",
    "SojournError": "sojourn.errors",
    "aqm": "sojourn.spec.aqm_spec",
    "compare": "sojourn.study.compare",
    "drop_both": "sojourn.algorithms",
    "explore": "sojourn.explore",
    "load": "sojourn.spec.scenario",
    "metric": "sojourn.metrics.own",
    "open": "sojourn.study.folder",
    "run": "sojourn.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
