"""Converts a solution of the fluid model to the columns of a record.

The columns are those of the simulator, so that metrics, reports and figures do not depend on the world of a
record. Counts are rounded; columns that only packets determine (runs of drops, the histogram of delays) are
empty. Every flow of a class has the mean of its class.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sojourn.record import TYPES
from sojourn.spec.plan import FORWARD
from sojourn.worlds.fluid.marking import Floats
from sojourn.worlds.fluid.mgt import Solution
from sojourn.worlds.fluid.system import Setting, mean_start, stream


def columns(found: Setting, solution: Solution) -> dict[str, Any]:
    """Return a solution as the columns of a record."""
    start, end = found.plan["warmup"], found.plan["duration"]
    return {
        "window": (start, end),
        "events": len(solution.time),
        "queues": [_queue(found, solution)],
        "flows": _flows(found, solution),
        **{name: dict.fromkeys(TYPES[name], b"") for name in ("objects", "pages", "drops", "cwnd")},
        "series": _series(found, solution),
    }


def _streams(found: Setting, solution: Solution) -> Floats:
    """Return the unresponsive arrivals at each grid point (packets/s)."""
    time, rate = solution.time, np.zeros(len(solution.time))
    for one in found.link.background:
        rate += one.rate * ((time >= one.start) & (time < one.stop))
    return rate


def _through(found: Setting, solution: Solution) -> tuple[Floats, Floats, Floats, Floats]:
    """Return arrivals, marks, early drops and overflow drops at each grid point (packets/s)."""
    arrivals, p = solution.arrivals[:, 0], solution.signal[:, 0]
    deaf = arrivals if found.link.drops else _streams(found, solution)
    return arrivals, p * (arrivals - deaf), p * deaf, (arrivals - p * deaf) * solution.overflow[:, 0]


def _queue(found: Setting, solution: Solution) -> dict[str, Any]:
    """Return the counters of the queue over [warm-up, end]."""
    kept = solution.measured
    arrivals, marked, early, refused = (one[kept] for one in _through(found, solution))
    q, rate = solution.queue[kept, 0], float(np.asarray(found.link.rate))
    seconds = found.seconds[1] - found.seconds[0]
    h = seconds / len(q)
    dropped = refused + early
    out = _out(q, arrivals - dropped, rate)
    delay = q / rate

    def total(values: Floats) -> float:
        return float(values.sum()) * h

    def whole(values: Floats) -> int:
        return round(total(values))

    limit = float(np.asarray(found.link.limit))
    return {
        **dict.fromkeys(TYPES["queue"], b""),
        "drops": [whole(refused), whole(early), 0, 0, 0],
        "marks": [0, whole(marked), 0, 0, 0],
        "part_ns": 0,
        "name": FORWARD,
        "spec": str(found.spec),
        "limit_packets": round(limit),
        "limit_bytes": 0,
        "capacity_bits": found.plan["topology"]["dumbbell"]["rate"] * seconds,
        "arrivals": whole(arrivals),
        "arrived_bytes": round(total(arrivals) * found.packet),
        "departures": whole(out),
        "departed_bytes": round(total(out) * found.packet),
        "dropped_bytes": round(total(dropped) * found.packet),
        "packet_ns": total(q) * 1e9,
        "packet_squared_ns": total(q * q) * 1e9,
        "byte_ns": total(q) * 1e9 * found.packet,
        "max_packets": math.ceil(q.max()),
        "idle_ns": round(total(1 - out / rate) * 1e9),
        "delay_sum_ns": total(out * delay) * 1e9,
        "delay_squared_ns": total(out * delay**2) * 1e18,
    }


def _out(queue: Floats, accepted: Floats, rate: float) -> Floats:
    """Return the departure rate (packets/s): the link's capacity while the queue is not empty."""
    leaving: Floats = np.where(queue > 0, rate, np.minimum(accepted, rate))
    return leaving


def _flows(found: Setting, solution: Solution) -> dict[str, bytes]:
    """Return one row per flow; every flow has the mean of its class."""
    parts: dict[str, list[Any]] = {name: [] for name in TYPES["flows"]}
    for number, traffic in enumerate(found.plan["traffic"]):
        count = traffic["count"]
        sent, got, goodput = np.zeros(count), np.zeros(count), np.zeros(count)
        for k in np.flatnonzero(found.classes.traffic == number):
            flows = found.classes.members[k]
            sent[flows], got[flows] = solution.sent[k, 0] / len(flows), solution.delivered[k, 0] / len(flows)
            goodput[flows] = got[flows] * traffic["kind"]["tcp"]["payload"]
        if "tcp" not in traffic["kind"]:
            sent[:], got[:] = _streamed(solution, traffic)
            goodput = got * next(iter(traffic["kind"].values()))["size"]
        lost, zero = np.rint(sent) - np.rint(got), np.zeros(count)
        marked = np.rint(sent * _marked(found, solution)) if "tcp" in traffic["kind"] else zero
        start = np.full(count, mean_start(traffic["start"]) * 1e9)
        rows = {"traffic": zero + number, "index": np.arange(count), "crosses": zero + 1, "start_ns": start}
        rows |= {"queue_arrivals": sent, "queue_drops": lost, "dropped_packets": lost}
        rows |= {"queue_marks": marked, "sent_packets": sent}
        rows |= {"received_packets": got, "goodput_bytes": goodput}
        for name, column in parts.items():
            column.append(np.rint(rows.get(name, zero)))
    kinds = {"I": "<u4", "Q": "<u8", "B": "u1"}
    return {
        name: np.concatenate(column).astype(kinds[TYPES["flows"][name]]).tobytes()
        for name, column in parts.items()
    }


def _marked(found: Setting, solution: Solution) -> float:
    """Return the share of TCP's packets that are marked."""
    arrivals, marked, _, _ = (one[solution.measured] for one in _through(found, solution))
    tcp = arrivals.sum() - (0.0 if found.link.drops else _streams(found, solution)[solution.measured].sum())
    return float(marked.sum() / max(tcp, 1e-12))


def _streamed(solution: Solution, traffic: dict[str, Any]) -> tuple[float, float]:
    """Return the packets that one unresponsive source sent in the window, and those delivered."""
    one, size = stream(traffic, 1.0), next(iter(traffic["kind"].values()))["size"]
    on = solution.measured & (solution.time >= one.start) & (solution.time < one.stop)
    through = ((1 - solution.signal[on, 0]) * (1 - solution.overflow[on, 0])).sum()
    each = one.rate / size / traffic["count"] * solution.step
    return each * float(on.sum()), each * float(through)


def _series(found: Setting, solution: Solution) -> dict[str, Any]:
    """Return the time series, as means since the previous sample."""
    interval = found.plan["trace"]["interval"]
    if interval is None:
        return {"interval": 0, "queues": []}
    count = found.plan["duration"] // interval
    ends = np.arange(count + 1) * interval / 1e9

    def means(values: Floats) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * solution.step)])
        sampled: Floats = np.diff(np.interp(ends, solution.time, sums)) * 1e9 / interval
        return sampled

    def now(values: Floats) -> Floats:
        sampled: Floats = np.interp(ends[1:], solution.time, values)
        return sampled

    arrivals, _, early, refused = _through(found, solution)
    q, seconds = solution.queue[:, 0], interval / 1e9
    out = _out(q, arrivals - early - refused, float(np.asarray(found.link.rate)))
    table = {
        "packets": np.rint(now(q)).astype("<u4"),
        "bytes": np.rint(now(q) * found.packet).astype("<u8"),
        "mean_packets": means(q),
        "mean_square_packets": means(q * q),
        "arrivals": np.rint(means(arrivals) * seconds).astype("<u4"),
        "drops": np.rint(means(early + refused) * seconds).astype("<u4"),
        "departed_bytes": np.rint(means(out) * seconds * found.packet).astype("<u8"),
    }
    states = {name: values[:, 0] for name, values in solution.states.items()}
    probes = {**states, "p": solution.signal[:, 0], "window": solution.window[:, 0]}
    columns = {name: column.tobytes() for name, column in table.items()}
    return {
        "interval": interval,
        "queues": [{**columns, "probes": {k: now(v).tobytes() for k, v in probes.items()}}],
    }
