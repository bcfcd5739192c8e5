"""Instructions per packet, by callgrind, against the bounds in ``benches/bounds.json``; twins in ns-2.

Times are not checked: they depend on the machine. Mutants seen to fail: a fast path that is never taken; a
calendar that scans all events of one time; half the queue in ``gfc2.tcl``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from support import ROOT

pytestmark = pytest.mark.generated


def test_no_case_exceeds_its_bound_by_a_tenth(program: Callable[[str], str]) -> None:
    """If intended: ``python benches/bench.py --bound``, and a line in ``benches/RESULTS.md``."""
    program("valgrind")
    if not (ROOT / "target/release/examples/plan").exists():
        pytest.skip("make docs-check builds the instrumented program")
    command = [sys.executable, str(ROOT / "benches/bench.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_twins_in_ns2_have_the_same_arrivals_and_drops(program: Callable[[str], str]) -> None:
    """A ratio to ns-2 has no meaning unless both simulate the same."""
    program("ns")
    if not (ROOT / "target/release/examples/plan").exists():
        pytest.skip("make docs-check builds the instrumented program")
    command = [sys.executable, str(ROOT / "benches/bench.py"), "--twins", "two-way", "gfc2-greedy"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["two-way", "gfc2-greedy"]
    for line in lines:
        theirs, ours = (float(number) for number in re.findall(r"(?:packets|ours)=(\d+) ?", line)[:2])
        assert theirs == pytest.approx(ours, rel=0.05)
        dropped, lost = (float(number) for number in re.findall(r"=(0\.\d+)", line))
        assert dropped == pytest.approx(lost, rel=0.1)
