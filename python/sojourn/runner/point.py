"""Points of a study: a scenario, an algorithm and a seed, with the permanent id of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sojourn import _core, worlds
from sojourn.algorithms import digests
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.scenario import Scenario

MOST_SEEDS = 1_000_000


@dataclass(frozen=True)
class Point:
    """One run.

    Parameters
    ----------
    scenario : Scenario
        The network and its traffic.
    spec : str
        The algorithm at the measured queue; a text is parsed to a `Spec`.
    seed : int
        Seed of all random numbers; with the same seed, every algorithm gets the same traffic.
    world : str
        The world that runs it: a key of `sojourn.worlds.REGISTRY`.
    """

    scenario: Scenario
    spec: str
    seed: int
    world: str = worlds.DEFAULT

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", Spec(self.spec))

    def __hash__(self) -> int:
        return hash(self.run_id)

    @property
    def plan_json(self) -> str:
        """The plan for the core."""
        return self.scenario.plan_json(self.spec)

    @cached_property
    def run_id(self) -> str:
        """Hash of all inputs of a result: plan, spec, seed, world, versions, and algorithms in Python."""
        parts: tuple[str, ...] = (self.plan_json, self.spec, str(self.seed), _core.CORE_VERSION)
        parts += tuple(digests(self.plan_json))
        if version := worlds.find(self.world).version():
            parts += (self.world, version)
        return digest(*parts)


def digest(*parts: str, length: int = 16) -> str:
    """Return a short hexadecimal name for `parts`.

    Examples
    --------
    >>> digest("a", "b") == digest("ab")
    False
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:length]


def points(
    scenario: Scenario, specs: Iterable[str], seeds: Iterable[int], world: str = worlds.DEFAULT
) -> list[Point]:
    """Return every algorithm with every seed, seed by seed, so that partial results are balanced."""
    parsed = [Spec(spec) for spec in specs]
    return [Point(scenario, spec, seed, world) for seed in seeds for spec in parsed]
