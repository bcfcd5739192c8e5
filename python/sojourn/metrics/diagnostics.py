"""Diagnostics of a run: reasons to doubt its results.

They find runs in which the algorithm had no effect: the bottleneck was elsewhere, the queue never filled, or
the algorithm dropped and marked nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.record import Record
from sojourn.stats.batch_means import heavy_tail
from sojourn.stats.warmup import settled_after

LEAST_UTILIZATION = 0.5
FEW_PACKETS = 3
FULLER = 2.0
#: A change of the mean queue by the transient of less than this share is ignored.
MATTERS = 0.1
#: The warning about intervals of zero width.
ALIKE = (
    "gave identical results, so ± 0 is not an uncertainty; randomise the starts, "
    'for example with start = "uniform 0s 1s"'
)


def diagnose(record: Record) -> list[str]:
    """Return the warnings about a record, one sentence each."""
    queue = record.queues[0]
    name, seconds = queue["name"], record.seconds
    found = []
    utilization = _utilization(queue)
    if utilization is not None and utilization < LEAST_UTILIZATION:
        found.append(
            f"the measured queue {name} is not the bottleneck: the utilization of its link is only "
            f"{100 * utilization:.0f} %"
        )
    slower = _slower_link(record)
    if slower is not None and (utilization or 0) < 0.95:
        found.append(f"the measured queue {name} is not the bottleneck: {slower}")
    mean = queue["packet_ns"] / (seconds * 1e9)
    for other in record.queues[1:]:
        fuller = other["packet_ns"] / (seconds * 1e9)
        if fuller > FULLER * mean + 1 and (_utilization(other) or 0) > (utilization or 0):
            found.append(
                f"the measured queue {name} is not the bottleneck: {other['name']} holds {fuller:.1f} "
                f"packets on average, {name} {mean:.1f}"
            )
    if queue["max_packets"] <= FEW_PACKETS:
        found.append(f"the queue {name} never held more than {queue['max_packets']} packets")
    algorithm = queue["spec"].split()[0]
    if algorithm != "droptail" and sum(queue["drops"][1:]) + sum(queue["marks"]) == 0:
        found.append(f"{algorithm} never acted: it dropped and marked nothing (except by overflow)")
    late = _late(record)
    if late is not None:
        found.append(late)
    return found + _heavy(record)


def _heavy(record: Record) -> list[str]:
    """Return a warning for each traffic whose sizes have a heavy tail, so that means converge slowly."""
    import numpy as np

    found: list[str] = []
    if not record.data["objects"]["bytes"]:
        return found
    for (name,), rows in record.objects.group_by("traffic", maintain_order=True):
        tail = heavy_tail(rows["bytes"].to_numpy().astype(np.float64))
        if tail is not None:
            share = f"the largest 1 % are {100 * tail.top_share:.0f} % of the bytes"
            found.append(
                f"object sizes of {name} are heavy-tailed (Hill index {tail.exponent:.2f}; {share}): "
                "prefer medians and percentiles of completion times to means"
            )
    return found


def _late(record: Record) -> str | None:
    """Return a warning if the queue settles after the warm-up, with an effect on its mean."""
    import numpy as np

    values = record.samples("mean_packets").astype(np.float64, copy=False)
    warmup, end = record.window
    settled = settled_after(values, end)
    if settled is None or settled <= warmup:
        return None
    then, later = (values[int(len(values) * start / end) :].mean() for start in (warmup, settled))
    if abs(then - later) <= max(1.0, MATTERS * later):
        return None
    return (
        f"the warm-up of {warmup:g} s is too short: the queue settles after about {settled:.0f} s "
        f"(MSER-5; mean {then:.1f} packets after the warm-up, {later:.1f} then)"
    )


def summary(found: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return the warnings about several runs, each with the number of runs of an algorithm that have it.

    Examples
    --------
    >>> summary([("pie", ["it is late"]), ("pie", []), ("red", ["it is late"])])
    ['pie: it is late (1 of 2 runs)', 'red: it is late (1 of 1 runs)']
    """
    runs: dict[str, int] = {}
    counts: dict[tuple[str, str], int] = {}
    examples: dict[tuple[str, str], str] = {}
    for spec, sentences in found:
        runs[spec] = runs.get(spec, 0) + 1
        for sentence in sentences:
            key = (spec, _kind(sentence))
            counts[key] = counts.get(key, 0) + 1
            examples.setdefault(key, sentence)
    return [f"{key[0]}: {examples[key]} ({n} of {runs[key[0]]} runs)" for key, n in counts.items()]


def alike(found: Iterable[tuple[str, Mapping[str, float | None]]]) -> list[str]:
    """Return a warning for each algorithm for which every seed gave the same metrics.

    Its intervals have no width, but other starting times may give other results.

    Examples
    --------
    >>> drops = [("red", 3.0), ("pie", 5.0), ("red", 4.0), ("pie", 5.0)]
    >>> [one.partition(" gave ")[0] for one in alike((spec, {"drops": count}) for spec, count in drops)]
    ['pie: all 2 seeds']
    """
    runs: dict[str, list[Mapping[str, float | None]]] = {}
    for spec, metrics in found:
        runs.setdefault(spec, []).append(metrics)
    return [f"{spec}: all {len(group)} seeds {ALIKE}" for spec, group in runs.items() if are_alike(group)]


def are_alike(group: Sequence[Mapping[str, float | None]]) -> bool:
    """Return whether there are several runs with the same metrics."""
    return len(group) > 1 and all(one == group[0] for one in group)


def _kind(sentence: str) -> str:
    """Return a warning without its numbers, to group equal ones."""
    return "".join(c for c in sentence if not c.isdigit())


def _utilization(queue: dict[str, Any]) -> float | None:
    return queue["departed_bytes"] * 8 / queue["capacity_bits"] if queue["capacity_bits"] > 0 else None


def _slower_link(record: Record) -> str | None:
    """Return the reason why the links of the hosts cannot fill the bottleneck, or None if they can."""
    dumbbell = record.plan["topology"].get("dumbbell")
    if dumbbell is None:
        return None
    for side in ("access", "server"):
        nodes, rate = dumbbell[side]["nodes"], dumbbell[side]["rate"]
        own = all(one["access"] is not None for one in record.plan["traffic"])
        if nodes is not None and nodes * rate < dumbbell["rate"] and not (side == "access" and own):
            return (
                f"the {side} links carry {nodes * rate / 1e6:g} Mbit/s together, "
                f"the bottleneck {dumbbell['rate'] / 1e6:g} Mbit/s"
            )
    return None
