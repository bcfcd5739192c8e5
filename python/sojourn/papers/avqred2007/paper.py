"""The AVQRED paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from importlib import resources

from sojourn.papers.avqred2007 import equations, readings
from sojourn.papers.avqred2007.cells import cell
from sojourn.papers.avqred2007.checks import checks
from sojourn.papers.avqred2007.experiments import TWIN, experiments
from sojourn.papers.avqred2007.measures import TABLE2, measure
from sojourn.papers.avqred2007.questions import QUESTIONS
from sojourn.papers.avqred2007.real import testbeds
from sojourn.papers.avqred2007.sections import sections
from sojourn.papers.avqred2007.settings import BEST
from sojourn.papers.experiment import Arm
from sojourn.papers.paper import Paper
from sojourn.papers.smallest import declared

TITLE = "A New Rate-based Active Queue Management: Adaptive Virtual Queue RED (AVQRED)"
CITATION = "D. J. Byun, J. S. Baras. CNSR 2007"
#: The metrics of the report's tables: those of Table 2, and further ones that explain them.
COLUMNS = {
    **TABLE2,
    "drop_ratio": ("loss ratio", ""),
    "arrivals_100ms": ("arrivals per 100 ms", "packets"),
    "mean_packet": ("packets that leave", "B"),
    "mean_drop_run": ("drops in a row", ""),
}


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="avqred2007",
        title=TITLE,
        citation=CITATION,
        data=resources.files(__package__) / "data",
        experiments=[*experiments(), equations.experiment()],
        readings=[*readings.readings(), *equations.readings()],
        checks=declared(checks(), resources.files(__package__) / "data"),
        measure=measure,
        sections=sections,
        traced=traced,
        cell=cell,
        questions=QUESTIONS,
        columns=COLUMNS,
        testbeds=testbeds(),
    )


def traced(reading: str, experiment: str, arm: Arm) -> bool:
    """Whether figures draw this arm over time."""
    return not reading and experiment == TWIN and arm.name in BEST.values()
