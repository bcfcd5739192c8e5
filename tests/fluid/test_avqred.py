"""The fluid model of the AVQRED paper against closed forms; its order of convergence; its claims end to end.

Mutants (each was put into ``worlds/fluid/avqred.py`` and seen to fail here): u without tau in ds/dt; m/R for
m/R^2; lambda^2/m for lambda^2/(2m); q for q/(1+q); s left unbounded; p of the queue for AVQRED; the
printed l without its delay.
"""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from sojourn.papers import find
from sojourn.papers.avqred2007 import equations, fluid
from sojourn.papers.claims import Verdict
from sojourn.papers.reproduction import reproduce
from sojourn.worlds.fluid import avqred
from sojourn.worlds.fluid.avqred import ARED1, AVQRED3, BITS, RED2, System, integrate, population
from support import Cli

STILL = {"least": 1.0, "churn": 0.0}


def test_the_closed_forms_hold():
    queue, arrivals = fluid.rests_at_the_closed_form(), fluid.arrivals_follow_the_square_root()
    assert queue.verdict is Verdict.REPRODUCED
    assert queue.effect is not None
    assert queue.effect < 1e-6
    assert arrivals.verdict is Verdict.REPRODUCED
    assert arrivals.effect is not None
    assert arrivals.effect < 1e-6


def test_avqreds_equilibrium_is_the_closed_form_unless_tau_is_a_percentage():
    """d s/dt = 0 and d q/dt = 0 depend on tau alone; at 90 u the virtual queue has no effect."""
    under = fluid.checks()["AVQ-37"].under  # type: ignore[attr-defined]
    found = {name: calculate() for name, calculate in under.items()}
    assert set(found) == set(fluid.AT_REST)
    failed = found.pop("tau percent")
    assert failed.verdict is Verdict.NOT_REPRODUCED
    assert failed.effect > 1000
    assert {one.verdict for one in found.values()} == {Verdict.REPRODUCED}
    assert max(one.effect for one in found.values()) < 1e-5
    # Only the printed utilisation oscillates.
    assert "utilisation within 8.8e-04 of tau u" in found["l delayed"].reason


def test_reds_equilibrium_is_on_its_drop_curve():
    """p = (q - 15)/15 carries lambda (1 - p) = u q/(1 + q), lambda = (m/R) sqrt(2 (1 - p)/p)."""
    found = integrate([replace(RED2, **STILL)], [1], 10.0, 9.0, ramp=False)
    q, p = found.mean["queue"].item(), found.signal.item()
    assert p == pytest.approx((q - 15) / 15, abs=1e-6)
    passed = 4000 / 0.2 * np.sqrt(2 * (1 - p) / p) * (1 - p)
    assert passed == pytest.approx(25e6 / BITS * q / (1 + q), rel=1e-6)
    assert found.mean["utilisation"].item() == pytest.approx(passed, rel=1e-6)


def test_the_order_is_two():
    system = replace(RED2, **STILL)
    fine = integrate([system], [1], 1.0, 0.9, step=1.25e-4, sample=1.0).arrivals[-1].item()
    errors = [
        abs(integrate([system], [1], 1.0, 0.9, step=step, sample=1.0).arrivals[-1].item() - fine)
        for step in (2e-3, 1e-3)
    ]
    assert 3.3 < errors[0] / errors[1] < 5.5, errors


def test_the_population_grows_to_four_thousand():
    assert [population(t) for t in (0, 4.9, 5, 94.9, 95, 1000)] == [200, 200, 400, 3800, 4000, 4000]


def test_all_systems_have_the_same_service_rates_and_seeds_differ():
    found = integrate([RED2, AVQRED3], [1, 2], 3.0, 1.0)
    share = found.utilisation * (1 + found.queue) / found.queue
    assert share[:, 0] == pytest.approx(share[:, 1])
    assert abs(share[:, 0, 0] - share[:, 0, 1]).max() > 1
    assert share.min() >= 0.8 * 25e6 / BITS * (1 - 1e-9)
    assert share.max() <= 25e6 / BITS * (1 + 1e-9)


def test_the_printed_virtual_queue_falls_below_zero_and_the_corrected_one_does_not():
    found = integrate([AVQRED3, replace(AVQRED3, reflect=False)], [1], 4.0, 1.0)
    assert found.virtual[:, 0].min() >= 0
    assert found.virtual[:, 1].min() < -40


def test_the_printed_utilisation_oscillates_and_the_corrected_one_does_not():
    """x' = f - x(t - 1): from 0, with f constant, it rises as f t for one second, then overshoots f."""
    found = integrate([replace(AVQRED3, **STILL)], [1], 6.0, 5.0, ramp=False)
    first = found.time < 0.95
    assert found.printed[first, 0, 0] == pytest.approx(
        np.cumsum(found.utilisation[first, 0, 0]) * 0.1, rel=0.1
    )
    assert found.printed.max() > 1.2 * found.utilisation.max()


def test_ared_with_its_top_at_one_becomes_red():
    found = integrate([RED2, ARED1, replace(ARED1, top=0.7)], [1], 30.0, 25.0, ramp=False)
    queue = found.mean["queue"][:, 0]
    assert queue[1] == pytest.approx(queue[0], abs=0.01)
    assert 29 < queue[2] < 33


def test_a_system_survives_a_round_trip_through_text():
    odd = System("ARED", 1, 2, 0.3, 0.5, 0.25, 0.9, False, 1e6, 1.0, 0.033, 0.0)
    assert equations.system(equations.words(odd)) == odd


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four thousand flows from the start, the system settles in two seconds."""
    monkeypatch.setattr(avqred, "FIRST", 4000)
    monkeypatch.setattr(equations, "DURATION", 3.0)
    monkeypatch.setattr(equations, "SINCE", 2.0)


@pytest.mark.usefixtures("short")
def test_every_claim_gets_its_verdict_under_every_reading(tmp_path):  # type: ignore[no-untyped-def]
    result = reproduce(find("avqred2007"), experiment="avq-fluid", out=tmp_path)
    rows = {
        row["claim_id"]: row for row in csv.DictReader((tmp_path / "claims.csv").read_text().splitlines())
    }
    assert [name for name, row in rows.items() if row["world"] == "fluid"] == [
        f"AVQ-{i}" for i in range(32, 39)
    ]
    assert rows["AVQ-32"]["verdict"] == "reproduced"
    assert rows["AVQ-32"]["n"] == "10"
    assert rows["AVQ-34"]["verdict"] == "undecided"  # in short runs less than the smallest effect of interest
    assert "exclude each other" in rows["AVQ-34"]["reason"]
    readings = {one.id for one in equations.readings()}
    said = {one.split(":")[0] for row in rows.values() for one in row["sensitivity"].split("; ") if one}
    assert said == readings
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 3
    assert "tau=0.98" in page
    assert result.metrics.height == 10 * 16


@pytest.mark.usefixtures("short")
def test_quick_leaves_claims_that_need_ten_seeds_undecided(tmp_path):  # type: ignore[no-untyped-def]
    result = reproduce(replace(find("avqred2007"), readings=[]), world="fluid", quick=True, out=tmp_path)
    verdicts = {item.claim.id: item.finding.verdict for item in result.judged}
    assert verdicts["AVQ-32"] is Verdict.UNDECIDED
    assert verdicts["AVQ-37"] is Verdict.REPRODUCED


def test_the_command_refuses_another_experiment(cli: Cli):
    done = cli("reproduce", "avqred2007", "--experiment", "avq-fluit")
    assert done.returncode == 2
    assert "avq-fluid" in done.stderr
