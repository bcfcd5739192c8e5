"""The taildrop paper put together: claims, experiments, readings, checks and report."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from sojourn.papers.experiment import Arm
from sojourn.papers.paper import Paper
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.smallest import declared
from sojourn.papers.taildrop2001.checks import checks
from sojourn.papers.taildrop2001.experiments import FLOWS, MECHANISMS, SESSIONS, TESTBED, experiments, printed
from sojourn.papers.taildrop2001.measures import measure
from sojourn.papers.taildrop2001.quantities import GOODPUT, LOSS, of
from sojourn.papers.taildrop2001.questions import QUESTIONS
from sojourn.papers.taildrop2001.readings import readings
from sojourn.papers.taildrop2001.real import testbeds
from sojourn.papers.taildrop2001.sections import sections
from sojourn.papers.terms import Derived, Term

TITLE = "Comparison of tail drop and active queue management for bulk-data and web-like traffic"
CITATION = "C. Brandauer, G. Iannaccone, C. Diot, T. Ziegler, S. Fdida, M. May. IEEE ISCC 2001"

#: The metrics of the report's tables.
COLUMNS = {
    "tcp_goodput": ("TCP goodput", "Mbit/s"),
    "udp.drop_ratio": ("UDP loss", ""),
    "mean_delay_s": ("mean delay", "s"),
    "std_delay_s": ("std. dev.", "s"),
    "mean_queue_packets": ("mean queue", "packets"),
    "mean_drop_run": ("consecutive loss", "packets"),
    "drop_ratio": ("drop ratio", ""),
    "idle_share": ("idle", ""),
    "timeouts": ("time-outs", ""),
}


def paper() -> Paper:
    """Return the paper."""
    return Paper(
        id="taildrop2001",
        title=TITLE,
        citation=CITATION,
        data=resources.files(__package__) / "data",
        experiments=experiments(),
        readings=readings(),
        checks=declared(checks(), resources.files(__package__) / "data"),
        measure=measure,
        sections=sections,
        published={"TD-02": 8.4, "TD-07": 2, "TD-27": 300, "TD-29": 8.7, "TD-53": 16.7, "TD-54": 1},
        cell=cell,
        questions=QUESTIONS,
        columns=COLUMNS,
        traced=traced,
        testbeds=testbeds(),
    )


def traced(reading: str, experiment: str, arm: Arm) -> bool:
    """Whether a figure draws this arm over time: the fewest and the most flows of the testbed."""
    return not reading and experiment == TESTBED and int(arm.name.split()[1]) in (FLOWS[0], FLOWS[-1])


def cell(row: Mapping[str, str]) -> Counterpart:
    """Return our counterpart of a row of ``published.csv``."""
    goodput = [of(GOODPUT, name, load) for load in FLOWS for name in MECHANISMS]
    most = [of(GOODPUT, name, SESSIONS[-1]) for name in MECHANISMS]
    loss = (of(LOSS, "REDstd", FLOWS[0]), of(LOSS, "REDopt", FLOWS[0]))
    loads = (*FLOWS, *SESSIONS)
    drops = tuple(of("drop_ratio", "REDopt", load) for load in loads)

    def over_drops(*ratios: float) -> float | None:
        shares = [
            float(printed()["REDopt", n].max_p) / p for n, p in zip(loads, ratios, strict=True) if p > 0
        ]
        return sum(shares) / len(shares) if shares else None

    ratios = {
        "1000 vs 800 sessions": (drops[loads.index(800)], drops[loads.index(1000)]),
        "1400 vs 1200 sessions": (drops[loads.index(1200)], drops[loads.index(1400)]),
    }
    if row["metric"] == "max_p_ratio":  # max_p is to be twice the drop probability: ours is measured
        return Cell(Derived("", ratios[row["parameter_set"]], lambda a, b: b / a if a else None))
    known: dict[tuple[str, str], Term] = {
        ("tcp_goodput", "mean"): Derived("", tuple(goodput), lambda *x: sum(x) / len(x)),
        ("tcp_goodput", "max"): Derived("", tuple(most), lambda *x: max(x)),
        ("udp_arrival_rate_share", "value"): of("udp_share", "REDopt", 64),
        ("rtt_propagation", "min"): of("way_least_ms", "REDopt", 64),
        ("rtt_propagation", "max"): of("way_most_ms", "REDopt", 64),
        ("bandwidth_delay_product", "value"): of("pipe_packets", "REDopt", 64),
        ("udp_loss_ratio_std_over_opt", "value"): Derived("", loss, lambda a, b: a / b if b else None),
        ("max_p_over_drop_probability", "value"): Derived("", drops, over_drops),
    }
    found = known.get((row["metric"], row["statistic"]))
    return Cell(found) if found else "how often the authors ran it; ours are in the column n of the claims"
