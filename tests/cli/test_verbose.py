"""``sojourn run --verbose``: the path that the simulator took, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sojourn
from sojourn.cli.run import fast_paths
from sojourn.record import Record
from support import SMALL


@pytest.mark.parametrize(
    ("path", "said"), [("yes", "yes"), ("no, a trace", "no, a trace"), (None, "not known of a stored run")]
)
def test_the_path_of_each_algorithm_is_one_line(path: str | None, said: str) -> None:
    results = sojourn.run(sojourn.Scenario.from_toml(SMALL), ["droptail", "red"], seeds=2)
    results.outcomes = [
        replace(one, record=Record({**one.record.data, "fast_path": path}, one.record.plan))
        for one in results.outcomes
    ]
    assert fast_paths(results) == [f"fast path: {spec}: {said}" for spec in ("droptail", "red")]
