"""Sojourn, a laboratory for active queue management.

A scenario describes links, queues and traffic. ``run`` simulates it under several algorithms with the same
seeds; the results have confidence intervals.

Examples
--------
>>> import sojourn
>>> sojourn.aqm("droptail", limit="50p")
'droptail limit 50p'
"""

from sojourn._core import CORE_VERSION, VERSION
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
    "load",
    "metric",
    "run",
]
