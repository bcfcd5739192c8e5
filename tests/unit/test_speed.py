"""Instructions a packet, counted by callgrind, against the bounds committed in ``benches/bounds.json``.

Times are never held to anything: they belong to the machine. Mutant seen to fail: no laps (``Step::laps``
never set).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from support import ROOT


def test_no_case_takes_a_tenth_more_instructions_than_its_bound(program: Callable[[str], str]) -> None:
    """If that is meant: ``python benches/bench.py --bound``, and a line in ``benches/RESULTS.md``."""
    program("valgrind")
    if not (ROOT / "target/release/examples/plan").exists():
        pytest.skip("make test builds the program that is counted")
    command = [sys.executable, str(ROOT / "benches/bench.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
