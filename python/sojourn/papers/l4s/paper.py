"""The evaluation of DualPI2 put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from sojourn.papers.answers import Question
from sojourn.papers.l4s.checks import checks, of
from sojourn.papers.l4s.experiments import DYNAMIC, LINKS, experiments, name
from sojourn.papers.l4s.measures import measure
from sojourn.papers.l4s.readings import readings
from sojourn.papers.l4s.sections import sections
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.smallest import declared
from sojourn.papers.terms import Derived

DATA = resources.files(__package__) / "data"
TITLE = "Dual Queue Coupled AQM: deployable very low queuing delay for all (DualPI2, L4S)"
CITATION = "K. De Schepper, O. Albisser, O. Tilmans, B. Briscoe. arXiv 2209.01078, 2022; RFC 9332, 2023"

QUESTIONS = (
    Question(
        "Do L4S packets wait for less than 2 ms at the 99th percentile?",
        ("L4S-02", "L4S-03"),
        "Yes, on every link and with web pages.",
        "No.",
    ),
    Question("Are they never dropped?", ("L4S-04",), "Yes, on every link.", "No."),
    Question("Is the link fully used?", ("L4S-05",), "Yes, on every link.", "No, not on every link."),
    Question(
        "Do scalable and classic flows get about the same rate?",
        ("L4S-07", "L4S-08", "L4S-09", "L4S-10"),
        "Yes, within a factor of two everywhere.",
        "No, not on every link.",
    ),
    Question(
        "Is the dual queue needed: do scalable senders starve classic ones in a single queue?",
        ("L4S-11",),
        "Yes.",
        "No, not on every link.",
    ),
    Question(
        "Does classic traffic keep its performance?",
        ("L4S-12", "L4S-13"),
        "Yes, rate and delay.",
        "No.",
    ),
)
#: The metrics of the report's tables.
COLUMNS = {
    "ratio": ("ratio of rates", ""),
    "l4s_p50": ("median delay, first flow", "ms"),
    "l4s_p99": ("99th percentile, first flow", "ms"),
    "classic_mean": ("mean delay, second flow", "ms"),
    "l4s_losses": ("losses, first flow", "packets"),
    "utilization": ("utilization", ""),
}


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="l4s",
        title=TITLE,
        citation=CITATION,
        data=DATA,
        experiments=experiments(),
        readings=readings(),
        checks=declared(checks(), DATA),
        measure=measure,
        sections=sections,
        published={"L4S-02": 2, "L4S-03": 2},
        questions=QUESTIONS,
        cell=cell,
        columns=COLUMNS,
    )


def cell(row: Mapping[str, str]) -> Counterpart:
    """Return our counterpart of a row of ``published.csv``: the smallest or largest value of all links."""
    metric = row["metric"]
    if row["experiment_id"] == DYNAMIC:
        return Cell(of(metric, "DualPI2", DYNAMIC))
    every = tuple(of(metric, name("Prague+CUBIC", "DualPI2", *link)) for link in LINKS)
    extreme = min if row["statistic"] == "min" else max
    return Cell(Derived("", every, lambda *values: extreme(values)))
