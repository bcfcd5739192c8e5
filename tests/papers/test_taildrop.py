"""The taildrop paper: its settings, its networks, its measures, its checks on made-up samples.

Mutants (each was seen to fail a test here): P(N > n) that counts runs of n; runs counted by their packets;
delays on the reverse path; packets of one size in ns-2's network; the fraction of time above max_th including
the warm-up; lifetimes of completed flows only; tail drop's goodput at the nearest buffer; thresholds rounded
down.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sojourn import rules
from sojourn.papers import find
from sojourn.papers.checks import Below
from sojourn.papers.claims import Verdict
from sojourn.papers.experiment import Arm, Observations
from sojourn.papers.judge import AtLeast, touches
from sojourn.papers.reproduction import reproduce
from sojourn.papers.taildrop2001 import ftp, printed, real
from sojourn.papers.taildrop2001.experiments import (
    BUFFERS,
    FLOWS,
    FTP,
    MECHANISMS,
    SESSIONS,
    TESTBED,
    WEB,
    WEIGHT,
    arm,
    scenario,
)
from sojourn.papers.taildrop2001.experiments import printed as settings
from sojourn.papers.taildrop2001.measures import _average, _lifetime, _runs, measure, over
from sojourn.papers.terms import Quantity
from sojourn.record import UNFINISHED, Record
from sojourn.runner.execute import execute
from sojourn.runner.point import Point

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


class Made:
    """Samples of ten seeds: each metric is a function of (mechanism, load) with a small term per seed."""

    def __init__(self, values: Mapping[str, Callable[[str, int], float]]) -> None:
        self.known = values

    def values(self, _experiment: str, name: str, metric: str) -> Mapping[int, float | None]:
        mechanism, load = name.split()[:2]
        if metric not in self.known:
            return {}
        level = self.known[metric](mechanism, int(load))
        return {seed: level * (1 + 1e-4 * ((seed * 7 + len(mechanism)) % 5)) for seed in range(1, 11)}


def verdict(claim: str, **values: Callable[[str, int], float]) -> Verdict:
    return find("taildrop2001").checks[claim].judge(Made(values)).verdict


# Settings


def test_every_load_has_the_printed_settings_and_the_rule_prints_the_same():
    found = settings()
    assert set(found) == {(name, load) for name in MECHANISMS for load in (*FLOWS, *SESSIONS)}
    for load in (*FLOWS, *SESSIONS):
        rule = rules.redopt(load) if load in FLOWS else rules.redopt(sessions=load)
        words = str(rule).split()[1:]
        printed_words = dict(zip(words[::2], words[1::2], strict=True))
        ours = arm("REDopt", load, scenario(TESTBED if load in FLOWS else WEB, load)).parameters
        assert {key: float(word.rstrip("p")) for key, word in ours.items() if key != "gentle"} == {
            key: float(word.rstrip("p")) for key, word in printed_words.items()
        }
        assert len({found[name, load].buffer for name in MECHANISMS}) == 1
    assert "gentle" in arm("GREDstd", 16, scenario(TESTBED, 16)).spec
    assert "gentle off" in arm("REDstd", 16, scenario(TESTBED, 16)).spec


def test_computed_claims():
    assert printed.thresholds().verdict is N
    assert "74 printed for REDopt at 1400, 75 by the rule" in printed.thresholds().reason
    assert printed.thresholds().effect == pytest.approx(39 / 40)
    assert printed.factors().verdict is R
    assert printed.drop_functions().verdict is R
    assert printed.at("195p-") == pytest.approx(0.1)
    assert printed.at("195p+") == 1
    assert printed.at("247.5p", printed.GENTLE) == pytest.approx(0.342308, abs=1e-6)
    assert printed.at("247.5p", "limit") == pytest.approx(0.55)
    to_buffer = find("taildrop2001").checks["TD-56"].under["gentle to buffer"]()  # type: ignore[attr-defined]
    assert to_buffer.verdict is N
    assert to_buffer.effect == pytest.approx(1 - 0.584615)


# Networks


@pytest.mark.parametrize("name", [TESTBED, FTP, WEB])
def test_delays_act_on_the_forward_path(name: str):
    load = 16 if name != WEB else 800
    plan = scenario(name, load).plan()
    links = {(link["from"], link["to"]): link for link in plan["topology"]["graph"]}
    there = [links[f"host{i}", "router1" if name == TESTBED else "router0"]["delay"] for i in range(1, 5)]
    assert there == [20_000_000, 40_000_000, 60_000_000, 80_000_000]
    slow = {ends for ends, link in links.items() if link["delay"]} - {
        (f"host{i}", e) for i in range(1, 5) for e in ("router0", "router1")
    }
    assert slow == {("router1", "router2")}
    assert [ends for ends, link in links.items() if link["queue"]] == [("router1", "router2")]
    tcp, udp = plan["traffic"]
    assert tcp["count"] == load
    options = next(iter(tcp["kind"].values()))
    options = options.get("tcp", options)
    sizes = options["payloads"]
    mean = options["payload"] + options["header"]
    assert mean == 1514
    assert (sizes is None) == (name == TESTBED)
    if sizes:
        assert [end + options["header"] for end in sizes["uniform"]] == [1400, 1628]
    assert udp["count"] * udp["kind"]["udp_cbr"]["rate"] == 1_000_000


@pytest.mark.parametrize(
    "one",
    [arm("REDstd", 64, scenario(TESTBED, 64, "130s")), real.arms()["REDstd 64"]],
    ids=["testbed", "as with real hosts"],
)
def test_a_short_run_has_the_printed_round_trips_and_loads(one: Arm):
    (outcome,) = execute([Point(one.scenario, one.spec, 1)], reduce=measure)
    found = outcome.metrics
    assert found["way_least_ms"] == pytest.approx(120, abs=2)
    assert found["way_most_ms"] == pytest.approx(180, abs=2)
    assert found["udp_share"] == pytest.approx(0.1, rel=0.02)
    assert found["tcp_goodput"] == pytest.approx(8.6, abs=0.15)
    assert found["tcp_goodput_wire"] == pytest.approx((found["tcp_goodput"] or 0) * 1514 / 1448)
    trip = 0.15 + (found["mean_delay_s"] or 0)
    assert found["pipe_packets"] == pytest.approx(trip * 1e7 / 8 / 1514, rel=0.02)


# Measures


def queue(**columns: list[int]) -> Any:
    return {name: struct.pack(f"<{len(values)}Q", *values) for name, values in columns.items()}


class Fake:
    """The parts of a record that one measure uses."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def test_consecutive_losses_are_counted_by_runs():
    record = Fake(queues=[queue(run_lengths=[1, 2, 3, 12], run_counts=[6, 2, 1, 1])])
    found = _runs(record)  # type: ignore[arg-type]
    assert [found[over(n)] for n in (1, 2, 3, 11, 12)] == pytest.approx([0.4, 0.2, 0.1, 0.1, 0.0])
    assert (found["drop_runs"], found["longest_run"]) == (10, 12)
    none = _runs(Fake(queues=[queue(run_lengths=[], run_counts=[])]))  # type: ignore[arg-type]
    assert none[over(1)] is None


def test_time_above_max_th_is_counted_after_the_warm_up():
    import polars as pl

    series = pl.DataFrame({"time_s": [1.0, 2.0, 3.0, 4.0], "avg": [99.0, 99.0, 50.0, 40.0]})
    record = Fake(
        queues=[{"spec": "red min_th 5p max_th 50p"}], window=(2.0, 4.0), series=lambda: series
    )  # fmt: skip
    assert _average(record) == {"avg_above_max_th": 0.5}  # type: ignore[arg-type]
    assert _average(Fake(queues=[{"spec": "droptail"}], series=lambda: series)) == {}  # type: ignore[arg-type]


def test_a_lifetime_includes_unfinished_flows():
    second = 10**9
    objects = {
        "traffic": struct.pack("<3I", 0, 0, 0),
        "index": struct.pack("<3I", 0, 1, 2),
        "start_ns": struct.pack("<3Q", 10 * second, 12 * second, 14 * second),
        "end_ns": struct.pack("<3Q", 11 * second, 14 * second, UNFINISHED),
        "bytes": struct.pack("<3Q", 1, 1, 1),
    }
    data = {"window": (10 * second, 20 * second), "objects": objects, "queues": []}
    plan = {"traffic": [{"name": "web", "kind": {"web": {}}, "reverse": False}]}
    assert _lifetime(Record(data, plan)) == {"flow_lifetime": pytest.approx(3.0)}


# Checks


def test_goodput_is_alike_if_no_pair_differs_by_more_than_the_margin():
    assert verdict("TD-01", tcp_goodput=lambda who, _n: 8.4 + 0.02 * len(who)) is R
    assert verdict("TD-01", tcp_goodput=lambda who, n: 8.0 if (who, n) == ("TD", 64) else 8.4) is N


def test_a_concave_loss_curve_is_distinguished_from_a_convex_one():
    loss = {"udp.drop_ratio": lambda _who, n: 0.01 * n**0.5}
    assert verdict("TD-32", **loss) is R
    assert verdict("TD-10", **loss) is R
    assert verdict("TD-32", **{"udp.drop_ratio": lambda _who, n: 1e-6 * n**2}) is N
    assert verdict("TD-31", **{"udp.drop_ratio": lambda _who, s: 1e-30 * s**9}) is R
    assert verdict("TD-31", **{"udp.drop_ratio": lambda _who, s: 1e-5 * s}) is N


def test_the_queue_near_the_middle_and_the_smaller_variation_of_delay():
    middle = lambda who, n: settings()[who, n].middle if who != "TD" else 200.0  # noqa: E731
    assert verdict("TD-16", mean_queue_packets=middle) is R
    assert verdict("TD-37", mean_queue_packets=lambda w, n: middle(w, n) + 20 * (w != "REDopt")) is R
    assert verdict("TD-37", mean_queue_packets=lambda w, n: middle(w, n) + 20 * (w == "REDopt")) is N
    flat = lambda who, n: 0.1 if who == "REDopt" else 0.001 * n  # noqa: E731
    assert verdict("TD-15", mean_delay_s=flat) is R
    assert verdict("TD-15", mean_delay_s=lambda _who, n: 0.001 * n) is N


def test_tail_drops_goodput_is_interpolated_between_buffers():
    delays, goodputs = [size / 1000 for size in BUFFERS], [8 + size / 1000 for size in BUFFERS]
    assert ftp.at_delay(0.12, *delays, *goodputs) == pytest.approx(8.12)
    assert ftp.at_delay(0.05, *delays, *goodputs) is None


def test_at_least_four_of_five():
    def check(*signs: int) -> AtLeast:
        parts = tuple(Below(Quantity("m", f"a{sign} 1", "e"), Quantity("m", "b0 1", "e")) for sign in signs)
        return AtLeast(4, parts)

    samples = Made({"m": lambda who, _n: 1.0 + 0.5 * float(who[1:])})
    same = Made({"m": lambda who, _n: 1.0 if who == "a0" else 1.0 + 0.5 * float(who[1:])})
    assert check(-1, -1, -1, -1, 1).judge(samples).verdict is R
    assert check(-1, -1, -1, 1, 1).judge(samples).verdict is N
    assert check(-1, -1, -1, -1, 1).judge(samples).effect == 4
    assert check(-1, -1, -1, 1, 1).undecided_sources(same) == frozenset()
    assert check(-1, -1, -1, -1, 1).seeds == 10


def test_every_claim_is_judged_and_testbed_claims_have_two_worlds(tmp_path):
    paper = find("taildrop2001")
    assert set(paper.checks) == {claim.id for claim in paper.claims}
    assert len(paper.claims) == 56
    assert sum("real" in paper.worlds_of(claim) for claim in paper.claims) == 34
    result = reproduce(paper, experiment="td-fig1-dropfunc", out=tmp_path)
    assert not result.campaign.runs
    verdicts = {item.claim.id: item.finding.verdict for item in result.judged if item.world == "analytic"}
    assert verdicts == {"TD-56": R}
    assert len(result.judged) == 56 + 34


def test_arms_of_one_load_have_equal_durations_under_every_reading():
    paper = find("taildrop2001")
    for reading in paper.readings:
        for experiment in paper.experiments:
            arms = {one.name: one for one in (*experiment.arms, *reading.arms(experiment))}.values()
            loads = {(one.scenario.traffic[0].count, one.scenario.duration) for one in arms}
            assert len(loads) == len({load for load, _ in loads}), (reading.id, experiment.id)


def test_no_claim_is_judged_because_of_arms_that_a_reading_only_shortens():
    paper, seen = find("taildrop2001"), Observations()
    reading = next(one for one in paper.readings if one.id == "RED without wait")
    arms = {one.name: one for one in reading.arms(paper.experiment(WEB))}
    for one in arms.values():
        seen.add(reading.id, (WEB, one.name), 1, {}, beside=one.beside)
    view = seen.under(reading)
    primary = next(one for one in paper.experiment(WEB).arms if one.name == "TD 800")
    assert (arms["TD 800"].spec, arms["TD 800"].scenario.duration) == (primary.spec, "500s")
    assert view.values(WEB, "TD 800", "tcp_goodput") == {1: None}
    assert touches(view, paper.checks["TD-30"])
    assert not touches(view, paper.checks["TD-40"])


def test_readings_make_the_described_change():
    paper = find("taildrop2001")
    ids = {one.id for one in paper.experiments}
    for reading in paper.readings:
        assert reading.experiments is not None
        assert reading.experiments <= ids
    by_id = {reading.id: reading for reading in paper.readings}
    testbed, web = arm("REDopt", 16, scenario(TESTBED, 16)), arm("REDopt", 1400, scenario(WEB, 1400))

    def changed(name: str, one: Any) -> Any:
        return by_id[name].change(one)

    back = {(link.from_, link.to): link.delay for link in changed("RTT 220 to 280 ms", testbed).scenario.link}
    assert back["host5", "host1"] == "100ms"
    back = {(link.from_, link.to): link.delay for link in changed("RTT 220 to 280 ms", web).scenario.link}
    assert (back["router2", "router1"], back["router1", "router2"]) == ("100ms", "100ms")
    assert changed("ns-2 of 2001", testbed).scenario.conventions == "ns2-2001"
    assert changed("500 s", web).scenario.duration == "500s"
    assert changed("5000 s at 1400", web).scenario.duration == "5000s"
    assert changed("5000 s at 1400", arm("TD", 800, scenario(WEB, 800))) is None
    within, beyond = (
        arm("REDopt", 1200, scenario(WEB, 1200)),
        arm("TD", 1600, scenario(WEB, 1600), setting=1400),
    )
    assert changed("settings of 1200", within).parameters == within.parameters
    assert changed("settings of 1200", beyond).parameters == {"limit": "246p"}
    assert changed("settings of 1200", beyond).scenario.traffic[0].count == 1600
    weights = paper.experiment(WEIGHT).arms
    doubled = {one.name: changed("weights doubled", one) for one in weights}
    assert {one.scenario.duration for one in doubled.values()} == {"500s"}
    found = [one.parameters["w_q"] for name, one in doubled.items() if name.startswith("1200")]
    assert found == ["0.00021", "0.00042", "0.00084", "0.00168"]
    assert changed("gentle to buffer", testbed) is None
    assert "gentle_end limit" in changed("gentle to buffer", arm("GREDstd", 16, scenario(TESTBED, 16))).spec
    rule = changed("REDopt by the rule", testbed)
    assert rule.parameters["max_p"] != testbed.parameters["max_p"]
    assert changed("REDopt by the rule", web) is None
    assert changed("gap from the end", web).scenario.traffic[0].page_gap_from == "end"
