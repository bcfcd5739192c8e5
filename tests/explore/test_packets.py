"""Packets one by one: the scene is that of the run, and the words have its numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import sqrt
from typing import Any

import pytest

from sojourn import _core, explore, templates
from sojourn.explore.page import default, observed, page
from sojourn.spec.scenario import Scenario

pytestmark = pytest.mark.xdist_group("browser")
ENQUEUE, DEQUEUE, DROP, MARK = range(4)
SECOND = 10**9
SCENARIO = Scenario.from_toml(templates.text("red40", "x.toml")).with_(duration="20s", warmup="5s")


def scene_of(spec: str, start: int = 5 * SECOND, most: int = 4000, **changes: Any) -> dict[str, Any]:
    plan = SCENARIO.with_(**changes).plan_json(spec)
    found: dict[str, Any] = json.loads(_core.packets(plan, 1, start, most))
    return found


def words(scene: dict[str, Any], kind: int) -> list[str]:
    return [one["words"] for one in scene["events"] if one["event"] == kind]


@pytest.mark.parametrize("spec", ["droptail", "codel", "red", "fq_codel"])
def test_a_scene_conserves_packets(spec: str) -> None:
    scene = scene_of(spec)
    waiting = [one["arrival"] for one in scene["waiting"]]
    assert waiting == sorted(waiting)
    present = set(waiting)
    for one in scene["events"]:
        if one["event"] == ENQUEUE:
            present.add(one["arrival"])
        elif one["event"] in (DEQUEUE, DROP):
            assert (one["arrival"] in present) != one["wasNew"] or one["event"] == DEQUEUE
            present.discard(one["arrival"])
    rest = json.loads(_core.packets(SCENARIO.plan_json(spec), 1, round(scene["until"] * 1e9) + 1, 10))
    assert {one["arrival"] for one in rest["waiting"]} == present


def test_two_scenes_are_one() -> None:
    long = scene_of("codel", most=3000)
    first = scene_of("codel", most=1000)
    second = scene_of("codel", start=round(first["until"] * 1e9) + 1, most=2500)
    joined = first["events"] + second["events"]
    assert len(joined) >= 3000
    assert joined[:3000] == long["events"][:3000]
    assert not first["over"]
    assert scene_of("codel", start=20 * SECOND - 1)["over"]


def test_the_words_of_codel_have_the_numbers_of_its_control_law() -> None:
    scene = scene_of("codel target 10ms", most=15_000)
    arrived = {one["arrival"]: one["since"] for one in scene["waiting"]}
    found, longest = 0, 0.0
    pattern = re.compile(
        r"dropped: sojourn ([\d.]+) ms, above target 10.0 ms for ([\d.]+) ms; (\w+) drop \(count (\d+)\); "
        r"(?:next in ([\d.]+) ms|the next packet .*)"
    )
    for one in scene["events"]:
        if one["event"] == ENQUEUE:
            arrived[one["arrival"]] = one["time"]
        if one["event"] != DROP or "buffer" in one["words"]:
            continue
        match = pattern.fullmatch(one["words"])
        assert match, one["words"]
        sojourn, above, number, count, wait = match.groups()
        assert float(sojourn) == pytest.approx((one["time"] - arrived[one["arrival"]]) * 1e3, abs=0.51)
        if number == "first":
            found += 1
            assert float(above) >= 99.5
            if wait:
                assert float(wait) == pytest.approx(100 / sqrt(int(count)), abs=0.51)
        longest = max(longest, float(above))
    assert found >= 2
    assert longest > 150
    assert any("below target 10.0 ms" in one for one in words(scene, DEQUEUE))


@pytest.mark.parametrize(
    ("spec", "kind", "said"),
    [
        ("droptail", DROP, r"the buffer is full, 100 packets wait"),
        ("red", DROP, r"average queue [\d.]+ \(min_th .*\); probability [\d.]+ %, and it was drawn"),
        ("red", ENQUEUE, r"average queue [\d.]+ \(min_th .*\); probability .*"),
        ("pie", DROP, r"p = [\d.]+ %, delay [\d.]+ ms at the last update, target 15.0 ms; drawn"),
        ("pi", ENQUEUE, r"p = [\d.]+ %; not drawn"),
        ("fq_codel", DROP, r"sojourn [\d.]+ ms, target 5.0 ms"),
        ("codel", ENQUEUE, r"\d+ packets wait; CoDel decides at the head of the queue"),
        ("droptail", DEQUEUE, r"after [\d.]+ ms in the queue"),
    ],
)
def test_every_decision_is_in_words(spec: str, kind: int, said: str) -> None:
    found = words(scene_of(spec, most=15_000), kind)
    assert found
    assert any(re.search(said, one) for one in found), found[:3]


def test_every_algorithm_has_words() -> None:
    for algorithm in (*_core.algorithms(), *_core.schedulers()):
        if algorithm["name"] in {"drr", "prio"}:  # these need classes
            continue
        scene = scene_of(algorithm["name"], most=200)
        assert len(scene["events"]) >= 200
        assert all(": " in one["words"] for one in scene["events"])


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with explore.Server(page(default(), ["codel"], server=True)) as server:
        yield server.address


def quick(address: str) -> str:
    """Return the address of a state with many drops."""
    return f"{address}#a=codel&rate=5000000&up=1000000"


def opened(tab: Any, address: str) -> None:
    tab.goto("about:blank")
    tab.goto(quick(address))
    tab.locator("#packets summary").click()
    tab.locator("#packets details[data-time]:not([data-loading])").wait_for()


def expected(tab: Any) -> list[dict[str, Any]]:
    plan = tab.evaluate("sojourn.planOf('codel')")
    start = int(observed(default()).plan()["warmup"])
    found: list[dict[str, Any]] = json.loads(_core.packets(json.dumps(plan), 1, start, 3000))["events"]
    return found


def test_steps_show_one_event_after_the_other(browser: Any, served: str) -> None:
    tab = browser.new_page()
    opened(tab, served)
    events = expected(tab)
    decision = tab.locator("#packets .decision")
    tab.get_by_role("button", name="Step", exact=True).click()
    assert events[0]["words"] in decision.inner_text()
    tab.locator("#packets .stage").focus()
    tab.keyboard.press("ArrowRight")
    assert events[1]["words"] in decision.inner_text()
    tab.keyboard.press("ArrowLeft")
    assert events[0]["words"] in decision.inner_text()
    tab.keyboard.press("d")
    first = next(one for one in events if one["event"] >= DROP)
    tab.locator("#packets .decision", has_text=first["words"]).wait_for()
    assert first["words"] in tab.inner_text("#packets .decisions li >> nth=0")
    assert tab.locator("#packets svg rect").count() > 2
    tab.close()


def test_packets_move_while_they_play(browser: Any, served: str) -> None:
    tab = browser.new_page()
    opened(tab, served)
    before = tab.locator("#packets details").get_attribute("data-time")
    tab.locator("#packets .stage").focus()
    tab.keyboard.press(" ")
    tab.wait_for_function(
        "before => document.querySelector('#packets details').dataset.time > before", arg=before
    )
    tab.keyboard.press(" ")
    assert tab.get_by_role("button", name="Play").is_visible()
    with tab.expect_download() as found:
        tab.locator("#packets").get_by_role("button", name="SVG").click()
    assert "<svg" in found.value.path().read_text()
    tab.close()


def test_nothing_moves_if_the_system_asks_for_that(browser: Any, served: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    tab = context.new_page()
    opened(tab, served)
    assert tab.get_by_role("button", name="Play").is_hidden()
    before = tab.locator("#packets details").get_attribute("data-time")
    tab.locator("#packets .stage").focus()
    tab.keyboard.press(" ")
    tab.get_by_role("button", name="Step", exact=True).click()
    assert tab.locator("#packets .decision", has_text=expected(tab)[0]["words"]).is_visible()
    assert tab.locator("#packets details").get_attribute("data-time") >= before
    context.close()
