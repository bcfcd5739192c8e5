"""The continuous law of each algorithm against its discrete form: gaps between signals, difference equations.

Mutants (each was put into ``worlds/fluid/marking.py`` and seen to fail here or in ``test_mgt.py``): p_b for 2
p_b; the integral gain without f_s; b dq/dt left out; ln(1 - w) for -ln(1 - w); the gentle line up to
max_th; RAQM's exponent without eps; AVQ's drift with C for gamma C; idle and overflow exchanged in BLUE.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sojourn import _core
from sojourn.errors import InputError
from sojourn.worlds.fluid.laws import LAWS, law
from sojourn.worlds.fluid.marking import Now, Place, relaxation, spread

C, B = 1250.0, 100.0


def at(drops: bool = True) -> Place:
    return Place(np.array([C]), np.array([B]), drops)


def now(
    q: float = 0.0, dq: float = 0.0, arrivals: float = C, idle: bool = False, overflow: bool = False
) -> Now:
    one = np.array([arrivals])
    return Now(np.array([q]), np.array([dq]), one, one, one, np.array([idle]), np.array([overflow]), 1e-3)


def mean_gap(p_b: float, first: int, wait: bool) -> float:
    """Mean packets between two signals, from the counter's probabilities; `first`: its initial count."""
    left, mean = 1.0, 0.0
    for k in range(1, 10_000):
        count = first + k - 1
        if wait:
            p = 0.0 if count * p_b < 1 else 1.0 if count * p_b >= 2 else p_b / (2 - count * p_b)
        else:
            p = 1.0 if count * p_b >= 1 else p_b / (1 - count * p_b)
        p = min(1.0, p)
        mean += k * left * p
        left *= 1 - p
        if left <= 0:
            break
    return mean


@pytest.mark.parametrize(
    ("rule", "first", "wait"), [("before", 1, False), ("after", 0, False), ("wait", 1, True)]
)
@pytest.mark.parametrize("p_b", [0.01, 0.02, 0.1, 0.2])
def test_the_share_signalled_is_one_over_the_mean_gap(rule: str, first: int, wait: bool, p_b: float):
    share = spread(np.array([p_b]), rule)[0]
    assert share == pytest.approx(1 / mean_gap(p_b, first, wait), rel=0.01 if not wait else 0.05)


def test_without_a_counter_it_is_the_base_probability():
    assert spread(np.array([0.3]), "none")[0] == 0.3


def test_the_average_relaxes_as_the_samples_do():
    weight, samples, avg = 0.02, 500, 0.0
    for _ in range(samples):
        avg += weight * (10 - avg)
    rate = relaxation(weight, float(samples), 1e-6)
    assert 10 * (1 - math.exp(-float(rate))) == pytest.approx(avg, rel=1e-9)
    assert relaxation(1.0, 100.0, 0.01) == 100


@pytest.mark.parametrize(
    ("spec", "avg", "base"),
    [
        ("red min_th 10 max_th 30 max_p 0.1 count after", 9.9, 0.0),
        ("red min_th 10 max_th 30 max_p 0.1 count after", 20.0, 0.05),
        ("red min_th 10 max_th 30 max_p 0.1 count after", 30.0, 1.0),
        ("gred min_th 10 max_th 30 max_p 0.1 count after", 45.0, 0.55),
        ("red min_th 10 max_th 30 max_p 0.1 gentle count after gentle_end limit", 65.0, 0.55),
        ("gred min_th 10 max_th 30 max_p 0.1 count after", 60.0, 1.0),
    ],
)
def test_reds_lines(spec: str, avg: float, base: float):
    p = law(spec, at(), 500).probability([np.array([avg])], np.array([0.0]), np.array([C]))
    assert p[0] == pytest.approx(2 * base / (1 + base))


def test_pi_is_its_difference_equation():
    """Over one second of a queue that rises linearly."""
    a, b, f_s, q_ref, slope = 0.002, 0.0019, 160, 30, 12.0
    p, old = 0.05, 40.0
    for k in range(1, f_s + 1):
        q = 40 + slope * k / f_s
        p += a * (q - q_ref) - b * (old - q_ref)
        old = q
    controller = law(f"pi a {a} b {b} f_s {f_s} q_ref {q_ref}", at(), 500)
    total = 0.05
    for k in range(1000):
        q = 40 + slope * (k + 0.5) / 1000
        total += controller.drift([np.array([total])], now(q, slope))[0][0] / 1000
    assert total == pytest.approx(p, rel=0.01)


def test_rem_is_its_difference_equation():
    controller = law("rem gamma 0.001 alpha 0.1 b_star 20 period 2ms", at(), 500)
    per_period = 0.001 * (1500 * 0.002 + 0.1 * (35 - 20) - C * 0.002)
    assert controller.drift([np.array([0.0])], now(35, arrivals=1500))[0][0] == pytest.approx(
        per_period / 0.002
    )
    price = np.array([50.0])
    assert controller.probability([price], price, price)[0] == pytest.approx(1 - 1.001**-50)
    queue = law("rem gamma 0.001 alpha 0.1 b_star 20 period 2ms form queue", at(), 500)
    assert queue.drift([np.array([0.0])], now(35, dq=250))[0][0] == pytest.approx(per_period / 0.002)


def test_ared_steps_towards_the_middle():
    tuner = law("ared min_th 10 max_th 30 alpha 0.01 beta 0.9", at(), 500)
    assert tuner.period == 0.5
    for avg, expected in ((23.0, 0.11), (20.0, 0.1), (17.0, 0.09)):
        assert tuner.tick([np.array([avg]), np.array([0.1])])[1][0] == pytest.approx(expected)
    assert tuner.tick([np.array([25.0]), np.array([0.02])])[1][0] == pytest.approx(0.025)


def test_raqms_first_period_and_the_later_ones():
    law_ = law("raqm q_0 50 period 1s f_prime 0.1 eps 0.5 p_0 0.01 m_0 2", at(), 500)
    state = [np.array([value]) for value in law_.start()]
    state[2], state[3], state[4] = np.array([1000.0]), np.array([1000.0]), np.array([1000.0])
    x = 0.9 * 1000 / C
    state = law_.tick(state)
    assert state[0][0] == pytest.approx(0.01 * math.exp(2 * (x - 1)))
    state[2] = np.array([2000.0])
    x = (0.9 * 2000 + 0.1 * 0.9 * 1000) / C
    before = state[0][0]
    state = law_.tick(state)
    assert state[0][0] == pytest.approx(before * x / (2 - x))
    assert law_.probability([np.array([0.2])], np.array([25.0]), np.array([C]))[0] == pytest.approx(0.1)


def test_blue_rises_with_overflow_and_falls_when_idle():
    blue = law("blue d1 0.02 d2 0.001 freeze_time 100ms", at(), 500)
    z = [np.array([0.1])]
    assert blue.drift(z, now(B, overflow=True))[0][0] == pytest.approx(0.2)
    assert blue.drift(z, now(0, idle=True))[0][0] == pytest.approx(-0.01)
    assert blue.drift(z, now(50))[0][0] == 0
    assert law("blue l 30p", at(), 500).drift(z, now(31))[0][0] > 0


def test_ldc_adds_delay_and_load():
    ldc = law("ldc d_target 40ms w_d 0.75 r_target 0.95 n 3", at(), 500)
    p = ldc.probability([np.array([25.0]), np.array([0.95 / 2])], np.array([0.0]), np.array([C]))
    assert p[0] == pytest.approx(0.75 * 0.5**3 + 0.25 * 0.5**3)


def test_avq_signals_the_excess_over_the_virtual_capacity():
    avq = law("avq gamma 0.98 alpha 0.15", at(), 500)
    assert avq.probability([np.array([0.8])], np.array([0.0]), np.array([2 * C]))[0] == pytest.approx(0.6)
    assert avq.probability([np.array([0.8])], np.array([0.0]), np.array([0.5 * C]))[0] == 0
    assert avq.drift([np.array([0.8])], now(arrivals=C))[0][0] == pytest.approx(0.15 * (0.98 - 1))


def _parameters(name: str) -> list[dict[str, Any]]:
    return next(one["params"] for one in _core.algorithms() if one["name"] == name)


@pytest.mark.parametrize("name", [one["name"] for one in _core.algorithms()])
def test_every_algorithm_has_a_law_or_is_refused_with_the_reason(name: str):
    if name in LAWS:
        found = law(name, at(), 500)
        z = [np.array([value]) for value in found.start()]
        assert len(z) == len(found.states)
        assert 0 <= found.probability(z, np.array([10.0]), np.array([C]))[0] <= 1
        return
    with pytest.raises(InputError, match="fluid world cannot run it") as error:
        law(name, at(), 500)
    assert ("no mean field" in str(error.value)) == (name in ("codel", "cobalt"))


def test_presets_and_units_reach_the_law():
    assert law("pi", at(), 500).values["f_s"] == 160
    assert law("pi", at(), 500, "ns2").values["f_s"] == 170
    assert law("red", at(), 500, "ns2").rule == "wait"  # type: ignore[attr-defined]
    changed = [p for p in _parameters("pie") if p["linux"] and p["kind"] == "span"]
    for one in changed:
        found = law("pie", at(), 500, "linux").values[one["name"]]
        assert found == pytest.approx(_core.parse_unit("span", one["linux"]) / 1e9)
    assert law("red min_th 5kB max_th 15kB", at(), 500).values["max_th"] == 30
    assert law("ared target_delay 40ms", at(), 500).values["min_th"] == pytest.approx(0.04 * C / 2)
