"""The rule for "oscillates" on known signals, and the recorded table against the current linear loop.

Mutants (each was seen to fail here): the peak of the spectrum not multiplied by frequency; "or" for
"and"; a band of a factor 2.
"""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from sojourn.worlds.fluid.linear import loop, margins
from validation import stability

ROWS = list(csv.DictReader(stability.RESULT.read_text().splitlines()))


def first_order(seconds: float, steps: int = 10_000) -> np.ndarray:
    """Noise through a first-order system with this time constant, 10 ms a sample."""
    kept, noise = math.exp(-0.01 / seconds), np.random.default_rng(1).normal(size=steps)
    found = np.zeros(steps)
    for i in range(1, steps):
        found[i] = kept * found[i - 1] + noise[i]
    return found


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3])
def test_noise_is_not_concentrated(seconds: float):
    """In theory at most 14 %; a spectrum of ten segments adds some by chance."""
    assert stability.concentration(first_order(seconds), 0.01) < 0.26


def test_an_oscillation_in_noise_is_concentrated():
    time = np.arange(10_000) * 0.01
    swing = np.sin(2 * np.pi * 0.8 * time + np.cumsum(np.random.default_rng(2).normal(size=10_000)) * 0.01)
    assert stability.concentration(swing + 0.3 * np.random.default_rng(3).normal(size=10_000), 0.01) > 0.6


def test_the_band_is_the_one_that_holds_most_for_its_width():
    """A broad peak counts more than a higher but narrow line at a low frequency: power times frequency."""
    time, noise = np.arange(20_000) * 0.01, np.random.default_rng(4).normal(size=20_000)
    hump = np.convolve(noise, np.sin(2 * np.pi * 4 * np.arange(50) * 0.01), "same")
    slow = 2 * hump.std() * np.sin(2 * np.pi * 0.1 * time)
    assert stability.concentration(hump + slow, 0.01) < 0.3


@pytest.mark.parametrize(
    ("std", "share", "oscillates"), [(30, 0.5, True), (10, 0.5, False), (30, 0.2, False), (10, 0.2, False)]
)
def test_both_size_and_period_are_needed(std: float, share: float, oscillates: bool):
    assert stability.judged({"std": std, "share": share, "noise": 20, "queue": 50}) is oscillates


def test_six_points_on_each_side_of_every_stability_limit():
    for name in stability.CASES:
        mine = [row["predicted"] for row in ROWS if row["algorithm"] == name]
        assert mine == ["steady"] * 6 + ["oscillates"] * 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['algorithm']} {row['factor']}")
def test_the_recorded_prediction_is_current(row: dict[str, str]):
    spec, drops = stability.CASES[row["algorithm"]]
    point = loop(
        spec, stability.FLOWS, stability.C, float(row["rtt_s"]), stability.LIMIT, stability.PACKET, drops
    )
    found = margins(point)
    assert found.stable[0] == (row["predicted"] == "steady")
    if math.isfinite(float(row["phase_margin"])):
        assert found.phase[0] == pytest.approx(float(row["phase_margin"]), abs=2)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['algorithm']} {row['factor']}")
def test_the_recorded_verdict_follows_from_the_recorded_numbers(row: dict[str, str]):
    numbers = {name: float(row[name]) for name in ("queue", "std", "noise", "share")}
    assert stability.judged(numbers) == (row["packets"] == "oscillates")


def test_the_scenario_has_the_given_round_trip_time():
    from sojourn.worlds.fluid.system import setting

    point = next(iter(stability.points()))
    found = setting(stability.scenario(point), stability.CASES[point.algorithm][0])
    assert float(np.asarray(found.classes.flows.delay)[0]) == pytest.approx(point.delay, rel=1e-6)
