"""The evaluation by RFC 7928: scenarios, verdicts on wrong algorithms, resuming, errors, folder.

Mutants seen to fail: a world that is not compared with that of the folder; reasons that are not those of
the folder; published statements in all cases; metrics without a value that are not named; the last part not
verified; a missing part that is no difference; a scenario left out; a lacking value that does not count as
worse; marks that are not compared with drops; a manifest without the names of the cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import sojourn
from folders import check_folder
from sojourn import InputError, RunFailed
from sojourn.algorithms import permitting, spec_of
from sojourn.results import Results
from sojourn.study.compare import Comparison
from sojourn.study.evaluate.catalogue import catalogue
from sojourn.study.evaluate.model import IDENTICAL, MIXED, WORSE, Evaluation, Judged, Plan
from sojourn.study.evaluate.run import evaluate, reopen
from support import Cli

WRONG = '''
import sojourn

class Never(sojourn.Aqm):
    """Never drops."""

    def on_arrival(self, now, packet, queue, rng):
        return sojourn.PASS

class Always(sojourn.Aqm):
    """Drops everything."""

    def on_arrival(self, now, packet, queue, rng):
        return sojourn.DROP

class IgnoresEcn(sojourn.Aqm):
    """Drops at random, also packets that could be marked."""

    def on_arrival(self, now, packet, queue, rng):
        return sojourn.DROP if rng.uniform() < 0.01 else sojourn.PASS
'''


def plan(aqm: str, *scenarios: str, against: tuple[str, ...] = (), seeds: int = 3) -> Plan:
    rivals = tuple(spec_of(one) for one in against)
    return Plan(spec_of(aqm), rivals, catalogue().choose(scenarios), seeds, quick=True)


@pytest.fixture
def wrong(tmp_path: Path) -> Iterator[str]:
    """A file with three wrong algorithms, which may be executed."""
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    with permitting(True):
        yield str(path)


@pytest.fixture
def described_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The description of a kernel with some congestion controls and disciplines, which cannot run."""
    folder = tmp_path / "kernels" / "current"
    folder.mkdir(parents=True)
    (folder / "build.json").write_text('{"version": "6.1.0"}')
    (folder / "preload.so").touch()
    symbols = ["TCP_CONG_CUBIC", "TCP_CONG_BBR", "NET_SCH_CODEL", "NET_SCH_PIE", "NET_SCH_RED"]
    (folder / "config").write_text("".join(f"CONFIG_{one}=y\n" for one in symbols))
    monkeypatch.setenv("SOJOURN_KERNELS", str(folder.parent))


def verdicts(evaluation: Evaluation) -> dict[str, str]:
    return {one.case.name: one.cell(evaluation.plan.aqm).verdict for one in evaluation.judged}


def test_all_scenarios_of_the_rfc_are_there() -> None:
    found = [one.id for one in catalogue().entries]
    assert {name.partition("-")[0].rstrip("ab") for name in found} == {f"S{i}" for i in range(1, 22)}
    for one in catalogue().entries:
        assert one.cases or one.topic, one.id
        assert one.metrics or one.topic, one.id
        for case in one.cases:
            assert case.scenario().name == case.name
            assert case.scenario(one.shorter).seconds <= case.scenario().seconds


@pytest.mark.usefixtures("described_kernel")
def test_each_case_that_another_world_cannot_run_has_a_reason() -> None:
    """What was refused when the cases were run is stored; a later version may run more."""
    entries = catalogue().choose(["S4a", "S7-I", "S8", "S12"])
    found = Plan("codel", (), entries, 1, world="kernel")
    assert [case.name for _, case in found.runnable] == ["S4a", "S8"]
    reasons = {one.case.name: one.reason for one in found.refused}
    assert list(reasons) == ["S7-I", "S12a", "S12b"]
    assert "world 'kernel'" in reasons["S7-I"]
    stored = Plan("codel", (), entries, 1, world="kernel", stored={"S8": "not yet"})
    assert [(one.case.name, one.reason) for one in stored.refused] == [("S8", "not yet")]
    with pytest.raises(InputError, match="world: 'fluid' is not one of"):
        Plan("codel", (), entries, 1, world="fluid")


def test_a_scenario_outside_the_simulator_has_what_hosts_can_record() -> None:
    (entry,) = catalogue().choose(["S11"])
    (case,) = entry.cases
    assert case.scenario().phase
    assert any(one.startswith("phases.") for one in entry.measured(case.scenario()))
    scenario = case.scenario(world="kernel")
    assert not scenario.phase
    assert scenario.trace.flows is None
    assert not any(one.startswith("phases.") for one in entry.measured(scenario))


@pytest.mark.usefixtures("described_kernel")
def test_an_evaluation_in_another_world_continues_in_that_world(tmp_path: Path) -> None:
    def interrupt(_title: str) -> None:
        raise KeyboardInterrupt

    wanted = plan("pie", "S9", seeds=1)
    kernel = replace(wanted, world="kernel")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            evaluate(kernel, tmp_path / "out", progress=interrupt)
    with pytest.raises(InputError, match="in the kernel world"):
        evaluate(wanted, tmp_path / "out", progress=interrupt)


def test_what_others_published_is_beside_the_means_of_its_algorithms(tmp_path: Path) -> None:
    """The statement about ared, codel and pie needs runs of all three; one may be about some of the cases."""
    (without,) = evaluate(plan("codel", "S8", seeds=1), tmp_path / "one").judged
    assert [one.statement for one, _ in without.published()] == ["a loss rate of 0.1 %"]
    (_, here), *_ = without.published()
    assert here.startswith("drop ratio of droptail 0.")
    rivals = ("pie", "ared", "fq_codel")
    (every,) = evaluate(plan("codel", "S8", against=rivals, seeds=1), tmp_path / "all").judged
    assert len(every.published()) == 2
    (entry,) = catalogue().choose(["S6"])
    found = {case.name: len(Judged(entry, case, every.comparison).published()) for case in entry.cases}
    assert found == {"S6-5ms": 1, "S6-20ms": 2, "S6-50ms": 1, "S6-200ms": 2, "S6-560ms": 1}


def test_a_metric_without_a_value_in_any_run_is_named(tmp_path: Path) -> None:
    wanted = plan("codel", "S8", seeds=1)
    evaluate(wanted, tmp_path / "out")
    (entry,) = wanted.entries
    asked = replace(entry, metrics=(*entry.metrics, "link_losses"))
    comparison = Comparison.of(Results.open(tmp_path / "out/S8"))
    assert comparison is not None
    judged = Judged.of(asked, entry.cases[0], comparison)
    assert judged.unknown == ("link_losses",)
    assert tuple(judged.comparison.metrics) == entry.metrics


def test_an_algorithm_that_never_drops_is_found_out(wrong: str, tmp_path: Path) -> None:
    found = evaluate(plan(f"{wrong}:Never", "S8", "S18"), tmp_path / "out")
    assert set(verdicts(found).values()) == {IDENTICAL}
    assert "it does nothing" in found.verdict


def test_an_algorithm_that_drops_everything_is_found_out(wrong: str, tmp_path: Path) -> None:
    found = evaluate(plan(f"{wrong}:Always", "S1", "S8"), tmp_path / "out")
    assert set(verdicts(found).values()) == {WORSE}
    details = [one.cell(found.plan.aqm).detail for one in found.judged]
    assert all("goodput \u2212100 %" in one for one in details), details
    assert {one.judged.case.name for one in found.failures} == {"S1", "S8"}


def test_an_algorithm_that_ignores_ecn_is_found_out(wrong: str, tmp_path: Path) -> None:
    found = evaluate(plan(f"{wrong}:IgnoresEcn", "S18"), tmp_path / "out")
    assert found.verdict.endswith("It ignores ECN.")
    assert any("no marks" in reason for one in found.failures for reason in one.reasons)
    marking = evaluate(plan("red", "S18"), tmp_path / "red")
    assert "ECN" not in marking.verdict


def test_a_good_algorithm_is_better_than_drop_tail(tmp_path: Path) -> None:
    found = evaluate(plan("codel", "S8", against=("pie",)), tmp_path / "out")
    assert verdicts(found)["S8"] in ("better", MIXED)
    assert any("delay" in one for one in found.judged[0].cell("codel").sizes)
    assert found.fair is not None
    assert {"codel target 2ms", "pie target 40ms"} <= set(found.fair.aqms)


def test_an_interrupted_evaluation_continues(tmp_path: Path) -> None:
    """The first case is not run again, and the result is that of an uninterrupted evaluation."""
    wanted = plan("pie", "S9", "S10", seeds=2)
    whole = evaluate(wanted, tmp_path / "whole")

    def interrupt(title: str) -> None:
        if title == "S10":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(wanted, tmp_path / "out", progress=interrupt)
    assert json.loads((tmp_path / "out/manifest.json").read_text())["status"] == "interrupted"
    with pytest.raises(InputError, match="is not complete"):
        reopen(tmp_path / "out")
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/S9/runs").iterdir()}
    assert runs
    again = evaluate(wanted, tmp_path / "out")
    assert runs == {path: path.stat().st_mtime_ns for path in (tmp_path / "out/S9/runs").iterdir()}
    assert [one.comparison.table().to_dicts() for one in again.judged] == [
        one.comparison.table().to_dicts() for one in whole.judged
    ]


def test_the_folder_opens_and_its_report_renders_again(cli: Cli, tmp_path: Path) -> None:
    words = (
        "evaluate",
        "pie",
        "--quick",
        "--seeds",
        2,
        "--against",
        "codel",
        "--scenario",
        "8.2.5",
        "--out",
        "out",
    )
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out"
    assert check_folder(folder, "evaluate") == {
        "schema.json", "manifest.json", "report.html", "evaluation.toml",
    }  # fmt: skip
    opened = sojourn.open(folder)
    assert (opened.kind, opened.is_complete, list(opened.parts)) == ("evaluate", True, ["S11"])
    assert set(opened.runs.select("case", "aqm", "seed").rows()) == {
        ("S11", aqm, seed) for aqm in ("droptail", "pie", "codel") for seed in (1, 2)
    }
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    assert cli("report", "out").returncode == 0
    assert (folder / "report.html").read_bytes() == page


def test_an_evaluation_is_repeated_from_its_folder(cli: Cli, tmp_path: Path) -> None:
    """Every run of each part; a part that is missing is a difference, unless the study is not complete."""
    evaluate(plan("pie", "S9", "S10", seeds=2), tmp_path / "out")
    done = cli("rerun", "out")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "repeated: 8 of 8 runs"), done.stderr
    done = cli("verify", "out", "--sample", "3", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["repeated"], found["rows"], found["id"]) == (0, 3, 8, None)
    (tmp_path / "out/S10").rename(tmp_path / "S10")
    done = cli("verify", "out")
    assert done.returncode == 1
    assert "out/S10: content: stored -, recomputed it has no runs" in done.stderr
    manifest = tmp_path / "out/manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    assert cli("verify", "out").returncode == 0
    (tmp_path / "out/S9").rename(tmp_path / "S9")
    done = cli("verify", "out")
    assert (done.returncode, "it has no finished runs" in done.stderr) == (2, True)


def test_a_folder_has_one_evaluated_algorithm(cli: Cli, tmp_path: Path) -> None:
    words = ("evaluate", "--quick", "--seeds", 1, "--against", "codel", "--scenario", "S9", "--out", "out")
    assert cli(*words, "pie").returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = cli(*words, "red")
    assert done.returncode == 2
    assert "holds an evaluation of another" in done.stderr or "out holds" in done.stderr
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pie", "--scenario", "S99"], "scenario = 'S99' is not of RFC 7928"),
        (["droptail"], "NAME = droptail is what every algorithm is compared with"),
        (["pi e"], "pi.e is not a parameter"),
        (["pie", "--against", "codl,pei"], "codel"),
        (["pie", "--until-ci", "5"], "until-ci = 5 is out of range"),
        (["pie", "--seeds", "0"], "seeds = 0 is out of range"),
        ([], "SPEC is missing"),
    ],
)
def test_mistakes_are_named(words: list[str], message: str, cli: Cli, tmp_path: Path) -> None:
    done = cli("evaluate", "--out", "out", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_failing_algorithm_fails_with_its_case(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(
        "import sojourn\n\n\nclass Bad(sojourn.Aqm):\n    def on_arrival(self, now, packet, queue, rng):\n"
        "        return 1 / 0\n"
    )
    with permitting(True), pytest.raises((RunFailed, InputError), match="division by zero"):
        evaluate(plan(f"{path}:Bad", "S9", seeds=1), tmp_path / "out")
