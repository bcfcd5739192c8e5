"""The common part of all papers, on a synthetic paper: worlds, seeds, published numbers, questions, index.

Mutants (each was seen to fail a test here): the row of the real world left out; a claim of two worlds
counted twice; a deviation instead of the mean; an experiment's own number of seeds ignored; the quick run not
shortened; the answer "holds" although one claim fails, or the long answer although one is undecided;
durations in rows without runs.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest

import sojourn
from folders import check_folder
from sojourn import _core, stats
from sojourn.errors import InputError
from sojourn.papers import PAPERS, find, index
from sojourn.papers.answers import Question, answers
from sojourn.papers.checks import Below, Computed
from sojourn.papers.claims import ClaimResult, Finding, Verdict
from sojourn.papers.experiment import Arm, Experiment, Observations
from sojourn.papers.judge import touches
from sojourn.papers.paper import BUILT, Paper
from sojourn.papers.published import Cell, Counterpart, beside
from sojourn.papers.reproduction import reproduce
from sojourn.papers.result import Reproduction
from sojourn.papers.smallest import inequalities
from sojourn.papers.terms import Derived, Quantity
from sojourn.record import Record
from sojourn.spec.scenario import Scenario
from sojourn.study.rerun import rerun

R, N, U = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
SCENARIO = """
name = "small"
duration = "{duration}"
conventions = "rfc"
[dumbbell]
rate = "1Mbit/s"
delay = "5ms"
access = {{ rate = "10Mbit/s", delays = ["5ms"] }}
server = {{ rate = "10Mbit/s", delay = "5ms" }}
[queue]
limit = "20p"
aqm = "droptail"
[[traffic]]
name = "ftp"
kind = "tcp"
variant = "reno"
count = 4
payload = "1000B"
header = "40B"
start = "uniform 0s 1s"
"""
HEAD = "claim_id,section,experiment_id,statement,check,strength,how_to_judge,depends_on_assumption,remark\n"
CLAIMS = """X-1,1,testbed,RED's queue is shorter.,,strict,,yes,
X-2,2,testbed;model,Both.,,strict,,no,
X-3,3,model,The sum is right.,,strict,,no,
X-4,4,hosts,The hosts settle.,,strict,,no,
"""
PUBLISHED = """paper,table_or_figure,experiment_id,algorithm,parameter_set,metric,unit,statistic,value,note
x,Table 1,testbed,RED,,queue,packets,mean,10,
x,Table 1,testbed,RED,,queue,packets,std,2,
x,Sec 1,testbed,RED,,rate,Mbit/s,set value,1,
"""


def scenario(duration: str) -> Scenario:
    return Scenario.from_toml(SCENARIO.format(duration=duration), "small.toml")


def queue(arm: str) -> Quantity:
    return Quantity("mean_queue_packets", arm, "testbed", "packets", "mean queue")


def cell(row: object) -> Counterpart:
    over = {"mean": "mean", "std": "deviation"}.get(row["statistic"])  # type: ignore[index]
    return Cell(queue("RED"), over) if over else "a setting"  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Paper:
    data = tmp_path_factory.mktemp("data")
    (data / "claims.csv").write_text(HEAD + CLAIMS)
    (data / "published.csv").write_text(PUBLISHED)
    (data / "assumptions.csv").write_text("id,item\nA-1,queue\n")
    (data / "parameters.csv").write_text("algorithm,parameter,value,unit,note\nRED,min_th,5,p,\n")
    arms = (
        Arm("RED", scenario("5s"), "red", {"min_th": "2p", "max_th": "6p"}),
        Arm("DropTail", scenario("5s"), "droptail"),
    )
    holds = Computed(lambda: Finding(R, reason="computed"))

    def measure(record: Record) -> dict[str, float | None]:
        return {"seconds": record.seconds}

    measure.version = "1"  # type: ignore[attr-defined]
    return Paper(
        id="x",
        title="A paper",
        citation="Author, 2000",
        data=data,
        experiments=[
            Experiment(
                "testbed",
                "Two queues",
                "Fig. 1",
                arms,
                ("A-1",),
                also=("real",),
                seeds=4,
                most_seeds=4,
                quick_seeds=2,
                short=lambda arm: arm.within(scenario("2s")),
            ),
            Experiment("model", "A sum", "Eq. 1", world="analytic"),
            Experiment("hosts", "Real hosts", "Fig. 2", world="real"),
        ],
        readings=[],
        checks={
            "X-1": Below(queue("RED"), queue("DropTail"), seeds=4),
            "X-2": holds,
            "X-3": holds,
            "X-4": holds,
        },
        measure=measure,
        sections=lambda _result: [],
        cell=cell,
        questions=(Question("Is RED's queue shorter?", ("X-1", "X-3"), "Yes.", "No."),),
    )


@pytest.fixture(scope="module")
def result(paper: Paper, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(paper, out=tmp_path_factory.mktemp("x"))


def test_a_claim_has_a_row_for_each_of_its_worlds(result: Reproduction):
    rows = [(item.claim.id, item.world, item.finding.verdict) for item in result.judged]
    assert rows == [
        ("X-1", "simulated", R),
        ("X-1", "real", U),
        ("X-2", "simulated", R),
        ("X-2", "real", U),
        ("X-3", "analytic", R),
        ("X-4", "real", U),
    ]
    reasons = {item.world: item.finding.reason for item in result.judged}
    assert reasons["real"] == "needs the real world"


def test_a_row_states_the_duration_of_its_runs(result: Reproduction):
    lengths = {(item.claim.id, item.world): item.run_seconds for item in result.judged}
    assert lengths["X-1", "simulated"] == (5.0,)
    assert lengths["X-1", "real"] == lengths["X-3", "analytic"] == ()
    assert result.claims["run_seconds"].to_list()[:2] == ["5", ""]
    assert "| 4 x 5 s |" in (result.directory / "summary.md").read_text("utf-8")


def test_worlds_that_do_not_exist_are_not_counted(result: Reproduction):
    assert [result.count(verdict) for verdict in (R, N, U)] == [3, 0, 0]
    table = index.counts([result])
    assert table["not run in the real world"].to_list() == [3]
    assert table["claims"].to_list() == [3]
    report = result.report.read_text("utf-8")
    assert "of 3 claims reproduced" in report
    assert "Of 3 claims: 3 reproduced, 0 not reproduced, 0 undecided. 3 claims are" in report


def test_one_world_alone_judges_only_its_own_claims(paper: Paper, tmp_path: Path):
    found = reproduce(paper, world="analytic", out=tmp_path)
    assert not found.campaign.runs
    reasons = {(item.claim.id, item.world): item.finding.reason for item in found.judged}
    assert reasons["X-3", "analytic"] == "computed"
    assert reasons["X-1", "simulated"] == "not run"
    assert reasons["X-4", "real"] == "needs the real world"


def test_an_experiment_has_its_own_seeds_and_may_be_shortened(
    result: Reproduction, paper: Paper, tmp_path: Path
):
    assert set(result.metrics["seed"]) == {1, 2, 3, 4}
    quick = reproduce(paper, quick=True, out=tmp_path)
    assert set(quick.metrics["seed"]) == {1, 2}
    assert set(quick.metrics["seconds"]) == {2.0}
    assert quick.judged[0].finding.reason.startswith("quick: 2 of 4 seeds")
    assert quick.judged[0].finding.leans in (R, N, U)
    assert result.judged[0].finding.leans is None


def test_published_numbers_are_joined_with_ours(result: Reproduction):
    table = result.published
    values = result.metrics.filter(arm="RED")["mean_queue_packets"].to_list()
    assert table["ours"].to_list() == [stats.mean(values), stats.deviation(values), None]
    assert table["ratio"][0] == pytest.approx(stats.mean(values) / 10)
    assert table["n"].to_list() == [4, 4, None]
    assert table["why"].to_list() == ["", "", "a setting"]
    report = result.report.read_text("utf-8")
    assert "Sec 1: rate set value" not in report
    assert "10 | " in report
    assert "a setting" in report
    assert (result.directory / "published.csv").exists()


def test_a_published_number_without_ours_has_the_reason(result: Reproduction):
    rows = result.paper.table("published")[:1]
    samples = result.campaign.observations.under()
    apart = Derived("queue", (queue("RED"),), lambda _queue: None, unknown="the queue never is")
    for found, ours, why in (
        (7.5, 7.5, ""),
        ("a setting", None, "a setting"),
        (Cell(apart), None, "the queue never is"),
        (Cell(queue("PI")), None, "not run"),
    ):
        table = beside(rows, lambda _row, found=found: found, samples, result.paper.reasons)  # type: ignore[misc]
        assert (table["ours"][0], table["why"][0]) == (ours, why)


def test_an_answer_follows_from_the_verdicts(result: Reproduction):
    assert answers(result).startswith("**Is RED's queue shorter?** Yes.\n- X-1: *reproduced*: mean queue")
    blank = [dataclasses.replace(one, finding=Finding(Verdict.UNDECIDED)) for one in result.judged]
    assert answers(dataclasses.replace(result, judged=blank)) == ""
    first = result.judged[0]
    question = dataclasses.replace(result.paper.questions[0], claims=("X-1",))

    def answer(*verdicts: Verdict) -> str:
        return question.answer(
            [ClaimResult(first.claim, Finding(verdict), "simulated") for verdict in verdicts]
        )

    assert answer(R, R) == "Yes."
    assert answer(N) == "No."
    assert answer(R, N) == "In part: 1 of 2 claims hold."
    assert answer(R, U) == "From the decided claims (1 of 2 are undecided): Yes."
    assert answer(U) == "Undecided."
    more = dataclasses.replace(question, holds="Yes: by far, at all loads.", mixed="One of the two.")
    rows = [ClaimResult(first.claim, Finding(verdict), "simulated") for verdict in (R, U, N)]
    assert more.answer(rows[:1]) == "Yes: by far, at all loads."
    assert more.answer(rows[:2]) == "From the decided claims (1 of 2 are undecided): Yes."
    assert more.answer(rows[::2]) == "One of the two."
    assert more.answer(rows) == "From the decided claims (1 of 3 are undecided): In part: 1 of 2 claims hold."
    few = ClaimResult(first.claim, Finding(U, leans=R), "simulated")
    assert more.answer([few, rows[1]]) == "Undecided; the few seeds tend to: Yes."


def test_the_summary_has_a_row_per_claim_and_world(result: Reproduction):
    text = (result.directory / "summary.md").read_text("utf-8")
    assert text.count("\n| X-") == len(result.judged)
    assert "| X-1 | real | undecided | needs the real world |" in text
    assert "Of 3 claims: 3 reproduced" in text


def test_the_index_links_every_report_and_lists_the_answers(result: Reproduction):
    page = index.write([result], "sojourn reproduce all", result.directory.parent).read_text("utf-8")
    assert f'href="./{result.directory.name}/report.html"' in page
    assert "Is RED&#39;s queue shorter?" in page
    report = result.report.read_text("utf-8")
    assert 'id="X-1"' in report
    assert "undecided: needs the real world" in report


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_of_every_paper_has_a_check_and_every_check_its_arms(name: str):
    paper = find(name)
    arms = {(experiment.id, name) for experiment in paper.experiments for name in experiment.names}
    assert set(paper.checks) == {claim.id for claim in paper.claims}
    for claim, check in paper.checks.items():
        assert check.sources <= arms, claim
    for question in paper.questions:
        assert set(question.claims) <= set(paper.checks), question.question
    known = {row["id"] for row in paper.table("assumptions")}
    for experiment in paper.experiments:
        assert set(experiment.assumptions) <= known, experiment.id
    for row in paper.table("published"):
        found = paper.cell(row)
        assert found.term.sources <= arms if isinstance(found, Cell) else found, row


@pytest.mark.parametrize("name", PAPERS)
def test_a_smallest_effect_is_declared_for_every_bare_inequality(name: str):
    paper = find(name)
    declared = {row["claim_id"]: float(row["least"]) for row in paper.table("smallest")}
    for claim, check in paper.checks.items():
        assert {one.least for one in inequalities(check)} == (
            {declared.pop(claim)} if claim in declared else set()
        )
    assert declared == {}


@pytest.mark.parametrize("name", PAPERS)
def test_a_claim_with_an_assumption_is_judged_under_another_reading(name: str):
    """The changes of each reading, and the checks that use it; no runs are needed."""
    paper, seen = find(name), Observations()
    for reading in paper.readings:
        for one in paper.experiments:
            for arm in reading.arms(one):
                seen.add(reading.id, (one.id, arm.name), 1, {}, beside=arm.beside)
            for model in reading.models(one):
                seen.add(reading.id, (one.id, model.name), 1, {})
    views = [seen.under(reading) for reading in paper.readings]
    assuming = [claim for claim in paper.claims if paper.details(claim, Finding(U)).assumptions]
    silent = [
        claim.id
        for claim in assuming
        if paper.worlds_of(claim)[0] in BUILT and not any(touches(v, paper.checks[claim.id]) for v in views)
    ]
    assert silent == []


@pytest.mark.parametrize("name", PAPERS)
def test_every_reading_of_every_paper_changes_something_and_keeps_the_names_of_arms(name: str):
    paper = find(name)
    primary = {(e.id, arm.name): (arm.spec, arm.scenario) for e in paper.experiments for arm in e.arms}
    for reading in paper.readings:
        changed = [(e.id, arm) for e in paper.experiments for arm in reading.arms(e)]
        solved = [model for e in paper.experiments for model in reading.models(e)]
        assert changed or solved or reading.metrics, reading.id
        for experiment, arm in changed:
            assert (arm.spec, arm.scenario) != primary[experiment, arm.name], (reading.id, arm.name)


def test_other_algorithms_run_beside_the_papers_own(result: Reproduction, paper: Paper, tmp_path: Path):
    """They run in the same scenarios with the same seeds; no claim uses them."""
    joined = reproduce(paper, out=tmp_path, aqms=["codel", "examples/own/red.py:RED"], allow_code=True)
    assert joined.claims.equals(result.claims)
    extra_aqms = joined.metrics.filter(pl.col("experiment_id") == "testbed+")
    assert set(extra_aqms["arm"]) == {"codel", "examples/own/red.py:RED"}
    assert extra_aqms["drop_ratio"].min() > 0
    assert "other algorithms in the scenarios of testbed" in joined.report.read_text()
    assert "--aqm codel --aqm examples/own/red.py:RED" in joined.command


def test_every_run_of_a_reproduction_is_repeated(result: Reproduction, paper: Paper):
    done = rerun(result.directory, measure=paper.measure)
    assert (done.is_equal, done.runs) == (True, 8), done.found.differences
    assert (done.found.id, done.found.skipped) == (result.id, {})

    def other(record: Record) -> dict[str, float | None]:
        return {"seconds": record.seconds + 1}

    other.version = "1"  # type: ignore[attr-defined]
    differences = rerun(result.directory, measure=other).found.differences
    assert [one.column for one in differences] == ["seconds"] * 8


def test_added_algorithms_get_the_buffer_of_the_papers_arms():
    experiment = find("bio2002").experiment("bio-case1").extra_aqms(["codel", "pie limit 7p"])
    limits = {_core.spec_info(arm.spec)["limit"] for arm in find("bio2002").experiment("bio-case1").arms}
    assert len(limits) > 3
    assert {_core.spec_info(arm.spec)["limit"] for arm in experiment.arms} == {*limits, "7p"}
    assert len(experiment.arms) == 2 * len(limits)


def test_the_folder_opens_and_its_files_are_described(result: Reproduction):
    assert {"claims.csv", "published.csv", "metrics.parquet"} <= check_folder(result.directory, "reproduce")
    found = sojourn.open(result.directory)
    assert (found.kind, found.id) == ("reproduce", result.id)
    assert set(found.tables) == {"rows", "metrics", "claims", "published"}
    assert found.runs.equals(result.metrics)
    assert found.labels == ["experiment_id", "reading", "arm", "aqm", "seed", "run_id"]
    assert found.table("claims")["claim_id"].to_list() == result.claims["claim_id"].to_list()
    assert len(list(found.records())) == 8
    with pytest.raises(InputError, match="has tables only"):
        _ = found.study
