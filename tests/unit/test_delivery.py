"""One-way delay, jitter, losses and late packets of datagrams, and the E-model of calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

import sojourn
from sojourn import Scenario
from sojourn.errors import InputError
from sojourn.metrics import e_model
from sojourn.metrics.e_model import CODECS, mos, rating

LINK = """
name = "calls"
duration = "20s"
conventions = "rfc"
warmup = "5s"
[dumbbell]
rate = "{rate}"
delay = "10ms"
access = {{ rate = "1Gbit/s" }}
server = {{ rate = "1Gbit/s" }}
[queue]
limit = "{limit}"
"""
CALL = '[[traffic]]\nname = "call"\nkind = "call"\n'
PROBE = '[[traffic]]\nname = "ping"\nkind = "probe"\n'
GAME = '[[traffic]]\nname = "game"\nkind = "game"\ninterval = "10ms"\nsize = "250B"\ndeadline = "30ms"\n'
FTP = '[[traffic]]\nname = "ftp"\nkind = "tcp"\nvariant = "newreno"\npayload = "1000B"\n'


def measured(traffic: str, rate: str = "10Mbit/s", limit: str = "100p", more: str = "") -> Mapping[str, Any]:
    """Return the metrics of one run."""
    scenario = Scenario.from_toml(LINK.format(rate=rate, limit=limit) + traffic + more)
    (outcome,) = sojourn.run(scenario, ["droptail"], seeds=1).outcomes
    return outcome.metrics


def test_the_defaults_of_the_e_model_give_93_2() -> None:
    """G.107, clause 7.7: R = 93.2 with all defaults; Ro = 94.77, Is = 1.41, Id = 0.15."""
    noise, basic = e_model._basic()
    assert round(basic, 2) == 94.77
    assert round(e_model._simultaneous(noise, basic, 0.0), 2) == 1.41
    assert round(e_model._delayed(noise, basic, 0.0), 2) == 0.15
    assert round(rating(0.0), 1) == 93.2


@pytest.mark.parametrize(
    ("codec", "loss", "burst", "expected"),
    [
        ("g711-no-plc", 0.01, 1.0, 95 / 5.3),  # 0 + 95 x 1 / (1 / 1 + 4.3)
        ("g711", 0.02, 1.0, 190 / 27.1),
        ("g711", 0.02, 2.0, 190 / 26.1),  # 2 / 2 + 25.1
        ("g729a", 0.0, 1.0, 11.0),
        ("g729a", 0.05, 1.0, 11 + 84 * 5 / 24),
    ],
)
def test_losses_impair_a_call_as_in_g107(codec: str, loss: float, burst: float, expected: float) -> None:
    assert rating(0.0) - rating(0.0, loss, burst, CODECS[codec]) == pytest.approx(expected)


def test_too_long_a_delay_impairs_a_call_as_in_g107() -> None:
    """At 200 ms X = 1: Idd = 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2)."""
    expected = 25 * (2 ** (1 / 6) - 3 * (1 + 3**-6) ** (1 / 6) + 2)
    assert (e_model._too_long(100.0), e_model._too_long(200.0)) == (0.0, pytest.approx(expected))


def test_a_rating_of_50_is_a_score_of_2_58() -> None:
    """G.107, annex B: 1 + 0.035 x 50 + 50 x (-10) x 50 x 7e-6 = 2.575."""
    assert (mos(50.0), mos(0.0), mos(100.0)) == (pytest.approx(2.575), 1.0, 4.5)


def test_a_call_alone_has_the_delay_of_its_path() -> None:
    """200 bytes take 1.6 us, 160 us and 1.6 us on the three links, and 10 ms between them."""
    found = measured(CALL)
    for name in ("mean", "p50", "p99", "max"):
        assert found[f"call.{name}_owd_s"] == pytest.approx(0.0101632, rel=1e-9 if name == "mean" else 1 / 64)
    assert found["call.jitter_s"] == found["call.loss_ratio"] == found["call.late_ratio"] == 0
    assert found["call.max_loss_period"] == 0
    assert found["call.mean_loss_period"] is None
    assert found["call.mouth_to_ear_s"] == pytest.approx(0.0101632 + 0.020)
    assert found["call.burst_ratio"] == 1
    assert found["call.mos"] == pytest.approx(mos(rating(0.0301632)))


def test_what_a_queue_drops_is_lost_and_what_it_delays_is_late() -> None:
    """Two calls and a game at a queue that a download fills: its packets wait for up to 40 ms."""
    found = measured(CALL + "count = 2\n" + GAME + FTP, rate="2Mbit/s", limit="10p")
    for name in ("call", "game"):
        assert 0 < found[f"{name}.loss_ratio"] == pytest.approx(found[f"{name}.drop_ratio"], rel=0.02)
        assert found[f"{name}.mean_loss_period"] >= 1
        assert found[f"{name}.jitter_s"] > 0
        assert 0 < found[f"{name}.p999_pdv_s"] < found[f"{name}.p999_owd_s"]
    assert found["game.late_ratio"] > found["game.loss_ratio"]
    assert found["game.p50_owd_s"] < 0.030 < found["game.p99_owd_s"]
    assert 0.01 * (1 - found["game.loss_ratio"]) < found["game.late_ratio"] - found["game.loss_ratio"] < 0.5
    assert "game.mos" not in found
    assert 1 < found["call.mos"] < mos(rating(found["call.mouth_to_ear_s"]))


def test_the_delay_variation_of_tcp_is_above_the_lowest_bucket() -> None:
    """The SYN of each transfer meets an empty queue; buckets are 1/64 wide."""
    short = FTP.replace('"tcp"', '"tcp-short"') + 'arrivals = "0.5/s"\nsize = "10kB"\nheader = "40B"\n'
    found = measured(short, rate="2Mbit/s", more="[trace]\ndelays = true\n")
    least = found["ftp.p999_owd_s"] - found["ftp.p999_pdv_s"]
    shortest = 0.010 + 40 * 8 * (1 / 2e6 + 2 / 1e9)
    assert shortest * 63 / 64 <= least <= shortest


def test_a_fixed_playout_time_is_the_delay_of_a_call() -> None:
    found = measured(CALL + 'playout = "9ms"\ncodec = "g729a"\n')
    assert (found["call.late_ratio"], found["call.mouth_to_ear_s"]) == (1.0, pytest.approx(0.034))
    assert found["call.r_factor"] == pytest.approx(rating(0.034, 1.0, 1.0, CODECS["g729a"]))
    assert measured(CALL + 'playout = "11ms"\n')["call.late_ratio"] == 0


def test_tcp_has_one_way_delays_if_they_are_asked_for() -> None:
    assert "ftp.p99_owd_s" not in measured(FTP)
    found = measured(FTP, more="[trace]\ndelays = true\n")
    assert found["ftp.p50_owd_s"] <= found["ftp.p99_owd_s"] <= found["ftp.max_owd_s"]
    queue = found["p99_delay_s"] + 0.010 + 2 * 1052 * 8e-9 + 1052 * 8e-7
    assert found["ftp.p99_owd_s"] == pytest.approx(queue, rel=1 / 32)
    assert "ftp.jitter_s" not in found


def test_metrics_of_a_stored_run_are_those_of_its_record(tmp_path: Any) -> None:
    """The tables of arrivals are stored, also where only some runs have them."""
    scenario = Scenario.from_toml(LINK.format(rate="2Mbit/s", limit="10p") + CALL + GAME + PROBE)
    results = sojourn.run(scenario, ["droptail", "red"], seeds=2, out=tmp_path / "a")
    stored = sojourn.open(tmp_path / "a").study
    for mine, theirs in zip(results.outcomes, stored.outcomes, strict=True):
        assert mine.metrics == theirs.metrics
        frame = theirs.record.deliveries
        assert frame["traffic"].to_list() == ["call", "game", "ping"]
        assert math.isclose(frame["jitter_s"][0], mine.metrics["call.jitter_s"])


def test_a_probe_alone_has_the_round_trip_time_of_its_path() -> None:
    """84 bytes take 0.672 us, 67.2 us and 0.672 us on the three links, and 10 ms between them, twice."""
    found = measured(PROBE)
    one_way = 0.010 + 84 * 8 * (1e-7 + 2e-9)
    assert found["ping.mean_owd_s"] == pytest.approx(one_way, rel=1e-9)
    for name in ("mean", "max"):
        assert found[f"ping.{name}_rtt_s"] == pytest.approx(2 * one_way, rel=1e-9)
    for name in ("p50", "p99"):
        assert found[f"ping.{name}_rtt_s"] == pytest.approx(2 * one_way, rel=1 / 64)
    assert found["ping.loss_ratio"] == 0
    assert "call.mean_rtt_s" not in measured(CALL)


def test_a_probe_waits_in_both_directions() -> None:
    """The round-trip time exceeds the delay to the receiver by that of the queue on the reverse path."""
    more = 'direction = "reverse"\n'
    back = '[dumbbell.reverse_queue]\nlimit = "10p"\n'
    fast = PROBE + 'interval = "7ms"\n'
    links = LINK.replace("[queue]", back + "[queue]")
    scenario = Scenario.from_toml(links.format(rate="2Mbit/s", limit="10p") + fast + FTP + more)
    (outcome,) = sojourn.run(scenario, ["droptail"], seeds=1).outcomes
    found, row = outcome.metrics, outcome.record.deliveries
    assert found["ping.mean_owd_s"] < 0.030
    assert found["ping.mean_rtt_s"] - found["ping.mean_owd_s"] > 0.020
    assert row["echoes"][0] < row["received_packets"][0]
    assert row["rtt_s"][0] == pytest.approx(found["ping.mean_rtt_s"])
    assert (
        found["ping.p50_rtt_s"] <= found["ping.p99_rtt_s"] <= found["ping.max_rtt_s"] == row["max_rtt_s"][0]
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('codec = "opus"', "codec = 'opus' is not one of the allowed words"),
        ('playout = "soon"', "playout = 'soon'"),
    ],
)
def test_wrong_keys_of_a_call_are_refused(line: str, expected: str) -> None:
    with pytest.raises((InputError, ExceptionGroup, ValueError)) as caught:
        Scenario.from_toml(LINK.format(rate="2Mbit/s", limit="10p") + CALL + line + "\n")
    assert expected in str(caught.value)


def test_a_poisson_source_waits_as_in_md1() -> None:
    """Packets of 1 ms at a load of 0.8 wait 0.5 x 0.8 / (1 - 0.8) = 2 ms (Pollaczek and Khinchine).

    Seen to fail: constant gaps, which never wait.
    """
    source = '[[traffic]]\nname = "poisson"\nkind = "udp-poisson"\nrate = "8Mbit/s"\nsize = "1250B"\n'
    text = LINK.format(rate="10Mbit/s", limit="1000p").replace('"20s"', '"200s"') + source
    results = sojourn.run(Scenario.from_toml(text), ["droptail"], seeds=3)
    waits, rates = (results.values("droptail", name) for name in ("mean_delay_s", "throughput_bps"))
    assert sum(waits) / 3 == pytest.approx(0.002, rel=0.03)
    assert sum(rates) / 3 == pytest.approx(8e6, rel=0.01)
