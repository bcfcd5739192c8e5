"""A browser for the tests of the live page: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    assert CHROMIUM is not None, "chromium is missing"
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
