"""The BIO paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from importlib import resources

from sojourn.papers.bio2002.checks import checks
from sojourn.papers.bio2002.experiments import CASES, TRACED, experiments
from sojourn.papers.bio2002.measures import measure
from sojourn.papers.bio2002.readings import readings
from sojourn.papers.bio2002.sections import sections
from sojourn.papers.experiment import Arm
from sojourn.papers.learned import Lesson
from sojourn.papers.paper import Paper

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


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="bio2002",
        title=TITLE,
        citation=CITATION,
        data=DATA,
        experiments=experiments(),
        readings=readings(),
        checks=checks(),
        measure=measure,
        sections=sections,
        traced=traced,
        lessons=LESSONS,
        columns=COLUMNS,
    )


def traced(reading: str, experiment: str, arm: Arm) -> bool:
    """Whether figures draw this arm over time."""
    return not reading and experiment in CASES and arm.name.endswith(f" {TRACED}p")


LESSONS = (
    Lesson(
        "With ECN and long round trips, is BLUE better than RED for a thousand flows?",
        ("BIO-01", "BIO-07", "BIO-09"),
        "Yes: more throughput, a steadier queue and fewer drops at every queue size.",
        "No.",
    ),
    Lesson(
        "Does RED then oscillate between empty and full?",
        ("BIO-05", "BIO-06", "BIO-11"),
        "Yes, and most of its drops are overflows, although it marks all it can.",
        "No.",
    ),
    Lesson(
        "With short round trips, is RED's queue simply full?",
        ("BIO-14", "BIO-15", "BIO-18"),
        "Yes: it marks at its largest rate and still behaves like a drop-tail queue.",
        "No.",
    ),
    Lesson(
        "Does BLUE lose its lead without ECN?",
        ("BIO-20", "BIO-21", "BIO-22", "BIO-25"),
        "Yes: throughputs come close, and RED controls the queue.",
        "No.",
    ),
)
