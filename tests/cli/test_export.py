"""Exported tables: the same values in every format, and a new metric appears in all of them.

Mutants seen to fail: values in displayed units; the second table overwrites the first; an unescaped `|`
or `%`; an invalid format refused only after the runs.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn import report
from sojourn.cli import call
from sojourn.cli.export import EXPORTERS, check, write
from sojourn.cli.output import Column, Differences, Estimates, Output, Table
from sojourn.cli.summaries import of_comparison, of_results
from sojourn.errors import InputError
from sojourn.format import Scale
from sojourn.metrics import METRICS, metric
from sojourn.metrics.tables import Table as Tables
from sojourn.stats import Effect, Estimate
from sojourn.study.compare import Difference
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import SMALL

MEANS = Table(
    "means",
    "5 % of a_b",
    [Column("aqm", ""), Estimates("mean_delay_s", "mean delay", Scale(1e3, "ms")), Column("note", "note")],
    [
        ["red min_th 5p", Estimate(0.0032, 0.0004, 3), "a | b"],
        ["pie", Estimate(0.0123456, None, 1), None],
    ],
)
DIFFERENCES = Table(
    "differences",
    "difference",
    [Column("aqm", ""), Differences("drop_ratio", "drop ratio", Scale(100.0, "%"))],
    [
        [
            "pie",
            Difference("pie", "drop_ratio", Effect(-0.01, -0.02, 0.0, 3, 0.04), 0.08, "no difference shown"),
        ]
    ],
)
OUTPUT = Output("both", [MEANS, DIFFERENCES], {"a": [1, None]})


@pytest.fixture
def results() -> sojourn.Results:
    scenario = sojourn.Scenario.from_toml(SMALL)
    return sojourn.run(scenario, ["droptail", "red"], seeds=2)


def test_tables_of_data_are_read_back_in_si_units(tmp_path: Path) -> None:
    for suffix, read in ((".csv", pl.read_csv), (".parquet", pl.read_parquet)):
        first, second = write(OUTPUT, tmp_path / f"out{suffix}")
        assert (first.name, second.name) == (f"out{suffix}", f"out-differences{suffix}")
        assert read(first).to_dict(as_series=False) == {
            "aqm": ["red min_th 5p", "pie"],
            "mean_delay_s_mean": [0.0032, 0.0123456],
            "mean_delay_s_ci95": [0.0004, None],
            "mean_delay_s_n": [3, 1],
            "note": ["a | b", None],
        }
        assert read(second).row(0) == (
            "pie",
            -0.01,
            -0.02,
            0.0,
            3,
            0.04,
            0.08,
            "no difference shown",
            None,
            None,
        )
    (only,) = write(OUTPUT, tmp_path / "out.json")
    assert json.loads(only.read_text()) == OUTPUT.data


def test_markdown(tmp_path: Path) -> None:
    (file,) = write(OUTPUT, tmp_path / "out.md")
    assert file.read_text() == (
        "**5 % of a\\_b**\n\n"
        "|  | mean delay (ms) | note |\n"
        "| --- | ---: | --- |\n"
        "| red min\\_th 5p | 3.20 ± 0.40 | a \\| b |\n"
        "| pie | 12.35 | - |\n"
        "\n"
        "**difference**\n\n"
        "|  | drop ratio (%) |\n"
        "| --- | ---: |\n"
        "| pie | = (-1.0 ± 1.0) |\n"
    )


def test_latex(tmp_path: Path) -> None:
    (file,) = write(OUTPUT, tmp_path / "out.tex")
    assert file.read_text().startswith(
        "% \\usepackage{booktabs}\n"
        "\\begin{table}\n"
        "  \\caption{5 \\% of a\\_b}\n"
        "  \\begin{tabular}{lrl}\n"
        "    \\toprule\n"
        "     & mean delay (ms) & note \\\\\n"
        "    \\midrule\n"
        "    red min\\_th 5p & 3.20 $\\pm$ 0.40 & a | b \\\\\n"
        "    pie & 12.35 & - \\\\\n"
        "    \\bottomrule\n"
        "  \\end{tabular}\n"
        "\\end{table}\n"
    )


def test_a_transposed_table_has_a_line_for_each_column() -> None:
    turned = Table("t", "t", MEANS.columns, MEANS.rows, turned=True)
    assert turned.text() == (
        ["", "red min_th 5p", "pie"],
        [["mean delay (ms)", "3.20 ± 0.40", "12.35"], ["note", "a | b", "-"]],
    )
    assert turned.frame().equals(MEANS.frame())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("out.cvs", "did you mean .csv?"),
        ("out.xlsx", ".json (JSON), .csv (CSV), .parquet (Parquet), .tex (LaTeX), .md (Markdown)"),
        ("out", "has no suffix"),
        ("", "--export is empty"),
        ("missing/out.csv", "needs the folder missing"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_runs(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    assert call(["run", "small.toml", "--seeds", "1", "--export", name]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_every_format_has_a_file_of_its_own(tmp_path: Path) -> None:
    for suffix, exporter in EXPORTERS.items():
        assert suffix == exporter.suffix == exporter.suffix.lower()
        assert check(str(tmp_path / f"a{suffix.upper()}")).suffix == suffix.upper()
        assert write(OUTPUT, tmp_path / f"a{suffix.upper()}")[0].stat().st_size > 0
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check(str(tmp_path / "b.csv"))


def test_commands_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    both = ["--aqm", "droptail", "--aqm", "red", "--seeds", "2", "--out", "out"]
    assert (
        call(["compare", "small.toml", *both, "--json", "--export", "c.parquet", "--export", "c.json"]) == 0
    )
    printed = capsys.readouterr()
    assert "export: c.parquet\nexport: c-differences.parquet\nexport: c.json\n" in printed.err
    data = json.loads(printed.out)
    assert json.loads(Path("c.json").read_text()) == data
    means = pl.read_parquet("c.parquet")
    for aqm in ("droptail", "red"):
        found = data["summary"][aqm]["mean_delay_s"]
        row = means.filter(aqm=aqm).row(0, named=True)
        assert [row[f"mean_delay_s_{key}"] for key in ("mean", "ci95", "n")] == list(found.values())
    assert call(["report", "out", "--export", "again.parquet"]) == 0
    assert pl.read_parquet("again.parquet").equals(means)
    for words in (
        ["list"],
        ["explain", "red"],
        ["explain", "mean_delay_s"],
        ["explain", "tcp"],
        ["stability", "pi q_ref 50"],
        ["design", "pi"],
    ):
        assert call([*words, "--export", "x.csv", "--export", "x.tex", "--export", "x.md"]) == 0, words
        assert pl.read_csv("x.csv").height > 0
    assert pl.read_csv("x.csv")["phase_margin_degrees"][0] > 0


def test_a_run_exports_every_metric(results: sojourn.Results, tmp_path: Path) -> None:
    (file,) = write(of_results(results), tmp_path / "run.csv")
    frame = pl.read_csv(file)
    assert [name.removesuffix("_mean") for name in frame.columns if name.endswith("_mean")] != []
    assert {name.removesuffix("_n") for name in frame.columns if name.endswith("_n")} >= set(
        results.metric_names
    )
    assert frame["aqm"].to_list() == results.aqms


def test_a_new_metric_is_shown_in_every_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.metrics.registry.METRICS", METRICS)
    monkeypatch.setitem(METRICS, "half_delay_s", METRICS["mean_delay_s"])  # restored after the test

    @metric(
        "half_delay_s",
        "half delay",
        "s",
        "queue",
        formula="mean delay / 2",
        source="this test",
        better="lower",
        display=Scale(1e3, "ms"),
        views=("summary", "comparison", "bars", "sweep"),
    )
    def half_delay(t: Tables) -> float | None:
        mean = METRICS["mean_delay_s"].read(t)
        return None if mean is None else mean / 2

    scenario = sojourn.Scenario.from_toml(SMALL)
    comparison = sojourn.compare(scenario, ["droptail", "red"], seeds=2)
    results = comparison.results
    for output in (of_results(results), of_comparison(comparison)):
        out = io.StringIO()
        output.print(out)
        assert "half delay" in " ".join(out.getvalue().split())
        (file,) = write(output, tmp_path / "out.tex")
        assert "half delay (ms)" in file.read_text()
        frame = pl.read_parquet(write(output, tmp_path / "out.parquet")[0]).sort("aqm")
        assert frame["half_delay_s_mean"].to_list() == (frame["mean_delay_s_mean"] / 2).to_list()
    page = report.render(report.for_comparison(comparison))
    assert page.count("half delay") == 2  # the table of differences, that of all metrics
    swept = sweep(Sweep(scenario, ["red"], [], seeds=1))
    assert "half delay" in report.render(report.for_swept(swept))
