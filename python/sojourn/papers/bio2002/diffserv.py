"""RIO against BIO on a queue for assured forwarding: arms, measures and checks (section 4.2)."""

from __future__ import annotations

import math

import polars as pl

from sojourn.papers.bio2002.curves import EVEN, ODD
from sojourn.papers.checks import Below, Check, ShareOfSeeds, Within
from sojourn.papers.experiment import Arm, Experiment
from sojourn.papers.judge import All, WithRemark, WithSecondary
from sojourn.papers.terms import Quantity
from sojourn.record import Record
from sojourn.spec.scenario import Scenario

ID = "bio-diffserv"
#: "min_out = 10, max_out = 30, maxp_out = 0.5, min_in = 40, max_in = 70, maxp_in = 0.02", w_q 0.004. That
#: packets above the upper thresholds are dropped, ECN or not, is assumed.
RIO = {
    "limit": "100p",
    "min_out": "10p",
    "max_out": "30p",
    "max_p_out": "0.5",
    "min_in": "40p",
    "max_in": "70p",
    "max_p_in": "0.02",
    "w_q": "0.004",
    "gentle": "off",
    "ecn_forced": "drop",
}
#: "d_i,in = 0.0005, d_i,out = 0.01, d_d,in = 0.001, d_d,out = 0.01, max_in = qlim, min_in = max_in/2,
#: max_out = min_in and min_out = max_out/3"; hold times and drops at the thresholds are assumed.
BIO = {
    "limit": "100p",
    "d_i_in": "0.0005",
    "d_i_out": "0.01",
    "d_d_in": "0.001",
    "d_d_out": "0.01",
    "max_in": "100p",
    "min_in": "50p",
    "max_out": "50p",
    "min_out": "16.7p",
    "in_hold": "10ms",
    "out_hold": "10ms",
    "drop_at_max": "on",
}
#: RIO with the weight that "makes the RIO queue to oscillate widely".
SLOW = "RIO w_q=0.002"
ASSUMPTIONS = tuple(f"A-BIO-{i}" for i in (10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))
#: Nodes, and their in-profile rates in kbit/s per flow.
NODES = 10
PROMISED = {"even": EVEN, "odd": ODD}
#: Start phase, measured window, and the window of p_out.
START, WINDOW, LATE = (0.0, 66.0), (90.0, 190.0), (100.0, 190.0)

TITLES = {
    "max_queue_packets": "longest queue from 90 s on",
    "queue_max[0,66]": "longest queue up to 66 s",
    "overflow_drops": "drops by overflow",
    "p_out_min": "least p_out from 100 s on",
    "p_out_mean": "mean p_out from 100 s on",
    "out_queue_mean": "mean number of out packets in the queue from 100 s on",
    "drop_ratio": "loss rate",
    "utilization": "utilization",
    "std_queue_packets": "std. dev. of the queue",
}
PACKETS = ("max_queue_packets", "queue_max[0,66]", "overflow_drops", "out_queue_mean", "std_queue_packets")


def experiment(where: Scenario) -> Experiment:
    """Return RIO, RIO with the other weight, and BIO."""
    arms = (
        Arm("RIO", where, "rio", RIO),
        Arm(SLOW, where, "rio", {**RIO, "w_q": "0.002"}),
        Arm("BIO", where, "bio", BIO),
    )
    return Experiment(ID, "RIO against BIO, 1000 flows with profiles", "Figs. 17 to 22", arms, ASSUMPTIONS)


def measure(record: Record) -> dict[str, float | None]:
    """Return the measures of one run that the claims use beyond the library's metrics."""
    table = record.series()
    early = _within(table, *START)["queue_packets"]
    values: dict[str, float | None] = {
        "queue_max[0,66]": float(str(early.max())) if len(early) else None,
        "overflow_drops": float(record.queues[0]["drops"][0]),
    }
    return values | _bandwidths(record) | _out(_within(table, *LATE))


def _out(table: pl.DataFrame) -> dict[str, float | None]:
    """Return BIO's probability for out packets, and their mean backlog."""
    found: dict[str, float | None] = {}
    if "p_out" in table.columns and table.height:
        found["p_out_min"] = float(str(table["p_out"].min()))
        found["p_out_mean"] = float(str(table["p_out"].mean()))
    if OUT_COLUMN in table.columns and table.height:
        found["out_queue_mean"] = float(str(table[OUT_COLUMN].mean()))
    return found


#: The samples of the backlog of class 1: out of profile.
OUT_COLUMN = "class_1_packets"


def _bandwidths(record: Record) -> dict[str, float | None]:
    """Return each node's received rate, in Mbit/s and as a fraction of its flows' in-profile rate."""
    flows = record.flows
    values: dict[str, float | None] = {}
    for place, (name, rate) in enumerate(PROMISED.items()):
        mine = flows.filter(pl.col("traffic") == name)
        for i in range(NODES // 2):
            node = mine.filter(pl.col("index") % (NODES // 2) == i)
            mbits = int(node["received_packets"].sum()) * 8e-3 / record.seconds
            values[f"bandwidth_{2 * i + place}"] = mbits
            values[f"promise_kept_{2 * i + place}"] = (
                mbits * 1000 / (rate * node.height) if node.height else None
            )
    return values


def _within(table: pl.DataFrame, start: float, end: float) -> pl.DataFrame:
    return table.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end))


def of(metric: str, arm: str) -> Quantity:
    """Return a metric of one arm."""
    return Quantity(metric, arm, ID, "packets" if metric in PACKETS else "", TITLES.get(metric, metric))


def promise(arm: str, node: int) -> Quantity:
    """Return the received rate of a node as a fraction of its in-profile rate."""
    return Quantity(f"promise_kept_{node}", arm, ID, title=f"bandwidth of node {node} / its in-profile rate")


def checks() -> dict[str, Check]:
    """Return the check of every claim of section 4.2 by its id."""
    loss = {name: of("drop_ratio", name) for name in ("RIO", "BIO")}
    return {
        "BIO-28": ShareOfSeeds(
            "below the limit of 100 p", lambda most: most < 100, (of("max_queue_packets", "RIO"),)
        ),
        "BIO-29": ShareOfSeeds(
            "drops by overflow, and the queue reaches 100 p",
            lambda drops, most: drops > 0 and most == 100,
            tuple(of(metric, "BIO") for metric in ("overflow_drops", "max_queue_packets")),
        ),
        "BIO-30": WithRemark(
            ShareOfSeeds("at most 50 p", lambda most: most <= 50, (of("queue_max[0,66]", "BIO"),)),
            "Nothing holds in packets at 50: BIO drops them where the buffer ends (max_in = 100)",
        ),
        "BIO-31": ShareOfSeeds("more than 30 p", lambda most: most > 30, (of("queue_max[0,66]", "RIO"),)),
        "BIO-32": WithSecondary(
            ShareOfSeeds("1 throughout", lambda least: least >= 1, (of("p_out_min", "BIO"),)),
            also=Within(of("p_out_mean", "BIO"), 0.95, 1),
        ),
        "BIO-33": ShareOfSeeds("at most 17 p + 5 p", lambda mean: mean <= 22, (of("out_queue_mean", "BIO"),)),
        "BIO-34": All(
            tuple(Within(promise(arm, node), 0.95, math.inf) for arm in loss for node in range(NODES))
        ),
        "BIO-35": Within(loss["RIO"], 0.1674, 0.2274),
        "BIO-36": Within(loss["BIO"], 0.1496, 0.2096),
        "BIO-37": All(
            (
                Below(loss["BIO"], loss["RIO"], log=True),
                Within(loss["BIO"], 0.8, math.inf, loss["RIO"], ratio=True),
            )
        ),
        "BIO-38": Within(of("utilization", "BIO"), 0.97, 1.03, of("utilization", "RIO"), ratio=True),
        "BIO-39": Below(of("utilization", "BIO"), of("utilization", "RIO")),
        "BIO-40": Below(of("std_queue_packets", "RIO"), of("std_queue_packets", SLOW)),
    }
