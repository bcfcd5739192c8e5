"""A scenario in the fluid world: its equations, its results, null metrics, refusals.

Mutants (each was seen to fail here): an access delay counted one way; marks counted as drops;
flows of a class that share one row; a null metric left at 0; the id of a fluid run equal to that of a
simulated one.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.cli.summaries import of_results
from sojourn.errors import InputError
from sojourn.metrics import METRICS
from sojourn.runner.point import Point
from sojourn.worlds.fluid.system import setting
from support import SMALL, Cli


def fluid(scenario: sojourn.Scenario, *aqms: str) -> sojourn.Results:
    return sojourn.run(scenario, aqms=list(aqms) or None, world="fluid")


def test_a_scenario_becomes_classes_of_flows(small: sojourn.Scenario):
    found = setting(small, "droptail")
    flows = found.classes.flows
    assert np.asarray(flows.count).tolist() == [3, 3]
    wires = 8 * 540 * (1 / 10e6 + 1 / 2e6 + 1 / 10e6) + 8 * 40 * (1 / 10e6 + 1 / 2e6 + 1 / 10e6)
    assert np.asarray(flows.delay) == pytest.approx([0.03 + wires, 0.06 + wires])
    assert np.asarray(flows.start).tolist() == [0.5, 0.5]
    assert [members.tolist() for members in found.classes.members] == [[0, 2, 4], [1, 3, 5]]
    (stream,) = found.link.background
    assert stream.rate * found.packet * 8 == pytest.approx(200e3)
    assert float(np.asarray(found.link.rate)) * found.packet * 8 == pytest.approx(2e6)
    assert found.link.limit == 30


def test_shared_hosts_keep_their_delays():
    text = SMALL.replace('delays = ["5ms", "20ms"]', 'delays = ["5ms", "20ms", "30ms"], nodes = 2')
    found = setting(sojourn.Scenario.from_toml(text), "droptail")
    assert np.asarray(found.classes.flows.count).tolist() == [3, 3]
    assert [members.tolist() for members in found.classes.members] == [[0, 2, 4], [1, 3, 5]]


def test_it_has_the_metrics_of_packets_and_null_where_undefined(small: sojourn.Scenario):
    ours, theirs = fluid(small).outcomes[0].metrics, sojourn.run(small, seeds=1).outcomes[0].metrics
    assert list(ours) == list(theirs)
    of_packets = {one.name for one in METRICS.values() if one.needs_packets}
    assert {"timeouts", "mean_drop_run", "p99_delay_s", "mean_owd_s"} < of_packets
    for name, value in ours.items():
        if name.rpartition(".")[2] in of_packets:
            assert value is None, name
        else:
            assert value is not None, name
            assert math.isfinite(value)


def test_its_record_conserves_packets(small: sojourn.Scenario):
    results = fluid(small, "red min_th 5 max_th 15")
    (record,) = results.records
    queue = record.queues[0]
    assert queue["arrivals"] == pytest.approx(queue["departures"] + sum(queue["drops"]), abs=31)
    flows = record.flows
    assert flows.height == 7
    assert flows["queue_arrivals"].sum() == pytest.approx(queue["arrivals"], abs=7)
    assert flows["queue_drops"].sum() == pytest.approx(sum(queue["drops"]), abs=7)
    series = record.series()
    late = series.filter(series["time_s"] > 2)
    assert late["queue_mean"].mean() == pytest.approx(
        results.outcomes[0].metrics["mean_queue_packets"], rel=0.01
    )
    assert late["arrivals"].sum() == pytest.approx(queue["arrivals"], rel=0.02)
    assert {"avg", "p", "window"} <= set(series.columns)


def test_marks_are_not_drops(small: sojourn.Scenario):
    metrics = fluid(small, "red min_th 5 max_th 15 ecn").outcomes[0].metrics
    assert metrics["ftp.mark_ratio"] == pytest.approx(
        metrics["cbr.drop_ratio"], rel=0.1
    )  # UDP is not ECN-capable
    assert metrics["cbr.mark_ratio"] == 0
    assert metrics["ftp.drop_ratio"] < 0.5 * metrics["ftp.mark_ratio"]  # type: ignore[operator]
    assert metrics["marks"] == pytest.approx(metrics["ftp.marks"], rel=0.02)


def test_seeds_do_not_matter_and_ids_differ_from_packets(
    small: sojourn.Scenario, capsys: pytest.CaptureFixture[str]
):
    results = sojourn.run(small, seeds=3, world="fluid")
    of_results(results).print()
    assert "fluid world, which has no seeds" in capsys.readouterr().out
    assert len(results.runs) == 1
    assert Point(small, "red", 1, "fluid").run_id != Point(small, "red", 1).run_id


def test_finished_runs_are_not_repeated_and_can_be_opened(small: sojourn.Scenario, tmp_path: Path):
    first = sojourn.run(small, world="fluid", out=tmp_path)
    again = sojourn.run(small, world="fluid", out=tmp_path)
    assert [one.fresh for one in (*first.outcomes, *again.outcomes)] == [True, False]
    assert first.warnings == again.warnings
    opened = sojourn.Results.open(tmp_path)
    assert opened.manifest["world"] == "fluid"
    assert opened.outcomes[0].metrics == first.outcomes[0].metrics
    assert opened.trace("p").height == first.trace("p").height


def test_small_windows_give_a_warning(small: sojourn.Scenario):
    crowd = sojourn.Scenario.from_toml(SMALL.replace("count = 6", "count = 24"))
    assert any("mean window" in warning for warning in fluid(crowd).warnings)
    assert not any("mean window" in warning for warning in fluid(small).warnings)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "udp-cbr"\nrate = "200kbit/s"\nsize = "500B"', 'kind = "tcp-short"\narrivals = "2/s"\nsize = "20kB"\npayload = "500B"\nheader = "40B"', "slow start"),  # noqa: E501
        ('name = "ftp"', 'name = "ftp"\ndirection = "reverse"', "traffic.ftp.direction"),
        ('name = "ftp"', 'name = "ftp"\nmax_rate = "1Mbit/s"', "traffic.ftp.max_rate"),
        ('name = "ftp"', 'name = "ftp"\nstagger = { every = "1s" }', "traffic.ftp.stagger"),
        ("[queue]", 'reverse_queue = { limit = "9p" }\n[queue]', "reverse_queue"),
        ("[queue]", 'reverse_impairment = { loss = "1%" }\n[queue]', "reverse_impairment is for"),
    ],
)  # fmt: skip
def test_unsupported_features_are_refused(old: str, new: str, words: str):
    scenario = sojourn.Scenario.from_toml(SMALL.replace(old, new, 1), "file.toml")
    with pytest.raises(InputError) as error:
        fluid(scenario)
    assert words in str(error.value)
    assert str(error.value).startswith("file.toml: ")


def test_a_graph_is_refused():
    with pytest.raises(InputError, match="is a graph"):
        fluid(sojourn.load("examples/parkinglot.toml"))


def test_the_command_prints_one_object(cli: Cli, small_file: Path):
    done = cli("run", small_file, "--world", "fluid", "--aqm", "red", "--aqm", "pi q_ref 10", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [(one["aqm"], one["seed"]) for one in result["runs"]] == [("red", 1), ("pi q_ref 10p", 1)]
    assert result["runs"][0]["metrics"]["timeouts"] is None
    assert result["summary"]["red"]["utilization"]["ci95"] is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--world", "fluit"), "did you mean fluid"),
        (("--world", "fluid", "--aqm", "codel"), "has no mean field"),
    ],
)
def test_the_command_refuses_in_one_line(cli: Cli, small_file: Path, words: tuple[str, ...], says: str):
    done = cli("run", small_file, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
