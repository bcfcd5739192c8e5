"""The notebooks of examples/notebooks run from top to bottom and show what their texts say.

The cells run in this process, without a kernel: they are plain Python without magics, and what a cell shows
is the value of its last expression, which a kernel would display by the same methods (``_repr_html_``,
``_repr_svg_``). A kernel would need ten more packages, and a process that listens on ports.

Seen to fail on these mutants: a cell with a misspelt name; stored outputs; `_repr_html_` missing.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: Parts of what each notebook shows, in order.
SHOWN = {
    "queue": ["data:image/svg+xml", "Compared with", "<svg", "<svg", "<iframe"],
    "own-algorithm": ["Results of red40", "(3, 4)", "<svg", "[]"],
    "data": ["Results of web", "Record of a run", "small", "Estimate", "drop_ratio", "<svg"],
}


def run(notebook: dict[str, Any]) -> Iterator[str]:
    """Execute the code cells; yield what each shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            if value is not None:
                yield displayed(value)


def displayed(value: object) -> str:
    for method in ("_repr_html_", "_repr_svg_"):
        if (shown := getattr(value, method, lambda: None)()) is not None:  # as IPython does
            return str(shown)
    return repr(value)


def test_every_notebook_is_checked() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # notebooks need no file of the repository
    found = list(run(json.loads(path.read_text(encoding="utf-8"))))
    assert len(found) == len(SHOWN[path.stem]), [one[:80] for one in found]
    for wanted, text in zip(SHOWN[path.stem], found, strict=True):
        assert wanted in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            assert not any(line.lstrip().startswith(("%", "!")) for line in cell["source"])
