"""Values of wrong types in the Python functions are errors in one line, never of Python itself.

Seen to fail: the functions without their checks (``run("red40.toml")`` was an AttributeError).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn import SojournError, api
from sojourn.runner import execute as runner
from sojourn.study import compare as comparing
from sojourn.worlds.simulated.executors import Local


class Odd:
    """An object whose conversion to text fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


WRONG = [
    None, True, -1, 0, 3, 2.5, float("nan"), 10**400, 1j, b"bytes", "", "word", "x" * 300, "a\0b", "a\nb",
    (), [], [3], [None], ["red"], ["no such"], {"a": 1}, {3}, object(), Odd(), int, len, range(3),
    Path("/dev/null/x"),
]  # fmt: skip
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "run": (sojourn.run, {"aqms": ["red"], "seeds": 1}),
    "plan": (api.plan, {"aqms": ["red"], "seeds": 1}),
    "default_directory": (api.default_directory, {"aqms": ["red"]}),
    "compare": (sojourn.compare, {"aqms": ["red", "pie"], "seeds": 2}),
}


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Accept what is accepted without executing anything."""

    class AcceptedError(SojournError):
        pass

    def run(*_: object, **__: object) -> None:
        raise AcceptedError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "execute", run)
    monkeypatch.setattr(comparing, "run_scenario", run)


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, (call, _) in FUNCTIONS.items() for key in inspect.signature(call).parameters],
)
def test_any_value_is_accepted_or_refused_in_one_line(small: sojourn.Scenario, name: str, key: str) -> None:
    call, usual = FUNCTIONS[name]
    refused = 0
    for value in WRONG:
        try:
            call(**{"scenario": small, **usual, key: value})
        except SojournError as error:
            refused += 1
            assert "\n" not in str(error)
            assert len(str(error)) < 2000
    assert refused >= 5


@pytest.mark.usefixtures("nothing_runs")
def test_a_scenario_may_be_the_path_of_its_file(small_file: Path, small: sojourn.Scenario) -> None:
    assert api.plan(str(small_file), ["red"], 2) == api.plan(small, ["red"], 2)
    with pytest.raises(sojourn.InputError, match=r"nowhere\.toml cannot be read"):
        sojourn.run("nowhere.toml")
    with pytest.raises(sojourn.InputError, match="scenario = 3 is not a scenario; allowed: a Scenario"):
        sojourn.run(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [-1, 0, 2.0, "2", True])
def test_workers_are_a_number_from_one(workers: Any, small: sojourn.Scenario) -> None:
    with pytest.raises(sojourn.InputError, match="workers = "):
        Local(workers)
    with pytest.raises(sojourn.InputError, match="workers = "):
        list(runner.execute(api.plan(small, ["red"], 1), workers=workers))


def test_a_long_list_of_allowed_values_is_cut() -> None:
    """Algorithms of one's own, with the paths of their files, are in the list of allowed ones."""
    text = str(sojourn.InputError("aqm", "= 'x' is not an algorithm", "a" * 3000))
    assert len(text) < 1100
    assert text.endswith("... (3000 characters)")
