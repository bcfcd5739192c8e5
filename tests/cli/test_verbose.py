"""``sojourn run --verbose`` and the report show whether the simulator used its fast path, or the reason.

Mutants seen to fail: the answer is not stored; the answer of the last algorithm only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support import SMALL, Cli

TRACED = SMALL + "\n[trace]\ncwnd = true\n"


@pytest.mark.parametrize(
    ("text", "answer"), [(SMALL, "yes"), (TRACED, "no, traced congestion windows")], ids=["small", "traced"]
)
def test_the_fast_path_or_the_reason_is_shown(text: str, answer: str, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    for _ in ("run", "read back"):
        done = cli("run", file, "--seeds", 1, "--out", "out", "--verbose")
        assert f"fast path: {answer}\n" in done.stderr
        assert f"<dt>fast path</dt><dd>{answer}</dd>" in (tmp_path / "out" / "report.html").read_text()
    assert "fast path" not in cli("run", file, "--seeds", 1, "--out", "out").stderr
