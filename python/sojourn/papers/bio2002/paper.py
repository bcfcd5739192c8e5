"""The BIO paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from sojourn.papers.answers import Question
from sojourn.papers.bio2002 import diffserv
from sojourn.papers.bio2002.checks import checks
from sojourn.papers.bio2002.curves import profile_share
from sojourn.papers.bio2002.experiments import CASES, SIZES, TRACED, experiments
from sojourn.papers.bio2002.measures import measure
from sojourn.papers.bio2002.readings import readings
from sojourn.papers.bio2002.sections import sections
from sojourn.papers.claims import rows
from sojourn.papers.experiment import Arm
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.smallest import declared
from sojourn.papers.terms import Quantity

DATA = resources.files(__package__) / "data"
TITLE = "BIO: an alternative to RIO"
CITATION = "Okuroglu, Oktug. Proceedings of SPIE 4524, 2001"

#: The metrics of the report's tables.
COLUMNS = {
    "utilization": ("throughput (share)", ""),
    "drop_ratio": ("drop rate", ""),
    "forced_share": ("drops by overflow", ""),
    "mark_ratio": ("mark ratio", ""),
    "mean_queue_packets": ("mean queue", "packets"),
    "std_queue_packets": ("std. dev.", "packets"),
    "idle_share": ("idle", ""),
    "timeouts": ("timeouts", ""),
}


#: Algorithm and metric of a claim's number in ``published.csv``.
PUBLISHED = {
    "BIO-35": ("RIO", "loss_rate"),
    "BIO-36": ("BIO", "loss_rate"),
    "BIO-41": ("all", "in_profile_share_of_capacity"),
}


def paper() -> Paper:
    """Return the paper."""
    printed = {(r["algorithm"], r["metric"]): float(r["value"]) for r in rows(DATA / "published.csv")}
    return Paper(
        id="bio2002",
        title=TITLE,
        citation=CITATION,
        data=DATA,
        experiments=experiments(),
        readings=readings(),
        checks=declared(checks(), DATA),
        measure=measure,
        sections=sections,
        traced=traced,
        questions=QUESTIONS,
        columns=COLUMNS,
        published={claim: printed[place] for claim, place in PUBLISHED.items()},
        cell=cell,
    )


def traced(reading: str, experiment: str, arm: Arm) -> bool:
    """Whether figures draw this arm over time."""
    if experiment == diffserv.ID:
        return not reading
    return not reading and experiment in CASES and arm.name.endswith(f" {TRACED}p")


def cell(row: Mapping[str, str]) -> Counterpart:
    """Return our counterpart of a row of ``published.csv``."""
    if row["metric"] == "in_profile_share_of_capacity":
        return profile_share()
    found = BESIDE[row["experiment_id"], row["algorithm"], row["metric"]]
    return Cell(Quantity(*found, row["experiment_id"]))


#: Our metric and arm for a published number.
BESIDE = {
    (diffserv.ID, "RIO", "loss_rate"): ("drop_ratio", "RIO"),
    (diffserv.ID, "BIO", "loss_rate"): ("drop_ratio", "BIO"),
    (diffserv.ID, "BIO", "p_m_out"): ("p_out_mean", "BIO"),
    (diffserv.ID, "BIO", "queue_length"): ("queue_max[0,66]", "BIO"),
    ("bio-case1", "BLUE", "link_utilisation"): ("utilization", f"BLUE {SIZES[-1]}p"),
    ("bio-case1", "BLUE", "drop_rate"): ("drop_ratio", f"BLUE {SIZES[-1]}p"),
}


QUESTIONS = (
    Question(
        "With ECN and long round trips, is BLUE better than RED for a thousand flows?",
        ("BIO-01", "BIO-07", "BIO-09"),
        "Yes: more throughput, a steadier queue and fewer drops at every queue size.",
        "No.",
    ),
    Question(
        "Does RED then oscillate between empty and full?",
        ("BIO-05", "BIO-06", "BIO-11"),
        "Yes, and most of its drops are overflows, although it marks at its largest rate.",
        "No.",
    ),
    Question(
        "With short round trips, is RED's queue simply full?",
        ("BIO-14", "BIO-15", "BIO-18"),
        "Yes: it marks at its largest rate and still behaves like a drop-tail queue.",
        "No.",
    ),
    Question(
        "Does BLUE lose its lead without ECN?",
        ("BIO-20", "BIO-21", "BIO-22", "BIO-25"),
        "Yes: throughputs come close, and RED controls the queue.",
        "No.",
    ),
    Question(
        "Does RIO keep its queue below the limit?",
        ("BIO-28",),
        "Yes.",
        "No: it overflows.",
    ),
    Question(
        "Does BIO overflow?",
        ("BIO-29",),
        "Yes, as the text says.",
        "No.",
    ),
    Question(
        "Does BIO's probability for out packets stay at 1 after it has reached 1?",
        ("BIO-32",),
        "Yes: in packets alone keep the queue above its threshold.",
        "No: it falls below 1 whenever the queue falls below min_out or the link is idle.",
    ),
    Question(
        "Do few out packets remain in BIO's queue?",
        ("BIO-33",),
        "Yes.",
        "No.",
    ),
    Question(
        "Do both give every node its in-profile rate?",
        ("BIO-34",),
        "Yes.",
        "No, not every node.",
    ),
    Question(
        "Are the loss rates of RIO and BIO as printed?",
        ("BIO-35", "BIO-36", "BIO-37"),
        "Yes.",
        "No.",
    ),
    Question(
        "Do RIO and BIO carry the same, as the text says?",
        ("BIO-38",),
        "Yes, within 3 %.",
        "No.",
    ),
    Question(
        "Does BIO waste bandwidth, as the abstract says?",
        ("BIO-39",),
        "Yes, it carries less than RIO.",
        "No, it carries more than RIO.",
    ),
)
