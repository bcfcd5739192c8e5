"""Random inputs from kept corpora: readers accept or refuse them, in one clear line; nothing else.

The same seeds in every run; ``make fuzz`` tries more (``FUZZ_CASES`` of each target, from ``FUZZ_FIRST``).
The live page does not exist yet, so it has no target.

Each target finds a planted bug (`test_a_planted_bug_is_found`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn
from fuzz import targets
from fuzz.targets import PLANS, SCENARIOS, SPECS, Found, Target, search, stored
from sojourn import _core
from sojourn.cli import call
from sojourn.results import Results
from support import SMALL

CASES = int(os.environ.get("FUZZ_CASES", "0"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
#: Cases in `make test`, by what one takes.
SHORT = {"specs": 2000, "plans": 1000, "scenarios": 250}
SHORT_STORED = 12
TEXTS = {"specs": SPECS, "plans": PLANS, "scenarios": SCENARIOS}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_read_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert search(TEXTS[name], CASES or SHORT[name], FIRST) > 0


@pytest.mark.parametrize("name", TEXTS)
def test_the_corpus_is_read_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in targets.corpus(name):
        for one in given.splitlines() if name == "specs" else [given]:
            TEXTS[name].run(one if name == "specs" else one.decode())


MADE = {
    "run": ["run", "s.toml", "--aqm", "red", "--aqm", "codel"],
    "compare": ["compare", "s.toml", "--aqm", "red", "--aqm", "codel"],
    "sweep": ["sweep", "s.toml", "-L", "queue.limit", "20p,30p"],
    "tune": ["tune", "s.toml", "--trials", "3", "--confirm", "2", "-P", "max_p", "0.1:0.5"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the results directory of a command, made once."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "s.toml").write_text(SMALL)
    found: dict[str, Path] = {}

    def make(kind: str) -> Path:
        if kind not in found:
            found[kind] = folder / kind
            words = [str(folder / one) if one == "s.toml" else one for one in MADE[kind]]
            code = call([*words, "--seeds", "2", "--out", str(found[kind])])
            assert code == 0
        return found[kind]

    return make


@pytest.mark.parametrize("kind", MADE)
def test_any_results_directory_is_read_or_refused(
    kind: str, made: Callable[[str], Path], tmp_path: Path
) -> None:
    target = stored(made(kind), tmp_path / "copy")
    assert search(target, CASES // 10 or SHORT_STORED, FIRST) > 0


def _spec(text: bytes) -> None:
    depth = 0
    for c in text.decode(errors="replace"):
        depth = depth + (c == "(") - (c == ")")
        assert depth < 3, "a stack that overflows"


def _planted(monkeypatch: pytest.MonkeyPatch, name: str) -> Target:
    check, of, read = _core.check, sojourn.Scenario.of, Results.open
    if name == "specs":
        return Target(SPECS.make, _spec)
    if name == "plans":  # a key that is taken for an argument

        def wrong(text: str) -> None:
            if '"self":' in text:
                raise TypeError
            check(text)

        monkeypatch.setattr(_core, "check", wrong)
    elif name == "scenarios":  # as it was: the key `self` collided with an argument

        def collides(data: dict[str, object], where: str) -> sojourn.Scenario:
            if "self" in data:
                raise TypeError("got multiple values for argument 'self'")
            return of(data, where)

        monkeypatch.setattr(sojourn.Scenario, "of", staticmethod(collides))
    elif name == "stored":  # a manifest without a key

        def opened(folder: str | os.PathLike[str]) -> Results:
            results = read(folder)
            assert results.manifest["host"]
            return results

        monkeypatch.setattr(Results, "open", staticmethod(opened))
    return TEXTS.get(name, SPECS)


@pytest.mark.parametrize("name", [*TEXTS, "stored"])
def test_a_planted_bug_is_found(
    name: str, made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = stored(made("run"), tmp_path / "copy") if name == "stored" else None
    planted = _planted(monkeypatch, name)
    with pytest.raises(Found):
        search(target or planted, 3000)
