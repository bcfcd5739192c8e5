"""A disk that is full or read-only: one clear line, no partial file, and a command that can continue.

Each test has its own small file system in memory. Seen to fail: no temporary name.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from support import SMALL

SOJOURN = f"{sys.executable} -m sojourn"


def within(program: Callable[[str], str], tmp_path: Path, options: str, script: str) -> str:
    """Run a script with `disk` mounted as a file system in memory; return its output."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "small.toml").write_text(
        SMALL.replace('"6s"', '"2s"').replace('warmup = "2s"', 'warmup = "1s"')
    )
    lines = f"exec 2>&1\nmount -t tmpfs -o {options} none disk\n{script}"
    done = subprocess.run(
        [program("unshare"), "-rm", "sh", "-c", lines],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_after_a_full_disk_a_sweep_continues(program: Callable[[str], str], tmp_path: Path) -> None:
    sweep = f"{SOJOURN} sweep small.toml --seeds 40 -L queue.limit 10p,20p --out disk/out"
    said = within(
        program,
        tmp_path,
        "size=100k",
        f"head -c 60k /dev/zero > disk/other\n{sweep}\necho code $?\nfind disk -name '*.tmp'\nrm disk/other\n"
        f"mount -o remount,size=20m disk\n{sweep} > table\necho code $?\n{SOJOURN} sweep status disk/out\n"
        "cp disk/out/runs.parquet .",
    )
    first, _, rest = said.partition("code 1\n")
    assert first.count("\n") == 1, first
    assert first.startswith("sojourn: disk/out/")
    assert ": cannot be written: no space left on device" in first
    assert ".tmp" not in said
    assert "code 0" in rest
    assert "80 of 80 runs are done, 0 failed" in rest
    assert pl.read_parquet(tmp_path / "runs.parquet")["run_id"].n_unique() == 80


@pytest.mark.parametrize("command", ["sweep", "run", "compare --aqm droptail --aqm red", "tune --aqm red"])
def test_a_directory_without_write_permission_is_refused(
    program: Callable[[str], str], tmp_path: Path, command: str
) -> None:
    name, _, options = command.partition(" ")
    said = within(
        program,
        tmp_path,
        "ro",
        f"{SOJOURN} {name} small.toml {options} --seeds 2 --out disk/out\necho code $?",
    )
    line, code = said.splitlines()[-2:]
    assert (
        "cannot be written: read-only file system; allowed: a folder that may be written, with --out" in line
    )
    assert code == "code 2"


def test_a_file_size_limit_is_reported(tmp_path: Path) -> None:
    """With the file size limit of a process, as under a quota."""
    (tmp_path / "small.toml").write_text(SMALL)
    words = f"ulimit -f 8; exec {SOJOURN} sweep small.toml --seeds 20 --out out"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "cannot be written: file too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "out/runs").iterdir())
