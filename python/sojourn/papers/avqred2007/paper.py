"""The AVQRED paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from importlib import resources

from sojourn.papers.avqred2007.checks import checks
from sojourn.papers.avqred2007.equations import experiment, readings
from sojourn.papers.avqred2007.sections import sections
from sojourn.papers.paper import Paper
from sojourn.record import Record

DATA = resources.files(__package__) / "data"
TITLE = "A New Rate-based Active Queue Management: Adaptive Virtual Queue RED (AVQRED)"
CITATION = "D. J. Byun, J. S. Baras. CNSR 2007"


def measure(_record: Record) -> dict[str, float | None]:
    """Return nothing beyond the library's metrics: so far no packets are simulated."""
    return {}


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="avqred2007",
        title=TITLE,
        citation=CITATION,
        data=DATA,
        experiments=[experiment()],
        readings=readings(),
        checks=checks(),
        measure=measure,
        sections=sections,
    )
