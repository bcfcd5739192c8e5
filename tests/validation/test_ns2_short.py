"""A short ``make validate``: a few cases, three seeds, and every drop of deterministic cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from validation.cells import CELLS, Cell, cell
from validation.ns2 import make_scenarios

from validation import run

ROOT = Path(__file__).parents[2] / "validation"
SEEDS = range(1, 4)
CASES = [
    "R-D10-N40-DropTail",
    "R-D10-N40-GRED",
    "R-D10-N40-REM",
    "R-D10-N40-AVQ",
    "R-D10-N40-GK",
    "R-D10-N400-GK",
    "B-x1-q40-drop",
    "B-x1-q160-ecn",
    "T-N16-GRED",
    "A-D10-N400-auto",
    "O-D100-N100-in10-wide",
]


@pytest.fixture(scope="module")
def ours() -> run.Rows:
    names = [*CASES, "J-D100-N400-DropTail"]
    return run.collect(p for name in names for p in run.points_of(name, SEEDS))


@pytest.mark.parametrize("name", CASES)
def test_every_cell_agrees(name: str, ours: run.Rows) -> None:
    cells = run.compare(name, ours[name], run.counted()[name])
    assert [c for c in cells if c.counts and not c.within] == []
    assert any(c.counts for c in cells)


def test_random_send_delays_agree(ours: run.Rows) -> None:
    name = "J-D100-N400-DropTail"
    cells = run.compare(name, ours[name], run.references("jitter")[name])
    assert [c for c in cells if c.counts and not c.within] == []


@pytest.mark.parametrize("name", sorted(run.references("many")))
def test_forty_flows_lose_the_same_packets_at_the_same_times(name: str) -> None:
    equal, theirs, ours = run.same_drops(name)
    assert equal == theirs == ours > 300


def test_pi_has_the_same_transient() -> None:
    name = "R-D10-N40-PI"
    theirs = [row["q_mean"] for row in run.references("transients")[name]]
    ours = run.transients(name, SEEDS, store=None)
    windows = [
        cell(name, "mean_queue_packets", a, b)
        for a, b in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
    ]
    assert len(windows) == 20
    assert [w for w in windows if not (w.within or w.overlap)] == []


def test_the_scenarios_have_the_settings_of_ns2() -> None:
    told = [
        line for file in (ROOT / "ns2/reference").glob("*.args") for line in file.read_text().splitlines()
    ]
    assert len(told) == len(list((ROOT / "ns2/scenarios").glob("*.toml")))
    for line in told:
        name, _, words = line.partition(" ")
        file = ROOT / "ns2/scenarios" / f"{name}.toml"
        assert file.read_text() == make_scenarios.scenario(name, words), name


def test_the_committed_report_is_complete() -> None:
    *_, last = (ROOT / "REPORT.md").read_text().splitlines()
    match = re.fullmatch(r"cells within target: (\d+) of (\d+)", last)
    assert match
    within, of = map(int, match.groups())
    assert of == 273
    assert within >= 0.9 * of


def _cell(metric: str, ours: float, ns2: float, ours_ci: float = 0.0, case: str = "R-x") -> Cell:
    return Cell(case, metric, ours, ours_ci, ns2, 0.0)


@pytest.mark.parametrize(
    ("metric", "inside", "outside"),
    [
        ("utilization", 0.905, 0.9051),
        ("drop_ratio", 0.927, 0.9271),
        ("mean_queue_packets", 2.9, 2.901),
        ("timeouts", 0.99, 0.991),
        ("jain_index", 0.927, 0.9271),
    ],
)
def test_the_targets_are_those_of_the_readme(metric: str, inside: float, outside: float) -> None:
    assert _cell(metric, inside - 1e-9, 0.9).within
    assert not _cell(metric, outside, 0.9).within


def test_a_queue_of_100_may_be_3_percent_off() -> None:
    assert _cell("mean_queue_packets", 103, 100).within
    assert not _cell("mean_queue_packets", 103.1, 100).within


def test_intervals_that_overlap_excuse_ratios_and_timeouts_only() -> None:
    assert _cell("drop_ratio", 2.0, 1.0, ours_ci=1.0).within
    assert _cell("timeouts", 2.0, 1.0, ours_ci=1.0).within
    assert not _cell("utilization", 2.0, 1.0, ours_ci=1.0).within
    assert not _cell("mean_queue_packets", 102.0, 90.0, ours_ci=20.0).within


def test_which_cells_count() -> None:
    assert not _cell("timeouts", 0, 0).counts
    assert _cell("timeouts", 1, 0).counts
    assert not _cell("mark_ratio", 0.1, 0.1).counts
    assert _cell("mark_ratio", 0.1, 0.1, case="B-x1-q40-ecn").counts
    assert _cell("jain_index", 1, 1).counts
    assert "std_queue_packets" not in CELLS
