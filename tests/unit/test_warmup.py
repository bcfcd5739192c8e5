"""Whether the queue had settled is always answered: settled, not settled, or inconclusive.

Mutants seen to fail: the parts of the warm-up not used; half of the bound; the best decay not beside others;
no test of the fit; one cut run of many is enough; the pilot tries only its longest warm-up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.metrics.diagnostics import parts_of, sentence
from sojourn.results import Results
from sojourn.runner import archive
from sojourn.spec.scenario import Scenario
from sojourn.stats.warmup import (
    DECAYS,
    INCONCLUSIVE,
    NOT_SETTLED,
    SETTLED,
    QueueParts,
    mser,
    queue_parts,
    settling,
)
from sojourn.study.axes import Axis
from sojourn.study.pilot import SEED_FROM, pilot
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import Cli

#: PI whose gains are a tenth of the published ones: it needs minutes.
SLOW = "pi q_ref 20 a 0.000001822 b 0.000001816"


def correlated(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a first-order autoregressive series, as queues are."""
    noise = rng.normal(size=n)
    for i in range(1, n):
        noise[i] += 0.8 * noise[i - 1]
    return noise


def slow(small: Scenario, **changes: object) -> Scenario:
    """Return a scenario that starts with a full buffer of 200 packets."""
    return small.with_(
        **{"duration": "60s", "warmup": "10s", "queue": {"limit": "200p", "aqm": SLOW}, **changes}
    )


def test_mser_is_the_smallest_squared_error_of_the_mean_of_the_rest() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    values = correlated(rng, 200) + 30 * np.exp(-np.arange(200) / 12)
    means = values.reshape(40, 5).mean(axis=1)
    errors = [means[d:].var() / len(means[d:]) for d in range(39)]
    assert mser(values) == 5 * int(np.argmin(errors))


def test_the_check_reads_only_what_it_needs_of_a_stored_run(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study reads all its runs. Mutant seen to fail: the counters of the queues are read."""
    fresh = sojourn.run(small, ["red"], seeds=1, out=tmp_path).outcomes[0].record
    monkeypatch.delattr(archive, "unpack")
    monkeypatch.delattr(archive, "unpack_queues")
    stored = Results.open(tmp_path).outcomes[0].record
    again, first = parts_of(stored), parts_of(fresh)
    assert again is not None
    assert first is not None
    assert np.array_equal(again.values, first.values)
    assert again[1:] == first[1:]


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


def decay_of(share: float, parts: int = 90, warmup: float = 30.0) -> np.ndarray:
    """Return a decay of a share of the window of 60 s: the means of parts of 1 s."""
    tau = share * 60.0
    edges = np.exp(-(np.arange(parts + 1) - warmup) / tau) * tau
    return np.asarray(edges[:-1] - edges[1:])


def study(shape: np.ndarray, noise: float = 1.0, seed: int = 1, seeds: int = 5) -> list[QueueParts]:
    """Return runs of 90 s with a window from 30 s."""
    rng = np.random.default_rng(seed)
    runs = [queue_parts(40 + shape + noise * rng.normal(size=90), 1.0, 30.0, 90.0) for _ in range(seeds)]
    return [one for one in runs if one is not None]


@pytest.mark.parametrize("number", range(len(DECAYS)))
def test_the_shift_is_that_of_the_decay_in_the_mean_of_the_seeds(number: int) -> None:
    """numpy's least squares give the same estimate, with the decay that leaves the smallest residual."""
    runs = study(decay_of(DECAYS[number]) * 25)
    middle = np.mean([one.values for one in runs], axis=0)[4:]  # an eighth of the warm-up is not used
    fits = []
    for share in DECAYS:
        decay = np.exp(-(np.arange(90) - 30) / (share * 60))
        design = np.column_stack([np.ones(86), decay[4:]])
        (_, size), residual, *_ = np.linalg.lstsq(design, middle, rcond=None)
        fits.append((float(residual[0]), size * decay[30:].mean()))
    found = settling(runs, 60.0)
    assert found.outcome == NOT_SETTLED
    assert found.shift == pytest.approx(min(fits)[1])
    assert found.shift == pytest.approx(25 * decay_of(DECAYS[number])[30:].mean(), rel=0.1)


def test_the_bound_by_hand() -> None:
    """Student's t with the variance of the seeds' differences at four frequencies; the best decay beside."""
    runs = study(decay_of(DECAYS[0]) * np.exp(-10) * 30)
    series = np.array([one.values for one in runs])[:, 4:]
    waves = np.cos(np.pi * np.arange(1, 5)[:, None] * (np.arange(86) + 0.5) / 86) * np.sqrt(2 / 86)
    away = (series - series.mean(axis=0)) @ waves.T
    variance = float((away**2).sum()) / 16 / 5  # 4 frequencies, 4 differences of 5 seeds
    decays = [np.exp(-(np.arange(90) - 30) / (share * 60)) for share in DECAYS]
    bounds = []
    for decay in decays:
        columns = [decays[0]] if decay is decays[0] else [decays[0], decay]
        design = np.column_stack([np.ones(86), *(one[4:] for one in columns)])
        weights = np.array([0.0, *(one[30:].mean() for one in columns)])
        size = np.linalg.lstsq(design, series.mean(axis=0), rcond=None)[0]
        error = np.sqrt(weights @ np.linalg.inv(design.T @ design) @ weights * variance)
        bounds.append(abs(weights @ size) + 1.745884 * error)  # t(16), one-sided 95 %
    assert settling(runs, 60.0).bound == pytest.approx(max(bounds), rel=1e-5)


def test_three_outcomes() -> None:
    still = np.zeros(90)
    assert settling(study(still), 60.0).outcome == SETTLED
    assert settling(study(decay_of(2 / 3) * 8), 60.0).outcome == NOT_SETTLED
    # No warm-up: what a slow decay moves does not follow from the window.
    short = [queue_parts(one.values, 1.0, 0.0, 90.0) for one in study(still, 10.0)]
    assert settling([one for one in short if one is not None], 90.0).outcome == INCONCLUSIVE
    alone = settling(study(still)[:1], 60.0)
    assert (alone.outcome, "one seed" in sentence(alone)) == (INCONCLUSIVE, True)
    assert settling([], 60.0).outcome == INCONCLUSIVE


def test_a_fast_start_is_no_slow_decay_and_does_not_hide_one() -> None:
    """Ten times the noise, ended before the window; and beside a slow decay of the opposite sign."""
    fast = decay_of(1 / 20) * np.exp(-10) * 200
    line = 10 * np.clip(1 - np.arange(90) / 12, 0, None)
    slow = decay_of(2 / 3) * -8
    for seed in range(20):
        for shape in (fast, line):
            assert settling(study(shape, seed=seed), 60.0).outcome != NOT_SETTLED
        assert settling(study(fast + slow, seed=seed), 60.0).outcome != SETTLED


def test_a_cut_by_mser_in_most_runs_decides_what_decays_do_not() -> None:
    cut = [one._replace(cut=(40.0, 7.0)) for one in study(np.zeros(90), 10.0)]
    vague = [queue_parts(one.values, 1.0, 0.0, 90.0) for one in cut]
    runs = [one._replace(cut=(40.0, 7.0)) for one in vague if one is not None]
    assert (settling(runs, 90.0).outcome, settling(runs, 90.0).shift) == (NOT_SETTLED, 7.0)
    few = [one._replace(cut=None) for one in runs[:3]] + runs[3:]
    assert settling(few, 90.0).outcome == INCONCLUSIVE
    assert settling(cut, 60.0).outcome == SETTLED


def test_what_all_seeds_share_and_no_decay_describes_counts_as_error() -> None:
    """A load that alternates in step with the clock, as `every` makes, is no decay."""
    square = 8.0 * (np.arange(90) // 15 % 2)
    found = settling(study(square), 60.0)
    assert found.outcome != NOT_SETTLED
    assert found.bound is not None
    assert found.bound > 5 * (settling(study(np.zeros(90)), 60.0).bound or 0)


@pytest.mark.parametrize("interval", ["10ms", "off"])
def test_the_longest_transient_is_not_silent(small: Scenario, interval: str) -> None:
    """A queue that falls during the whole run gave no warning, as MSER cannot decide; nor without traces."""
    results = sojourn.run(slow(small, trace={"interval": interval}), [SLOW, "droptail"], seeds=5)
    assert results.warmup[SLOW_SPEC].outcome == NOT_SETTLED
    assert [one for one in results.warnings if one.startswith("pi ") and "not settled" in one]
    assert [one for one in results.notes + results.warnings if "droptail: " in one]


SLOW_SPEC = "pi a 0.000001822 b 0.000001816 q_ref 20p"


def test_a_steady_queue_is_settled_with_the_evidence(small: Scenario, tmp_path: Path) -> None:
    steady = slow(small, warmup="30s", queue={"limit": "20p", "aqm": "droptail"})
    results = sojourn.run(steady, seeds=5, out=tmp_path, keep_traces="none")
    one = results.warmup["droptail"]
    assert one.outcome == SETTLED
    assert one.bound is not None
    assert one.half_width is not None
    assert one.bound < max(one.half_width, 0.01 * (one.mean or 0))
    assert results.notes == [f"warm-up: droptail: {sentence(one)}"]
    assert Results.open(tmp_path).warmup == results.warmup


def test_parts_do_not_depend_on_samples(small: Scenario) -> None:
    with_, without = (
        sojourn.run(small.with_(duration="6.4s", warmup="3s", trace={"interval": one}), seeds=1).records[0]
        for one in ("10ms", "off")
    )
    assert without.parts()[1] == 0.05
    assert len(without.parts()[0]) == 128
    np.testing.assert_allclose(with_.parts()[0], without.parts()[0], rtol=1e-12)
    assert without.series().is_empty()


def test_sweeps_report_the_outcomes(small: Scenario, tmp_path: Path) -> None:
    plan = Sweep(
        slow(small, trace={"interval": "off"}), [SLOW], [Axis("queue.limit", ("200p", "20p"))], seeds=4
    )
    swept = sweep(plan, out=tmp_path)
    assert swept.warmup[0][1].outcome == NOT_SETTLED
    assert "not settled in 1 of 2 combinations; queue.limit 200p" in " ".join(swept.warnings)
    assert len(swept.notes) == 1


def test_a_pilot_finds_a_warm_up_with_seeds_of_its_own(small: Scenario, cli: Cli, tmp_path: Path) -> None:
    fast = small.with_(duration="60s", warmup="0s")
    found = pilot(fast)
    begin, end = found.scenario.seconds
    assert (end - begin, {one.outcome for one in found.outcomes.values()}) == (60.0, {SETTLED})
    assert begin == 30  # of 7.5 s, 15 s, 30 s, 60 s, 120 s, 240 s the shortest that settles
    assert str(SEED_FROM) in found.sentence
    (tmp_path / "fast.toml").write_text(fast.to_toml())
    done = cli("run", "fast.toml", "--warmup", "auto", "--seeds", "2")
    assert (done.returncode, found.sentence in done.stderr) == (0, True)


def test_impossible_warm_ups_are_refused(small: Scenario, cli: Cli, small_file: Path) -> None:
    traffic = [{**one.model_dump(by_alias=True, exclude_none=True), "stop": "4s"} for one in small.traffic]
    with pytest.raises(InputError, match="auto needs traffic that does not stop"):
        pilot(small.with_(traffic=traffic))
    for words, reason in (
        (["--warmup", "7s"], "warmup = '7s' is not before the end"),
        (["--warmup", "auto", "--world", "fluid"], "warmup = auto is chosen by simulated runs"),
    ):
        done = cli("run", small_file, *words)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
