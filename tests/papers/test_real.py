"""Papers in the real world: their runs, refusals, and verdicts only from completed runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import InputError
from sojourn.papers import find, reproduce
from sojourn.papers.real import jobs
from sojourn.runner.execute import execute
from sojourn.runner.point import Point
from sojourn.worlds import Case, Completed, Made, Reduce
from sojourn.worlds.hosts.jobs import layout
from sojourn.worlds.real.world import Real

WITH_TESTBEDS = ("taildrop2001", "avqred2007")


@pytest.mark.parametrize("name", WITH_TESTBEDS)
def test_every_real_arm_has_a_name_used_by_the_checks(name: str) -> None:
    paper = find(name)
    sources = frozenset().union(*(check.sources for check in paper.checks.values()))
    for where, testbed in paper.testbeds.items():
        arms = testbed.arms()
        assert set(testbed.usual) <= set(arms)
        assert set(testbed.quick) <= set(arms)
        assert {(where, arm) for arm in testbed.usual} <= sources
        one = next(iter(arms.values()))
        assert layout(one.scenario, one.spec, 1).hosts


def test_repetitions_alternate_between_arms() -> None:
    testbeds = find("taildrop2001").testbeds
    found = [(job.arm.name, job.seed) for job in jobs(testbeds, None, (), quick=False)]
    assert len(found) == 24
    assert found[:3] == [("TD 16", 1), ("REDstd 16", 1), ("GREDstd 16", 1)]
    assert found[8] == ("TD 16", 2)
    assert [job.arm.name for job in jobs(testbeds, None, ["TD 256"], quick=True)] == ["TD 256"]
    with pytest.raises(InputError, match=r"arm: 'TD 17' is not an arm of the real world .did you mean TD 1"):
        list(jobs(testbeds, None, ["TD 17"], quick=True))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("taildrop2001", {"arms": ["TD 16"]}, "arms can be chosen in the real world only"),
        ("taildrop2001", {"world": "real", "aqms": ["pie"]}, "aqms cannot be added in the real world"),
        ("raqm2005", {"world": "real"}, "'real' is not a world of raqm2005"),
    ],
)
def test_invalid_options_are_refused(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        reproduce(name, **options)
    assert words in str(error.value)


def test_claims_are_judged_in_the_world_that_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated runs replace real ones here."""

    class Twins:
        def __init__(self, cases: Iterator[Case], reduce: Reduce | None) -> None:
            self.cases, self.reduce, self.done = list(cases), reduce, 0

        def poll(self, _timeout: float) -> Completed:
            case = self.cases[self.done]
            self.done += 1
            short = case.scenario.with_(duration="25s", warmup="10s")
            (outcome,) = execute([Point(short, case.spec, case.seed)], None, 1, None, self.reduce)
            late = ["the host could not keep up: late", "the machine stalled: the gateway"]
            warnings = ["a warning", *(late if case.seed == 2 else ())]
            return [(self.done - 1, Made(outcome.record.data, outcome.metrics, warnings))]

        def progress(self) -> float:
            return self.done / len(self.cases)

        def cancel(self) -> None:
            """No run is active between two calls of `poll`."""

    monkeypatch.setattr(Real, "supports", lambda *_: None)
    monkeypatch.setattr(Real, "warnings", lambda *_: [])
    monkeypatch.setattr(Real, "run", lambda _, cases, reduce, *__: Twins(cases, reduce))
    arms = [f"{name} 16" for name in ("TD", "REDstd", "GREDstd", "REDopt")]
    found = reproduce("taildrop2001", world="real", arms=arms, out=tmp_path)
    assert found.command.endswith("--world real " + " ".join(f"--arm '{name}'" for name in arms))
    rows = {(row["claim_id"], row["world"]): row for row in found.claims.to_dicts()}
    # With 16 flows (G)RED's queue stays near min_th: three repetitions decide.
    assert rows["TD-04", "real"]["verdict"] == "reproduced"
    assert rows["TD-04", "real"]["n"] == 3
    # Other loads were not run.
    assert rows["TD-10", "real"]["verdict"] == "undecided"
    simulated = [row for (_, world), row in rows.items() if world == "simulated"]
    assert {(row["verdict"], row["reason"]) for row in simulated} == {("undecided", "not run")}
    assert {one.id for one in found.paper.claims} == {name for name, _ in rows}
    assert "a warning" in found.report.read_text()
    text = (tmp_path / "summary.md").read_text()
    assert "Of 34 claims: " in text
    assert "4 arms, each 3 times for 60s, of which 20s are not counted (the simulated twin: 500s)" in text
    assert "The machine kept up in 8 of 12 runs.\n\n- " in text, "the second repetitions of four did not"
    assert "| TD-04 | real | reproduced |" in text
    assert "| simulated |" not in text
    assert "- TD-08: *" in text, "questions are answered"
    assert "- TD-08: *undecided* (not run)" not in text, "by the real rows"
