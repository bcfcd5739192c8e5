"""Every command of the tutorials runs, on shorter scenarios, with the programs that the pages show."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = [page for page in sorted((ROOT / "docs/tutorials").glob("*.md")) if page.stem != "README"]
BLOCK = re.compile(r"(?:into `(\w+\.py)`:\n\n)?^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shorten(file: Path) -> None:
    """Make a scenario of a lesson run for four seconds."""
    text = file.read_text(encoding="utf-8")
    text = re.sub(r'^duration = "\d+s"', 'duration = "4s"', text, count=1, flags=re.MULTILINE)
    file.write_text(re.sub(r'^warmup = "\d+s"', 'warmup = "2s"', text, count=1, flags=re.MULTILINE))
    assert 'duration = "4s"' in file.read_text()


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_run(page: Path, tmp_path: Path) -> None:
    said = ""
    for file, language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            (tmp_path / file).write_text(code)
            continue
        for line in code.splitlines():
            words = [str(Path(sys.executable).parent / "sojourn"), *shlex.split(line)[1:]]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            said += done.stdout
            if words[1] == "new":
                shorten(tmp_path / words[2])
    assert "±" in said
