"""The stored evaluation of all algorithms: its pages follow from its data, its data from an evaluation.

Mutants seen to fail: a symbol changed in the matrix; the verdict of another case; the column of the better
filled with the worse.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from sojourn.algorithms import spec_of
from sojourn.study.evaluate.catalogue import catalogue
from sojourn.study.evaluate.model import Plan
from sojourn.study.evaluate.run import evaluate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluation", ROOT / "docs/evaluation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_follow_from_the_data(script: ModuleType) -> None:
    pages = dict(script.pages())
    assert {path.name for path in script.HERE.glob("*.md")} == {path.name for path in pages}
    for path, page in pages.items():
        assert path.read_text("utf-8") == page, "repeat: python docs/evaluation.py"


def test_every_algorithm_and_every_case_has_a_verdict(script: ModuleType) -> None:
    cases = [row["case"] for row in script.read(script.CASES)]
    verdicts = [(row["algorithm"], row["case"]) for row in script.read(script.VERDICTS)]
    specs = list(dict.fromkeys(spec for spec, _ in verdicts))
    assert len(specs) >= 29
    assert verdicts == [(spec, case) for case in cases for spec in specs]


def test_the_data_are_those_of_the_evaluation(script: ModuleType, tmp_path: Path) -> None:
    rivals = tuple(spec_of(one) for one in ("pie", "codel"))
    plan = Plan(spec_of("red"), rivals, catalogue().choose(["S8", "S9"]), 4, quick=True)
    found = evaluate(plan, tmp_path / "out")
    here = tmp_path / "docs"
    script.keep(
        found, {"version": "1", "command": "c", "seeds": 4, "runs": 32, "core": "x", "missing": ""}, here
    )
    rows = script.read(script.VERDICTS, here)
    for judged in found.judged:
        for spec in ("red", *rivals):
            cell = judged.cell(spec)
            row = next(r for r in rows if (r["algorithm"], r["case"]) == (spec, judged.case.name))
            assert (row["verdict"], row["better"], row["worse"]) == (cell.verdict, cell.better, cell.worse)
            line = next(
                one for one in (here / "README.md").read_text("utf-8").splitlines() if f"[{spec}]" in one
            )
            column = 5 + [one.case.name for one in found.judged].index(judged.case.name)
            assert line.split("|")[column].strip() == script.SYMBOLS[cell.verdict]
            for metric in judged.comparison.metrics:
                value = next(
                    r
                    for r in script.read(script.VALUES, here)
                    if (r["algorithm"], r["case"], r["metric"]) == (spec, judged.case.name, metric)
                )
                mean = judged.results.estimate(spec, metric).mean
                assert mean is None or float(value["mean"]) == pytest.approx(mean, rel=1e-5)
    assert any(row["better"] for row in rows)
