"""Points of a study: one scenario, one algorithm, one seed, and the id that names the run for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sojourn import _core, worlds
from sojourn.algorithms import digests
from sojourn.spec.scenario import Scenario

MOST_SEEDS = 1_000_000


@dataclass(frozen=True)
class Point:
    """One run to be made.

    Parameters
    ----------
    scenario : Scenario
        What happens.
    spec : str
        The algorithm at the measured queue, in canonical form.
    seed : int
        Of every random number; the same seed gives every algorithm the same demand.
    world : str
        Where it is run: a key of `sojourn.worlds.REGISTRY`.
    """

    scenario: Scenario
    spec: str
    seed: int
    world: str = "simulated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", _core.canonical(self.spec))

    def __hash__(self) -> int:
        return hash(self.run_id)

    @property
    def plan_json(self) -> str:
        """The plan that the core runs."""
        return self.scenario.plan_json(self.spec)

    @cached_property
    def run_id(self) -> str:
        """Hash of everything that the result depends on: resolved scenario, spec, seed, world, version.

        And of the file, where an algorithm is the user's own.
        """
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
    scenario: Scenario, specs: Iterable[str], seeds: Iterable[int], world: str = "simulated"
) -> list[Point]:
    """Return every algorithm under every seed, seed by seed, so that comparisons fill up evenly."""
    names = list(specs)
    return [Point(scenario, spec, seed, world) for seed in seeds for spec in names]
