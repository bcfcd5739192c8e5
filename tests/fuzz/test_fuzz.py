"""Random inputs from stored corpora: a reader accepts an input or refuses it with one clear line.

Every run has the same seeds; ``make fuzz`` tries more (``FUZZ_CASES`` of each target, from ``FUZZ_FIRST``).
Each target detects inserted bugs within the cases of `make test`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import sojourn
from fuzz import targets, web
from fuzz.targets import PLANS, SCENARIOS, SPECS, Found, Target, search, stored
from sojourn import _core
from sojourn.cli import call
from sojourn.errors import InputError
from sojourn.explore import server
from sojourn.results import Results
from sojourn.runner.manifest import manifest_of
from sojourn.worlds.simulated import memory
from support import SMALL

CASES = int(os.environ.get("FUZZ_CASES", "0"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
#: Cases in `make test`, by what one takes.
SHORT = {"specs": 2000, "plans": 1500, "scenarios": 250}
SHORT_STORED, SHORT_REQUESTS = 12, 300
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


def test_the_corpus_is_not_refused() -> None:
    """Inputs that are all refused for the same reason, as plans of an earlier format are, test nothing."""
    for text in targets.corpus("scenarios"):
        sojourn.Scenario.from_toml(text.decode())
    for text in targets.corpus("plans"):
        _core.check(text.decode())


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
    assert search(target, CASES // 100 or SHORT_STORED, FIRST) > 0


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[server.Server]:
    """Return a server without its thread; requests are handled in the test."""
    monkeypatch.setattr(server, "LONGEST_S", 0.5)  # a changed plan may have any rate
    monkeypatch.setenv(memory.MEMORY, "1GB")
    found = server.Server(web.PAGE)
    yield found
    found._http.server_close()


def test_any_request_to_the_live_page_is_answered(
    served: server.Server, capfd: pytest.CaptureFixture[str]
) -> None:
    assert search(web.requests(served), CASES // 10 or SHORT_REQUESTS, FIRST) > 0
    assert capfd.readouterr() == ("", "")


#: Bugs of the server: what is replaced, by what, and how they are found.
SERVER_BUGS: dict[str, tuple[object, str, object, str]] = {
    "any host or origin": (server._Handler, "_refused", lambda _: False, "another (address|origin)"),
    "a body of any size": (server, "MOST", 10**30, "bytes were read|MemoryError|OverflowError"),
    "a silent client": (server._Handler, "timeout", None, "silent forever"),
    "a view that fails": (
        server._Handler,
        "_view",
        lambda _, request: json.loads(request),
        "JSONDecodeError|AttributeError",
    ),
    "errors that repeat": (
        server._Handler,
        "send_error",
        BaseHTTPRequestHandler.send_error,
        "the (head|answer) is",
    ),
}


@pytest.mark.parametrize("name", SERVER_BUGS)
def test_a_bug_of_the_server_is_found(
    name: str, served: server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, attribute, bug, how = SERVER_BUGS[name]
    monkeypatch.setattr(where, attribute, bug)
    with pytest.raises(Found, match=how):
        search(web.requests(served), SHORT_REQUESTS)


#: Bugs: an input that is refused with this reason makes the reader crash, as if the check were missing.
BUGS = {
    "specs": ["parentheses that do not match", "is given twice", "is not one of the allowed words"],
    "plans": ["is used twice", "has no mean with this shape", "is above max_rto"],
    "scenarios": ["is too large", "is missing"],
}


def _without_check(target: Target, reason: str, monkeypatch: pytest.MonkeyPatch) -> Target:
    def wrapped(read: Callable[..., Any]) -> Callable[..., Any]:
        def crashes(*given: Any, **more: Any) -> Any:
            try:
                return read(*given, **more)
            except (sojourn.InputError, _core.PlanError) as error:
                if reason in error.problem:
                    raise IndexError(reason) from None
                raise

        return crashes

    monkeypatch.setattr(sojourn, "aqm", wrapped(sojourn.aqm))
    monkeypatch.setattr(_core, "check", wrapped(_core.check))
    monkeypatch.setattr(sojourn.Scenario, "from_toml", staticmethod(wrapped(sojourn.Scenario.from_toml)))
    return target


@pytest.mark.parametrize(("name", "reason"), [(name, bug) for name, bugs in BUGS.items() for bug in bugs])
def test_a_missing_check_is_found(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = _without_check(TEXTS[name], reason, monkeypatch)
    with pytest.raises(Found, match=reason):
        search(target, SHORT[name])


def test_a_wrong_unit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    read = sojourn.aqm
    monkeypatch.setattr(sojourn, "aqm", lambda spec: read(spec).replace("us", "ns"))
    with pytest.raises(Found, match="reads back as"):
        search(SPECS, SHORT["specs"])


def test_a_manifest_without_a_key_is_found(
    made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(folder: str | os.PathLike[str]) -> Results:
        manifest = manifest_of(Path(folder))
        assert manifest["started"], "manifest"
        assert manifest["host"], "manifest"
        raise InputError(str(folder), "is not read further, which takes long")

    monkeypatch.setattr(Results, "open", staticmethod(opened))
    with pytest.raises(Found, match="manifest"):
        search(stored(made("run"), tmp_path / "copy"), 100 * SHORT_STORED)
