"""The LDC paper: its arithmetic, its topology, its measures, its own kinds of checks on made-up samples.

Mutants (each was seen to fail a test here): the ends of the F interval exchanged; a cell met by its sign
alone; the mean of a metric instead of its spread; a session of GFC-2 that ends one router early; the
algorithm only in the measured queue of GFC-2; delays without transmission and propagation; BLUE's increases
compared with the queue one sample earlier; a rank correlation that counts small falls, or counts a fall as a
rise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
import pytest

from sojourn.papers import find
from sojourn.papers.claims import Verdict
from sojourn.papers.ldc2002 import measures
from sojourn.papers.ldc2002.cells import NearCells, Printed, cell, table
from sojourn.papers.ldc2002.experiments import ftp, gfc2_arm, scenario
from sojourn.papers.ldc2002.spread import Highest, RatioOfSpreads, SpreadBelow
from sojourn.papers.published import Cell
from sojourn.papers.reproduction import reproduce
from sojourn.papers.terms import Quantity
from sojourn.papers.trend import RankCorrelation
from sojourn.runner.execute import execute
from sojourn.runner.point import Point
from sojourn.spec.plan import plan
from sojourn.spec.scenario import Scenario

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
E = "experiment"


class Made:
    """Samples from columns: (arm, metric) to values of seeds 1, 2, ..."""

    def __init__(self, columns: Mapping[tuple[str, str], Sequence[float]]) -> None:
        self.columns = columns

    def values(self, _experiment: str, arm: str, metric: str) -> Mapping[int, float | None]:
        return dict(enumerate(self.columns.get((arm, metric), ()), 1))


def q(arm: str, metric: str = "m") -> Quantity:
    return Quantity(metric, arm, E, title=metric)


def wave(mean: float, spread: float, n: int = 20) -> list[float]:
    """Return n values with approximately the given mean and standard deviation."""
    return [mean + spread * math.sqrt(2) * math.sin(2 * math.pi * (i + 0.5) / n) for i in range(n)]


def test_the_function_and_the_counts_need_no_run(tmp_path):
    result = reproduce(find("ldc2002"), experiment="ldc-analytic", out=tmp_path)
    assert not result.campaign.runs
    verdicts = {item.claim.id: item.finding.verdict for item in result.judged}
    assert [verdicts[f"LDC-{i}"] for i in (26, 44, 45, 46)] == [R, R, R, N]


# GFC-2


def shares(where: Scenario) -> dict[str, float]:
    """Return each session's max-min share of the trunks, in kbit/s, by progressive filling."""
    trunks = {
        f"{link.from_}-{link.to}": float(link.rate.removesuffix("kbit/s"))
        for link in where.link
        if link.queue
    }
    routes, counts = {}, {}
    for one in where.traffic:
        if one.name.startswith("http-"):
            first, last = int(str(one.from_)[1:]), int(str(one.to)[1:])
            routes[one.name] = [f"R{i}-R{i + 1}" for i in range(first, last)]
            counts[one.name] = one.count
    found: dict[str, float] = {}

    def fair(trunk: str) -> float:
        mine = [name for name in routes if trunk in routes[name]]
        free = trunks[trunk] - sum(counts[name] * found[name] for name in mine if name in found)
        rest = sum(counts[name] for name in mine if name not in found)
        return free / rest if rest else math.inf

    while len(found) < len(routes):
        tightest = min(trunks, key=fair)
        level = fair(tightest)
        found |= {name: level for name in routes if tightest in routes[name] and name not in found}
    return found


def test_gfc2_has_the_classic_fair_shares():
    where = scenario("ldc-tab3-4-gfc2")
    assert sum(one.count for one in where.traffic if one.name.startswith("http-")) == 22
    letters = {name.removeprefix("http-")[0]: share for name, share in shares(where).items()}
    assert letters == pytest.approx({"A": 10, "B": 5, "C": 35, "D": 35, "E": 35, "F": 10, "G": 5, "H": 52.5})
    by_name = shares(where)
    for letter in "AB":
        assert len({by_name[f"http-{letter}{i}"] for i in (1, 2, 3)}) == 1


def test_every_router_port_of_gfc2_has_the_algorithm():
    arm = gfc2_arm("LDC")
    links = plan(arm.scenario, arm.spec)["topology"]["graph"]
    queues = [link["queue"] for link in links if link.get("queue")]
    assert len(queues) == 12
    assert {queue["aqm"] for queue in queues} == {arm.spec}


# Measures


def test_a_packet_delay_is_queueing_plus_path_delay():
    arm = ftp("LDC")
    point = Point(arm.scenario.with_(duration="60s"), arm.spec, 1)
    (outcome,) = execute([point], reduce=measures.measure)
    found = outcome.metrics
    assert found["mean_delay_s"] is not None
    # 12 ms of propagation, 8 ms on the bottleneck, 0.8 ms on each access link
    assert found["ftp_delay_mean"] == pytest.approx(found["mean_delay_s"] + 0.0216, rel=5e-3)
    assert found["drop_ratio_ftp"] == pytest.approx(100 * (found["drop_ratio"] or 0), rel=1e-2)
    assert found["throughput_ftp"] == pytest.approx((found["goodput_bps"] or 0) / 1e6)


def series(**columns: Sequence[float]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    return pl.DataFrame(
        {
            "time_s": [0.01 * (i + 1) for i in range(n)],
            **{name: list(map(float, column)) for name, column in columns.items()},
        }
    )


def test_blues_rises_and_falls_are_recognized_by_the_queue():
    good = series(p=[0, 0.2, 0.2, 0.18], queue_packets=[100, 119, 0, 5])
    found = measures._blue(good, None)  # type: ignore[arg-type]
    assert (found["rises"], found["falls"]) == (1, 1)
    assert (found["rises_below_full"], found["falls_not_idle"]) == (0, 0)
    bad = series(p=[0, 0.2, 0.2, 0.18], queue_packets=[120, 118, 1, 5])
    found = measures._blue(bad, None)  # type: ignore[arg-type]
    assert (found["rises_below_full"], found["falls_not_idle"]) == (1, 1)


def test_reds_p_may_stay_high_over_an_empty_queue():
    found = measures._red(series(p=[0.1, 0.06, 0.04, 0.1], queue_packets=[60, 5, 5, 6]), None)  # type: ignore[arg-type]
    assert found["empty_while_p_high"] == 0.25


def test_a_load_is_averaged_over_a_second():
    frame = series(r_avg=[40.0] * 50 + [0.0] * 150)
    means = measures.smoothed(frame, "r_avg")
    assert means[0] == 40
    assert means[99] == pytest.approx(20)
    assert means[149] == pytest.approx(0)


# Checks


def test_spreads_are_compared_by_the_f_distribution():
    samples = Made({("a", "m"): wave(5, 1), ("b", "m"): wave(50, 3), ("c", "m"): wave(5, 1.2)})
    found = SpreadBelow(q("a"), q("b")).judge(samples)
    assert found.verdict is R
    assert found.effect == pytest.approx(1 / 3)
    # F(0.975; 19, 19) = 2.526, from tables
    assert found.high == pytest.approx(math.sqrt(2.526) / 3, rel=1e-3)
    assert SpreadBelow(q("b"), q("a")).judge(samples).verdict is N
    assert SpreadBelow(q("a"), q("c")).judge(samples).verdict is U
    assert RatioOfSpreads((q("a"), q("b")), 5).judge(samples).verdict is R
    assert RatioOfSpreads((q("a"), q("b")), 1.6).judge(samples).verdict is N
    assert RatioOfSpreads((q("a"), q("c")), 1.6).judge(samples).verdict is U


def test_the_highest_spread_is_counted_over_metrics():
    samples = Made(
        {
            ("a", "x"): wave(1, 3), ("b", "x"): wave(9, 1),
            ("a", "y"): wave(1, 2), ("b", "y"): wave(9, 1),
            ("a", "z"): wave(9, 1), ("b", "z"): wave(1, 2),
        }
    )  # fmt: skip
    columns = tuple((q("a", m), q("b", m)) for m in "xyz")
    found = Highest(columns, "a").judge(samples)
    assert (found.verdict, found.effect) == (R, 2)
    assert Highest(columns, "b").judge(samples).verdict is N


def test_the_times_of_changes_are_unknown_for_a_constant_probability():
    check = find("ldc2002").checks["LDC-27"]

    def judge(rises: int, wrong: int) -> Verdict:
        columns = {("BLUE", "rises"): [float(rises)] * 10, ("BLUE", "rises_below_full"): [float(wrong)] * 10}
        return check.judge(Made(columns)).verdict

    assert [judge(3, 0), judge(3, 1), judge(0, 0)] == [R, N, U]


def test_cells_are_met_within_the_tolerance_or_two_errors_and_missed_only_if_significant():
    samples = Made({("a", "m"): wave(1.25, 0.01), ("b", "m"): wave(1.5, 0.01), ("c", "m"): wave(1.5, 2)})

    def judge(name: str, error: float | None = None) -> Verdict:
        return NearCells((Printed(name, 1.0, error, Cell(q(name))),), 0.3, 5).judge(samples).verdict

    assert judge("a") is R
    assert judge("b") is N
    assert judge("b", error=0.3) is R
    assert judge("c") is U
    both = NearCells((Printed("a", 1.0, None, Cell(q("a"))), Printed("b", 1.0, None, Cell(q("b")))), 0.3, 5)
    found = both.judge(samples)
    assert (found.verdict, found.effect) == (N, 0.5)
    assert "b 1.5 times" in found.reason


def test_every_number_of_tables_3_to_5_has_a_cell():
    assert len(table("Table 3", 0.3, 5).cells) == 75  # two of 77 are printed as 0
    assert len(table("Table 5", 0.2, 5).cells) == 12
    rows = find("ldc2002").table("published")
    tables = [row for row in rows if row["table_or_figure"].startswith("Table")]
    assert len(tables) == 166
    assert all(cell(row) is not None for row in tables)


def test_a_rank_correlation_ignores_steps_within_the_interval():
    noise = [0.0, 2.0] * 10
    columns = {("a", str(i)): [level + x for x in noise] for i, level in enumerate((1.0, 3.0, 2.9, 5.0))}
    terms = tuple(q("a", str(i)) for i in range(4))
    check = RankCorrelation("setting and m", terms, 0.9)
    assert check.judge(Made(columns)).effect == pytest.approx(0.9487, abs=1e-4)
    columns["a", "2"] = [0.5 + x for x in noise]
    found = check.judge(Made(columns))
    assert found.verdict is N
    assert found.effect == pytest.approx(0.4)
    assert found.low is None
    assert "single seeds: 0.4 +- 0" in found.reason
    falling = RankCorrelation("x and m", terms, 0.9, rises=False, along=terms[::-1])
    columns |= {("a", str(i)): [level + x for x in noise] for i, level in enumerate((1.0, 2.0, 8.0, 9.0))}
    found = falling.judge(Made(columns))
    assert (found.verdict, found.effect, found.claimed) == (R, pytest.approx(-1.0), "<= -0.9")
    columns |= {("a", str(i)): [level + x for x in noise] for i, level in enumerate((9.0, 3.0, 3.1, 1.0))}
    falling = RankCorrelation("setting and m", terms, 0.9, rises=False)
    assert falling.judge(Made(columns)).effect == pytest.approx(-0.9487, abs=1e-4)


def test_the_farthest_cells_are_named_once():
    one = Printed("a", 1.0, None, Cell(q("a", "0")))
    found = NearCells((one, replace(one, name="b")), 0.1, 5).judge(Made({("a", "0"): [3.0, 3.1]}))
    assert found.reason == "0 of 2 cells met, 2 missed; farthest: a 3 times, b 3 times"
