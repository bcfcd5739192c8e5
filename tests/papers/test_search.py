"""A search of readings on a made-up paper whose effects are known, and the spaces of the real papers.

Mutants (each was seen to fail a test here): the score taken from the half that is only shown, or from both;
the seeds of the screening used again for the confirmation; a stored run repeated; a value missing in the
design; a claim that one reading meets counted as met by none; interactions added to main effects.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from sojourn import papers
from sojourn.errors import InputError
from sojourn.papers import PAPERS, find
from sojourn.papers.changes import everywhere
from sojourn.papers.checks import Within
from sojourn.papers.claims import Verdict, rows
from sojourn.papers.experiment import Arm, Experiment, Reading
from sojourn.papers.judge import All
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.reproduction import reproduce
from sojourn.papers.search import halves
from sojourn.papers.search.design import sobol
from sojourn.papers.search.effects import decisive
from sojourn.papers.search.halves import Half
from sojourn.papers.search.report import as_data, write
from sojourn.papers.search.run import Search, default_directory, search
from sojourn.papers.search.score import Scored, Target, nearness, within
from sojourn.papers.search.space import PRIMARY, Factor, Space, Value
from sojourn.papers.search.standing import Kind, proofs, standings
from sojourn.papers.terms import Quantity
from sojourn.record import Record
from sojourn.spec.scenario import Scenario
from support import Cli

SCENARIO = """
name = "small"
duration = "1s"
conventions = "rfc"
[dumbbell]
rate = "1Mbit/s"
delay = "5ms"
access = { rate = "10Mbit/s", delays = ["5ms"] }
server = { rate = "10Mbit/s", delay = "5ms" }
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
"""
HEAD = "claim_id,section,experiment_id,statement,check,strength,how_to_judge,depends_on_assumption,remark\n"
#: S-1 holds with six flows, S-2 over 2 s, S-3 with one of both, S-4 never, S-5 always; S-6 to S-8 with four.
CLAIMS = {
    "S-1": ("senders", 5, 7),
    "S-2": ("length", 1.5, 2.5),
    "S-3": ("either", 0.5, 1.5),
    "S-4": ("length", 9, 10),
    "S-5": ("length", 0, 10),
    "S-6": ("senders", 3, 5),
    "S-7": ("senders", 3.5, 4.5),
    "S-8": ("senders", 2, 5),
}
SCORED = ("S-1", "S-2", "S-3", "S-4", "S-5")
PUBLISHED = """paper,table_or_figure,experiment_id,algorithm,parameter_set,metric,unit,statistic,value,note
s,Table 1,runs,DropTail,,senders,,mean,6,
s,Table 1,runs,DropTail,,senders,,mean,2,
"""


def measure(record: Record) -> dict[str, float | None]:
    flows, seconds = len(record.flows), record.seconds
    return {"senders": float(flows), "length": seconds, "either": float((flows == 6) != (seconds > 1.5))}


measure.version = "1"  # type: ignore[attr-defined]


def quantity(metric: str) -> Quantity:
    return Quantity(metric, "DropTail", "runs")


def counted(scenario: Scenario, **changes: object) -> Scenario:
    data = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
    return scenario.with_(traffic=[{**data[0], **changes}])


def changed(name: str, change: Callable[[Scenario], Scenario]) -> Reading:
    return Reading(name, name, everywhere(change))


@pytest.fixture(scope="module")
def space() -> Space:
    six = changed("six flows", lambda one: counted(one, count=6))
    longer = changed("2 s", lambda one: one.with_(duration="2s"))
    return Space(
        (
            Factor("flows", "A-1", "number of flows", (
                Value("4", "assumed"), Value("6", "the text", six),
            )),
            Factor("length", "A-2", "length of a run", (
                Value("1 s", "assumed"),
                Value("2 s", "a tool", longer, "1 s is printed"),
            )),
            Factor("payload", "A-3", "size of a packet", (
                Value("1000 B", "assumed"),
                Value("500 B", "a tool", changed("500 B", lambda one: counted(one, payload="500B"))),
            )),
            Factor("drawing", "A-4", "the drawing", (Value("lost", "the scan"),), fixed="no packet sees it"),
        ),
        ("runs",),
        starts={"both": {"flows": "6", "length": "2 s"}},
    )  # fmt: skip


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Paper:
    data = tmp_path_factory.mktemp("data")
    (data / "claims.csv").write_text(HEAD + "".join(f"{name},1,runs,A claim.,,,,yes,\n" for name in CLAIMS))
    (data / "published.csv").write_text(PUBLISHED)
    (data / "assumptions.csv").write_text("id,item\nA-1,a\nA-2,b\nA-3,c\nA-4,d\n")
    (data / "parameters.csv").write_text("algorithm,parameter,value,unit,note\nDropTail,limit,20,p,\n")
    split = [("claim", name, Half.SCORED if name in SCORED else Half.SHOWN) for name in CLAIMS]
    split += [("number", "1", Half.SCORED), ("number", "2", Half.SHOWN)]
    (data / halves.NAME).write_text("kind,id,half\n" + "".join(",".join(one) + "\n" for one in split))

    def cell(row: object) -> Counterpart:
        return Cell(quantity(row["metric"]))  # type: ignore[index]

    arm = Arm("DropTail", Scenario.from_toml(SCENARIO, "small.toml"), "droptail")
    return Paper(
        id="s",
        title="A paper",
        citation="Author, 2000",
        data=data,
        experiments=[Experiment("runs", "Runs", "Fig. 1", (arm,), most_seeds=4, seeds=2)],
        readings=[],
        checks={name: Within(quantity(metric), *ends, seeds=2) for name, (metric, *ends) in CLAIMS.items()},
        measure=measure,
        sections=lambda _result: [],
        cell=cell,
    )


@pytest.fixture(scope="module")
def found(paper: Paper, space: Space, tmp_path_factory: pytest.TempPathFactory) -> Search:
    return search(paper, space, readings=8, confirm=2, most=4, out=tmp_path_factory.mktemp("search"))


def test_a_joint_reading_applies_its_values_in_turn_and_one_value_is_the_reading_itself(
    space: Space, paper: Paper
):
    [experiment] = paper.experiments
    both = space.joint({"length": "2 s", "flows": "6"})
    [arm] = both.arms(experiment)
    assert both.id == "flows 6, length 2 s"
    assert (arm.scenario.duration, arm.scenario.traffic[0].count) == ("2s", 6)
    part = space.factor("flows").value("6").reading
    assert part is not None
    assert space.joint({"flows": "6"}).arms(experiment) == part.arms(experiment)
    none = space.joint({})
    assert (none.id, none.arms(experiment)) == (PRIMARY, list(experiment.arms))


def test_a_reading_of_other_experiments_changes_nothing(space: Space, paper: Paper):
    [experiment] = paper.experiments
    part = space.factor("flows").value("6").reading
    assert part is not None
    elsewhere = replace(part, experiments=frozenset({"other"}), metrics={"flows": "seconds"})
    value = Value("6", "the text", elsewhere)
    factor = replace(space.factors[0], values=(space.factors[0].values[0], value))
    joint = Space((factor,), ("runs",)).joint({"flows": "6"})
    assert joint.arms(experiment) == list(experiment.arms)
    assert joint.stands_for("runs", "flows") == "flows"
    assert joint.stands_for("other", "flows") == "seconds"


def test_the_space_of_one_experiment_has_the_factors_that_touch_it():
    whole, bed = papers.space("taildrop2001"), find("taildrop2001").experiment("td-fig3-ftp-testbed")
    part = whole.of(bed)
    assert part.experiments == (bed.id,)
    gone = {factor.key for factor in whole.free} - {factor.key for factor in part.free}
    assert gone == {"TCP of ns-2", "wait (web)", "object gap", "page gap", "kB"}
    assert list(part.starts) == list(whole.starts)


@pytest.mark.parametrize(
    ("values", "fixed", "reason"),
    [
        ((Value("a", "x"),), "", "one value needs a reason"),
        ((Value("a", "x"), Value("b", "y", Reading("r", "r"))), "why", "several need none"),
        ((Value("a", "x"), Value("a", "y", Reading("r", "r"))), "", "different values"),
        ((Value("a", "x"), Value("b", "y")), "", "every other one something"),
        ((Value("a", "x", Reading("r", "r")),), "why", "first value changes nothing"),
    ],
)
def test_a_factor_needs_different_values_or_a_reason(values: tuple[Value, ...], fixed: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        Factor("key", "A-1", "item", values, fixed)


def test_unknown_factors_and_values_are_refused(space: Space):
    with pytest.raises(InputError, match="'flow' is not a factor"):
        space.joint({"flow": "6"})
    with pytest.raises(InputError, match="'5' is not a value of flows"):
        space.joint({"flows": "5"})


def test_the_design_is_balanced_in_factors_and_in_pairs_of_them():
    points = sobol([2, 4, 2, 3, 5], 64)
    assert len(set(points)) == 64
    for i, size in enumerate((2, 4, 2, 3, 5)):
        counts = Counter(point[i] for point in points)
        assert set(counts) == set(range(size))
        assert max(counts.values()) - min(counts.values()) <= 5
    pairs = Counter((point[0], point[1]) for point in points)
    assert len(pairs) == 8
    assert max(pairs.values()) - min(pairs.values()) <= 4
    assert points == sobol([2, 4, 2, 3, 5], 64)


def test_points_that_cannot_run_are_replaced():
    points = sobol([4, 4], 6, lambda levels: levels[0] != 1)
    assert len(points) == 6
    assert all(levels[0] != 1 for levels in points)


def test_a_small_space_is_tried_whole():
    assert sorted(sobol([2, 3], 64)) == sorted(product(range(2), range(3)))


def test_effects_of_one_factor_and_of_pairs_are_found_with_their_sizes(space: Space):
    design = [levels for levels in product((0, 1), repeat=3) for _ in range(4)]
    [main] = decisive(space.free, design, [0.25 + 0.5 * one[1] for one in design])
    assert (main.factors, main.size) == (("length",), 0.5)
    assert main.share == pytest.approx(1)
    assert main.means == (("1 s", 0.25), ("2 s", 0.75))
    [pair] = decisive(space.free, design, [float(one[0] != one[2]) for one in design])
    assert (pair.factors, pair.size) == (("flows", "payload"), pytest.approx(0.5))
    assert dict(pair.means)["4 / 500 B"] == 1
    assert decisive(space.free, design, [1.0] * len(design)) == []


def test_random_differences_are_not_effects(space: Space):
    design = [levels for levels in product((0, 1), repeat=3) for _ in range(4)]
    noise = [0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.8, 0.4]
    assert decisive(space.free, design, [noise[(5 * i + i // 8) % 8] for i in range(len(design))]) == []


def test_numbers_score_by_the_logarithm_of_their_ratio():
    assert nearness(2) == nearness(0.5) == pytest.approx(0.5)
    assert within([1.2, 0.4, None, 2.0], 2) == 0.5


def test_the_score_of_a_half_does_not_depend_on_the_other(paper: Paper, space: Space):
    target = Target(paper, space)
    base = Scored(dict.fromkeys(CLAIMS, (1, 2)), {"1": 1.0, "2": 1.0})
    claims = Scored({**base.met, "S-6": (2, 2), "S-7": (0, 2)}, {"1": 1.0, "2": 3.0})
    assert target.mean(base, Half.SCORED) == target.mean(claims, Half.SCORED) == (5 * 0.5 + 1) / 6
    assert target.mean(base, Half.SHOWN) != target.mean(claims, Half.SHOWN)
    assert target.held(claims) == (1, 8)
    assert target.held(claims, Half.SCORED) == (0, 5)


def test_only_the_scored_half_chooses(found: Search):
    """Three claims and a number of the shown half want four flows; the scored half wants six."""
    assert found.best.choice == {"flows": "6"}
    scored = found.target.mean
    assert scored(found.best.scored, Half.SCORED) > scored(found.primary.scored, Half.SCORED)
    assert scored(found.best.scored, Half.SHOWN) < scored(found.primary.scored, Half.SHOWN)
    assert "The shown half does not confirm it" in as_data(found)["summary"]


def test_a_value_that_adds_nothing_is_left_out(found: Search):
    assert all("payload" not in one.choice for one in found.confirmed)
    assert [one.origin for one in found.confirmed] == ["as assumed", "best", "named: both"]


def test_a_confirmation_has_other_seeds(found: Search):
    assert found.fresh_seeds == (3, 6)
    assert {finding.n for one in found.confirmed for finding in one.findings.values()} == {2}


def test_factors_that_affect_a_claim_are_found(found: Search):
    effects = {name: [one.factors for one in some] for name, some in found.effects.items()}
    assert effects["S-1"] == effects["S-6"] == [("flows",)]
    assert effects["S-2"] == [("length",)]
    assert effects["S-3"] == [("flows", "length")]
    assert effects["S-4"] == effects["S-5"] == []


def test_each_claim_has_one_of_five_verdicts(found: Search):
    known = standings(found)
    assert {name: one.kind for name, one in known.items()} == {
        "S-1": Kind.UNDER,
        "S-2": Kind.UNDER,
        "S-3": Kind.UNDER,
        "S-4": Kind.NEVER,
        **dict.fromkeys(("S-5", "S-6", "S-7", "S-8"), Kind.REPRODUCED),
    }
    assert known["S-1"].text == "reproduced under flows 6"
    # Of two readings the one that contradicts nothing printed comes first.
    assert known["S-3"].text == "reproduced under flows 6"
    assert known["S-2"].evidence.endswith("contradicts: 1 s is printed")
    assert known["S-4"].text == f"not under any of {len(found.trials)} readings"


def test_a_claim_that_is_not_met_is_impossible_with_a_proof(found: Search, paper: Paper, tmp_path: Path):
    for name in (halves.NAME, "claims.csv", "published.csv"):
        (tmp_path / name).write_text((paper.data / name).read_text("utf-8"))
    (tmp_path / "impossible.csv").write_text("claim_id,kind,proof\nS-4,arithmetic,1 < 9\nS-1,print,no\n")
    known = standings(replace(found, paper=replace(paper, data=tmp_path)))
    assert (known["S-4"].kind, known["S-4"].evidence) == (Kind.IMPOSSIBLE, "1 < 9")
    assert known["S-1"].kind is Kind.UNDER


def test_a_claim_that_one_reading_met_on_few_seeds_is_undecided(found: Search):
    one, *others = found.trials
    met = replace(one, scored=replace(one.scored, met={**one.scored.met, "S-4": (1, 1)}))
    known = standings(replace(found, trials=[met, *others]))
    assert known["S-4"].kind is Kind.UNDECIDED
    assert known["S-4"].evidence == f"met by the estimates of 1 of {len(found.trials)} readings"


def test_a_conjunction_counts_its_comparisons(paper: Paper):
    part = paper.checks["S-1"]
    samples = type("Samples", (), {"values": lambda *_: {1: 6.0, 2: 6.0}})()
    finding = All((part, paper.checks["S-6"], part)).judge(samples)
    assert (finding.verdict, finding.met, finding.parts) == (Verdict.NOT_REPRODUCED, 2, 3)
    assert finding.share == pytest.approx(2 / 3)


def shown(one: Search) -> str:
    return json.dumps(as_data(one), sort_keys=True)


def again(one: Search, **options: object) -> Search:
    return search(one.paper, one.space, readings=8, confirm=2, most=4, **options)  # type: ignore[arg-type]


def test_the_same_call_runs_nothing_again(found: Search):
    repeated = again(found, out=found.directory)
    assert repeated.fresh == 0
    assert shown(repeated) == shown(found)


def test_an_interrupted_search_continues_to_the_same_result(found: Search, tmp_path: Path):
    def interrupt(_share: float, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(found, out=tmp_path, progress=interrupt, workers=1)
    continued = again(found, out=tmp_path)
    assert 0 < continued.fresh < continued.runs
    assert shown(continued) == shown(found)


def test_the_folder_of_a_search_is_not_that_of_a_reproduction(found: Search):
    write(found)
    assert {"search.json", "search.md", "report.html", "manifest.json"} <= {
        one.name for one in found.directory.iterdir()
    }
    data = json.loads((found.directory / "search.json").read_text("utf-8"))
    assert data["verdicts"]["reproduced"] == 4
    assert [one["choice"] for one in data["confirmed"]][1] == {"flows": "6"}
    assert data["claims"][0]["effects"][0]["factors"] == ["flows"]
    first, second = data["numbers"]  # 6 and 2 are printed, four flows assumed
    assert (first["assumed"], second["assumed"]) == (0.667, 2.0)
    assert first["tried"]["flows 6"] == 1.0
    assert set(second["tried"]) <= {"flows 6"} - set(first["tried"])
    assert first["within"] == sum("flows" in trial["choice"] for trial in data["trials"])
    assert data["trials"][0]["met"]["S-5"] == 1
    page = (found.directory / "report.html").read_text("utf-8")
    assert "reproduced under flows 6" in page
    with pytest.raises(InputError, match="holds a search of readings of s"):
        reproduce(find("raqm2005"), world="analytic", out=found.directory)


def test_the_report_of_a_paper_shows_its_search(found: Search, tmp_path: Path):
    place = tmp_path / default_directory(found.paper).name
    place.mkdir()
    write(replace(found, directory=place))
    page = reproduce(found.paper, out=tmp_path / "again").report.read_text("utf-8")
    assert "Readings tried jointly" in page
    assert "reproduced under flows 6" in page
    alone = reproduce(found.paper, out=tmp_path / "other" / "again")
    assert "Readings tried jointly" not in alone.report.read_text("utf-8")


def test_the_command_searches(
    cli: Cli, paper: Paper, space: Space, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setitem(PAPERS, "s", papers.Entry("A paper", lambda: paper))
    monkeypatch.setattr(papers, "space", lambda _name: space)
    done = cli("reproduce", "s", "--search", "--readings", "4", "--json", "--out", "found")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["command"].endswith("--search --readings 4")
    assert len(data["claims"]) == len(CLAIMS)
    assert (tmp_path / "found" / "search.md").read_text("utf-8").startswith("# Readings of s, tried jointly")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("reproduce raqm2005 --search --quick", "--quick is not for --search"),
        ("reproduce raqm2005 --search --world real", "--world is not for --search"),
        ("reproduce raqm2005 --search --experiment raqm-fig3", "'raqm-fig3' is not an experiment that is"),
        ("reproduce all --search --experiment raqm-fig3", "'raqm-fig3' is not an experiment that is"),
        ("reproduce raqm2005 --search --readings 0", "readings = 0 is too few"),
        ("reproduce raqm2005 --readings 8", "--readings is for --search"),
        ("reproduce raqm2005 --dask local", "--dask is for --search"),
        ("reproduce raqm --search", "'raqm' is not a paper"),
    ],
)
def test_options_that_do_not_go_together_are_refused(cli: Cli, words: str, expected: str):
    done = cli(*words.split())
    assert done.returncode == 2
    assert expected in done.stderr


@pytest.mark.parametrize("name", PAPERS)
def test_every_assumption_of_a_paper_is_a_factor(name: str):
    whole, declared = find(name), papers.space(name)
    assumed = [row["id"] for row in whole.table("assumptions")]
    known = {factor.assumption for factor in declared.factors} - {""}
    assert known == set(assumed)
    for factor in declared.factors:
        assert all(value.source for value in factor.values), factor.key
        # A value that differs from the paper's statement names the contradiction, or quotes the paper's own
        # words.
        assert factor.assumption or len(factor.values) > 1, factor.key
    for experiment in declared.experiments:
        assert whole.experiment(experiment).arms


def test_all_assumptions_are_declared():
    assert sum(len(find(name).table("assumptions")) for name in PAPERS) == 126


@pytest.mark.parametrize("name", PAPERS)
def test_every_value_alone_can_be_run_and_changes_a_run(name: str):
    whole, declared = find(name), papers.space(name)
    experiments = [whole.experiment(one) for one in declared.experiments]
    plain = {(one.id, arm.name): arm for one in experiments for arm in one.runs(declared.quick)}
    for choice in declared.singles():
        joint = declared.joint(choice)
        arms = [(one.id, arm) for one in experiments for arm in joint.arms(one, declared.quick)]
        renamed = any(part.metrics for part in joint.parts)
        assert renamed or any(plain[where, arm.name] != arm for where, arm in arms), choice


@pytest.mark.parametrize("name", PAPERS)
def test_the_halves_are_those_that_were_drawn(name: str):
    whole = find(name)
    kept = (whole.data / halves.NAME).read_text("utf-8")
    assert kept == halves.text(whole)
    drawn = halves.load(whole)
    assert len(drawn) == len(whole.claims) + len(whole.table("published"))
    counts = Counter(drawn.values())
    assert abs(counts[Half.SCORED] - counts[Half.SHOWN]) <= 1


@pytest.mark.parametrize("name", PAPERS)
def test_a_proof_is_about_a_claim_that_no_full_run_of_a_simulation_reproduced(name: str):
    whole = find(name)
    ids = {claim.id for claim in whole.claims}
    assert set(proofs(whole)) <= ids


def table(paper: str, where: str) -> list[dict[str, str]]:
    return [row for row in rows(find(paper).data / "published.csv") if row["table_or_figure"] == where]


def test_the_proofs_from_print_are_in_the_print():
    columns: dict[str, dict[str, float]] = {}
    for row in table("ldc2002", "Table 4"):
        columns.setdefault(row["metric"], {})[row["algorithm"]] = float(row["value"])
    largest = [max(column, key=column.__getitem__) for column in columns.values()]
    assert (largest.count("DropTail"), len(largest)) == (1, 11)
    drops = {
        row["parameter_set"]: float(row["value"])
        for row in table("avqred2007", "Table 2")
        if (row["metric"], row["statistic"]) == ("packet_drops_per_100ms", "mean")
    }
    assert (drops["AVQRED3"], drops["RED2"], drops["ARED1"]) == (153, 152, 152)
