"""Settings ordered by significant differences, with weights and requirements.

Mutants seen to fail: any significant difference counts; no correction of the p-values; requirements ignored.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario
from sojourn.study.significance import Aim, Requirement, Standings
from sojourn.study.tune.advice import sentences
from sojourn.study.tune.model import Tune
from sojourn.study.tune.ranking import Objective
from sojourn.study.tune.run import tune

DELAY, USED = Aim("mean_delay_s", False), Aim("utilization", True, is_share=True)
NOISE = (-1.0, 0.5, 1.0, -0.5, 0.2, -0.2)


def spread(delay: float, used: float) -> dict[str, list[float]]:
    """Return six seeds around two means."""
    return {
        "mean_delay_s": [delay * (1 + n / 1000 + delay * n) for n in NOISE],
        "utilization": [used + 1e-4 * n for n in NOISE],
    }


def test_a_small_gain_does_not_outweigh_a_large_loss() -> None:
    """The case of a careful user: 0.23 ms less delay for 4.8 points of utilization."""
    found = Standings({"searched": spread(7.97e-3, 0.865), "given": spread(8.2e-3, 0.913)}, [DELAY, USED])
    assert found.order == ["given", "searched"]
    assert found.records["given"] == {"mean_delay_s": (0, 0), "utilization": (1, 0)}
    less = Standings({"given": spread(5.2e-3, 0.9999), "searched": spread(1.1e-3, 0.996)}, [DELAY, USED])
    assert less.order == ["searched", "given"], "0.4 points of utilization for 4.1 ms"


#: The difference of "b" from "a" has p = 0.014.
PAIR = {"a": [8.0] * 6, "b": [7.0, 7.9, 7.3, 7.8, 7.6, 7.4]}


def test_without_a_significant_difference_the_first_stays() -> None:
    values = {"given": {"mean_delay_s": PAIR["a"]}, "other": {"mean_delay_s": [4.0, 9.0, 5.0, 9.0, 6.0, 9.0]}}
    found = Standings(values, [DELAY])
    assert found.order == ["given", "other"]
    assert set(found.places.values()) == {1}


def test_the_p_values_are_corrected_for_all_pairs() -> None:
    two = {name: {"mean_delay_s": values} for name, values in PAIR.items()}
    assert Standings(two, [DELAY]).scores == {"a": -1, "b": 1}
    others = {f"c{i}": {"mean_delay_s": [8 + i / 1000 + n / 10 for n in NOISE]} for i in range(6)}
    assert Standings(two | others, [DELAY]).scores["a"] == 0


def test_weights_decide_between_aims() -> None:
    values = {"short": spread(1e-3, 0.9), "full": spread(9e-3, 0.99)}
    assert Standings(values, [DELAY, USED]).scores == {"short": 0, "full": 0}
    assert Standings(values, [DELAY, USED._replace(weight=2)]).order == ["full", "short"]


def test_a_setting_that_misses_a_requirement_comes_last() -> None:
    values = {"short": spread(1e-3, 0.9), "full": spread(9e-3, 0.995)}
    found = Standings(values, [DELAY], [Requirement.parse("utilization >= 99%")])
    assert found.order == ["full", "short"]
    assert [str(one) for one in found.missed("short")] == ["utilization >= 99.00\N{NO-BREAK SPACE}%"]
    assert found.requirements[0].verdict(values["full"]["utilization"]) == "met"
    assert found.requirements[0].verdict([0.98, 0.995, 0.999]) == "not decided"
    assert found.requirements[0].verdict(values["short"]["utilization"]) == "missed"


def test_a_requirement_does_not_depend_on_the_other_settings() -> None:
    """A front beside which a short delay at 88.8 % won, once settings were added that are worse than it."""
    values = {"idle": spread(1e-3, 0.888), "full": spread(4.4e-3, 0.995)}
    worse = {f"c{i}": spread((1.2 + 0.2 * i) * 1e-3, 0.87 - 0.01 * i) for i in range(6)}
    assert Standings(values | worse, [DELAY, USED]).order[0] == "idle"
    for among in (values, values | worse):
        found = Standings(among, [DELAY], [Requirement.parse("utilization >= 98%")])
        assert found.order[:2] == ["full", "idle"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("utilization >= 0.99", ("utilization", True, 0.99)),
        ("p99_delay_s<=20ms", ("p99_delay_s", False, 0.02)),
        ("ftp.goodput_bps >= 2Mbit/s", ("ftp.goodput_bps", True, 2e6)),
        ("mean_queue_packets <= 20p", ("mean_queue_packets", False, 20.0)),
    ],
)
def test_requirements_are_read_in_their_units(words: str, expected: tuple[str, bool, float]) -> None:
    assert Requirement.parse(words) == expected


@pytest.mark.parametrize(
    "words", ["utilization", "mean_delay_s <= 20", "utilization >= 9x%", "goodput_bps >= 2"]
)
def test_requirements_in_wrong_units_are_refused(words: str) -> None:
    with pytest.raises(InputError, match="allowed: "):
        Requirement.parse(words)


def test_a_tuning_keeps_to_its_requirement(small: Scenario) -> None:
    """Without the requirement the short delay of an idle link wins."""
    short = small.with_(duration="2s", warmup="1s", trace={"interval": "off"})
    specs = ["droptail", "gkvq theta 0.3"]
    plan = Tune(short, specs, [Objective("mean_delay_s", False)], {}, seeds=4, confirm=3, rule="rank")
    assert tune(plan).chosen == ["gkvq theta 0.3"]
    kept = tune(replace(plan, requirements=[Requirement.parse("utilization >= 80%")]))
    assert kept.chosen == ["droptail"]
    assert any(line.startswith("  required: utilization >= ") and line.endswith(": met") for line in
               sentences(kept, "droptail"))  # fmt: skip
