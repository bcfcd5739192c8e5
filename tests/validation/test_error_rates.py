"""The tables of error rates in ``docs/how-sure.md``: some rows again, and the bounds that the page promises.

Mutants seen to fail: see ``tests/unit/test_warmup.py``; here the level of the tests at 0.2.
"""

from __future__ import annotations

import pytest

from validation import error_rates


def share(cell: str) -> float:
    """Return a percentage as a number."""
    return float(cell.rstrip(" %")) / 100


@pytest.mark.parametrize("number", [1, 11, 16])
def test_rows_of_the_warm_up_are_what_the_script_computes(number: int) -> None:
    study = error_rates.WARMUP[number]
    assert error_rates.stored("warm-up")[number] == error_rates.warmup_line(study)


def test_the_warm_up_check_keeps_its_error_rates() -> None:
    rows = error_rates.stored("warm-up")
    assert len(rows) == len(error_rates.WARMUP)
    for row, study in zip(rows, error_rates.WARMUP, strict=True):
        settled, moved, _ = map(share, row[4:])
        if study.decay is None:
            assert moved <= 0.05, row
        elif study.decay < 1:
            assert settled <= 0.05, row
