"""The RAQM paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from sojourn.papers.answers import Question
from sojourn.papers.claims import rows
from sojourn.papers.experiment import Arm
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.raqm2005.checks import checks
from sojourn.papers.raqm2005.curves import at_queue, best_target
from sojourn.papers.raqm2005.experiments import FIGURES, experiments
from sojourn.papers.raqm2005.figures import READINGS
from sojourn.papers.raqm2005.measures import measure
from sojourn.papers.raqm2005.readings import readings
from sojourn.papers.raqm2005.sections import sections
from sojourn.papers.smallest import declared
from sojourn.worlds.fluid.raqm import c

DATA = resources.files(__package__) / "data"
CLAIMS = DATA / "claims.csv"
TITLE = "A stable rate-based algorithm for active queue management (RAQM)"
CITATION = "C. Wang, B. Li, Y. T. Hou, K. Sohraby, K. Long. Computer Communications 28, 2005"

#: Experiment and metric of a claim's number in ``published.csv``.
PUBLISHED = {
    "RAQM-01": ("raqm-theorems", "alpha_hat_times_r0"),
    "RAQM-09": ("raqm-theorems", "alpha_hat_times_r0"),
    "RAQM-11": ("raqm-theorems", "alpha_hat_times_r0"),
    "RAQM-18": ("raqm-fig5a", "queue_reference_q0"),
    "RAQM-21": ("raqm-fig5b", "queue_reference_q0"),
    "RAQM-24": ("raqm-fig6a", "queue_reference_q0"),
    "RAQM-27": ("raqm-fig6b", "queue_reference_q0"),
    "RAQM-30": ("raqm-fig7a", "queue_reference_q0"),
    "RAQM-33": ("raqm-fig7b", "queue_reference_q0"),
    "RAQM-41": ("raqm-fig8", "goodput_normalised"),
}

QUESTIONS = (
    Question(
        "Does RAQM hold the queue at its target?",
        ("RAQM-18", "RAQM-21", "RAQM-24", "RAQM-27", "RAQM-30", "RAQM-33"),
        "Yes, in every figure.",
        "No, in none of the figures, read as printed.",
        "In some of the figures only, read as printed.",
    ),
    Question(
        "Is the cause that RAQM counts dropped bytes, so that it has no equilibrium at the target?",
        ("RAQM-50",),
        "Yes: p_k rises to 1 and the queue settles at the target times the loss ratio.",
        "No.",
    ),
    Question(
        "Is RAQM's queue steadier than that of PI and REM?",
        ("RAQM-19", "RAQM-22", "RAQM-25", "RAQM-28", "RAQM-31", "RAQM-34"),
        "Yes, in every figure.",
        "No, in none.",
        "In some of the figures.",
    ),
    Question(
        "Does it respond faster?",
        ("RAQM-20", "RAQM-23", "RAQM-26", "RAQM-29", "RAQM-32", "RAQM-35"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does a larger gain converge faster (Theorem 2)?",
        ("RAQM-10",),
        "Yes.",
        "No: beyond half of the bound a larger gain is slower, and at the bound the rate alternates around "
        "its target.",
    ),
    Question(
        "Does the queue-independent mode hold the input rate, and with it the utilisation?",
        ("RAQM-51", "RAQM-52"),
        "Yes.",
        "No.",
        "The input rate, yes. The utilisation is that less the loss: with 400 flows 85 % of the wanted one.",
    ),
    Question(
        "Does a fifth of unresponsive traffic leave it stable, in packets (Theorems 4 and 5)?",
        ("RAQM-53", "RAQM-54"),
        "Yes.",
        "Mostly: under one static gain of four and one adaptive of three the rate varies a quarter more.",
    ),
    Question(
        "Does it have fewer drops and more goodput at an equal mean queue?",
        ("RAQM-39", "RAQM-40", "RAQM-47"),
        "Yes.",
        "No.",
    ),
)


def paper() -> Paper:
    """Return the paper."""
    printed = {(r["experiment_id"], r["metric"]): float(r["value"]) for r in rows(DATA / "published.csv")}
    return Paper(
        id="raqm2005",
        title=TITLE,
        citation=CITATION,
        data=DATA,
        experiments=experiments(),
        readings=readings(),
        checks=declared(checks(), DATA),
        measure=measure,
        sections=sections,
        published={claim: printed[place] for claim, place in PUBLISHED.items()},
        traced=traced,
        questions=QUESTIONS,
        cell=cell,
    )


def cell(row: Mapping[str, str]) -> Counterpart:
    """Return our counterpart of a row of ``published.csv``."""
    match row["metric"]:
        case "goodput_normalised":
            return Cell(at_queue("goodput", "RAQM", 20, row["experiment_id"]))
        case "q0_where_goodput_starts_to_fall":
            return Cell(best_target("goodput", row["algorithm"].split(";"), row["experiment_id"]))
        case "alpha_hat_times_r0":
            return c(1 + 1e-3)
    return "a setting of the runs; the mean queue that RAQM makes of it is judged by a claim"


def traced(reading: str, experiment: str, arm: Arm) -> bool:
    """Whether figures draw this arm over time."""
    single = experiment in FIGURES or experiment == "raqm-fig9"
    return single and (arm.name in ("PI", "REM", "RAQM") if reading == "" else reading in READINGS)
