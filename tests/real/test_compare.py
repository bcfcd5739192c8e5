"""The agreement of simulated and real metrics, and the simulated runs with which a real one is compared.

Mutants (each was seen to fail a test here): a simulated run has a seed that no real run has; all simulated
runs of one seed are the same.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.results import Results
from sojourn.spec.scenario import Scenario
from sojourn.study.compare_worlds.packets import Row, rows, simulate


def results(**values: list[float | None]) -> Results:
    def of(_aqm: str, metric: str) -> list[float | None]:
        return values.get(metric, [None])

    return cast(Results, SimpleNamespace(aqms=["red"], values=of))


def verdict(metric: str, simulated: list[float], real: list[float]) -> str:
    half = len(simulated) // 2
    pieces = [results(**{metric: list(part)}) for part in (simulated[:half], simulated[half:])]
    found = rows(pieces, results(**{metric: list(real)}))
    row: Row = next(row for row in found if row.metric == metric)
    return row.verdict


@pytest.mark.parametrize(
    ("metric", "simulated", "real", "expected"),
    [
        ("throughput_bps", [10e6, 10e6], 10.19e6, "agrees"),
        ("throughput_bps", [10e6, 10e6], 10.21e6, "differs"),
        ("mean_delay_s", [0.1, 0.1], 0.114, "agrees"),
        ("mean_delay_s", [0.1, 0.1], 0.116, "differs"),
        ("mean_delay_s", [0.001, 0.001], 0.0019, "agrees"),  # less than 1 ms apart
        ("drops", [100.0, 100.0], 124.0, "agrees"),
        ("drops", [100.0, 100.0], 76.0, "agrees"),
        ("drops", [100.0, 100.0], 74.0, "differs"),
        ("drops", [10.0, 14.0], 16.0, "within the spread"),
        ("marks", [0.0, 0.0], 0.0, "agrees"),
        ("marks", [0.0, 0.0], 1.0, "differs"),
    ],
)
def test_targets(metric: str, simulated: list[float], real: float, expected: str) -> None:
    assert verdict(metric, simulated, [real]) == expected


def test_a_metric_unknown_in_one_world_differs() -> None:
    one, other = results(drops=[5.0, 5.0]), results()
    assert {row.metric: row.verdict for row in rows([one], other)}["drops"] == "differs"
    data: dict[str, Any] = rows([one], other)[2].data("real")
    assert data["real"] is None
    assert data["difference"] is None


def test_a_real_run_is_compared_with_simulated_ones_of_its_seed() -> None:
    """The queue's random numbers depend on the seed only, not on the random numbers of the hosts."""
    scenario = Scenario.from_toml(
        """
        name = "cbr"
        duration = "5s"
        queue = { limit = "50p" }
        trace = { drops = true }
        [dumbbell]
        rate = "1Mbit"
        delay = "10ms"
        access = { rate = "10Mbit", delay = "5ms" }
        server = { rate = "10Mbit", delay = "5ms" }
        [[traffic]]
        name = "cbr"
        kind = "udp-cbr"
        rate = "1.2Mbit/s"
        size = "1kB"
        start = "uniform 0ms 1ms"
        """
    )
    found = simulate(scenario, ["red min_th 1 max_th 40 max_p 0.5 w_q 1"], 2, 5)
    assert [one.seeds for one in found] == [[1, 2]] * 3, "as many of each seed"
    starts = {one.flows(seed=seed)["start_ns"][0] for one in found for seed in (1, 2)}
    assert len(starts) == 6, "the random numbers of hosts differ"
    lost = [[one.trace("drops", seed=seed)["arrival"].to_list() for one in found] for seed in (1, 2)]
    assert [len(set(map(tuple, one))) for one in lost] == [1, 1], "the queue does not"
    assert lost[0][0] != lost[1][0]
