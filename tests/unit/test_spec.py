"""A spec is parsed once, where its text enters; then the parsed one travels.

Mutants (each was seen to fail here): a point parses its text; texts in figures are parsed again; a spec in
Python is kept although its file has changed.
"""

from __future__ import annotations

import collections
import copy
import json
import pickle
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import polars as pl
import pytest

import sojourn
from sojourn import _core
from sojourn.algorithms import spec_of
from sojourn.errors import InputError
from sojourn.explore.page import engine
from sojourn.runner.point import points
from sojourn.spec import aqm_spec
from sojourn.spec.aqm_spec import Spec, canonical
from sojourn.spec.scenario import Scenario
from support import SMALL, Cli

Counts = collections.Counter[tuple[str, str]]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Count the core's parses, by function and text; specs of earlier tests are forgotten."""
    monkeypatch.setattr(aqm_spec, "_parsed", WeakValueDictionary())
    found: Counts = collections.Counter()

    def counted(name: str) -> Any:
        parse = getattr(_core, name)

        def call(spec: str) -> Any:
            found[name, str(spec)] += 1
            return parse(spec)

        return call

    for name in ("canonical", "spec_info"):
        monkeypatch.setattr(_core, name, counted(name))
    return found


def test_a_run_with_its_report_parses_each_spec_once(cli: Cli, small_file: Path, counts: Counts) -> None:
    done = cli("run", small_file, "--aqm", "codel", "--aqm", "pie", "--seeds", 2, "--out", "out")
    assert done.returncode == 0, done.stderr
    own = ("red min_th 5 max_th 15", "red min_th 5p max_th 15p")  # the scenario's
    wanted = [("codel", "codel"), ("pie", "pie"), own]
    if engine() is not None:  # the live page finds what depends on ECN with drop tail
        wanted.append(("droptail", "droptail"))
    assert counts == {
        **{("canonical", text): 1 for text, _ in wanted},
        **{("spec_info", text): 1 for _, text in wanted},
    }


def test_points_and_plans_hold_the_parsed_spec(counts: Counts) -> None:
    spec = Spec("red max_th 30 min_th 10")
    counts.clear()
    for point in points(Scenario.from_toml(SMALL), [spec], range(3)):
        assert point.spec is spec
        assert '"red min_th 10p max_th 30p"' in point.plan_json
    assert ("canonical", spec) not in counts
    assert ("spec_info", spec) not in counts


def test_a_spec_is_its_canonical_text() -> None:
    spec = Spec("drr aqm_1 (codel ecn) limit 9p")
    assert (spec.name, spec.limit, spec.overflow) == ("drr", "9p", None)
    spec = Spec("droptail overflow head")
    assert (spec.overflow, spec.ecn, dict(spec.values)) == ("head", False, {})
    assert spec == "droptail overflow head"
    assert {spec: 1}["droptail overflow head"] == 1
    assert json.loads(json.dumps([spec])) == [spec]
    assert pl.DataFrame({"aqm": [spec]})["aqm"].to_list() == [spec]
    assert type(pickle.loads(pickle.dumps(spec))) is str
    assert copy.deepcopy(spec) == spec


def test_what_is_no_spec_is_refused() -> None:
    for text in ("rad", "red min_th", "red min_th 1ms"):
        with pytest.raises(_core.SpecError):
            Spec(text)
        with pytest.raises(InputError):
            canonical(text)
    with pytest.raises(InputError, match="without a class"):
        Spec("mine.py target 5ms")


class Idle(sojourn.Aqm):
    """Counts idle times."""

    def on_idle(self, now: int) -> None:
        """Do nothing."""


def test_a_spec_in_python_is_parsed_again_as_its_file_may_change(counts: Counts) -> None:
    spec = spec_of(Idle)
    assert spec.name == spec
    counts.clear()
    assert Spec(spec) is spec
    assert counts == {}
    assert Spec(str(spec)) == spec
    assert counts == {("canonical", spec): 1, ("spec_info", spec): 1}
