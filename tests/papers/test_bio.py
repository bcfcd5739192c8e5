"""The BIO paper: claims complete, checks of existing arms, the curves of the library, a short run.

Mutants (each was seen to fail a test here): RED's line without its lower threshold; overflow drops as a
fraction of arrivals; "near full" measured from empty; flows assigned to the wrong node, or to the other kind
of node; another max_p for out packets; all packets counted as out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import Scenario
from sojourn.papers import find, reproduction
from sojourn.papers.bio2002 import checks, curves, diffserv, measures
from sojourn.papers.bio2002.experiments import CASES, SIZES, red, scenario
from sojourn.papers.claims import Verdict
from sojourn.papers.experiment import Arm
from sojourn.papers.judge import WithRemark
from sojourn.papers.paper import Paper
from sojourn.record import Record
from sojourn.runner.execute import execute
from sojourn.runner.point import Point


@pytest.fixture(scope="module")
def paper() -> Paper:
    return find("bio2002")


def record(where: Scenario, spec: str) -> Record:
    (outcome,) = execute([Point(where, spec, 1)], workers=1)
    return outcome.record


def short(where: Scenario, duration: str = "110s", warmup: str = "100s") -> Scenario:
    """Return a shortened scenario with early starts."""
    traffic = where.model_dump(by_alias=True, exclude_none=True)["traffic"]
    traffic = [{**one, "start": "uniform 0s 5s"} for one in traffic]
    return where.with_(duration=duration, warmup=warmup, traffic=traffic)


def test_every_claim_is_judged(paper: Paper):
    assert [claim.id for claim in paper.claims] == [f"BIO-{i:02}" for i in range(1, 43)]
    assert list(paper.checks) == [claim.id for claim in paper.claims]


def test_readings_make_the_described_change_and_name_assumptions(paper: Paper):
    ids = {row["id"] for row in paper.table("assumptions")}
    for reading in paper.readings:
        assert set(reading.assumption.split()) <= ids, reading.id
        changed = [(e, arm) for e in paper.experiments for arm in reading.arms(e)]
        assert changed or reading.metrics, reading.id
        originals = {(e.id, arm.name): arm for e in paper.experiments for arm in e.arms}
        for experiment, arm in changed:
            original = originals[experiment.id, arm.name]
            assert (arm.spec, arm.scenario) != (original.spec, original.scenario), reading.id


def test_scenarios_are_those_of_the_text():
    for name, (_, _, more) in CASES.items():
        where = scenario(name)
        bell = where.dumbbell
        assert bell is not None
        assert bell.access.delays is not None
        step, first = (20, 10) if 1 in more else (2, 5)
        assert bell.access.delays == [f"{step * i + first}ms" for i in range(20)]
        assert where.queue is not None
        assert where.queue.ecn == ("no ECN" not in CASES[name][0])
        assert sum(traffic.count for traffic in where.traffic) == 1000


def test_curves_have_the_tabulated_values():
    finding = curves.drop_curves()
    assert finding.verdict is Verdict.REPRODUCED
    assert len(curves.points()) == 9
    assert [curves.red(avg, 40, 120, 1) for avg in (39.9, 40, 80, 120)] == [0, 0, 0.5, 1]
    assert curves.in_profile().effect == 0.9
    fewer = find("bio2002").checks["BIO-41"].under["100 flows"]()  # type: ignore[attr-defined]
    assert (fewer.verdict, fewer.effect) == (Verdict.NOT_REPRODUCED, 0.09)


def test_the_curve_is_that_of_the_implemented_red():
    table = record(
        short(scenario("bio-case1")), Arm("", scenario("bio-case1"), "red", red(160)).spec
    ).series()
    pairs = list(zip(table["avg"], table["p"], strict=True))
    assert max(avg for avg, _ in pairs) > 120
    for avg, p in pairs[::100]:
        assert p == pytest.approx(curves.red(avg, 40, 120, 1), abs=1e-9)


def test_the_curves_are_those_of_the_implemented_rio():
    where = short(scenario(diffserv.ID), "30s", "10s").with_(conventions="rfc")
    table = record(where, Arm("", where, "rio", diffserv.RIO).spec).series()
    both = {
        name: [curves.red(avg, *curve) for avg in table[name]]
        for name, curve in (("avg_out", curves.OUT), ("avg_in", curves.IN))
    }
    met = [min(abs(p - one) for one in pair) for p, *pair in zip(table["p"], *both.values(), strict=True)]
    assert max(met) < 1e-9
    assert len({p for p in table["p"] if 0 < p < 1}) > 100


def test_a_nodes_bandwidth_is_its_arrival_rate():
    where = short(scenario(diffserv.ID), "30s", "20s")
    found = record(where, Arm("", where, "bio", diffserv.BIO).spec)
    values = diffserv.measure(found)
    nodes = [values[f"bandwidth_{node}"] for node in range(10)]
    flows = found.flows
    assert sum(filter(None, nodes)) == pytest.approx(flows["received_packets"].sum() * 8000 / 10 / 1e6)
    mine = [
        row["received_packets"]
        for row in flows.iter_rows(named=True)
        if row["traffic"] == "odd" and row["index"] % 5 == 3
    ]
    assert nodes[7] == pytest.approx(sum(mine) * 8000 / 10 / 1e6)
    assert values["promise_kept_7"] == pytest.approx(sum(mine) * 800 / 2_100_000)
    assert 60 < sum(filter(None, nodes)) <= 70


def test_the_backlog_of_out_packets_is_sampled():
    where = short(scenario(diffserv.ID), "30s", "20s")
    table = record(where, Arm("", where, "bio", diffserv.BIO).spec).series()
    out = table[diffserv.OUT_COLUMN].to_list()
    assert max(out) > 10
    both = list(zip(out, table["queue_packets"], strict=True))
    assert all(one <= every for one, every in both)
    assert any(0 < one < every for one, every in both)


def test_drops_are_distinguished_by_cause_and_levels_by_samples():
    where = short(scenario("bio-case1"))
    found = record(where, Arm("", where, "red", red(40)).spec)
    values = measures.measure(found)
    overflow, early, forced, *_ = found.queues[0]["drops"]
    total = overflow + early + forced
    assert values["forced_share"] == pytest.approx(overflow / total)
    assert values["unforced_share"] == pytest.approx((early + forced) / total)
    assert values["forced_ns2_share"] == pytest.approx((overflow + forced) / total)
    assert values["forced_ratio"] == pytest.approx(overflow / found.queues[0]["arrivals"])
    late = found.series()
    late = late.filter((late["time_s"] > 100) & (late["time_s"] <= 200))["queue_packets"].to_list()
    assert values["queue_empty"] == pytest.approx(sum(q <= 2 for q in late) / len(late))
    assert values["queue_full"] == pytest.approx(sum(q >= 38 for q in late) / len(late))
    assert values["queue_90"] == pytest.approx(sum(q >= 36 for q in late) / len(late))


def test_the_least_queue_that_fills_the_link():
    shares = [0.9] * len(SIZES)
    assert checks.smallest(tuple(shares)) == 301
    shares[3] = shares[5] = 0.99
    assert checks.smallest(tuple(shares)) == 80


def test_computed_claims_need_no_run(paper: Paper, tmp_path: Path):
    found = reproduction.reproduce(paper, world="analytic", out=tmp_path)
    assert not found.campaign.runs
    verdicts = dict(found.claims.select("claim_id", "verdict").iter_rows())
    assert verdicts["BIO-42"] == "reproduced"
    assert len(verdicts) == 42


def test_every_verdict_on_red_names_the_wait_option():
    named = {name for name, check in find("bio2002").checks.items() if isinstance(check, WithRemark)}
    assert {"BIO-01", "BIO-14", "BIO-27", "BIO-35"} <= named
    assert not {"BIO-02", "BIO-08", "BIO-42"} & named
