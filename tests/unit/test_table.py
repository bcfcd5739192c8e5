"""Terminal tables: at every width, numbers and names stay complete and every cell is printed once.

Mutants seen to fail: all columns in one part; parts that share a list of columns; a part without the names.
"""

from __future__ import annotations

import pytest

from sojourn.cli.table import cell, print_table
from sojourn.stats import Estimate

HEADS = ["", *(f"metric number {i}" for i in range(12))]
ROWS = [
    (name, *(f"{10 + i}.{row}25 ± 0.0{10 + i}" for i in range(12)))
    for row, name in enumerate(("droptail", "fq_codel"))
]


def test_a_wide_table_is_split(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("title", HEADS, ROWS)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    parts = printed.count(" droptail ")
    assert parts == printed.count(" fq_codel ") == 3
    for row in ROWS:
        for text in row[1:]:
            assert printed.count(text) == 1, text
    assert printed.count("title") == 1


def test_a_long_name_leaves_room_for_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("title", HEADS, [("red " + "min_th 15p " * 20, *ROWS[0][1:])])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert all(text in printed for text in ROWS[0][1:])


def test_seeds_that_agree_except_for_the_last_bit_have_zero_width() -> None:
    assert cell(Estimate(0.8784, 1.2e-16, 5), 100) == "87.84 ± 0"
