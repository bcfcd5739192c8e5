"""Every kind of report in windows of 400, 1400 and 2560 pixels: nothing is cut, no labels overlap.

A wide table may scroll in a box of its own; in a window of 2560 pixels none has to. Mutants seen to fail: a
table without its box; a legend with five columns in any width; labels at the ends of lines that overlap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn.cli import call
from support import SMALL

WIDTHS = (400, 1400, 2560)
COMMANDS = {
    "run": "run small.toml --seeds 3",
    "compare": "compare small.toml --aqm droptail --aqm red --aqm codel --seeds 3",
    "sweep": "sweep small.toml --aqm red --aqm pie -L queue.limit=20p,40p --seeds 2",
    "heat": "sweep small.toml --aqm pie -L queue.limit=20p,40p -L traffic.ftp.count=2,6 --seeds 2",
    "tune": "tune small.toml --aqm codel --trials 4 --seeds 2 --confirm 2",
    "worlds": "compare-worlds small.toml --aqm red --seeds 2 --no-grid",
    "evaluate": "evaluate red --against codel,pie,fq_codel --quick --seeds 2 --scenario S8",
}
#: What is wrong with the layout of a page: one line for each problem.
FAULTS = """() => {
  const found = [], width = document.documentElement.clientWidth
  const say = (...words) => found.push(words.join(" "))
  if (document.documentElement.scrollWidth > width) say("the page is wider than the window")
  const isBoxed = one => {
    for (let box = one.parentElement; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true
    return false
  }
  for (const one of document.querySelectorAll("body *")) {
    const place = one.getBoundingClientRect(), style = getComputedStyle(one)
    if (!place.width || !place.height || (one.closest("svg") && one.tagName !== "svg")) continue
    const name = one.tagName + " " + (one.textContent || "").trim().slice(0, 40)
    if (place.right > width + 1 && !isBoxed(one)) say("beyond the window:", name)
    const isWider = one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1
    if (isWider && style.overflowX === "hidden") say("cut:", name)
    if (isWider && style.overflowX === "auto" && width > 2000) say("scrolls in a wide window:", name)
  }
  for (const figure of document.querySelectorAll("svg")) {
    const frame = figure.getBoundingClientRect()
    if (!frame.width) continue
    const texts = [...figure.querySelectorAll("text")]
      .map(one => [one.textContent, one.getBoundingClientRect()])
    texts.forEach(([a, one], i) => {
      if (!one.width) return
      const isInside = one.left > frame.left - 1 && one.right < frame.right + 1
        && one.top > frame.top - 1 && one.bottom < frame.bottom + 1
      if (!isInside) say("outside its figure:", a)
      for (const [b, other] of texts.slice(i + 1)) {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left)
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)
        if (across > 2 && down > 3) say("overlap:", a, "and", b)
      }
    })
  }
  return found
}"""


def faults(browser: Any, page: Path) -> list[str]:
    """Return what is wrong with the layout of a page in each window, its details opened."""
    found = []
    for width in WIDTHS:
        opened = browser.new_page(viewport={"width": width, "height": 900})
        opened.goto(page.as_uri())
        opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        opened.evaluate("document.fonts.ready")
        found += [f"{width} pixels: {one}" for one in opened.evaluate(FAULTS)]
        opened.close()
    return found


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_report_fits_its_window(
    kind: str, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    assert call([*COMMANDS[kind].split(), "--workers", "1", "--out", "out"]) == 0
    assert faults(browser, tmp_path / "out/report.html") == []
