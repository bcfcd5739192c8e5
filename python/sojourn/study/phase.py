"""Finds phase effects: repeats one seed with a microsecond of random send delay.

If all times of a network are exact, the clock decides whose packets find a full buffer, and a share of a
metric, most often of fairness, belongs to the numbers of the scenario (Floyd and Jacobson 1992). A
microsecond changes nothing else, so a metric that moves further than another seed would move it shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from sojourn.api import run
from sojourn.errors import InputError
from sojourn.format import number
from sojourn.metrics import find, label, shown
from sojourn.results import Results
from sojourn.runner.execute import Progress
from sojourn.spec.plan import is_tcp, tcp_options
from sojourn.spec.scenario import Scenario
from sojourn.spec.schema import TcpTraffic
from sojourn.stats import mean, prediction
from sojourn.warning_codes import coded

JITTER = "1us"
#: With fewer seeds no interval is known well enough.
LEAST_SEEDS = 3
#: A metric that moves by a smaller share of its mean does not matter.
LEAST_CHANGE = 0.01
#: The probability of a warning without phase effects, for all metrics and algorithms together.
ERROR = 0.05


class Moved(NamedTuple):
    """A metric that one microsecond moves out of the interval of the seeds.

    Attributes
    ----------
    aqm, metric : str
        Canonical spec; full name of the metric.
    value : float
        With jitter.
    low, high : float
        Where the value of a further seed is expected, from the seeds without jitter.
    """

    aqm: str
    metric: str
    value: float
    low: float
    high: float

    @property
    def warning(self) -> str:
        """What to print."""
        shape = find(self.metric)
        factor, unit = (shape.display.factor, shape.display.unit) if shape else (1.0, "")
        value, low, high = (number(factor * one) for one in (self.value, self.low, self.high))
        return coded(
            "W31",
            f"{self.aqm}: the {label(self.metric)} depends on exact times: it is {value}{unit and ' '}{unit} "
            f"with send_jitter = {JITTER}, and {low} to {high} is expected of another seed",
        )


def jittered(scenario: Scenario, seeds: int) -> Scenario:
    """Return the scenario with jitter.

    Raises
    ------
    InputError
        If there are too few seeds, or no TCP senders without random delays.
    """
    if seeds < LEAST_SEEDS:
        raise InputError("check-phase", f"needs intervals, of {seeds} seeds", f"at least {LEAST_SEEDS} seeds")
    exact = False
    for traffic in scenario.senders:
        if is_tcp(traffic):
            options = tcp_options(scenario, cast(TcpTraffic, traffic))
            exact |= options["send_jitter"] == 0 and options["overhead"] == 0
    if not exact:
        raise InputError(
            "check-phase",
            "has no TCP traffic without random delays",
            "a sender without send_jitter and overhead",
        )
    return scenario.with_(tcp={**scenario.tcp, "send_jitter": JITTER})


def phase_effects(
    results: Results,
    metrics: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Moved]:
    """Repeat the first seed with a microsecond of `send_jitter`, under every algorithm.

    Parameters
    ----------
    results : Results
        Results of the simulated world with three or more seeds.
    metrics : sequence of str
        The metrics to check; those of comparisons and Jain's index if empty.
    workers, progress
        As for ``sojourn.run``.

    Returns
    -------
    list of Moved
        The metrics outside the interval in which a further seed is expected (95 % for all together,
        Bonferroni) that moved by at least 1 % of their mean.

    Raises
    ------
    InputError
        If there are too few seeds, or no TCP senders without random delays.
    """
    scenario = jittered(results.scenario, len(results.seeds))
    repeated = run(scenario, results.aqms, [results.seeds[0]], workers=workers, progress=progress)
    known = set(repeated.metric_names) & set(results.metric_names)
    wanted = dict.fromkeys(metrics or (*shown("comparison"), "jain_index"))
    names = [name for name in wanted if name in known]
    level = 1 - ERROR / max(1, len(names) * len(results.aqms))
    found = []
    for aqm in results.aqms:
        for name in names:
            values = [one for one in results.values(aqm, name) if one is not None]
            (value,) = repeated.values(aqm, name)
            if value is None or len(values) < LEAST_SEEDS:
                continue
            centre, half = mean(values), prediction(values, level)
            if abs(value - centre) > max(half, LEAST_CHANGE * abs(centre)):
                found.append(Moved(aqm, name, value, centre - half, centre + half))
    return found
