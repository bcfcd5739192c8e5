"""The scenario of a report as a live page inside it: the reader changes a value and sees the effect.

The page simulates by itself (`sojourn.explore`), and compares its first run, before anything is changed, with
the stored one: a digest of everything that both have counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sojourn import _core, worlds
from sojourn.errors import InputError
from sojourn.explore.controls import measured_path
from sojourn.explore.page import engine, page, script_hash
from sojourn.record import Record, numbers
from sojourn.report.document import Block, Lab, Text
from sojourn.spec.scenario import Scenario

#: Algorithms side by side on the page.
MOST = 4
#: What `crates/explore/src/counters.rs` hashes.
QUEUE = (
    "arrivals", "arrived_bytes", "departures", "departed_bytes", "drops", "dropped_bytes", "marks",
    "max_packets", "idle_ns", "delay_max_ns", "delay_edges_ns", "delay_counts",
)  # fmt: skip
COLUMNS = {
    "flows": (
        "start_ns", "queue_arrivals", "queue_drops", "queue_marks", "sent_packets", "retransmitted_packets",
        "timeouts", "window_cuts", "dropped_packets", "received_packets", "delay_ns", "delay_max_ns",
        "goodput_bytes",
    ),
    "objects": ("start_ns", "end_ns", "bytes"),
    "pages": ("start_ns", "end_ns"),
}  # fmt: skip


def lab(results: Any, manifest: Mapping[str, Any]) -> list[Block]:
    """Return the live page of the scenario of results, or how to open it, if the page could not run here.

    Without a block if the page cannot show the scenario: measured elsewhere than in the simulator, algorithms
    in Python, or at every queue.
    """
    scenario = getattr(results, "scenario", None)
    if not isinstance(scenario, Scenario) or manifest.get("world", worlds.DEFAULT) != worlds.DEFAULT:
        return []
    specs = list(results.aqms)[:MOST]
    if any(":" in spec for spec in specs):
        return []
    try:
        measured_path(scenario)
    except InputError:
        return []
    if engine() is None:
        return [Text("`sojourn explore scenario.toml` opens the scenario as a page to change its values.")]
    first = [one for one in results.outcomes if one.point.seed == 1 and one.point.spec in specs]
    html = page(scenario, specs, stored={one.point.spec: counters(one.record) for one in first})
    return [Lab(html, script_hash())]


def counters(record: Record) -> str:
    """Return the digest of everything that a run has counted; it does not depend on its traces."""
    return _core.fnv("".join(f"{value} " for value in _integers(record)))


def _integers(record: Record) -> Iterator[int]:
    for queue in record.queues:
        for name in QUEUE:
            value = queue[name]
            if isinstance(value, bytes):
                value = numbers(value, "Q")
            yield from value if isinstance(value, list) else [value]
    for table, names in COLUMNS.items():
        for name in names:
            yield from record.column(table, name)
