"""The LDC paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from importlib import resources

from sojourn.papers.experiment import Arm
from sojourn.papers.ldc2002.cells import cell
from sojourn.papers.ldc2002.checks import checks
from sojourn.papers.ldc2002.experiments import experiments
from sojourn.papers.ldc2002.measures import measure
from sojourn.papers.ldc2002.questions import QUESTIONS
from sojourn.papers.ldc2002.readings import PICTURES, readings
from sojourn.papers.ldc2002.sections import sections
from sojourn.papers.paper import Paper
from sojourn.papers.smallest import declared

TITLE = "A comparison of load-based and queue-based active queue management algorithms (LDC)"
CITATION = "M. Kwon, S. Fahmy. Proceedings of SPIE ITCom, 2002"

#: The metrics of the report's tables: those of Table 1.
COLUMNS = {
    "http_response_time_mean": ("response time", "s"),
    "http_response_time_max": ("longest", "s"),
    "http_unfinished": ("pages unfinished", "%"),
    "udp_delay_mean": ("UDP delay", "s"),
    "udp_delay_max": ("longest", "s"),
    "ftp_delay_mean": ("FTP delay", "s"),
    "throughput_http": ("web", "Mbit/s"),
    "throughput_ftp": ("FTP", "Mbit/s"),
    "drop_ratio_http": ("web drops", "%"),
    "drop_ratio_udp": ("UDP drops", "%"),
    "drop_ratio_ftp": ("FTP drops", "%"),
    "timeouts": ("time-outs", ""),
}


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="ldc2002",
        title=TITLE,
        citation=CITATION,
        data=resources.files(__package__) / "data",
        experiments=experiments(),
        readings=readings(),
        checks=declared(checks(), resources.files(__package__) / "data"),
        measure=measure,
        sections=sections,
        published={"LDC-25": 1.6, "LDC-26": 20},
        traced=traced,
        cell=cell,
        questions=QUESTIONS,
        columns=COLUMNS,
    )


def traced(reading: str, experiment: str, _arm: Arm) -> bool:
    """Whether figures draw this arm over time."""
    return not reading and experiment in PICTURES
