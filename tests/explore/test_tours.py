"""What the tours state about their steps, checked with the native core on three seeds."""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

import pytest

from sojourn import _core, explore
from sojourn.explore.controls import changed, controls
from sojourn.explore.page import default, observed
from sojourn.spec.scenario import Scenario

Runs = list[list[dict[str, Any]]]


def scenario_of(values: dict[str, float | str]) -> Scenario:
    scenario = observed(default())
    known = {one.id: one for one in controls(scenario)}
    for key, value in values.items():
        units = {"bit/s": f"{value}bit/s", "ns": f"{value}ns", "": value}
        chosen: Any = (
            value == "on" if key == "ecn" else value if isinstance(value, str) else units[known[key].unit]
        )
        scenario = changed(scenario, known[key].toml, chosen)
    return scenario


def mean(views: list[dict[str, Any]], key: str) -> float:
    return fmean(view["summary"][key] for view in views)


def swing(views: list[dict[str, Any]], probe: str) -> float:
    """Return the standard deviation of a probe after the warm-up."""
    found = []
    for view in views:
        values = next(one["values"] for one in view["probes"] if one["name"] == probe)
        found.append(stdev(values[len(values) // 4 :]))
    return fmean(found)


def starts(runs: Runs) -> dict[str, Callable[[], bool]]:
    """Return the check of each step by tour and number."""
    first = runs[0]
    last = runs[-1]
    return {
        "bufferbloat 0": lambda: mean(first, "p99_delay_s") <= 0.021,
        "bufferbloat 1": lambda: (
            0.15 < mean(first, "p99_delay_s") <= 0.2 and mean(first, "utilization") > 0.99
        ),
        "bufferbloat 2": lambda: (
            mean(first, "mean_delay_s") > 0.1
            and mean(last, "mean_delay_s") < 0.005
            and mean(last, "goodput_bps") < mean(first, "goodput_bps")
        ),
        "red 0": lambda: mean(last, "mean_delay_s") < 0.02 and mean(last, "utilization") < 0.9,
        "red 1": lambda: mean(last, "utilization") < 0.75,
        "red 2": lambda: (
            mean(last, "utilization") > mean(first, "utilization") + 0.1
            and mean(last, "mean_delay_s") > mean(first, "mean_delay_s")
        ),
        "codel 0": lambda: mean(last, "mean_delay_s") < 0.2 * mean(first, "mean_delay_s"),
        "codel 1": lambda: max(next(o for o in first[0]["probes"] if o["name"] == "count")["values"]) > 10,
        "codel 2": lambda: (
            mean(last, "mean_delay_s") < mean(first, "mean_delay_s")
            and mean(last, "goodput_bps") < mean(first, "goodput_bps")
        ),
        "pie 0": lambda: mean(first, "mean_delay_s") > 0.04,
        "pie 1": lambda: 0.01 < mean(last, "mean_delay_s") < 0.02 < mean(first, "mean_delay_s"),
        "pie 2": lambda: swing(last, "p") > 1.5 * swing(first, "p"),
        "fairness 0": lambda: mean(first, "mean_delay_s") > 0.005,
        "fairness 1": lambda: mean(last, "jain_index") > max(0.99, mean(first, "jain_index")),
        "fairness 2": lambda: mean(last, "page_time_mean_s") < 0.7 * mean(first, "page_time_mean_s"),
        "l4s 0": lambda: mean(first, "mark_ratio") > 0,
        "l4s 1": lambda: (
            mean(last, "mean_delay_s") < 0.5 * mean(first, "mean_delay_s")
            and mean(last, "utilization") < mean(first, "utilization")
        ),
        "l4s 2": lambda: 0.005 < mean(first, "mean_delay_s") < 0.02,
        "synchronization 0": lambda: mean(first, "drop_ratio") > 0.01,
        "synchronization 1": lambda: mean(last, "mean_delay_s") < 0.5 * mean(first, "mean_delay_s"),
        "synchronization 2": lambda: (
            mean(first, "mean_delay_s") > 0.045 and mean(last, "mean_delay_s") < 0.02
        ),
    }


STEPS = [(f"{tour.id} {i}", step) for tour in explore.tours() for i, step in enumerate(tour.steps)]


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[name for name, _ in STEPS])
def test_the_text_of_a_step_holds(name: str, step: Any) -> None:
    scenario = scenario_of(step.set)
    plans = [scenario.plan_json(spec) for spec in step.specs]
    runs = [[json.loads(_core.view(plan, seed)) for seed in (1, 2, 3)] for plan in plans]
    assert starts(runs)[name](), [[view["summary"] for view in views] for views in runs]
