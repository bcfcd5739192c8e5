"""Linux's queue disciplines with three seeds per case. Mutant seen to fail: windows that count ACKs."""

from __future__ import annotations

import pytest
from validation.linux import run

#: Figures out of target; validation/linux/README.md says what is known of the cause.
MISSES = {("fq_codel", "received_mbps")}


@pytest.mark.parametrize("case", sorted(run.reference()))
def test_every_figure_is_within_its_target_or_a_known_miss(case: str) -> None:
    found = run.rows(case, range(1, 4))
    assert {(case, row.metric) for row in found if not row.within} == {
        miss for miss in MISSES if miss[0] == case
    }
    assert len(found) == 3


def test_the_committed_report_is_complete() -> None:
    *_, last = (run.HERE / "REPORT.md").read_text().splitlines()
    assert last == "figures within target: 14 of 15"


def test_a_figure_out_of_target_is_detected() -> None:
    assert run.Row("red", "received_mbps", 9.8, 0.0, 9.7).within
    assert not run.Row("red", "received_mbps", 9.9, 0.0, 9.7).within
    assert not run.Row("red", "drops", 126, 0.0, 100).within
    assert not run.Row("red", "delay_ms", 7.9, 0.0, 10).within
