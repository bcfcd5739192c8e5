"""Random scenarios: every accepted one runs to its end, conserves packets, and gives valid metrics.

Mutants seen to fail: an unknown ratio as NaN instead of None; jitter inverted (1 - jitter), which the core
refuses.
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn
from sojourn import _core
from sojourn.metrics import compute
from sojourn.runner.execute import execute
from sojourn.runner.point import points

SIZES = st.integers(40, 1500).map("{}B".format)
DATAGRAMS = st.one_of(SIZES, st.sampled_from(["uniform 40B 1500B", "exponential 400B"]))
RATES = st.floats(0.05, 20).map("{:.3f}Mbit/s".format)
DELAYS = st.integers(0, 200_000).map("{}us".format)
STARTS = st.sampled_from(["0s", "1s", "uniform 0s 2s", "exponential 500ms"])
SPECS = st.sampled_from(
    [one["name"] for one in (*_core.algorithms(), *_core.schedulers())]
    + ["prio aqm_1 (fq_codel flows 4)", "drr classes 2 precedences 3 aqm rio"]
)
MARKERS = st.sampled_from([None, "token_bucket cir 500kbit/s cbs 5kB", "tsw3cm cir 100kbit/s pir 1Mbit/s"])
LIMITS = st.one_of(st.integers(1, 300).map("{}p".format), st.integers(2, 200).map("{}kB".format))

IMPAIRMENTS = st.sampled_from(
    [
        {"loss": "2%", "jitter": "uniform 0ms 20ms", "in_order": False},
        {"loss": 0.01, "loss_burst": 3, "jitter": "normal 5ms 2ms", "reorder": "10%", "reorder_gap": 3},
        {"gilbert_elliott": {"p": "1%", "r": "30%", "loss_good": 0.001}, "duplicate": "3%"},
    ]
)


def hosts() -> st.SearchStrategy[dict[str, Any]]:
    delays = st.lists(DELAYS, min_size=1, max_size=3)
    nodes = st.one_of(st.integers(1, 4), st.just("flow"))
    return st.fixed_dictionaries({"rate": RATES, "delays": delays}, optional={"nodes": nodes})


def traffic(position: int) -> st.SearchStrategy[dict[str, Any]]:
    common = {
        "name": st.just(f"t{position}"),
        "start": STARTS,
        "direction": st.sampled_from(["forward", "forward", "reverse"]),
        "class": st.integers(0, 4),
        "marker": MARKERS,
    }
    options = st.fixed_dictionaries(
        {},
        optional={
            "delayed_ack": st.sampled_from(["0s", "40ms", "200ms"]),
            "initial_window": st.integers(0, 10),
            "receiver_window": st.integers(1, 100),
            "limited_transmit": st.booleans(),
            "min_rto": st.sampled_from(["0s", "200ms", "1s"]),
            "syn": st.booleans(),
        },
    )
    tcp = {
        **common,
        "variant": st.sampled_from(["reno", "newreno", "sack"]),
        "payload": st.one_of(SIZES, st.just("uniform 100B 900B")),
        "header": st.sampled_from(["0B", "40B", "60B"]),
        "tcp": options,
    }
    amounts = st.sampled_from(["1B", "500B", "20kB", "uniform 1B 50kB", "exponential 10kB"])
    lifetimes = st.sampled_from(["10ms", "uniform 0s 1s", "exponential 300ms"])
    arrivals = st.sampled_from(["1/s", "20/s", "0.1/s"])
    short = {**tcp, "kind": st.just("tcp-short"), "arrivals": arrivals}
    gaps = st.sampled_from(["10ms", "exponential 200ms", "pareto 100ms 1.5", "lomax 100ms 2"])
    ramps = st.fixed_dictionaries({"every": gaps}, optional={"by": st.integers(1, 3)})
    web = {
        **tcp,
        "max_rate": RATES,
        "kind": st.just("web"),
        "count": st.integers(1, 5),
        "size": st.sampled_from(["1B", "5kB", "pareto 4kB 1.2", "lomax 4kB 1.2"]),
        "page_gap": gaps,
        "page_gap_from": st.sampled_from(["end", "start"]),
        "objects": st.sampled_from(["1", "2.5", "pareto 3 1.5", "uniform 1 4"]),
        "object_gap": gaps,
        "respond": st.sampled_from(["received", "acknowledged"]),
    }
    return st.one_of(
        st.fixed_dictionaries(
            web, optional={"pages": st.integers(1, 3), "request": SIZES, "patience": gaps, "stagger": ramps}
        ),
        st.fixed_dictionaries({**tcp, "kind": st.just("tcp"), "count": st.integers(1, 12)}),
        st.fixed_dictionaries(
            {
                **tcp,
                "payload": st.sampled_from(["100B", "1448B"]),
                "kind": st.just("video"),
                "count": st.integers(1, 5),
                "ladder": st.sampled_from([["1Mbit/s"], ["100kbit/s", "500kbit/s", "5Mbit/s"]]),
                "segment": st.sampled_from(["100ms", "300ms"]),
                "buffer": st.just("600ms"),
                "startup": st.sampled_from(["1ms", "500ms"]),
                "reservoir": st.sampled_from(["0s", "200ms"]),
                "cushion": st.sampled_from(["1ms", "400ms"]),
            },
            optional={"request": SIZES},
        ),
        st.fixed_dictionaries(
            {
                **tcp,
                "kind": st.just("tcp-onoff"),
                "count": st.integers(1, 12),
                "rate": RATES,
                "on": st.sampled_from(["10ms", "500ms"]),
                "off": st.sampled_from(["10ms", "500ms"]),
            }
        ),
        st.fixed_dictionaries({**short, "size": amounts}),
        st.fixed_dictionaries({**short, "lifetime": lifetimes}),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("udp-cbr"),
                "count": st.integers(1, 3),
                "rate": RATES,
                "size": DATAGRAMS,
                "jitter": st.floats(0, 0.99),
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("call"),
                "count": st.integers(1, 3),
                "codec": st.sampled_from(["g711", "g711-no-plc", "g729a"]),
                "playout": st.sampled_from(["adaptive", "1ms", "120ms"]),
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("game"),
                "count": st.integers(1, 3),
                "interval": st.sampled_from(["7ms", "16ms"]),
                "deadline": st.sampled_from(["1ms", "50ms"]),
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("udp-poisson"),
                "count": st.integers(1, 3),
                "rate": RATES,
                "size": DATAGRAMS,
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("probe"),
                "count": st.integers(1, 3),
                "interval": st.sampled_from(["7ms", "100ms"]),
            }
        ),
        st.fixed_dictionaries(
            {
                **common,
                "kind": st.just("udp-onoff"),
                "count": st.integers(1, 3),
                "rate": RATES,
                "size": DATAGRAMS,
                "pareto": st.sampled_from([None, 1.5]),
                "on": st.sampled_from(["10ms", "500ms"]),
                "off": st.sampled_from(["10ms", "500ms"]),
            }
        ),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> sojourn.Scenario:
    queue = st.fixed_dictionaries({"limit": LIMITS, "ecn": st.booleans()})
    dumbbell = {"rate": draw(RATES), "delay": draw(DELAYS), "access": draw(hosts()), "server": draw(hosts())}
    if draw(st.integers(0, 3)) == 0:
        dumbbell["capacity"] = {"every": "33ms", "rate": f"uniform 10kbit {dumbbell['rate']}"}
    for key in ("impairment", "reverse_impairment"):
        if draw(st.integers(0, 3)) == 0:
            dumbbell[key] = draw(IMPAIRMENTS)
    if draw(st.booleans()):
        dumbbell["reverse_queue"] = {**draw(queue), "aqm": draw(SPECS)}
    return sojourn.Scenario(
        name="random",
        duration="3s",
        warmup=draw(st.sampled_from(["0s", "1s", "2999ms"])),
        conventions=draw(st.sampled_from(_core.CONVENTIONS)),
        dumbbell=dumbbell,
        queue={**draw(queue), "aqm": draw(SPECS)},
        traffic=[draw(traffic(i)) for i in range(draw(st.integers(1, 3)))],
        trace={"interval": "50ms", "drops": True, "cwnd": True},
    )


def _limits(spec: str, conventions: str | None) -> int:
    """Return how often a queue may hold its limit: once, or once for each of at most eight classes."""
    if "limits shared" in spec or "evict lowest" in spec:
        return 1
    each = spec.startswith("prio") or "limits class" in spec
    return 8 if each or (spec.startswith("drr") and conventions == "linux") else 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(), st.integers(0, 2**53 - 1))
def test_every_accepted_scenario_gives_a_consistent_record(scenario: sojourn.Scenario, seed: int) -> None:
    (outcome,) = execute(points(scenario, [scenario.queue.aqm], [seed]))  # type: ignore[union-attr]
    record, values = outcome.record, outcome.metrics
    for name, value in values.items():
        assert value is None or math.isfinite(value), name
        assert value is None or value >= 0 or name.endswith("r_factor"), name
        is_share = name.endswith(("_ratio", "share", "jain_index")) and not name.endswith("burst_ratio")
        if is_share and value is not None:
            # After a warm-up, packets that arrived before it may be dropped, too.
            early = name.endswith("_ratio") and scenario.warmup != "0s"
            assert value <= 1 + 1e-9 or early, (name, value)
    for queue in record.queues:
        waiting = queue["arrivals"] - queue["departures"] - sum(queue["drops"])
        several = _limits(queue["spec"], scenario.conventions)
        limit = several * (queue["limit_packets"] or queue["limit_bytes"])
        assert -limit <= waiting <= limit
        assert queue["departed_bytes"] + queue["dropped_bytes"] <= queue["arrived_bytes"] + 1500 * limit
        if queue["limit_packets"]:
            assert queue["max_packets"] <= several * queue["limit_packets"]
        sent = queue["departed_bytes"] * 8
        assert sent <= queue["capacity_bits"] + 1600 * 8, "no more than the link carries"
    flows = record.flows
    assert flows["queue_arrivals"].sum() == record.queues[0]["arrivals"]
    assert flows["queue_drops"].sum() == sum(record.queues[0]["drops"])
    assert flows["queue_marks"].sum() == sum(record.queues[0]["marks"])
    # Two mark by default; the others follow the queue's setting.
    own_ecn = any(name in scenario.queue.aqm for name in ("fq_codel", "dualpi2"))  # type: ignore[union-attr]
    if not own_ecn and not scenario.queue.ecn:  # type: ignore[union-attr]
        assert sum(record.queues[0]["marks"]) == 0
    objects = record.objects
    assert (objects["completion_time_s"].drop_nulls() >= 0).all()
    assert (record.pages["response_time_s"].drop_nulls() >= 0).all()
    series = record.series()
    assert series.height == 60
    assert (series["queue_mean_square"] + 1e-9 >= series["queue_mean"] ** 2).all()
    assert compute(record) == values


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_a_scenario_reads_back_and_runs_alike(scenario: sojourn.Scenario) -> None:
    again = sojourn.Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    spec = scenario.queue.aqm  # type: ignore[union-attr]
    (one,), (two,) = (list(execute(points(s, [spec], [1]))) for s in (scenario, again))
    assert one.metrics == two.metrics


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        sojourn.Scenario.from_toml(text)
    except sojourn.InputError as error:
        assert all(line.startswith("scenario") for line in str(error).split("\n"))


KEYS = st.sampled_from(
    ["name", "duration", "queue", "limit", "traffic", "kind", "rate", "x", "access", "tcp"]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["10Mbit/s", "1s", "-1s", "0B", "100p", "tcp", "udp-cbr"]),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, TREES, max_size=6))
def test_no_data_breaks_the_check(data: dict[str, Any]) -> None:
    base = {
        "name": "x",
        "duration": "1s",
        "dumbbell": {
            "rate": "1Mbit",
            "delay": "1ms",
            "access": {"rate": "1Mbit", "delay": "1ms"},
            "server": {"rate": "1Mbit", "delay": "1ms"},
        },
        "queue": {"limit": "5p"},
        "traffic": [{"name": "a", "kind": "udp-cbr", "rate": "1Mbit", "size": "1kB"}],
    }
    try:
        sojourn.Scenario(**{**base, **data})
    except sojourn.InputError as error:
        assert all(line.startswith("scenario: ") for line in str(error).split("\n"))


@given(st.text(alphabet="red pi dropta_min0123456789.kBp-+eE/s\t", max_size=40))
def test_no_spec_breaks_the_parser(text: str) -> None:
    try:
        canonical = sojourn.aqm(text)
    except sojourn.InputError as error:
        assert "\n" not in str(error)
    else:
        assert _core.canonical(canonical) == canonical
