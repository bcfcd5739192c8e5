"""Chooses the warm-up of a scenario by a pilot: the shortest one after which every algorithm has settled.

The pilot has seeds of its own, so that the runs that follow are independent of the choice. The length of the
window stays; the end of the run moves with the warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.algorithms import Aqm
from sojourn.api import run
from sojourn.errors import InputError
from sojourn.metrics.diagnostics import parts_of
from sojourn.spec.scenario import Scenario
from sojourn.stats.warmup import NOT_SETTLED, SETTLED, Settling, settling
from sojourn.worlds import Executor

SEEDS = 5
#: The first seed of the pilot, far from those of studies.
SEED_FROM = 900_000_001
#: Warm-ups to try, in windows, by the length of the pilot runs, in windows.
TRIED = {2.0: (1 / 8, 1 / 4, 1 / 2, 1.0), 5.0: (2.0, 4.0)}


@dataclass(frozen=True)
class Pilot:
    """A scenario with the chosen warm-up.

    Attributes
    ----------
    scenario : Scenario
        The scenario; its window is as long as before.
    outcomes : dict of str to Settling
        The outcome of each algorithm with this warm-up.
    """

    scenario: Scenario
    outcomes: dict[str, Settling]

    @property
    def sentence(self) -> str:
        """How the warm-up was chosen."""
        warmup, end = self.scenario.seconds
        words = {one.outcome for one in self.outcomes.values()}
        how = "settled" if words == {SETTLED} else NOT_SETTLED if NOT_SETTLED in words else "inconclusive"
        return (
            f"warm-up: {warmup:g} s of {end:g} s, chosen by a pilot of {SEEDS} seeds from {SEED_FROM}: {how}"
            + ("" if how == "settled" else f" with the longest of {max(TRIED.values())[-1]:g} windows")
        )


def pilot(
    scenario: Scenario,
    aqms: Sequence[str | Aqm | type[Aqm]] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Pilot:
    """Run a pilot and return the scenario with the shortest warm-up after which every algorithm has settled.

    Parameters
    ----------
    scenario : Scenario
        The scenario; its own warm-up only sets the length of the window.
    aqms : sequence of str or Aqm, optional
        The algorithms; the scenario's if None.
    workers, executor
        As for ``sojourn.run``.

    Raises
    ------
    InputError
        If the demand changes at given times, so that no warm-up makes it stationary.
    """
    for one in scenario.traffic:
        if one.stop is not None:
            raise InputError(
                "warmup", f"= auto needs traffic that does not stop: {one.name} does", "a time, like 20s"
            )
    if scenario.phase:
        raise InputError("warmup", "= auto needs a scenario without phases", "a time, like 20s")
    begin, end = scenario.seconds
    window = end - begin
    chosen = begin
    found: dict[str, Settling] = {}
    for length, shares in TRIED.items():
        tried = scenario.with_(warmup="0s", duration=f"{length * window:.9g}s", trace={"interval": "off"})
        results = run(tried, aqms, SEEDS, SEED_FROM, workers, executor=executor)
        for share in shares:
            chosen = share * window
            found = {}
            for aqm in results.aqms:
                runs = [one.record for one in results.outcomes if one.point.spec == aqm]
                # The pilot may be longer than the run; its end is no evidence about the window of the run.
                known = [parts_of(one, (chosen, chosen + window)) for one in runs]
                found[aqm] = settling([one for one in known if one is not None], window)
            if all(one.outcome == SETTLED for one in found.values()):
                return Pilot(_moved(scenario, chosen, window), found)
    return Pilot(_moved(scenario, chosen, window), found)


def _moved(scenario: Scenario, warmup: float, window: float) -> Scenario:
    return scenario.with_(warmup=f"{warmup:.9g}s", duration=f"{warmup + window:.9g}s")
