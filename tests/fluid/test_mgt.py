"""The delay-differential model against closed forms, against scipy on the same equation, and at its limits.

Mutants (each was put into ``worlds/fluid/mgt.py`` and seen to fail here): the past read one step late; the
growth not divided by the round-trip time; a full step instead of the last half step of Heun's method;
overflow losses not signalled to senders; dropped packets left in the queue; an empty queue that continues to
fall.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sojourn.worlds.fluid.laws import law
from sojourn.worlds.fluid.marking import Floats, Law, Place, State
from sojourn.worlds.fluid.mgt import Flows, Link, Solution, Stream, integrate, solve

RATE, LIMIT = 1000.0, 200.0


class Fixed(Law):
    """A constant probability."""

    def probability(self, z: State, q: Floats, arrivals: Floats) -> Floats:
        return np.full_like(q, self.values["p"])


def place(drops: bool = True, rate: float = RATE, limit: float = LIMIT) -> Place:
    return Place(np.array([rate]), np.array([limit]), drops)


def run(spec: str, flows: Flows, duration: float = 60.0, drops: bool = True) -> Solution:
    link = Link(RATE, LIMIT, drops)
    return solve(flows, link, law(spec, place(drops), 500), duration, duration / 2)


def window_by_scipy(p: float, delay: float, end: float) -> float:
    """W' = 1/D - W(t) W(t - D) p / (2 D), no loss before D: method of steps with RK45."""
    past, w = [lambda _t: 0.0], 1.0
    for k in range(round(end / delay)):

        def slope(t: float, y: list[float], before=past[-1]):  # type: ignore[no-untyped-def]
            return [1 / delay - y[0] / 2 * before(t - delay) / delay * p]

        found = solve_ivp(slope, (k * delay, (k + 1) * delay), [w], rtol=1e-11, atol=1e-12, dense_output=True)
        past.append(lambda t, f=found.sol: float(f(t)[0]))  # type: ignore[misc]
        w = float(found.y[0, -1])
    return w


def test_the_order_is_two():
    delay, p = 0.1, 0.02
    exact = window_by_scipy(p, delay, 1.0)
    errors = []
    for n in (4, 8, 16, 32):
        found = integrate(Flows(1, delay), Link(1e9, 10), Fixed({"p": p}, place()), 1.0, delay / n)
        errors.append(abs(found.window[-1, 0] - exact))
    ratios = [a / b for a, b in itertools.pairwise(errors)]
    assert errors[-1] < 2e-3 * exact
    assert all(3.3 < ratio < 5 for ratio in ratios), (errors, ratios)


def test_without_a_queue_the_window_settles_at_the_square_root():
    found = integrate(Flows(1, 0.1), Link(1e9, 10), Fixed({"p": 0.01}, place()), 60, 0.01, 40)
    assert found.window[-1, 0] == pytest.approx(math.sqrt(2 / 0.01), rel=1e-3)
    assert found.mean[0] == 0


@pytest.mark.parametrize("drops", [True, False])
def test_pis_equilibrium_is_its_target_and_the_loss_that_the_flows_need(drops: bool):
    found = run("pi q_ref 50 a 0.0004 b 0.000398", Flows(20, 0.1), 40, drops)
    assert found.error is not None
    assert found.error < 0.02
    assert found.mean[0] == pytest.approx(50, abs=0.5)
    assert found.deviation[0] < 0.5
    p = found.signal[-1, 0]
    through = 1 - p if drops else 1.0
    window = RATE * (0.1 + 50 / RATE) / 20 / through
    assert p == pytest.approx(2 / window**2, rel=0.01)


def test_rems_equilibrium_is_its_target_if_it_marks():
    found = run("rem b_star 40 gamma 0.001", Flows(20, 0.1), 60, drops=False)
    assert found.queue[-1, 0] == pytest.approx(40, abs=0.5)


def test_rems_equilibrium_is_below_its_target_if_it_drops():
    """On a busy link lambda - C = p lambda > 0, which alpha (q - b*) / T must cancel."""
    found = run("rem b_star 40 gamma 0.001", Flows(20, 0.1), 60, drops=True)
    surplus = found.arrivals[-1, 0] - RATE
    assert surplus == pytest.approx(found.signal[-1, 0] * found.arrivals[-1, 0], rel=0.02)
    assert found.queue[-1, 0] == pytest.approx(40 - surplus * 0.002 / 0.1, abs=0.2)


def test_reds_average_and_probability_settle_on_its_drop_curve():
    found = run("red min_th 20 max_th 180 max_p 0.2 w_q 0.02 count after", Flows(20, 0.1), 40)
    q, p = found.mean[0], found.signal[-1, 0]
    base = 0.2 * (q - 20) / 160
    assert found.deviation[0] < 0.5
    assert p == pytest.approx(2 * base / (1 + base), rel=0.01)
    window = RATE * (0.1 + q / RATE) / 20 / (1 - p)
    assert p == pytest.approx(2 / window**2, rel=0.01)


@pytest.mark.parametrize("drops", [True, False])
def test_avq_uses_gamma_of_the_link_and_needs_no_queue(drops: bool):
    found = run("avq gamma 0.9 alpha 0.5", Flows(20, 0.1), 80, drops)
    late = found.time > 60
    passed = found.arrivals[late, 0] * (1 - found.signal[late, 0] * drops)
    assert passed.mean() == pytest.approx(0.9 * RATE, rel=0.01)
    assert found.mean[0] < 1


def test_raqm_with_dropped_bytes_counted_settles_at_q_0_times_the_loss():
    found = run("raqm q_0 50 p_0 1", Flows(30, 0.1), 60)
    p = found.signal[-1, 0]
    window = RATE * (0.1 + found.mean[0] / RATE) / 30 / (1 - p)
    assert p == pytest.approx(2 / window**2, rel=0.02)
    assert found.states["p_k"][-1, 0] == pytest.approx(1.0)
    assert found.mean[0] == pytest.approx(50 * p, rel=0.03)


def test_ared_ends_inside_its_band():
    found = run("ared min_th 20 max_th 60 w_q 0.02", Flows(20, 0.1), 60)
    assert 36 <= found.states["avg"][-1, 0] <= 44


def test_droptail_fills_the_buffer_and_senders_see_its_losses():
    found = run("droptail", Flows(20, 0.1), 30)
    assert found.mean[0] > 0.7 * LIMIT
    assert found.signal.max() == 0
    assert 0.01 < found.overflow[found.measured].mean() < 0.1


def test_blue_rises_with_overflow_only():
    found = run("blue d1 0.02 d2 0.002", Flows(40, 0.1), 30)
    assert found.states["p"][-1, 0] > 0.01
    empty = run("blue", Flows(2, 0.1, largest=10), 10)
    assert empty.states["p"].max() == 0


def test_small_receiver_windows_leave_the_link_idle():
    found = run("droptail", Flows(10, 0.1, largest=5), 20)
    assert found.queue.max() == 0
    assert found.sent.sum() / (20 - found.since + found.step) == pytest.approx(10 * 5 / 0.1, rel=0.01)


def test_packets_are_conserved():
    """In the queue: arrivals minus drops minus departures is the backlog."""
    found = run("red min_th 20 max_th 60 max_p 0.2", Flows([10, 30], [0.05, 0.2]), 30)
    into = found.arrivals * (1 - found.signal) * (1 - found.overflow)
    out = np.where(found.queue > 0, RATE, np.minimum(into, RATE))
    waiting = np.concatenate([[0.0], np.cumsum((into - out)[:-1, 0]) * found.step])
    assert waiting == pytest.approx(found.queue[:, 0], abs=2.0)


def test_an_empty_queue_does_not_change_pi():
    """With a target of 0, PI's probability changes only while the queue changes, so not while it is empty."""
    found = integrate(
        Flows(20, 0.1, stop=5), Link(RATE, LIMIT), law("pi q_ref 0 a 0.002 b 0.0019", place(), 500), 10, 0.01
    )
    p = found.states["p"][:, 0]
    empty = np.flatnonzero((found.queue[:, 0] == 0) & (found.time > 5))[0] + 1
    assert p[empty] > 0
    assert p[-1] == p[empty]


def test_systems_solved_at_once_equal_single_solutions():
    flows = Flows([[10.0, 40.0], [20.0, 5.0]], [[0.05, 0.05], [0.1, 0.3]])
    rates, limits = [1000.0, 2000.0], [100.0, 50.0]
    at = Place(np.array(rates), np.array(limits))
    both = integrate(flows, Link(rates, limits), law("red min_th 10 max_th 40", at, 500), 20, 0.01, 10)
    for k in range(2):
        one = Flows(np.array(flows.count)[:, k], np.array(flows.delay)[:, k])
        alone_at = Place(np.array(rates[k : k + 1]), np.array(limits[k : k + 1]))
        alone = integrate(
            one, Link(rates[k], limits[k]), law("red min_th 10 max_th 40", alone_at, 500), 20, 0.01, 10
        )
        assert both.queue[:, k] == pytest.approx(alone.queue[:, 0], abs=1e-9)
        assert both.sent[:, k] == pytest.approx(alone.sent[:, 0])


def test_traffic_comes_and_goes():
    flows = Flows([10, 10], [0.1, 0.1], start=[0, 10], stop=[math.inf, 20])
    found = integrate(
        flows, Link(1e6, 10, background=[Stream(5, 5, 15)]), Fixed({"p": 0.5}, place()), 30, 0.05
    )

    def at(t: float) -> float:
        return float(found.arrivals[round(t / found.step), 0])

    assert at(6) - at(4) == pytest.approx(5, abs=0.5)
    assert at(19) == pytest.approx(2 * at(29), rel=0.05)


def test_feedback_is_delayed_by_a_round_trip():
    """Before D has passed no loss is detected: the window grows by one packet per D."""
    found = integrate(Flows(1, 0.1), Link(1e9, 10), Fixed({"p": 1.0}, place()), 0.1, 0.01)
    assert found.window[:, 0] == pytest.approx(1 + found.time / 0.1)
