"""Scenarios: the plan of a file, writing and reading, and the published schema.

Mutants seen to fail: ECN of TCP inverted; the spec not applied to the measured queue; a description changed
without `make docs`.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn
from sojourn import _core
from sojourn.spec.scenario import json_schema
from support import ROOT, SMALL

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_the_example_of_the_readme_gives_this_plan() -> None:
    plan = sojourn.load(ROOT / "examples/red40.toml").plan()
    assert plan["duration"] == 200_000_000_000
    assert plan["warmup"] == 100_000_000_000
    assert plan["measure"] == "R1-R2"
    assert plan["conventions"] == "rfc"
    assert plan["trace"] == {"interval": 10_000_000, "drops": False, "cwnd": False}
    dumbbell = plan["topology"]["dumbbell"]
    assert dumbbell["rate"] == 10_000_000
    assert dumbbell["delay"] == 10_000_000
    assert dumbbell["access"] == {"rate": 10_000_000, "delays": [10_000_000, 50_000_000], "nodes": None}
    assert dumbbell["server"] == {"rate": 10_000_000, "delays": [10_000_000], "nodes": 1}
    assert dumbbell["queue"] == {
        "limit": "100p",
        "aqm": "red min_th 15p max_th 45p max_p 0.1 w_q 0.002",
        "ecn": False,
    }
    ftp, cbr = plan["traffic"]
    assert ftp["count"] == 40
    assert ftp["start"] == {"uniform": [0, 1_000_000_000]}
    assert {k: ftp["kind"]["tcp"][k] for k in ("payload", "header", "ack")} == {
        "payload": 500,
        "header": 40,
        "ack": 40,
    }
    assert ftp["kind"]["tcp"]["options"]["variant"] == "newreno"
    assert cbr["kind"] == {"udp_cbr": {"rate": 250_000, "size": 573, "jitter": 0.0}}
    assert cbr["access"] == {"rate": 100_000_000, "delays": [20_000_000], "nodes": None}
    assert cbr["start"] == {"constant": 0}


LINK = """
name = "link"
duration = "4s"
warmup = "1s"
conventions = "rfc"
queue = { limit = "50ms" }
[dumbbell]
rate = "20Mbit/s"
rtt = "30ms"
[[traffic]]
name = "ftp"
kind = "tcp"
"""


def test_keys_with_an_obvious_value_have_a_default() -> None:
    plan = sojourn.Scenario.from_toml(LINK).plan()
    dumbbell = plan["topology"]["dumbbell"]
    assert (dumbbell["rate"], dumbbell["delay"]) == (20_000_000, 15_000_000)
    assert dumbbell["access"] == {"rate": 1_000_000_000, "delays": [0], "nodes": None}
    assert dumbbell["server"] == {"rate": 1_000_000_000, "delays": [0], "nodes": 1}
    tcp = plan["traffic"][0]["kind"]["tcp"]
    assert (tcp["payload"], tcp["header"]) == (1448, 52)
    fast = sojourn.Scenario.from_toml(LINK.replace("20Mbit/s", "40Gbit/s")).plan()["topology"]["dumbbell"]
    assert fast["access"]["rate"] == fast["server"]["rate"] == 400_000_000_000


def test_a_limit_may_be_a_time_at_the_rate_of_its_link() -> None:
    scenario = sojourn.Scenario.from_toml(LINK)
    assert scenario.queue is not None
    assert scenario.queue.limit == "50ms"
    assert scenario.plan()["topology"]["dumbbell"]["queue"]["limit"] == "125000B"
    back = scenario.to_toml().replace('rtt = "30ms"', 'rtt = "30ms"\nreverse_rate = "1Mbit/s"')
    back = back.replace("[queue]", '[dumbbell.reverse_queue]\nlimit = "8ms"\n[queue]')
    assert (
        sojourn.Scenario.from_toml(back).plan()["topology"]["dumbbell"]["reverse_queue"]["limit"] == "1000B"
    )


def test_acknowledgements_limit_the_goodput_where_the_reverse_rate_is_low() -> None:
    slow = sojourn.Scenario.from_toml(LINK.replace("rtt =", 'reverse_rate = "80kbit/s"\nrtt ='))
    assert slow.plan()["topology"]["dumbbell"]["reverse_rate"] == 80_000
    results = [sojourn.run(one, seeds=1, workers=1) for one in (sojourn.Scenario.from_toml(LINK), slow)]
    full, limited = (float(one.runs["goodput_bps"][0]) for one in results)
    # 80 kbit/s carry 250 acknowledgements of 40 B a second; in slow start each lets two packets be sent.
    assert full > 6e6
    assert limited == pytest.approx(2 * 250 * 1448 * 8, rel=0.02)


def test_random_payloads_are_drawn_and_their_mean_is_used() -> None:
    text = SMALL.replace('payload = "500B"', 'payload = "uniform 400B 600B"')
    tcp = sojourn.Scenario.from_toml(text).plan()["traffic"][0]["kind"]["tcp"]
    assert (tcp["payload"], tcp["payloads"]) == (500, {"uniform": [400, 600]})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_a_written_scenario_is_read_back_equal(path: Path) -> None:
    scenario = sojourn.load(path)
    again = sojourn.Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert again.plan_json() == scenario.plan_json()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('rate = "2Mbit/s"', 'rate = "2000kbit"'),
        ('limit = "30p"', 'limit = "30.0p"'),
        ('delay = "5ms"', 'delay = "0.005s"'),
        ('payload = "500B"', 'payload = "0.5kB"'),
        ('"red min_th 5 max_th 15"', '"red   max_th 15p min_th 5p"'),
    ],
)
def test_spelling_does_not_change_the_run(small: sojourn.Scenario, one: str, other: str) -> None:
    from sojourn.runner.point import Point

    text = small.to_toml()
    assert one in SMALL
    scenario = sojourn.Scenario.from_toml(SMALL.replace(one, other))
    assert scenario.to_toml() == text
    assert Point(scenario, "droptail", 1).run_id == Point(small, "droptail", 1).run_id


def test_conventions_set_many_options_and_explicit_ones_win(small: sojourn.Scenario) -> None:
    def options(scenario: sojourn.Scenario) -> dict[str, object]:
        found: dict[str, object] = scenario.plan()["traffic"][0]["kind"]["tcp"]["options"]
        return found

    ns2 = small.with_(conventions="ns2")
    assert ns2.plan()["conventions"] == "ns2"
    assert options(ns2)["min_rto"] == 200_000_000
    assert options(small)["min_rto"] == 1_000_000_000
    assert options(ns2.with_(tcp={"min_rto": "300ms"}))["min_rto"] == 300_000_000
    both = ns2.with_(tcp={"min_rto": "30s", "max_rto": "90s", "syn": False})
    assert options(both)["max_rto"] == 90_000_000_000
    assert options(both)["syn"] is False


@pytest.mark.parametrize(
    ("ecn", "spec", "tcp", "expected"),
    [
        (False, "red", {}, False),
        (True, "red", {}, True),
        (False, "red ecn", {}, True),
        (True, "red", {"ecn": False}, False),
    ],
)
def test_a_marking_queue_makes_tcp_ecn_capable(
    small: sojourn.Scenario, ecn: bool, spec: str, tcp: dict[str, bool], expected: bool
) -> None:
    scenario = small.with_(queue={"limit": "30p", "ecn": ecn}, tcp=tcp)
    assert scenario.plan(spec)["traffic"][0]["kind"]["tcp"]["options"]["ecn"] is expected


def test_long_runs_are_sampled_less_often(small: sojourn.Scenario) -> None:
    assert small.plan()["trace"]["interval"] == 10_000_000
    assert small.with_(duration="5000s").plan()["trace"]["interval"] == 50_000_000
    assert small.with_(trace={"interval": "off"}).plan()["trace"]["interval"] is None


def test_the_measured_queue_of_a_graph_gets_the_algorithm() -> None:
    scenario = sojourn.load(ROOT / "examples/parkinglot.toml")
    links = {f"{one['from']}-{one['to']}": one for one in scenario.plan("droptail")["topology"]["graph"]}
    assert links["R2-R3"]["queue"]["aqm"] == "droptail"
    assert links["R1-R2"]["queue"]["aqm"].startswith("red")
    assert links["R3-R2"]["queue"] is None


def test_the_published_schema_is_the_current_one() -> None:
    published = json.loads((ROOT / "docs/reference/scenario.schema.json").read_text())
    assert published == json.loads(json.dumps(json_schema())), "run `make docs`"


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    for table in (schema, *schema["$defs"].values()):
        assert table.get("additionalProperties") is False or "enum" in table
        for name, key in table.get("properties", {}).items():
            assert "description" in key or "$ref" in key or name in ("kind", "traffic"), name


@given(st.integers(1, 2**53))
def test_limits_in_bytes_keep_every_byte(number: int) -> None:
    word = f"{min(number, 10**14)}B"
    assert _core.parse_unit("limit", _core.canonical_unit("limit", word)) == _core.parse_unit("limit", word)


@given(st.integers(0, 10**17))
def test_spans_keep_every_nanosecond(number: int) -> None:
    word = f"{number}ns"
    assert _core.parse_unit("span", _core.canonical_unit("span", word)) == _core.parse_unit("span", word)


@given(st.integers(1, 10**13))
def test_rates_keep_every_bit(number: int) -> None:
    word = f"{number}bit/s"
    assert _core.parse_unit("rate", _core.canonical_unit("rate", word)) == _core.parse_unit("rate", word)


@pytest.mark.parametrize("wrong", ["examples/rde.toml", "exmples/red.toml"])
def test_a_misspelt_path_gets_a_suggestion(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/red.toml").touch()
    with pytest.raises(sojourn.errors.InputError) as caught:
        sojourn.load(tmp_path / wrong)
    assert caught.value.nearest == str(tmp_path / "examples/red.toml")


@pytest.mark.parametrize("wrong", ["examples/avqred.toml", "nowhere/red.toml", "no/where/red.toml"])
def test_nothing_is_suggested_without_a_near_match(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/blue.toml").touch()
    with pytest.raises(sojourn.errors.InputError) as caught:
        sojourn.load(tmp_path / wrong)
    assert caught.value.nearest is None
