"""The local server of the live page: only its own page may ask, and bad requests get an answer.

Seen to fail on these mutants: any token; any Host; any Origin; a body without a limit; a seed of 2^32; a
length of any number of digits; a run without a limit of time, or of memory. Random requests:
``tests/fuzz/web.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from sojourn import _core, explore, templates
from sojourn.cli import call
from sojourn.explore import server
from sojourn.explore.page import default, engine, page
from sojourn.metrics.evaluation import compute
from sojourn.record import Record
from sojourn.spec.scenario import Scenario
from sojourn.worlds.simulated.memory import MEMORY

PLAN = Scenario.from_toml(templates.text("red40", "x.toml")).with_(duration="5s", warmup="1s").plan()
Answer = tuple[int, str]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with explore.Server("<!doctype html>") as served:
        yield served.address


def ask(
    address: str, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
) -> Answer:
    url = urlsplit(address)
    connection = HTTPConnection(url.hostname or "", url.port or 0, timeout=60)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def view_of(address: str, request: object) -> Answer:
    return ask(address, "POST", f"{urlsplit(address).path}view", json.dumps(request))


def test_the_page_is_below_the_token_only(address: str) -> None:
    path = urlsplit(address).path
    assert ask(address, "GET", path) == (200, "<!doctype html>")
    assert ask(address, "GET", "/")[0] == 404
    assert ask(address, "GET", f"/{'x' * (len(path) - 2)}/")[0] == 404
    assert ask(address, "POST", "/view", "{}")[0] == 404


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_other_pages_and_names_are_refused(address: str, headers: dict[str, str]) -> None:
    for method, path in (("GET", ""), ("POST", "view")):
        assert ask(address, method, urlsplit(address).path + path, "{}", headers)[0] == 403


def test_an_answer_is_that_of_the_core(address: str) -> None:
    status, text = view_of(address, {"plan": PLAN, "seed": 3})
    assert status == 200
    assert text == _core.view(json.dumps(PLAN), 3)


def test_a_streamed_answer_has_the_parts_of_the_run_before_the_view(address: str) -> None:
    status, text = view_of(address, {"plan": PLAN, "seed": 3, "stream": True})
    assert status == 200
    *parts, view = text.splitlines()
    assert view == _core.view(json.dumps(PLAN), 3)
    known = json.loads(view)["queue"]
    queue: list[float] = []
    for part in map(json.loads, parts):
        assert part["from"] == len(queue)
        queue += part["queue"]
    assert 0 < len(queue) <= len(known)
    assert queue == known[: len(queue)]


def test_a_run_that_is_not_wanted_any_more_ends() -> None:
    calls: list[str] = []

    def part(text: str) -> None:
        calls.append(text)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        _core.view(json.dumps(PLAN), 3, part)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "request_",
    [
        {},
        [],
        {"plan": {}, "seed": 1},
        {"plan": 1, "seed": 1},
        {"plan": PLAN, "seed": 2**32},
        {"plan": PLAN, "seed": True},
    ],
)
def test_a_bad_request_gets_an_error(address: str, request_: object) -> None:
    status, text = view_of(address, request_)
    assert status == 200
    assert list(json.loads(text)) == ["error"]


def test_no_request_is_large(address: str) -> None:
    path = f"{urlsplit(address).path}view"
    assert ask(address, "POST", path, None, {"Content-Length": "1000001"})[0] == 413
    assert ask(address, "POST", path, None, {"Content-Length": "many"})[0] == 413
    assert ask(address, "POST", path, None, {"Content-Length": "9" * 5000})[0] == 413


def test_a_run_that_takes_too_long_is_cancelled(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONGEST_S", 0.0)
    plan = {**PLAN, "duration": 1000 * PLAN["duration"]}
    status, text = view_of(address, {"plan": plan, "seed": 3})
    assert (status, json.loads(text)) == (200, {"error": "the simulation takes longer than 0 s"})


def test_a_run_beyond_the_memory_is_not_started(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "1MB")
    status, text = view_of(address, {"plan": PLAN, "seed": 3})
    assert status == 200
    assert "it may need" in json.loads(text)["error"]


@pytest.mark.parametrize(
    ("name", "spec"),
    [("home", "droptail"), *((name, "fq_codel") for name in ("home", "red40", "l4s", "web", "parkinglot"))],
)
def test_the_numbers_of_a_view_are_those_of_the_metrics(name: str, spec: str) -> None:
    """Mutants seen to fail: calls without the delay of the codec; an E-model without long delays."""
    scenario = Scenario.from_toml(templates.text(name, "x.toml")).with_(duration="12s", warmup="4s")
    plan = scenario.plan_json(spec)
    view = json.loads(_core.view(plan, 2))
    found = compute(Record(_core.run(plan, 2), json.loads(plan)))
    calls = [found[name] for name in ("call.mos", "call-up.mos") if name in found]
    of_traffic = {
        "page_time_mean_s": found.get("web.page_time_mean_s"),
        "mos": sum(calls) / len(calls) if calls else None,
        "late_ratio": found.get("game.late_ratio"),
    }
    if name == "home":
        assert None not in of_traffic.values()
    for key, value in view["summary"].items():
        expected = of_traffic.get(key, found.get(key))
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-12)), key


def test_the_command_refuses_what_it_cannot_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["explore", "--tour", "codell"]) == 2
    assert "codel" in capsys.readouterr().err
    assert call(["explore", "nowhere.toml", "--tour", "codel"]) == 2
    assert "--tour" in capsys.readouterr().err
    if engine() is None:
        assert call(["explore", "--out", "page.html"]) == 2
        assert "make wasm" in capsys.readouterr().err


def test_no_text_of_an_algorithm_becomes_markup() -> None:
    html = page(default(), ["codel"], server=True)
    data = html.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert "<" not in data
    assert any("<" in one["doc"] for one in _core.algorithms())
    assert json.loads(data)["algorithms"]
