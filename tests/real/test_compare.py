"""When simulated and real figures agree."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.real.compare import Row, rows
from sojourn.results import Results


def results(**values: list[float | None]) -> Results:
    def of(_aqm: str, metric: str) -> list[float | None]:
        return values.get(metric, [None])

    return cast(Results, SimpleNamespace(aqms=["red"], values=of))


def verdict(metric: str, simulated: list[float], real: list[float]) -> str:
    found = rows(results(**{metric: list(simulated)}), results(**{metric: list(real)}))
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


def test_what_one_world_does_not_know_differs() -> None:
    one, other = results(drops=[5.0, 5.0]), results()
    assert {row.metric: row.verdict for row in rows(one, other)}["drops"] == "differs"
    data: dict[str, Any] = rows(one, other)[2].data()
    assert data["real"] is None
    assert data["difference"] is None
