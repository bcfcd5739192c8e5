"""Diagnostics of a run: reasons to doubt its results.

They find runs in which the algorithm had no effect: the bottleneck was elsewhere, the queue never filled, or
the algorithm dropped and marked nothing; and, from all runs of an algorithm, whether the queue had settled
when the window began (`settled`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.record import UNFINISHED, UNKNOWN, Record
from sojourn.stats.batch_means import heavy_tail
from sojourn.stats.warmup import NOT_SETTLED, SETTLED, QueueParts, Settling, queue_parts, settling
from sojourn.warning_codes import code_of, coded, extended

LEAST_UTILIZATION = 0.5
#: From here on the link is used.
FULL_UTILIZATION = 0.95
#: The default thresholds of algorithms that do not derive them from the link: the parameters, the largest one
#: and its value in packets, and that under the conventions of ns-2. RED's `max_th` is three times `min_th`.
FIXED_THRESHOLDS = {
    **dict.fromkeys(("red", "gred", "feng_ared", "choke", "nlred"), (("min_th", "max_th"), "max_th", 15, 15)),
    "rio": (("min_in", "max_in", "min_out", "max_out"), "max_in", 70, 30),
    "rem": (("b_star",), "b_star", 20, 20),
    "pi": (("q_ref",), "q_ref", 200, 50),
    "raqm": (("q_0",), "q_0", 50, 50),
    "avqred": (("min_th", "max_th"), "max_th", 21, 21),
}
#: Size of a packet in a bandwidth-delay product, bytes.
MEAN_PACKET = 1500
#: From here on the link of a host counts as full, and its packets wait without limit.
FULL_HOST = 0.97
FEW_PACKETS = 3
FULLER = 2.0
#: Share of unfinished transfers up to which their percentiles are shown without a warning.
MOST_UNFINISHED = 0.01
#: Congestion controls that respond to the share of marked packets.
SCALABLE = ("dctcp", "prague")
#: Codes of warnings about the traffic, not about the algorithm.
OF_DEMAND = ("W06",)
#: Schedulers of classes, whose algorithms are drop tail unless they are set; and all that only queue packets.
CLASSFUL = ("drr", "prio")
PASSIVE = ("droptail", "fq", "sfq", *CLASSFUL)
#: What to run if a queue has not settled.
REMEDY = "a longer warm-up decides; run --warmup auto finds one"


def diagnose(record: Record) -> list[str]:
    """Return the warnings about a record, one sentence each."""
    queue = record.queues[0]
    name, seconds = queue["name"], record.seconds
    reasons, found = [], []
    utilization = _utilization(queue)
    if utilization is not None and utilization < LEAST_UTILIZATION:
        reasons.append(f"the utilization of its link is only {100 * utilization:.0f} %")
    mean = queue["packet_ns"] / (seconds * 1e9)
    slower = _slower_link(record) if (utilization or 0) < FULL_UTILIZATION else None
    if slower is None and ((utilization or 0) < FULL_UTILIZATION or mean < 1):
        slower = _full_hosts(record)
    if slower is not None:
        reasons.append(slower)
    for other in record.queues[1:]:
        fuller = other["packet_ns"] / (seconds * 1e9)
        if fuller > FULLER * mean + 1 and (_utilization(other) or 0) > (utilization or 0):
            reasons.append(f"{other['name']} holds {fuller:.1f} packets on average, {name} {mean:.1f}")
    found += [coded("W01", f"the measured queue {name} is not the bottleneck: {one}") for one in reasons]
    if queue["max_packets"] <= FEW_PACKETS:
        found.append(coded("W02", f"the queue {name} never held more than {queue['max_packets']} packets"))
    algorithm = queue["spec"].split()[0]
    if _decides(queue["spec"]) and sum(queue["drops"][1:]) + sum(queue["marks"]) == 0:
        found.append(
            coded("W03", f"{algorithm} never acted: it dropped and marked nothing (except by overflow)")
        )
    found += _fixed_thresholds(record) + _unused_delays(record) + _unmarked(record)
    if any(map(_comes_and_goes, record.plan["traffic"])):  # a sweep reads few columns of each of its runs
        found += _unfinished(record) + _heavy(record)
    return found


def _fixed_thresholds(record: Record) -> list[str]:
    """Return a warning if default thresholds below the bandwidth-delay product left the link unused."""
    queue, dumbbell = record.queues[0], record.plan["topology"].get("dumbbell")
    name, *words = queue["spec"].split()
    utilization = _utilization(queue)
    if dumbbell is None or name not in FIXED_THRESHOLDS:
        return []
    keys, largest, usual, of_ns2 = FIXED_THRESHOLDS[name]
    if set(keys) & set(words) or utilization is None or utilization >= FULL_UTILIZATION:
        return []
    threshold = of_ns2 if record.plan.get("conventions", "").startswith("ns2") else usual
    delays = [sum(side["delays"]) / len(side["delays"]) for side in (dumbbell["access"], dumbbell["server"])]
    round_trip = 2 * (dumbbell["delay"] + sum(delays)) / 1e9
    packets = dumbbell["rate"] * round_trip / (8 * MEAN_PACKET)
    if packets <= threshold:
        return []
    text = (
        f"{name} does not derive {' and '.join(keys)} from the link: the default of {largest}, {threshold} "
        f"packets, is {100 * threshold / packets:.0f} % of the bandwidth-delay product, and the utilization "
        f"of the link is {100 * utilization:.0f} %; set {'it' if len(keys) == 1 else 'them'}, or use ared or "
        "codel, whose defaults suit any rate"
    )
    return [coded("W04", text)]


def _unmarked(record: Record) -> list[str]:
    """Return a warning if senders that need marks met a queue that drops and marks nothing."""
    queue = record.queues[0]
    dropped = sum(queue["drops"])
    if dropped == 0 or sum(queue["marks"]) > 0:
        return []
    found: dict[str, list[str]] = {}
    for traffic in record.plan["traffic"]:
        (kind,) = traffic["kind"].values()
        options = kind.get("options") or kind.get("tcp", {}).get("options", {})
        if options.get("variant") in SCALABLE:
            found.setdefault(options["variant"], []).append(traffic["name"])
    return [
        coded(
            "W34",
            f"{', '.join(names)} ({variant}) respond to the share of marked packets, but the queue "
            f"{queue['name']} marked none of {queue['arrivals']} and dropped {dropped}; set ecn = true",
        )
        for variant, names in found.items()
    ]


def _unfinished(record: Record) -> list[str]:
    """Return a warning for each traffic with many unfinished transfers: percentiles are too low."""
    found = []
    begin = record.data["window"][0]
    for table, things in (("objects", "transfers"), ("pages", "pages")):
        every: dict[int, list[bool]] = {}
        names = ("traffic", "start_ns", "end_ns")
        for traffic, start, end in zip(*(record.column(table, name) for name in names), strict=True):
            if start >= begin:
                every.setdefault(traffic, []).append(end == UNFINISHED)
        for traffic, open_ in every.items():
            share, name = sum(open_) / len(open_), record.traffic[traffic]["name"]
            if share > MOST_UNFINISHED:
                time = "completion_time" if things == "transfers" else "page_time"
                text = (
                    f"{100 * share:.1f} % of the {things} of {name} did not finish: "
                    f"mean, maximum and percentiles above p{math.floor(100 * (1 - share))} are of those "
                    f"that did; use drain = true, or {time}_km_p99_s, which estimates all"
                )
                found.append(coded("W05", text))
    return found


def _heavy(record: Record) -> list[str]:
    """Return a warning for each traffic whose sizes have a heavy tail, so that means converge slowly."""
    import numpy as np

    found: list[str] = []
    for (name,), rows in record.objects.group_by("traffic", maintain_order=True):
        tail = heavy_tail(rows["bytes"].to_numpy().astype(np.float64))
        if tail is not None:
            share = f"the largest 1 % are {100 * tail.top_share:.0f} % of the bytes"
            kind = (
                f"look heavy-tailed (Hill index {tail.exponent:.2f} of the largest 5 %; {share})"
                if tail.is_power
                else f"vary widely, but less than a heavy tail, as lognormal sizes do ({share})"
            )
            text = (
                f"object sizes of {name} {kind}: prefer medians and percentiles of completion times to means"
            )
            found.append(coded("W06", text))
    return found


def _unused_delays(record: Record) -> list[str]:
    """Return a warning for each list of delays that has more entries than there are hosts."""
    dumbbell = record.plan["topology"].get("dumbbell")
    if dumbbell is None:
        return []
    shared = [one for one in record.plan["traffic"] if one["access"] is None]
    users = [("dumbbell.access", dumbbell["access"], shared)] if shared else []
    users += [
        (f"traffic.{one['name']}.access", one["access"], [one])
        for one in record.plan["traffic"]
        if one["access"] is not None
    ]
    hosts = [(key, access["delays"], _hosts(access, traffic)) for key, access, traffic in users]
    server = dumbbell["server"]
    hosts.append(("dumbbell.server", server["delays"], server["nodes"] or 1))
    return [
        coded(
            "W09", f"{key}.delays has {len(delays)} entries, of which the first {count} are used, one a host"
        )
        for key, delays, count in hosts
        if count < len(delays)
    ]


def _comes_and_goes(traffic: Mapping[str, Any]) -> bool:
    """Return whether a traffic of a plan consists of transfers."""
    return bool({"tcp_short", "web"} & set(traffic["kind"]))


def _hosts(access: Mapping[str, Any], traffic: Iterable[Mapping[str, Any]]) -> int:
    """Return how many hosts on one side some traffic uses; flows that come and go use all that there are."""
    there = access["nodes"]
    found = [
        (there or len(access["delays"])) if _comes_and_goes(one) else min(one["count"], there or one["count"])
        for one in traffic
    ]
    return max(found)


def settled(found: Iterable[tuple[str, Record]]) -> dict[str, Settling]:
    """Return for each algorithm whether its queue had settled when the window began, from all its runs."""
    runs: dict[str, list[Record]] = {}
    for spec, record in found:
        runs.setdefault(spec, []).append(record)
    return {spec: settling_of([parts_of(one) for one in group], group[0]) for spec, group in runs.items()}


def parts_of(record: Record, window: tuple[float, float] | None = None) -> QueueParts | None:
    """Return the queue over time for `settling`; None if that is not recorded."""
    import numpy as np

    parts, step = record.parts()
    begin, end = window or record.window
    if step <= 0:
        return None
    return queue_parts(parts[: round(end / step)].astype(np.float64), step, begin, end)


def settling_of(runs: Sequence[QueueParts | None], record: Record) -> Settling:
    """Return the outcome for an algorithm's runs, one of which is `record`."""
    return settling([one for one in runs if one is not None], record.seconds)


def sentence(found: Settling) -> str:
    """Return the outcome as a sentence, with its evidence.

    Examples
    --------
    >>> sentence(Settling("settled", 41.0, 1.2, None, 0.6, 33.0, None, 5))
    'settled: a decay of up to 33 s moves the mean queue of 41.0 packets by at most 0.6 (half-width 1.2)'
    """
    if found.mean is None:
        return "inconclusive: the queue over time was not recorded, or the window is too short"
    mean, cut = f"{found.mean:.1f} packets", ""
    if found.cut is not None:
        cut = f"; MSER-5 cuts the first {found.cut:.3g} s"
    half = "" if found.half_width is None else f"half-width {_short(found.half_width)}"
    if found.outcome == NOT_SETTLED and found.shift is not None:
        move = "falls" if found.shift > 0 else "rises"
        return (
            f"not settled: the queue still {move} in the window, which may move its mean of {mean} "
            f"by {_short(abs(found.shift))} ({half}{cut}); {REMEDY}"
        ).replace("(; ", "(")
    if found.bound is None:
        why = "one seed" if found.n == 1 else "all seeds alike"
        return f"inconclusive: {why}; run at least 5 seeds that differ"
    if found.outcome == SETTLED:
        return (
            f"settled: a decay of up to {found.slowest:.3g} s moves the mean queue of {mean} by at most "
            f"{_short(found.bound)} ({half})"
        )
    return (
        f"inconclusive: a decay of up to {found.slowest:.3g} s could move the mean queue of {mean} by "
        f"{_short(found.bound)} ({half}{cut}); {REMEDY}"
    )


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 0.1 else f"{value:.1g}"


def unsettled(found: Mapping[str, Settling]) -> list[str]:
    """Return a warning for each algorithm whose queue had not settled."""
    return [
        coded("W07", f"{spec}: {sentence(one)}") for spec, one in found.items() if one.outcome == NOT_SETTLED
    ]


def summary(found: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return the warnings about several runs, each with the number of runs of an algorithm that have it.

    Those about the traffic are counted over all algorithms.

    Examples
    --------
    >>> summary([("pie", ["it is late"]), ("pie", []), ("red", ["it is late"])])
    ['pie: it is late (1 of 2 runs)', 'red: it is late (1 of 1 runs)']
    >>> summary((spec, [coded("W06", "sizes vary")]) for spec in ("pie", "red"))
    ['sizes vary (2 of 2 runs) (sojourn explain W06)']
    """
    runs: dict[str, int] = {"": 0}
    counts: dict[tuple[str, str], int] = {}
    examples: dict[tuple[str, str], str] = {}
    for spec, sentences in found:
        runs[spec] = runs.get(spec, 0) + 1
        runs[""] += 1
        for sentence in sentences:
            key = ("" if code_of(sentence) in OF_DEMAND else spec, _kind(sentence))
            counts[key] = counts.get(key, 0) + 1
            examples.setdefault(key, sentence)
    return [
        (f"{spec}: " if spec else "") + extended(examples[spec, kind], f" ({n} of {runs[spec]} runs)")
        for (spec, kind), n in counts.items()
    ]


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
    return [
        without_width(f"{spec}: all {len(group)} seeds") for spec, group in runs.items() if are_alike(group)
    ]


def without_width(which: str) -> str:
    """Return the warning about intervals of zero width."""
    return coded(
        "W08",
        f"{which} gave identical results, so ± 0 is not an uncertainty; randomise the starts, "
        'for example with start = "uniform 0s 1s"',
    )


def are_alike(group: Sequence[Mapping[str, float | None]]) -> bool:
    """Return whether there are several runs with the same metrics."""
    return len(group) > 1 and all(one == group[0] for one in group)


def _kind(sentence: str) -> str:
    """Return a warning without its numbers, to group equal ones."""
    return "".join(c for c in sentence if not c.isdigit())


def _decides(spec: str) -> bool:
    """Return whether an algorithm drops or marks packets before the queue is full."""
    name = spec.split()[0]
    return name not in PASSIVE or (name in CLASSFUL and " aqm" in spec)


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


def _full_hosts(record: Record) -> str | None:
    """Return a sentence if links of hosts, whose queues have no limit, carry all they can; or None.

    A side is full if hosts that use `FULL_HOST` of their link carry at least half of its bits. Sessions of
    web traffic change their hosts and count equally at each one.
    """
    dumbbell = record.plan["topology"].get("dumbbell")
    if dumbbell is None:
        return None
    flows: dict[int, list[tuple[int, int, int]]] = {}  # without a frame: a sweep diagnoses each of its runs
    names = ("traffic", "index", "received_packets", "dropped_packets")
    for number, index, *packets in zip(*(record.column("flows", name) for name in names), strict=True):
        received, dropped = (0 if count == UNKNOWN else count for count in packets)
        flows.setdefault(number, []).append((index, received, dropped))
    for side, sends in (("access", True), ("server", False)):
        loads: dict[tuple[int, int], float] = {}
        rates: dict[tuple[int, int], int] = {}
        for number, traffic in enumerate(record.plan["traffic"]):
            kind, what = next(iter(traffic["kind"].items()))
            tcp = what if kind == "tcp" else what.get("tcp")
            size = what["size"] if tcp is None else tcp["payload"] + tcp["header"]
            links = traffic["access"] if side == "access" and traffic["access"] else dumbbell[side]
            owner = number if side == "access" and traffic["access"] else -1
            nodes = links["nodes"] or traffic["count"]
            per_packet = 8 * size / record.seconds
            late = sends != traffic["reverse"]  # packets are dropped later than on this link
            found = [
                (host, per_packet * (received + dropped * late))
                for host, received, dropped in flows.get(number, ())
            ]
            if kind == "web":
                share = sum(load for _, load in found) / max(nodes, 1)
                found = [(host, share) for host in range(nodes)]
            for host, load in found:
                place = (owner if links["nodes"] else number, host % nodes)
                loads[place] = loads.get(place, 0.0) + load
                rates[place] = links["rate"]
        full = [place for place, load in loads.items() if load >= FULL_HOST * rates[place]]
        if sum(loads[place] for place in full) > 0.5 * sum(loads.values()):
            most = max(full, key=lambda place: loads[place])
            return (
                f"the {side} links of {len(full)} of {len(loads)} hosts are full, with "
                f"{loads[most] / 1e6:.3g} of {rates[most] / 1e6:g} Mbit/s; they have no limit, so packets "
                f"wait there instead; set {side}.rate or {side}.nodes"
            )
    return None
