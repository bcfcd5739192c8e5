"""The page in a browser: it is drawn, all sections exist, the script works, it can be printed.

Seen to fail on these mutants: a page whose text is white; figures missing; a syntax error in the script; a
policy with the wrong hash; sorting that ignores the direction.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sojourn import plots, report
from sojourn.report import Document, Figure, Section, Verdicts

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="no chromium")


def browse(page: Path, *options: str) -> str:
    """Open a file in a headless browser and return the browser's output."""
    assert CHROMIUM is not None, "chromium is missing"
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def run_page(document: Document, tmp_path: Path) -> Path:
    return report.write(document, tmp_path / "report.html")


@pytest.fixture
def claims_page(verdict_frame: pl.DataFrame, tmp_path: Path) -> Path:
    svg = plots.curve([0, 1, 2], [0, 1, 4], x_label="x", y_label="y")
    document = Document(
        "A paper",
        blocks=[Section("Verdicts", [Verdicts(verdict_frame)]), Section("Figures", [Figure(svg, "c")])],
    )
    return report.write(document, tmp_path / "claims.html")


def test_screenshot_is_not_blank(run_page: Path) -> None:
    picture = run_page.with_suffix(".png")
    browse(run_page, "--hide-scrollbars", f"--screenshot={picture}", "--window-size=1200,3000")
    pixels = np.asarray(Image.open(picture).convert("RGB"), dtype=np.int16)
    assert pixels.shape == (3000, 1200, 3)
    paper = pixels[0, 0]
    inked = np.abs(pixels - paper).max(axis=2) > 24
    assert 0.01 < inked.mean() < 0.5
    bands = inked.reshape(10, 300, 1200).mean(axis=(1, 2))
    assert (bands > 0.002).all(), "a part of the page is empty"
    colours = {"PI": (0, 153, 122), "RAQM": (224, 123, 0), "REM": (123, 63, 181)}
    for name, colour in colours.items():
        assert (np.abs(pixels - colour).max(axis=2) < 12).sum() > 50, f"no trace of {name}"


def test_dom_has_all_sections(run_page: Path) -> None:
    dom = browse(run_page, "--dump-dom")
    titles = (
        "Results", "Over time", "Queueing delay", "What was run", "All metrics", "Parameters",
        "How to repeat it",
    )  # fmt: skip
    for title in titles:
        assert f">{title}</h2>" in dom
    assert len(re.findall("<svg [^>]*style=.max-width", dom)) == dom.count('<figure class="plot') == 6
    assert dom.count("<figcaption>") == dom.count("<figure")
    assert '<button type="button" class="copy">' in dom  # the script ran: no longer hidden


def test_claims_can_be_sorted_and_filtered(claims_page: Path) -> None:
    page = claims_page.read_text(encoding="utf-8")
    act = (
        "document.querySelector('th[data-sort=rank] .sort').click();"
        "document.querySelector('th[data-sort=rank] .sort').click();"
        "document.querySelector('input[value=reproduced]').click();"
        "const find = document.querySelector('input[type=search]');"
        "find.value = 'n = 40: RESPONDS'; find.dispatchEvent(new Event('input'));"
    )
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    claims_page.write_text(page.replace("</body>", f"<script>{act}</script></body>"), encoding="utf-8")
    dom = browse(claims_page, "--dump-dom")
    rows = re.findall(r'<tr data-verdict="([^"]*)" id="([^"]*)"( hidden="")?', dom)
    order = [verdict for verdict, _, _ in rows]
    assert order == sorted(order, key=["undecided", "not reproduced", "reproduced"].index)
    assert [name for _, name, hidden in rows if not hidden] == ["RAQM-20"]
    assert "1 of 14 shown" in dom


def test_no_other_script_may_run(claims_page: Path) -> None:
    page = claims_page.read_text(encoding="utf-8")
    evil = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    claims_page.write_text(page.replace("</body>", f"{evil}</body>"), encoding="utf-8")
    assert "<title>A paper</title>" in browse(claims_page, "--dump-dom")


def test_prints_to_pages(run_page: Path) -> None:
    printed = run_page.with_suffix(".pdf")
    browse(run_page, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    assert printed.read_bytes().startswith(b"%PDF")
    assert printed.stat().st_size > 50_000
