"""The recommendation as text: setting, results on held-out seeds, gain over the baseline, ``tc`` command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sojourn.algorithms.tc import Line, Place, tc_line
from sojourn.format import SPACE
from sojourn.metrics import label, text
from sojourn.results import Results
from sojourn.spec.plan import measured, queues
from sojourn.stats import holm, mean_ci, paired
from sojourn.study.tune.model import AIMS, Tune, Tuned
from sojourn.study.tune.ranking import Objective


class Finding(NamedTuple):
    """One objective of the recommended setting on held-out seeds."""

    metric: str
    mean: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p_holm: float
    verdict: str


def findings(results: Results, spec: str, baseline: str, objectives: Sequence[Objective]) -> list[Finding]:
    """Compare a setting with the baseline in each objective, paired by seed, with Holm's correction.

    The verdict is ``better``, ``worse``, ``no difference shown`` or, for the baseline itself, ``the same``.
    """
    effects = [
        paired(results.values(baseline, one.metric), results.values(spec, one.metric)) for one in objectives
    ]
    corrected = holm([effect.p for effect in effects])
    found = []
    for (metric, higher), effect, p in zip(objectives, effects, corrected, strict=True):
        estimate = mean_ci(results.values(spec, metric))
        mean, half = estimate.mean or 0.0, estimate.ci95 or 0.0
        change, low, high = effect.mean or 0.0, effect.low or 0.0, effect.high or 0.0
        verdict = "better" if (change > 0) == higher else "worse"
        if p is None or p >= 0.05:
            verdict = "no difference shown"
        if spec == baseline:
            verdict = "the same"
        found.append(
            Finding(
                metric, mean, mean - half, mean + half, change, low, high, 1.0 if p is None else p, verdict
            )
        )
    return found


def place(results: Results, spec: str) -> Place:
    """Return the parameters of the measured queue that ``tc`` needs."""
    scenario = results.scenario
    record = next(one.record for one in results.outcomes if one.point.spec == spec)
    queue = record.queues[0]
    limit = f"{queue['limit_bytes']}B" if queue["limit_bytes"] else f"{queue['limit_packets']}p"
    packet = queue["arrived_bytes"] / max(1, queue["arrivals"])
    rate = round(queue["capacity_bits"] / record.seconds)
    return Place(rate, limit, packet, bool(queues(scenario)[measured(scenario)].ecn))


def line(tuned: Tuned, spec: str) -> Line | None:
    """Return the ``tc`` command of a setting, or None if Linux has no such queue."""
    return tc_line(spec, place(tuned.comparison.results, spec))


def sentences(tuned: Tuned, spec: str) -> list[str]:
    """Return the recommendation, one sentence per line."""
    plan, results = tuned.plan, tuned.comparison.results
    baseline, count = tuned.comparison.baseline, len(tuned.trials)
    aims = {one.metric for one in plan.objectives}
    found = findings(results, spec, baseline, [*plan.objectives, *_others(plan)])
    better = any(one.verdict == "better" and one.metric in aims for one in found)
    worse = [label(one.metric) for one in found if one.verdict == "worse"]
    name, fresh = plan.scenario.name, plan.fresh
    if spec == baseline:
        said = [f"For {name}: keep {spec}; of {count} settings none ranks better"]
    elif not better:
        said = [
            f"For {name}: keep {baseline}; the best of {count} settings, {spec}, is not shown to be better"
        ]
    else:
        said = [f"For {name}: {spec}"]
    against = "" if spec == baseline else f", {spec} against {baseline}"
    said.append(f"validated on {len(fresh)} held-out seeds ({fresh[0]} to {fresh[-1]}){against}:")
    said += [f"  {_finding_text(one)}{'' if one.metric in aims else ' (not an objective)'}" for one in found]
    for one in plan.requirements:
        said.append(f"  required: {one}: {one.verdict(results.values(spec, one.metric))}")
    if better and worse:
        said.append(f"Trade-off: {' and '.join(worse)} {'gets' if len(worse) == 1 else 'get'} worse.")
    spec = spec if better else baseline
    written = line(tuned, spec)
    if written is None:
        said.append(f"Linux has no {spec.split()[0]}.")
    else:
        said.append(f"In Linux: {written}")
        said.append(f"  ({_interface(results.scenario.measured)})")
        said += [f"  ({note})" for note in written.notes]
    return said


def _interface(queue: str) -> str:
    """Say which interface DEV is; a queue is named ``FROM-TO``."""
    sender, _, receiver = queue.partition("-")
    return (
        f"DEV is the interface of {sender} that sends to {receiver}; for the other direction, or behind "
        "a faster device, see sojourn advise"
    )


def _others(plan: Tune) -> list[Objective]:
    """Return the default objectives that the plan does not contain."""
    aims = {one.metric for one in plan.objectives}
    return [Objective.parse(name) for name in AIMS if name not in aims]


def _finding_text(one: Finding) -> str:
    def amount(value: float) -> str:
        return text(one.metric, value)

    interval = f"{amount(one.low)} to {amount(one.high)}"
    found = f"{label(one.metric)} {amount(one.mean)} (95 % interval {interval})"
    if one.verdict == "the same":
        return found
    if one.verdict == "no difference shown":
        return f"{found}: no difference shown"
    more = "higher" if one.difference > 0 else "lower"
    ends = sorted((abs(one.difference_low), abs(one.difference_high)))
    size, low, high = (amount(one) for one in (abs(one.difference), *ends))
    if size.endswith("%"):
        size = size.replace(f"{SPACE}%", " percentage points")
        low, high = (end.removesuffix(f"{SPACE}%") for end in (low, high))
    return f"{found}: {one.verdict}, {size} {more} ({low} to {high})"
