"""Algorithms in Python give the same records as the built-in ones, drop by drop.

Mutant seen to fail: `on_idle` not called.
"""

from __future__ import annotations

import pytest

import sojourn
from sojourn.algorithms import permitting
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from support import ROOT

TWINS = {
    "red": ("examples/own/red.py:RED min_th 5 max_th 15 max_p 0.1 w_q 0.01", "red max_th 15 w_q 0.01"),
    "pi": ("examples/own/pi.py:PI q_ref 10 a 0.001 b 0.0009", "pi q_ref 10 a 0.001 b 0.0009 f_s 160"),
    "codel": ("examples/own/codel.py:CoDel", "codel"),
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("ecn", [False, True])
def test_a_twin_gives_the_same_record(
    name: str, ecn: bool, small: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    own, built_in = TWINS[name]
    scenario = small.with_(
        queue={"limit": "30p", "ecn": ecn}, duration="20s", trace={"drops": True, "interval": "100ms"}
    )
    with permitting(True):
        wanted = points(scenario, [own, built_in], [1, 2])
    data = {(run.point.spec, run.point.seed): run.record.data for run in execute(wanted)}
    for (_, mine), (_, theirs) in zip(*(sorted(data.items())[i : i + 2] for i in (0, 2)), strict=True):
        assert len(theirs["drops"]["time_ns"]) > 50 * 8 or ecn
        for record in (mine, theirs):
            for queue in record["queues"]:
                queue.pop("spec")
            for queue in record["series"]["queues"]:
                queue.pop("probes")
        assert mine == theirs
