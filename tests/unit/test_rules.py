"""Rules for parameters against the values printed in papers and vectors computed by other means.

Mutants seen to fail: a digit of a table changed; 2 p without the factor 1.1; z without the square; the lag
counted twice.
"""

from __future__ import annotations

import pytest

import sojourn
from sojourn import InputError, rules

#: Load, min_th, max_th, buffer, max_p, w_q as printed in figures 3(a) and 4(a).
FIG_3A = """
16   41 165 247 0.00513 0.00068
32   42 168 252 0.0185  0.0011
64   43 172 258 0.0571  0.0016
128  45 181 272 0.133   0.002
256  50 200 300 0.233   0.0018
"""
FIG_4A = """
800  38 151 226 0.00178 0.00008
1000 38 153 230 0.00472 0.00011
1200 41 164 246 0.02    0.00021
1300 49 196 294 0.109   0.00039
1400 74 299 449 0.333   0.00044
"""
#: The reconstruction at the printed loads: flows, min_th, max_th, buffer, p, max_p, loss period, w_q.
RECONSTRUCTED = """
16  41.4 165.4 248.1 0.00238 0.00524 9.678 0.000671
32  41.9 167.7 251.6 0.00850 0.01871 5.685 0.001142
64  43.1 172.3 258.5 0.02543 0.05596 3.978 0.001632
128 45.4 181.5 272.2 0.05902 0.12985 3.440 0.001887
256 50.0 199.8 299.7 0.10579 0.23275 3.536 0.001836
"""
#: Flows, R, C, f_s, z, K, a, b.
DESIGNED = """
60  0.246 3750 160 0.528785776 9.78107909e-06 1.85278091e-05 1.84666773e-05
60  0.246 3750 170 0.528785776 9.78107909e-06 1.85260111e-05 1.84684753e-05
100 0.15  1250 170 7.11111111  0.0630920907   0.00905789022  0.00868676028
40  0.1   2500 170 3.2         0.00137619358  0.000434108123 0.000426012867
"""


def rows(text: str) -> list[list[float]]:
    return [[float(word) for word in line.split()] for line in text.strip().splitlines()]


@pytest.mark.parametrize(("table", "load"), [(FIG_3A, "flows"), (FIG_4A, "sessions")])
def test_redopt_gives_the_papers_tables(table: str, load: str) -> None:
    for count, *printed in rows(table):
        rule = rules.redopt(**{load: int(count)})
        assert rule.printed
        assert "Fig." in rule.source
        names = ("min_th", "max_th", "limit", "max_p", "w_q")
        assert [rule.values[name] for name in names] == printed
        low, high, limit, max_p, w_q = printed
        assert rule == sojourn.aqm(
            "red", min_th=f"{low:g}p", max_th=f"{high:g}p", max_p=max_p, w_q=w_q, limit=f"{limit:g}p"
        )


def test_the_reconstruction_is_labelled_and_approximates_the_table() -> None:
    for flows, low, high, limit, p, max_p, period, w_q in rows(RECONSTRUCTED):
        rule = rules.redopt(int(flows), reconstructed=True)
        assert not rule.printed
        assert "reconstruction" in rule.source
        assert rule.note
        found = [rule.values[name] for name in ("min_th", "max_th", "limit")]
        assert found == pytest.approx(
            [low, high, limit], abs=0.551
        )  # whole packets, and a vector of one digit
        for name, value in (("p", p), ("max_p", max_p), ("loss_period_s", period), ("w_q", w_q)):
            assert rule.values[name] == pytest.approx(value, rel=3e-3)


def test_another_network_is_computed() -> None:
    assert not rules.redopt(48).printed
    fast = rules.redopt(64, rate="100Mbit/s")
    assert not fast.printed
    assert fast.values["max_p"] < rules.redopt(64).values["max_p"]


def test_pi_follows_its_design_rule() -> None:
    for flows, rtt, capacity, f_s, z, gain, a, b in rows(DESIGNED):
        rule = rules.pi(int(flows), capacity, rtt, f_s=f_s)
        found = [rule.values[name] for name in ("z", "K", "a", "b")]
        assert found == pytest.approx([z, gain, a, b], rel=1e-8)
        assert rule.startswith("pi a ")


def test_the_published_gains_are_reproduced() -> None:
    rule = rules.pi(60, 3750, 0.2 + 175 / 3750, lag=False)
    assert (round(rule.values["a"], 8), round(rule.values["b"], 8)) == (1.822e-5, 1.816e-5)
    assert rule.values["f_s"] == 160
    with_lag = rules.pi(60, 3750, 0.2 + 175 / 3750).values["a"]
    assert with_lag == pytest.approx(1.0084 * rule.values["a"], rel=1e-4)


def test_the_result_of_a_rule_runs(small: sojourn.Scenario) -> None:
    rule = rules.pi(6, 463, "150ms", q_ref="10p")
    assert sojourn.run(small, aqms=[rule, rules.redopt(16)], seeds=1).aqms == [rule, rules.redopt(16)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rules.redopt(), "redopt needs flows or sessions"),
        (lambda: rules.redopt(0), "redopt.flows = 0 is too few"),
        (
            lambda: rules.redopt(sessions=1250),
            "is not in the paper's table (did you mean 1200?); allowed: 800",
        ),
        (lambda: rules.redopt(20, rate="10"), "redopt.rate = '10' has no unit"),
        (lambda: rules.redopt(20, tcp_share=2), "redopt.tcp_share = 2 is out of range"),
        (lambda: rules.redopt(20, rtts=["0s"]), "redopt.rtts = '0s' is zero"),
        (lambda: rules.pi(0, 3750, 0.2), "pi.flows = 0 is out of range"),
        (lambda: rules.pi(60, 3750, "0.2"), "pi.rtt = '0.2' has no unit"),
        (lambda: rules.pi(1000, 10, 0.2), "pi.f_s = 160.0 is too slow for this network"),
    ],
)
def test_a_wrong_input_is_one_line(call: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    assert said in str(caught.value)
