"""The rank rule against columns G and H of the AVQRED paper's Table 2."""

from __future__ import annotations

import pytest

from sojourn.papers.avqred2007 import arithmetic
from sojourn.papers.avqred2007.arithmetic import broken, places
from sojourn.study.tune.rank import Column, best, implied_ties, literal, printed, weigh


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, float]]:
    return {name: {k: float(v) for k, v in row.items()} for name, row in arithmetic.table2().items()}


@pytest.fixture(scope="module")
def columns() -> list[Column]:
    return arithmetic.columns()


def test_the_printed_sums_come_from_two_orders_of_ties_only(columns, rows):
    found = implied_ties(columns, {name: int(row["G"]) for name, row in rows.items()})
    assert len(found) == 2
    differing = {(i, name) for i in range(6) for name in rows if found[0][i][name] != found[1][i][name]}
    assert differing == {(i, name) for i in (0, 4) for name in ("GKVQ2", "AVQ3")}
    assert sorted(found[0][4], key=found[0][4].__getitem__)[3:7] == ["AVQRED1", "ARED1", "RED2", "AVQRED3"]


def test_g_and_h_are_reproduced(columns, rows):
    (ranks, _) = implied_ties(columns, {name: int(row["G"]) for name, row in rows.items()})
    exact = broken(ranks)
    assert weigh(exact, printed) == {name: row["G"] for name, row in rows.items()}
    assert places(weigh(exact, printed)) == {name: row["H"] for name, row in rows.items()}
    text = weigh(exact, literal)
    assert all(text[name] != row["G"] for name, row in rows.items())
    assert (text["AVQRED3"], text["ARED1"]) == (2732, 7336)
    assert places(text) == {name: row["H"] for name, row in rows.items()}


def test_ties_that_share_a_rank_change_nine_places(columns, rows):
    found = places(weigh(columns, printed))
    moved = {name: place for name, place in found.items() if place != rows[name]["H"]}
    assert moved == {
        "ARED1": 2, "AVQRED1": 3, "BLUE2": 19, "GKVQ2": 11, "GKVQ3": 18, "AVQ1": 16, "AVQ3": 12, "PI2": 13,
        "PI3": 17,
    }  # fmt: skip
    assert best(columns, 1, printed) == ["AVQRED3"]


def test_no_order_gives_the_literal_weights(columns, rows):
    assert implied_ties(columns, {name: int(row["G"]) for name, row in rows.items()}, literal) == []


def test_an_order_of_settings_that_do_not_tie_is_refused():
    with pytest.raises(ValueError, match="not the settings that tie"):
        Column({"a": 1.0, "b": 1.0, "c": 2.0}, ties=[["a", "c"]]).ranks()
