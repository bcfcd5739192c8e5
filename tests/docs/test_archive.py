"""Every test that a page names as the evidence for a promise exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import ROOT

PAGES = {"archive.md": 50, "security.md": 8}


def named(page: str) -> list[tuple[str, str]]:
    """Return file and name of each test in the tables of a page; the file of a test in Rust is empty."""
    found, file = [], ""
    for row in (line for line in page.splitlines() if line.startswith("| ")):
        for path, python, rust in re.findall(
            r"`([\w/]*(?:\.py)?)::(test_\w+)`|`([a-z]+(?:_[a-z]+){2,})`", row.split(" | ")[-1]
        ):
            file = path or file
            found.append(("", rust) if rust else (file, python))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page: str) -> None:
    """Seen to fail: a test that was renamed; a row whose test is in another file."""
    rust = "\n".join(path.read_text() for path in (ROOT / "crates/gateway").rglob("*.rs"))
    tests = named((ROOT / "docs" / page).read_text())
    assert len(tests) >= PAGES[page]
    missing = [
        f"{file}::{name}"
        for file, name in tests
        if f"{'def' if file else 'fn'} {name}(" not in (_text(file) if file else rust)
    ]
    assert not missing


def _text(file: str) -> str:
    path: Path = ROOT / "tests" / file
    return path.read_text() if path.exists() else ""


def test_every_failure_has_a_test() -> None:
    """A row without one is a heading."""
    rows = [line for line in (ROOT / "docs/archive.md").read_text().splitlines() if line.startswith("| ")]
    start = rows.index("| failure of version 0.1 | tests |") + 1
    for row in rows[start:]:
        assert "`" in row.split(" | ")[-1] or row.startswith("| **"), row
