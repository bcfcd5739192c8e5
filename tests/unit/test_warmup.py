"""Whether the queue had settled is always answered: settled, not settled, or inconclusive.

Mutants seen to fail: the parts of the warm-up not used; half of the bound; one cut run of many is enough; the
pilot tries only its longest warm-up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.metrics.diagnostics import sentence, shifts_of
from sojourn.results import Results
from sojourn.runner import archive
from sojourn.spec.scenario import Scenario
from sojourn.stats.warmup import DECAYS, INCONCLUSIVE, NOT_SETTLED, SETTLED, Shifts, mser, settling, shifts
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
    assert shifts_of(stored) == shifts_of(fresh) is not None


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


@pytest.mark.parametrize("number", range(len(DECAYS)))
def test_the_shift_of_an_exact_decay_is_its_mean_over_the_window(number: int) -> None:
    """The parts are means of the decay; numpy's least squares give the same estimate."""
    tau, step = DECAYS[number] * 60.0, 1.0
    edges = np.exp(-(np.arange(91) - 30.0) / tau) * tau
    parts = 40 + 25 * (edges[:-1] - edges[1:])
    found = shifts(parts, step, 30.0, 90.0)
    assert found is not None
    assert found.window[number] == pytest.approx(found.all[number]) == pytest.approx(found.mean - 40)
    noisy = parts + correlated(np.random.default_rng(1), 90)
    used = noisy[4:]  # an eighth of the warm-up is not used
    design = np.column_stack([np.ones(86), (edges[:-1] - edges[1:])[4:]])
    size = np.linalg.lstsq(design, used, rcond=None)[0][1]
    again = shifts(noisy, step, 30.0, 90.0)
    assert again is not None
    assert again.all[number] == pytest.approx(size * (edges[:-1] - edges[1:])[30:].mean())


def test_three_outcomes() -> None:
    def runs(whole: list[float], window: list[float]) -> list[Shifts]:
        means = [38.0, 40.0, 42.0]  # half-width 4.97
        return [
            Shifts((a,) * 5, (b,) * 5, mean, None) for a, b, mean in zip(whole, window, means, strict=True)
        ]

    assert settling(runs([0.9, 1.0, 1.1], [9.0, 9.1, 9.0]), 60.0).outcome == SETTLED
    moved = settling(runs([9.0, 9.1, 9.0], [9.0, 9.1, 9.0]), 60.0)
    assert (moved.outcome, moved.shift) == (NOT_SETTLED, pytest.approx(9.0333, abs=1e-4))
    vague = settling(runs([-9.0, 9.0, 1.0], [-9.0, 9.0, 1.0]), 60.0)
    # By hand: mean 1/3, standard error 5.2068, t(2, one-sided 95 %) 2.9200.
    assert (vague.outcome, vague.bound) == (INCONCLUSIVE, pytest.approx(1 / 3 + 2.92 * 5.2068, abs=1e-3))
    assert settling(runs([0.0] * 3, [0.0] * 3)[:1], 60.0).outcome == INCONCLUSIVE
    jump = [Shifts((9.0,) * 5, (0.0, 50.0, 0.0, 9.0, 9.0), mean, (20.0, 7.0)) for mean in (38.0, 40.0)]
    assert settling([*jump, *runs([-9.0] * 3, [0.0] * 3)[:1]], 60.0).shift == 7.0  # by MSER-5 in 2 of 3 runs
    assert settling([*jump[:1], *runs([-9.0] * 3, [0.0] * 3)], 60.0).outcome == INCONCLUSIVE  # in 1 of 4
    assert "one seed" in sentence(settling(runs([0.0] * 3, [0.0] * 3)[:1], 60.0))
    assert settling([], 60.0).outcome == INCONCLUSIVE


@pytest.mark.parametrize("interval", ["10ms", "off"])
def test_the_longest_transient_is_not_silent(small: Scenario, interval: str) -> None:
    """A queue that falls during the whole run gave no warning, as MSER cannot decide; nor without traces."""
    results = sojourn.run(slow(small, trace={"interval": interval}), [SLOW, "droptail"], seeds=5)
    assert results.warmup[SLOW_SPEC].outcome == NOT_SETTLED
    assert [one for one in results.warnings if one.startswith("pi ") and "not settled" in one]
    assert [one for one in results.notes if one.startswith("warm-up: droptail: ")]


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
