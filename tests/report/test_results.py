"""The report of a run."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from sojourn import report
from sojourn.report import Document, Figure, Section, Table


def section(document: Document, title: str) -> Section:
    return next(b for b in document.blocks if isinstance(b, Section) and b.title == title)


def plain(page: str) -> str:
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text.replace("\u202f", " ").replace("\u00a0", " "))


def test_the_report_has_all_sections_and_facts(document: Document) -> None:
    titles = [b.title for b in document.blocks if isinstance(b, Section)]
    assert titles == [
        "Results", "Over time", "Queueing delay", "What was run", "All metrics", "Parameters",
        "How to repeat it",
    ]  # fmt: skip
    text = plain(report.render(document))
    for words in (
        "raqm-fig5a", "5 algorithms", "3 seeds", "15 runs", "sojourn run raqm-fig5a.toml",
        "its algorithm never acted", "9.410 ± 0.011", "49.3 ± 0.4", "ftp: 40 × tcp reno", "laboratory-7",
        "0.1.0+9f3c21d07a4e", "Measured arrival rate.", "41.3 s", "1 to 3", "conventions ns2",
    ):  # fmt: skip
        assert words in text, words


def test_figures(document: Document) -> None:
    kinds = [type(b).__name__ for b in section(document, "Over time").blocks]
    assert kinds == ["Figure"] * 4  # the queues, then probes of pi, rem and raqm
    for block in document.blocks:
        assert isinstance(block, Section)
        assert all(b.caption for b in block.blocks if isinstance(b, Figure))


def test_mark_ratio_is_shown_only_where_something_was_marked(document: Document) -> None:
    tables = [b for b in section(document, "Results").blocks if isinstance(b, Table)]
    assert "mark_ratio" not in (tables[0].columns or {})


def test_parameters_state_the_source_of_their_value(document: Document) -> None:
    tables = [b for b in section(document, "Parameters").blocks if isinstance(b, Table)]
    found = {(row["name"], row["from"]) for table in tables for row in table.frame.iter_rows(named=True)}
    assert {("r_0", "derived"), ("T", "default"), ("w_q", "default")} <= found


def test_one_seed_is_stated(make_results: Any, registry: dict[str, Any]) -> None:
    text = plain(report.render(report.for_results(make_results(("pi",), seeds=1, seconds=5.0), registry)))
    assert "One seed only: no intervals." in text
    assert "1 algorithm 1 seed 1 run" in text


def test_a_report_needs_only_runs_and_metrics(make_results: Any) -> None:
    class Bare:
        def __init__(self) -> None:
            self.full = make_results(("pi", "raqm"), seeds=2, seconds=2.0)
            self.runs = self.full.runs.drop("run_id")
            self.warnings: list[str] = []

        def summary(self) -> pl.DataFrame:
            frame: pl.DataFrame = self.full.summary()
            return frame

        def trace(self, what: str = "queue", aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:  # noqa: ARG002
            return pl.DataFrame()

    text = plain(report.render(report.for_results(Bare(), {})))
    assert "No samples over time were kept." in text
    assert "is not in the registry" in text


def test_metrics_of_other_queues_have_their_own_table(make_results: Any, registry: dict[str, Any]) -> None:
    results = make_results(("pi",), seeds=2, seconds=2.0)
    frame = results.summary()
    other = frame.head(1).with_columns(metric=pl.lit("queues.R2-R1.mean_queue_packets"))
    results.summary = lambda: pl.concat([frame, other])
    captions = [
        b.caption
        for b in section(report.for_results(results, registry), "All metrics").blocks
        if isinstance(b, Table)
    ]
    assert len(captions) == 3
    assert captions[2].startswith("Metrics of the other queues.")


def test_the_same_bytes_again(document: Document, results: Any, registry: dict[str, Any]) -> None:
    assert report.render(document) == report.render(report.for_results(results, registry))
