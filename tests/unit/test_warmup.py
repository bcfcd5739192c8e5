"""A warm-up that is too short gives a warning, a sufficient one gives none."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.spec.scenario import Scenario
from sojourn.stats.warmup import mser, settled_after


def correlated(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a first-order autoregressive series, as queues are."""
    noise = rng.normal(size=n)
    for i in range(1, n):
        noise[i] += 0.8 * noise[i - 1]
    return noise


def test_mser_is_the_smallest_squared_error_of_the_mean_of_the_rest() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    values = correlated(rng, 200) + 30 * np.exp(-np.arange(200) / 12)
    means = values.reshape(40, 5).mean(axis=1)
    errors = [means[d:].var() / len(means[d:]) for d in range(39)]
    assert mser(values) == 5 * int(np.argmin(errors))


def test_a_decay_is_found_and_noise_is_not() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    found = [mser(correlated(rng, 1000) + 60 * np.exp(-np.arange(1000) / 50)) for _ in range(40)]
    cuts = [cut for cut in found if cut is not None]
    # The decay falls below the noise's standard deviation, 1.7, after 180 values.
    assert len(cuts) >= 30
    assert min(cuts) >= 100
    assert 120 <= np.median(cuts) <= 300
    quiet = [mser(correlated(rng, 1000)) for _ in range(100)]
    assert np.median([cut for cut in quiet if cut is not None]) <= 50


def test_a_permanent_drift_is_not_settled() -> None:
    assert mser(np.arange(1000.0)) is None
    assert mser(np.ones(10)) is None


def test_the_result_is_in_seconds() -> None:
    values = np.concatenate([np.full(3000, 90.0), np.tile([9.0, 10.0, 11.0], 9000)])
    assert settled_after(values, 300.0) == pytest.approx(30.0, abs=2)


@pytest.mark.parametrize(("warmup", "warned"), [("0s", True), ("40s", False)])
def test_a_warm_up_that_is_too_short_gives_a_warning(small: Scenario, warmup: str, warned: bool) -> None:
    """PI with its published gains takes many seconds to find a queue of 20 packets in a buffer of 200."""
    slow = small.with_(duration="120s", warmup=warmup, queue={"limit": "200p", "aqm": "pi q_ref 20p"})
    said = [one for one in sojourn.run(slow, seeds=1).warnings if "warm-up" in one]
    assert bool(said) == warned, said
