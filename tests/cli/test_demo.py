"""``sojourn demo`` re-runs a paper with short runs. Mutant seen to fail: without ``quick``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn.cli import call, demo


def test_the_demo_re_runs_a_paper_with_short_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(demo, "reproduce", lambda paper, **options: called.append((paper, options)))
    assert call(["demo"]) == 0
    assert called == [("raqm2005", {"quick": True, "out": Path("results/demo"), "workers": None})]
    assert "results/demo/report.html" in capsys.readouterr().err
