"""Comparison of the fluid and the simulated world: the grid, its errors, the figure, the command.

Mutants (each was seen to fail here): the buffer not scaled; delays of a traffic's own access not scaled;
errors with packets minus fluid; the systems of the grid exchanged; the queue ignored in `trust`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn
from folders import check_folder
from sojourn.cli.compare_worlds import of_averages
from sojourn.study import two_worlds
from sojourn.study.compare_worlds.fluid import Cell, grid, scaled
from sojourn.worlds.fluid.system import setting, solve_together
from support import SMALL, Cli


def test_a_scenario_is_scaled_whole():
    text = SMALL + 'access = { rate = "1Mbit/s", delays = ["4ms"] }\n'
    found = scaled(sojourn.Scenario.from_toml(text), flows=2, rtt=3, buffer=0.5)
    assert found.traffic[0].count == 12
    assert found.traffic[1].count == 1
    assert found.dumbbell is not None
    assert found.dumbbell.delay == "15ms"
    assert found.dumbbell.access.delays == ["15ms", "60ms"]
    assert found.dumbbell.server.delay == "15ms"
    assert found.traffic[1].access is not None
    assert found.traffic[1].access.delays == ["12ms"]
    assert found.queue is not None
    assert found.queue.limit == "15p"


def test_systems_solved_together_equal_single_solutions(small: sojourn.Scenario):
    settings = [
        setting(scaled(small, n, r, b), "red min_th 5 max_th 15") for n, r, b in ((1, 1, 1), (2, 1, 0.5))
    ]
    for one, together in zip(settings, solve_together(settings), strict=True):
        alone = one.solve()
        assert together.mean == pytest.approx(alone.mean, rel=0.05)
        assert together.deviation == pytest.approx(alone.deviation, rel=0.1)
        assert together.sent.shape == alone.sent.shape


def test_the_grid_runs_both_worlds(small: sojourn.Scenario):
    cells = grid(small, "red min_th 5 max_th 15", (1,), (1.0, 2.0))
    assert [(one.flows, one.limit) for one in cells[:3]] == [(6, 30), (6, 60), (6, 30)]
    assert cells[2].rtt - cells[0].rtt == pytest.approx(0.045)
    assert len(cells) == 8
    for one in cells:
        assert one.fluid["timeouts"] is None
        assert one.packets["timeouts"] is not None
        away = one.fluid["utilization"] - one.packets["utilization"]  # type: ignore[operator]
        assert one.error("utilization") == pytest.approx(away)


def cell(queue: float = 10.0, drops: float = 0.01, used: float = 1.0, window: float = 10.0) -> Cell:
    packets = {
        "mean_queue_packets": 10.0,
        "drop_ratio": 0.01,
        "mark_ratio": 0.0,
        "utilization": 1.0,
        "timeouts": 0.0,
    }
    fluid = {"mean_queue_packets": queue, "drop_ratio": drops, "mark_ratio": 0.0, "utilization": used}
    return Cell(10, 0.1, 100.0, fluid, packets, window)  # type: ignore[arg-type]


def test_trust_needs_queue_signals_and_utilization():
    assert cell().trusted
    assert not cell().reason
    assert cell(queue=30).error("queue") == pytest.approx(0.2)
    for wrong in (cell(queue=30), cell(drops=0.05), cell(used=0.9)):
        assert not wrong.trusted
        assert "noise" in wrong.reason
    assert "few packets" in cell(drops=0.2, window=2.0).reason


def test_the_command_writes_a_report(cli: Cli, small_file: Path, tmp_path: Path):
    done = cli("compare-worlds", small_file, "--seeds", 1, "--no-grid", "--json", "--out", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {row["metric"]: row for row in found["metrics"]}
    assert rows["timeouts"]["fluid"] is None
    assert rows["timeouts"]["error"] is None
    used = rows["utilization"]
    assert used["error"] == pytest.approx(used["fluid"] / used["packets"] - 1)
    kept = json.loads((tmp_path / "both" / "worlds.json").read_text())
    assert kept["metrics"] == json.loads(done.stdout)["metrics"]
    page = (tmp_path / "both" / "report.html").read_text(encoding="utf-8")
    assert "The queue in both worlds" in page
    assert "phase effects" in page


def test_the_folder_is_a_results_folder(cli: Cli, small_file: Path, tmp_path: Path):
    """Mutants seen to fail: the folder lacks its kind; the grid is read without the fluid values."""
    short = small_file.read_text().replace('duration = "6s"', 'duration = "3s"')
    small_file.write_text(short)
    both = tmp_path / "both"
    done = cli("compare-worlds", small_file, "--seeds", 1, "--out", both)
    assert done.returncode == 0, done.stderr
    found = sojourn.open(both)
    assert (found.kind, found.is_complete) == ("compare-worlds", True)
    assert found.manifest["aqms"] == [found.runs["aqm"][0]]
    assert found.runs["world"].to_list() == ["simulated", "fluid"]
    assert [labels["world"] for labels, record in found.records() if record.queues] == ["simulated", "fluid"]
    assert set(found.trace()["world"]) == {"simulated", "fluid"}
    check_folder(both, "compare-worlds")
    page = (both / "report.html").read_bytes()
    (both / "report.html").unlink()
    again = cli("report", both)
    assert again.returncode == 0, again.stderr
    assert (both / "report.html").read_bytes() == page
    compared = two_worlds.reopen(both)
    rows = of_averages(compared).tables[1].rows
    points = [one["fluid"]["mean_queue_packets"] for one in compared.data["grid"]]
    assert [row[3] for row in rows] == points
    verified = cli("verify", both)
    assert verified.returncode == 0, verified.stderr
    assert "differences: 0" in verified.stdout


def test_an_interrupted_comparison_has_no_report(small_file: Path, tmp_path: Path):
    scenario = sojourn.load(small_file)
    two_worlds.begin(tmp_path / "both", scenario, "fluid", ["sojourn", "compare-worlds", "small.toml"])
    found = sojourn.open(tmp_path / "both")
    assert (found.kind, found.is_complete) == ("compare-worlds", False)
    with pytest.raises(sojourn.InputError, match="finish it with: sojourn compare-worlds small"):
        two_worlds.reopen(tmp_path / "both")


def test_the_command_refuses_features_without_a_fluid_model(cli: Cli, small_file: Path):
    done = cli("compare-worlds", small_file, "--aqm", "codel")
    assert done.returncode == 2
    assert "no mean field" in done.stderr
    assert done.stderr.count("\n") == 1
