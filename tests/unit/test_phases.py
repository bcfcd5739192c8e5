"""Metrics of named parts of a run.

Mutants seen to fail: transfers that began after a phase are counted; phases lost in files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.metrics import label
from sojourn.results import Results
from sojourn.spec.scenario import Scenario
from sojourn.study.compare import check_metric
from support import Cli

SHORT = {
    "name": "short", "kind": "tcp-short", "arrivals": "12/s", "size": "8kB", "payload": "500B",
    "header": "40B",
}  # fmt: skip


@pytest.fixture
def loaded(small: Scenario) -> Scenario:
    """Two seconds of TCP alone, and then of a datagram stream of half the capacity, too."""
    ftp, cbr = (one.model_dump(by_alias=True, exclude_none=True) for one in small.traffic)
    cbr |= {"rate": "1Mbit/s", "start": "4s"}
    phases = [{"name": "calm", "from": "2s", "to": "4s"}, {"name": "loaded", "from": "4s", "to": "6s"}]
    return small.with_(traffic=[ftp, cbr, SHORT], phase=phases)


def test_phases_that_cover_the_window_add_up_to_it(loaded: Scenario) -> None:
    for one in sojourn.run(loaded, ["droptail", "red", "codel", "pie"], seeds=2).outcomes:
        found, parts = one.metrics, [f"phases.{name}." for name in ("calm", "loaded")]
        for name in ("arrivals", "drops", "short.completed", "short.unfinished"):
            assert found[parts[0] + name] + found[parts[1] + name] == found[name]  # type: ignore[operator]
        for name in ("mean_queue_packets", "mean_queue_bytes", "idle_share", "throughput_bps"):
            mean = (found[parts[0] + name] + found[parts[1] + name]) / 2  # type: ignore[operator]
            assert mean == pytest.approx(found[name], rel=1e-9), name
        assert found["phases.loaded.arrivals"] > found["phases.calm.arrivals"]  # type: ignore[operator]
        series = one.record.series()
        for name, begin, end in (("calm", 2, 4), ("loaded", 4, 6)):
            inside = series.filter((series["time_s"] > begin + 1e-9) & (series["time_s"] < end + 1e-9))
            mean = float(np.mean(inside["queue_mean"].to_numpy()))
            assert found[f"phases.{name}.mean_queue_packets"] == pytest.approx(mean, rel=1e-9)


def test_a_phase_is_the_window_of_a_run_with_that_warm_up(small: Scenario) -> None:
    """The queue's counters, percentiles and transfers of a phase are those of the window with these ends."""
    window = small.with_(traffic=[SHORT], warmup="3s")
    with_ = small.with_(traffic=[SHORT], warmup="0s", phase=[{"name": "end", "from": "3s", "to": "6s"}])
    expected = sojourn.run(window, ["red"], seeds=1).outcomes[0].metrics
    found = sojourn.run(with_, ["red"], seeds=1).outcomes[0].metrics
    names = [name.removeprefix("phases.end.") for name in found if name.startswith("phases.end.")]
    assert {"p99_delay_s", "std_delay_s", "short.completion_time_p95_s"} <= set(names)
    for name in names:
        value = found[f"phases.end.{name}"]
        assert value == expected[name] or value == pytest.approx(expected[name], rel=1e-12), name


def test_phases_change_nothing_else_and_are_stored(loaded: Scenario, tmp_path: Path) -> None:
    without = sojourn.run(loaded.with_(phase=[]), ["red", "pie"], seeds=2)
    kept = sojourn.run(loaded, ["red", "pie"], seeds=2, out=tmp_path)
    again = Results.open(tmp_path)
    assert again.runs.equals(kept.runs)
    assert again.outcomes[0].record.phases == kept.outcomes[0].record.phases
    names = [name for name in kept.metric_names if not name.startswith("phases.")]
    assert names == without.metric_names
    for a, b in zip(kept.outcomes, without.outcomes, strict=True):
        assert [a.metrics[name] for name in names] == [b.metrics[name] for name in names]


def test_phases_have_labels_and_rows_of_the_table(loaded: Scenario, cli: Cli, tmp_path: Path) -> None:
    assert label("phases.calm.mean_delay_s") == "phase calm: mean delay"
    assert label("phases.calm.short.completed") == "phase calm, short: completed transfers"
    (tmp_path / "loaded.toml").write_text(loaded.to_toml())
    done = cli("run", "loaded.toml", "--seeds", 2)
    assert "phase loaded: mean delay (ms)" in done.stdout
    for name in sojourn.run(loaded, seeds=1).metric_names:
        check_metric(loaded, "metric", name)
    with pytest.raises(InputError, match=r"allowed: phases.calm.mean_delay_s"):
        check_metric(loaded, "metric", "phases.clam.mean_delay_s")


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ([("a", "2s", "7s")], r"phase\[1\].to = '7s' is after the end of the run"),
        ([("a", "3s", "3s")], r"phase\[1\].from = '3s' is not before the end of the phase"),
        ([("a", "1s", "2s"), ("a", "2s", "3s")], r"phase\[2\].name = 'a' is also the name of another phase"),
        ([("a.b", "1s", "2s")], r"phase\[1\].name = 'a.b' has a dot"),
    ],
)
def test_impossible_phases_are_refused(
    small: Scenario, phases: list[tuple[str, str, str]], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        small.with_(phase=[{"name": name, "from": begin, "to": end} for name, begin, end in phases])
