"""The rank rule, held against columns G and H of the AVQRED paper's Table 2."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sojourn.study.rank import Column, best, implied_ties, literal, printed, weigh

TABLE = Path(__file__).parent / "data/avqred2007_table2.csv"
METRICS = ("utilization_mbps", "utilization_std_kbps", "delay_ms", "delay_std_ms", "drops", "drops_std")


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, float]]:
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return {row.pop("setting"): {k: float(v) for k, v in row.items()} for row in csv.DictReader(lines)}


@pytest.fixture(scope="module")
def columns(rows: dict[str, dict[str, float]]) -> list[Column]:
    return [Column({name: row[m] for name, row in rows.items()}, m == METRICS[0]) for m in METRICS]


def ordered(columns: list[Column], ranks: list[dict[str, int]]) -> list[Column]:
    """Return the columns with the ties broken so."""
    return [
        Column(
            column.values,
            column.higher_is_better,
            [sorted(group, key=one.__getitem__) for group, _ in column.groups() if len(group) > 1],
        )
        for column, one in zip(columns, ranks, strict=True)
    ]


def positions(sums: dict[str, int]) -> dict[str, int]:
    return {name: 1 + sum(other < own for other in sums.values()) for name, own in sums.items()}


def test_the_printed_sums_come_from_two_orders_of_ties_only(columns, rows):
    found = implied_ties(columns, {name: int(row["g"]) for name, row in rows.items()})
    assert len(found) == 2
    differing = {(i, name) for i in range(6) for name in rows if found[0][i][name] != found[1][i][name]}
    assert differing == {(i, name) for i in (0, 4) for name in ("GKVQ2", "AVQ3")}
    assert sorted(found[0][4], key=found[0][4].__getitem__)[3:7] == ["AVQRED1", "ARED1", "RED2", "AVQRED3"]


def test_g_and_h_are_reproduced(columns, rows):
    (ranks, _) = implied_ties(columns, {name: int(row["g"]) for name, row in rows.items()})
    exact = ordered(columns, ranks)
    assert weigh(exact, printed) == {name: row["g"] for name, row in rows.items()}
    assert positions(weigh(exact, printed)) == {name: row["h"] for name, row in rows.items()}
    text = weigh(exact, literal)
    assert all(text[name] != row["g"] for name, row in rows.items())
    assert (text["AVQRED3"], text["ARED1"]) == (2732, 7336)
    assert positions(text) == {name: row["h"] for name, row in rows.items()}


def test_ties_that_share_a_rank_change_nine_places(columns, rows):
    places = positions(weigh(columns, printed))
    moved = {name: place for name, place in places.items() if place != rows[name]["h"]}
    assert moved == {
        "ARED1": 2, "AVQRED1": 3, "BLUE2": 19, "GKVQ2": 11, "GKVQ3": 18, "AVQ1": 16, "AVQ3": 12, "PI2": 13,
        "PI3": 17,
    }  # fmt: skip
    assert best(columns, 1, printed) == ["AVQRED3"]


def test_no_order_gives_the_literal_weights(columns, rows):
    assert implied_ties(columns, {name: int(row["g"]) for name, row in rows.items()}, literal) == []


def test_an_order_of_settings_that_do_not_tie_is_refused():
    with pytest.raises(ValueError, match="not the settings that tie"):
        Column({"a": 1.0, "b": 1.0, "c": 2.0}, ties=[["a", "c"]]).ranks()
