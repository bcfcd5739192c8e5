"""The stored summaries of re-run papers: the rows of each world come from its own run.

Mutants (each was seen to fail a test here): the real rows of a simulated run take precedence; a real run
replaces all rows; the list counts the rows of all worlds together; the figures of both worlds in one folder;
an undecided reading counted as one that refutes, or a proof before a reading that reproduces.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
AWAITED = "| A | real | undecided | needs the real world |  | 0 |  |\n"


@pytest.fixture(scope="module")
def results() -> ModuleType:
    """Return the script."""
    spec = importlib.util.spec_from_file_location("results", ROOT / "docs/results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder(place: Path, world: str | None, rows: list[tuple[str, ...]], **manifest: object) -> Path:
    """Write the files of a full run: claims (id, world, verdict, n), a summary, published numbers."""
    place.mkdir()
    facts = {"paper": "some2001", "world": world, "quick": False, "experiment": None, "status": "complete"}
    (place / "manifest.json").write_text(json.dumps({**facts, **manifest}))
    claims = pl.DataFrame(rows, schema=["claim_id", "world", "verdict", "n"], orient="row")
    claims.write_csv(place / "claims.csv")
    (place / "summary.md").write_text(f"# {world}\n| A | simulated |\n{AWAITED}")
    (place / "published.csv").write_text("metric,ours\na,1\nb,\n")
    return place


@pytest.mark.parametrize("order", [("simulated", "real"), ("simulated", "real", "simulated")])
def test_each_world_has_its_rows_from_its_own_run(
    results: ModuleType, tmp_path: Path, order: tuple[str, ...]
) -> None:
    none = "undecided"
    rows = {
        "simulated": [
            ("A", "simulated", "reproduced", "10"),
            ("A", "real", none, "0"),
            ("B", "analytic", "not reproduced", "1"),
            ("C", "simulated", none, "20"),
            ("C", "real", none, "0"),
        ],
        "real": [
            ("A", "simulated", none, "0"),
            ("A", "real", "not reproduced", "3"),
            ("B", "analytic", none, "0"),
            ("C", "simulated", none, "0"),
            ("C", "real", none, "0"),
        ],
    }
    here = tmp_path / "kept"
    for number, world in enumerate(order):
        run = folder(tmp_path / f"{number}", "real" if world == "real" else None, rows[world])
        results.keep(run, here)
    kept = results.read(here / "some2001/claims.csv")
    assert kept.rows() == [rows["simulated"][0], rows["real"][1], *rows["simulated"][2:]]
    assert (here / "some2001/summary.md").read_text() == "# None\n| A | simulated |\n"
    assert (here / "some2001/summary-real.md").read_text().startswith("# real\n")
    assert (here / "some2001/published.csv").read_text() == "metric,ours\na,1\nb,\n"
    assert (here / "some2001/published-real.csv").read_text() == "metric,ours\na,1\n"
    assert results.listing(here).splitlines()[-2:] == [
        "| some2001 | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | [summary](some2001/summary.md) |",
        "| some2001, real hosts | 0 | 1 | 0 | 1 |  |  |  |  | [summary](some2001/summary-real.md) |",
    ]


@pytest.mark.parametrize("part", [{"quick": True}, {"experiment": "one"}, {"status": "running"}])
def test_parts_of_a_paper_are_not_kept(results: ModuleType, tmp_path: Path, part: dict[str, object]) -> None:
    run = folder(tmp_path / "run", None, [("A", "simulated", "reproduced", "10")], **part)
    with pytest.raises(SystemExit, match="not a full run"):
        results.keep(run, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_the_list_matches_the_stored_summaries(results: ModuleType) -> None:
    assert (ROOT / "docs/results/README.md").read_text("utf-8") == results.listing()


def test_a_search_is_kept_beside_the_full_run_and_listed(results: ModuleType, tmp_path: Path):
    here = tmp_path / "here"
    results.keep(folder(tmp_path / "a", None, [("A", "simulated", "reproduced", "10")]), here)
    found = tmp_path / "b"
    found.mkdir()
    (found / "manifest.json").write_text(
        json.dumps({"paper": "some2001", "readings": 64, "status": "running"})
    )
    (found / "search.md").write_text("# Readings\n")
    (found / "search.json").write_text("{}\n")
    with pytest.raises(SystemExit, match="not a complete search"):
        results.keep(found, here)
    (found / "manifest.json").write_text(
        json.dumps({"paper": "some2001", "readings": 64, "status": "complete"})
    )
    results.keep(found, here)
    assert (here / "some2001" / "search.json").read_text() == "{}\n"
    assert "[readings tried jointly](some2001/search.md)" in results.listing(here)


def test_figures_are_kept_with_the_summary_of_their_world(results: ModuleType, tmp_path: Path):
    here = tmp_path / "here"
    for world in (None, "real"):
        run = folder(tmp_path / str(world), world, [("A", "simulated", "reproduced", "10")])
        (run / "summary.md").write_text("![Figure](figures/01.svg)\n")
        (run / "figures").mkdir()
        (run / "figures" / "01.svg").write_text(f"<svg>{world}</svg>")
        results.keep(run, here)
    assert (here / "some2001" / "figures" / "01.svg").read_text() == "<svg>None</svg>"
    assert (here / "some2001" / "figures-real" / "01.svg").read_text() == "<svg>real</svg>"
    assert (here / "some2001" / "summary-real.md").read_text() == "![Figure](figures-real/01.svg)\n"


def test_verdicts_over_all_readings_are_recomputed_from_the_stored_ones(results: ModuleType, tmp_path: Path):
    place = tmp_path / "raqm2005"
    place.mkdir()
    no, yes, open_ = "not reproduced", "reproduced", "undecided"
    rows = [
        ("RAQM-01", "analytic", yes, "1", "", ""),
        ("RAQM-10", "analytic", no, "1", "", ""),
        ("RAQM-18", "simulated", no, "10", f"a: {no}; b=1: {yes}; c: {yes}", ""),
        ("RAQM-21", "simulated", no, "10", f"a: {no}", ""),
        ("RAQM-24", "simulated", no, "10", f"a: {no}; b=1: {open_}", ""),
        ("RAQM-25", "simulated", no, "10", f"a: {no}", ""),
        ("RAQM-26", "simulated", no, "10", "", ""),
        ("RAQM-27", "simulated", open_, "0", "", ""),
        ("RAQM-27", "real", no, "3", "", ""),
    ]
    columns = ["claim_id", "world", "verdict", "n", "sensitivity", "standing"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(place / "claims.csv")
    found = [
        {"claim": "RAQM-25", "verdict": "reproduced under another reading", "words": "reproduced under x 1",
         "evidence": "e"},
        {"claim": "RAQM-26", "verdict": "not under any reading", "words": "not under any of 9 readings",
         "evidence": "e"},
    ]  # fmt: skip
    (place / "search.json").write_text(json.dumps({"claims": found}))
    row = "| RAQM-{} | simulated | not reproduced | e: 1 |  | 10 | < 1 | {} | why |"
    (place / "summary.md").write_text(
        f"Of 8. Over all readings, of 7: 7 as assumed.\n{row.format(25, 'undecided')}\n- RAQM-25: *no*\n"
    )
    results.stand(place)
    assert (place / "summary.md").read_text() == (
        "Of 8. Over all readings, of 7: 1 as assumed, 2 only under another reading, 2 under none that was "
        f"tried, 1 impossible, 1 undecided.\n{row.format(25, 'reproduced under x 1')}\n- RAQM-25: *no*\n"
    )
    assert [one or "" for one in results.read(place / "claims.csv")["standing"].to_list()] == [
        "reproduced",
        "impossible",
        "reproduced under b=1 and 1 others",
        "not under any of 2 readings",
        "undecided",
        "reproduced under x 1",
        "not under any of 9 readings",
        "",
        "",
    ]
