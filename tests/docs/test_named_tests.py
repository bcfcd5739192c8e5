"""The tests that pages of the documentation name exist.

Mutant seen to fail: a test in the table of `docs/how-sure.md` renamed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMED = re.compile(r"(?:`(\w+/test_\w+\.py))?::(test_\w+)`")


@pytest.mark.parametrize("page", ["archive.md", "how-sure.md"])
def test_named_tests_exist(page: str) -> None:
    text = (TESTS.parent / "docs" / page).read_text()
    found = [match.groups() for match in NAMED.finditer(text)]
    assert found
    file = ""
    for path, name in found:
        file = path or file  # `::test_x` is in the file that was named last
        assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.M), f"{page}: {file}::{name}"
