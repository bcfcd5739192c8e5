"""Timers draw random numbers, the end of a run is a call, and declared state is stored with the results.

Mutants seen to fail: the timer given a stream of its own; the end called before the last packet; exports left
out of the stored columns; an export that is not JSON stored as text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from support import Cli

LEARNER = """
import numpy as np
import sojourn


class Learner(sojourn.Aqm):
    '''Learns the delay by a timer that chooses at random.'''

    exports = {"table": "mean delay by action, ns", "ended": "time of the end, ns", "drawn": "numbers"}

    def start(self):
        self.table = np.zeros(3)
        self.drawn, self.last, self.ended, self.due = [], 0, None, 0

    def next_timer(self):
        return self.due

    def on_timer(self, now, queue, rng):
        self.drawn.append(rng.uniform())
        self.table[int(3 * self.drawn[-1])] += queue.packets
        self.due = now + 100_000_000

    def on_departure(self, now, packet, queue, rng):
        self.drawn.append(rng.uniform())
        self.last = now

    def on_end(self, now):
        assert now >= self.last
        self.ended = now
"""


@pytest.fixture
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The algorithm in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learner.py").write_text(LEARNER)
    return "learner.py:Learner"


def test_state_is_stored_and_read_back(learner: str, small: sojourn.Scenario) -> None:
    one = sojourn.run(small, aqms=[learner], seeds=2, out="out", workers=1, allow_code=True)
    again = sojourn.run(small, aqms=[learner], seeds=2, workers=2, allow_code=True)
    stored = sojourn.Results.open("out")
    found = one.exports()
    assert found == again.exports() == stored.exports("learner.py:Learner")
    assert list(found) == [1, 2]
    assert found[1]["ended"] == small.seconds[1] * 1e9
    assert len(found[1]["table"]) == 3
    assert sum(found[1]["table"]) > 0
    assert found[1]["drawn"] != found[2]["drawn"]
    assert stored.id == one.id


def test_a_timer_and_a_departure_draw_from_one_stream(learner: str, small: sojourn.Scenario) -> None:
    """The numbers of the run are those that an algorithm without a timer draws, in the order of calls."""

    class Plain(sojourn.Aqm):
        """Draws at departures only."""

        exports = {"drawn": "numbers"}

        def start(self):
            self.drawn = []

        def on_departure(self, now, packet, queue, rng):
            self.drawn.append(rng.uniform())

    results = sojourn.run(small, aqms=[learner, Plain], seeds=1, allow_code=True)
    both, plain = (results.exports(aqm)[1]["drawn"] for aqm in results.aqms)
    assert len(both) > len(plain) > 100
    assert both[: len(plain)] == plain


def test_the_end_comes_after_a_drain(learner: str, small: sojourn.Scenario) -> None:
    short = {"name": "short", "kind": "tcp-short", "arrivals": "2/s", "size": "200kB", "payload": "960B"}
    drained = small.with_(traffic=[short], drain=True)
    (one,) = sojourn.run(drained, aqms=[learner], seeds=1, allow_code=True).exports().values()
    assert one["ended"] > small.seconds[1] * 1e9


def test_the_classes_of_a_scheduler_export_by_number(learner: str, small: sojourn.Scenario) -> None:
    spec = f"drr classes 2 aqm_0 {learner} aqm_1 (prio classes 2 aqm_1 {learner})"
    (found,) = sojourn.run(small, aqms=[spec], seeds=1, allow_code=True).exports().values()
    assert sorted(found) == [
        f"{place}.{name}" for place in ("0", "1.1") for name in ("drawn", "ended", "table")
    ]


def test_an_algorithm_without_exports_has_none(small: sojourn.Scenario) -> None:
    results = sojourn.run(small, aqms=["codel"], seeds=1)
    assert results.exports() == {1: {}}
    assert "exports" not in results.records[0].data


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("float('nan')", "cannot be stored: Out of range float values are not JSON compliant"),
        ("{1, 2}", "cannot be stored: a set is not JSON"),
        ("'x' * 16_000_001", "is too long: 16000003 characters"),
        (None, "is not an attribute at the end of the run"),
    ],
)
def test_a_value_that_cannot_be_stored_ends_its_run(
    value: str | None, problem: str, cli: Cli, tmp_path: Path, small_file: Path
) -> None:
    end = f"self.table = {value}" if value else "del self.table"
    (tmp_path / "own.py").write_text(LEARNER.replace("self.ended = now", end))
    done = cli("run", small_file, "--aqm", f"{tmp_path}/own.py:Learner", "--seeds", 1, "--workers", 1)
    assert done.returncode == 1
    assert f'Learner.exports "table" {problem}' in done.stderr
    assert "allowed: finite numbers, text" in done.stderr


def test_a_timer_without_random_numbers_is_accepted(small: sojourn.Scenario) -> None:
    class Old(sojourn.Aqm):
        """The handler of version 0.1."""

        exports = {"times": "timers"}

        def start(self):
            self.times = 0

        def next_timer(self):
            return (self.times + 1) * 100_000_000

        def on_timer(self, now, queue):
            self.times += 1

    (run,) = execute(points(small, [Old().spec], [1]))
    assert run.record.exports == {"R1-R2": {"times": round(10 * small.seconds[1]) - 1}}
