"""Errors in Python algorithms are reported in one line: before a run, or with seed, handler and line.

Mutants seen to fail: a mark on a Not-ECT packet accepted; the line of a library instead of the user's; True
accepted as PASS; `on_idle` not called.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn import InputError, RunFailed, _core
from sojourn.algorithms import permitting

BEFORE = {
    "a syntax error": ("class Mine(sojourn.Aqm:\n    pass", "m.py cannot be loaded: line 2:"),
    "a file that raises": (
        "x = 1\ny = x / 0",
        "m.py cannot be loaded: line 3: ZeroDivisionError: division by zero",
    ),
    "a file that exits": ("raise SystemExit(3)", "m.py cannot be loaded: line 2: SystemExit: 3"),
    "no such class": (
        "class Mind(sojourn.Aqm): pass",
        "m.py has no class 'Mine' (did you mean Mind?); allowed: Mind",
    ),
    "no algorithm": ("class Mine: pass", "m.py:Mine is not an algorithm; allowed: a subclass of sojourn.Aqm"),
    "no handler": ("class Mine(sojourn.Aqm): pass", "m.py:Mine has no handler; allowed: one of on_offered"),
    "__init__": (
        "class Mine(sojourn.Aqm):\n    def __init__(self): self.x = 1\n    def on_idle(self, now): pass",
        "m.py:Mine.__init__ would not be called in a run; allowed: start(self)",
    ),
    "arguments": (
        "class Mine(sojourn.Aqm):\n    def on_arrival(self, packet): pass",
        "m.py:Mine.on_arrival has other parameters than the handler; "
        "allowed: (self, now, packet, queue, rng)",
    ),
    "a handler misspelt": (
        "class Mine(sojourn.Aqm):\n    def on_arrivel(self): pass\n    def on_idle(self, now): pass",
        "m.py:Mine.on_arrivel is never called (did you mean on_arrival?)",
    ),
    "a timer without a handler": (
        "class Mine(sojourn.Aqm):\n    def next_timer(self): return 1\n    def on_idle(self, now): pass",
        "m.py:Mine.next_timer has no on_timer; allowed: both or none",
    ),
    "a probe without a name": (
        "class Mine(sojourn.Aqm):\n    def probe(self): return {'p': 1}\n    def on_idle(self, now): pass",
        "m.py:Mine.probe has no names",
    ),
    "a default out of range": (
        "class Mine(sojourn.Aqm):\n    p = sojourn.Param(2.0, max=1)\n    def on_idle(self, now): pass",
        "m.py:Mine.p default = 2.0 is out of range; allowed: a number <= 1",
    ),
    "a parameter without a default": (
        "class Mine(sojourn.Aqm):\n    p = sojourn.Param()",
        "m.py cannot be loaded: line 3: TypeError: a parameter needs a default",
    ),
    "a reserved name": (
        "class Mine(sojourn.Aqm):\n    limit = sojourn.Param(1)\n    def on_idle(self, now): pass",
        "m.py:Mine.limit cannot be the name of a parameter",
    ),
    "a start that refuses": (
        "class Mine(sojourn.Aqm):\n    def start(self): raise ValueError('a is not above b')\n"
        "    def on_idle(self, now): pass",
        "m.py:Mine refuses its parameters: a is not above b",
    ),
    "a start that raises": (
        "class Mine(sojourn.Aqm):\n    def start(self):\n        self.x = {}['y']\n"
        "    def on_idle(self, now): pass",
        ".start, line 4: KeyError: 'y'",
    ),
    "a first timer before the beginning": (
        "class Mine(sojourn.Aqm):\n    def next_timer(self): return -1\n"
        "    def on_timer(self, now, queue): pass",
        "m.py:Mine.next_timer returned -1; allowed: a time in ns after now, or None",
    ),
    "a file that runs simulations": (
        "class Mine(sojourn.Aqm):\n    def on_idle(self, now): pass\n"
        "sojourn.run(sojourn.load('small.toml'), seeds=1)",
        "a file with an algorithm runs simulations when it is loaded; allowed: below if __name__",
    ),
}


def write(folder: Path, text: str) -> None:
    (folder / "m.py").write_text("import sojourn\n" + text)


@pytest.mark.parametrize("case", BEFORE)
def test_an_invalid_class_is_refused_before_a_run(
    case: str, small: sojourn.Scenario, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = BEFORE[case]
    monkeypatch.chdir(small_file.parent)
    write(small_file.parent, text)
    with pytest.raises(InputError) as caught:
        sojourn.run(small, aqms=["m.py:Mine"], seeds=1, allow_code=True)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


DURING = {
    "raises": (
        "on_arrival(self, now, packet, queue, rng)",
        "return 1 / 0",
        "line 4: ZeroDivisionError: division",
    ),
    "raises elsewhere": ("on_idle(self, now)", "open('none')", "line 4: FileNotFoundError"),
    "raises in a library": (
        "on_idle(self, now)",
        "__import__('json').loads('{')",
        "line 4: JSONDecodeError",
    ),
    "exits": ("on_departure(self, now, packet, queue, rng)", "raise SystemExit", "line 4: SystemExit"),
    "recurses": (
        "on_drop(self, now, packet, cause, queue)",
        "self.on_drop(*[now] * 4)",
        "line 4: RecursionError",
    ),
    "answers nonsense": (
        "on_arrival(self, now, packet, queue, rng)",
        "return True",
        "returned True; allowed: PASS, MARK, DROP, drop_both(n)",
    ),
    "marks a packet that is not ECN-capable": (
        "on_arrival(self, now, packet, queue, rng)",
        "return sojourn.MARK",
        "marked a packet that is not ECN-capable; allowed: DROP, or self.signal(packet)",
    ),
    "gives the queue's cause": (
        "on_arrival(self, now, packet, queue, rng)",
        "return sojourn.DROP('overflow')",
        'line 4: ValueError: "overflow" is the queue\'s own cause; allowed: early, forced',
    ),
    "misspells a cause": (
        "on_arrival(self, now, packet, queue, rng)",
        "return sojourn.DROP('forcd')",
        '"forcd" is not a cause (did you mean forced?)',
    ),
    "names a victim that does not wait": (
        "on_arrival(self, now, packet, queue, rng)",
        "return sojourn.drop_both(queue.packets)",
        "named the packet at 0, but the queue has 0",
    ),
    "names a second victim at a departure": (
        "on_departure(self, now, packet, queue, rng)",
        "return sojourn.drop_both(0)",
        "named a second victim; allowed: only in on_arrival",
    ),
    "writes a view": (
        "on_arrival(self, now, packet, queue, rng)",
        "packet.ecn = 3",
        "line 4: AttributeError: attribute 'ecn' of 'sojourn._core.Packet' objects is not writable",
    ),
    "draws a random number outside a handler": (
        "on_offered(self, now, packet, queue)",
        "self.rng = getattr(self, 'rng', None) or sojourn._core.Rng()",
        "line 4: TypeError",
    ),
    "keeps the random numbers": (
        "on_arrival(self, now, packet, queue, rng):\n        self.rng = rng\n    def on_idle(self, now)",
        "self.rng.uniform()",
        "line 6: RuntimeError: a random number can be drawn only while its handler runs",
    ),
    "keeps the queue": (
        "on_arrival(self, now, packet, queue, rng):\n        self.queue = queue\n    def on_idle(self, now)",
        "self.queue.at(0)",
        "line 6: RuntimeError: the queue can be inspected only while a handler runs",
    ),
    "sets a timer in the past": (
        "next_timer(self): return 10\n    def on_timer(self, now, queue)",
        "pass",
        "m.py:Mine.next_timer returned 10, which is not after now = 10 (at 0.00000001 s)",
    ),
    "returns a timer that is no number": (
        "next_timer(self): return getattr(self, 'due', 5)\n    def on_timer(self, now, queue)",
        "self.due = 'soon'",
        "next_timer returned 'soon'; allowed: a time in ns after now, or None",
    ),
    "probes nothing finite": (
        "probe(self): return {'p': float('nan')}\n    probes = {'p': 'x'}\n    def on_idle(self, now)",
        "pass",
        "m.py:Mine.probe gave p = NaN; allowed: finite numbers",
    ),
    "probes too little": (
        "probe(self): return {}\n    probes = {'p': 'x'}\n    def on_idle(self, now)",
        "pass",
        'm.py:Mine.probe gave no number for "p"',
    ),
    "probes too much": (
        "probe(self): return {'p': 1, 'q': 1}\n    probes = {'p': 'x'}\n    def on_idle(self, now)",
        "pass",
        "m.py:Mine.probe gave a name that probes does not declare",
    ),
    "has a parameter that is not set": (
        "on_idle(self, now): pass\n    p = sojourn.Param(derived='something')\n"
        "    def on_offered(self, now, packet, queue)",
        "self.p + 1",
        "line 6: TypeError",
    ),
}


@pytest.mark.parametrize("case", DURING)
def test_a_failure_names_handler_line_and_time(
    case: str, small: sojourn.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, body, expected = DURING[case]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, f"class Mine(sojourn.Aqm):\n    def {handler}:\n        {body}\n")
    with permitting(True):
        (batch,) = [_core.Batch([(small.plan_json("m.py:Mine limit 3p"), 7)], 1)]
    ((_, error),) = batch.poll(60)
    assert isinstance(error, _core.AlgorithmError), error
    assert str(error).startswith("m.py:Mine.")
    assert expected in str(error)
    assert " (at " in str(error)


def test_a_failed_run_is_reported_and_recorded(
    small: sojourn.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "class Mine(sojourn.Aqm):\n    def on_idle(self, now):\n        self.missing\n")
    with pytest.raises(RunFailed) as caught:
        sojourn.run(small, aqms=["droptail", "m.py:Mine"], seeds=[3, 4], out="out", allow_code=True)
    said = str(caught.value)
    assert "2 of 4 runs failed; the first: small, m.py:Mine, seed 3: m.py:Mine.on_idle, line 4" in said
    assert "AttributeError: 'Mine' object has no attribute 'missing'" in said
    assert len((tmp_path / "out/failures.jsonl").read_text().splitlines()) == 2
    assert len(list((tmp_path / "out/runs").iterdir())) == 2


def test_a_crashed_worker_fails_only_its_run(
    small: sojourn.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "import os\nclass Mine(sojourn.Aqm):\n    def on_idle(self, now):\n        os._exit(9)\n")
    with pytest.raises(RunFailed, match="the process that executed it ended with exit code 9, 2 times"):
        sojourn.run(small, aqms=["m.py:Mine", "droptail"], seeds=1, out="out", allow_code=True)
    assert len(list((tmp_path / "out/runs").iterdir())) == 1
