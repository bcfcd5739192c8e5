"""Every metric of a record by its full name.

A metric reads one record over [warm-up, end]. An unknown value is None, never 0. Sums are exact
(``math.fsum``), so that they do not depend on the order of flows. Metrics of queues describe the measured
queue; those of the other queues have the prefix ``queues.NAME.``, those of a traffic class at the measured
queue ``classes.NUMBER.``, those of a phase of the run ``phases.NAME.``: of the measured queue, and of the
transfers that began in it (``phases.NAME.short.``). Metrics of flows exist for all traffic through the
measured queue, for each traffic by name (``ftp.goodput_bps``) and for each transport (``tcp.drop_ratio``).
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from pathlib import Path

# isort: off
# Each of these modules registers its formulas; the order of the imports is that of the registry.
from sojourn.metrics import queue  # noqa: F401
from sojourn.metrics import links  # noqa: F401
from sojourn.metrics import flows  # noqa: F401
from sojourn.metrics import delivery
from sojourn.metrics import transfers  # noqa: F401
from sojourn.metrics import video  # noqa: F401

# isort: on
from sojourn.metrics.registry import METRICS, Metrics, Value, per_class
from sojourn.metrics.tables import Table, classes, groups, phases, ratio, whole
from sojourn.record import Record

#: Metrics of a queue that a phase does not have: maxima, and runs that may begin before.
OF_WINDOW = ("max_queue_packets", "max_delay_s", "mean_drop_run")
#: Scopes of metrics that exist for groups of flows, or with impaired links, only.
OF_GROUPS = ("links", "objects", "pages", "video", "arrivals", "datagrams", "echo", "deadline", "call")
#: The modules of the formulas, this one included.
FORMULAS = (
    *("registry", "queue", "links", "flows", "delivery", "e_model", "transfers", "video"),
    *("evaluation", "tables"),
)


@functools.cache
def metrics_version() -> str:
    """Return a hash of the formulas: metrics stored under another hash are computed again."""
    folder = Path(__file__).parent
    content = b"".join((folder / f"{name}.py").read_bytes() for name in FORMULAS)
    return hashlib.sha256(content).hexdigest()[:12]


def compute(record: Record) -> Metrics:
    """Return every metric of a record by its full name, in the order of the registry."""
    everything = whole(record)
    values = {
        name: metric.read(everything) for name, metric in METRICS.items() if metric.scope not in OF_GROUPS
    }
    if record.rows("links")["link"]:
        values.update({name: one.read(everything) for name, one in METRICS.items() if one.scope == "links"})
    for group, traffic in groups(record).items():
        for name, value in _group(whole(record, traffic)).items():
            values[f"{group}.{name}"] = value
    for number, counters in classes(record.queues[0]).items():
        table = replace(everything, queue=counters)
        for name in per_class():
            values[f"classes.{number}.{name}"] = METRICS[name].read(table)
    for other in record.queues[1:]:
        table = replace(everything, queue=other)
        for name, metric in METRICS.items():
            if metric.scope == "queue":
                values[f"queues.{other['name']}.{name}"] = metric.read(table)
    for phase, span in phases(record):
        table = replace(whole(record, None, span), queue=phase)
        for name, metric in METRICS.items():
            if metric.scope == "queue" and name not in OF_WINDOW:
                values[f"phases.{phase['name']}.{name}"] = metric.read(table)
        for group, traffic in groups(record).items():
            table = whole(record, traffic, span)
            for name in _of_transfers(table):
                values[f"phases.{phase['name']}.{group}.{name}"] = METRICS[name].read(table)
    return values


def _of_transfers(table: Table) -> list[str]:
    """Return the metrics of transfers and pages that a group of flows has."""
    scopes = {"objects"} if table.kinds & {"tcp_short", "web"} else set()
    scopes |= {"pages"} if "web" in table.kinds else set()
    return [name for name, metric in METRICS.items() if metric.scope in scopes]


def _group(table: Table) -> dict[str, Value]:
    """Return the metrics of a group of flows; drops and marks are of its packets at the measured queue."""
    arrivals = sum(table.flows["queue_arrivals"])
    drops, marks = sum(table.flows["queue_drops"]), sum(table.flows["queue_marks"])
    values: dict[str, Value] = {
        "arrivals": float(arrivals),
        "drops": float(drops),
        "marks": float(marks),
        "drop_ratio": ratio(drops, arrivals),
        "mark_ratio": ratio(marks, arrivals),
    }
    scopes = {"flows"}
    scopes |= {"tcp"} if table.has_tcp else set()
    scopes |= {"endless"} if "tcp" in table.kinds else set()
    scopes |= set(delivery.scopes(table))
    scopes |= {"video"} if table.kinds == {"video"} else set()
    names = [name for name, metric in METRICS.items() if metric.scope in scopes] + _of_transfers(table)
    values.update({name: METRICS[name].read(table) for name in names})
    return values
