"""Points of a study: a scenario, an algorithm and a seed, with the permanent id of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    stored_id : str
        Of a run that was read from a folder: its id there; otherwise empty.
    """

    scenario: Scenario
    spec: str
    seed: int
    world: str = worlds.DEFAULT
    stored_id: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", Spec(self.spec))

    def __hash__(self) -> int:
        return hash(self.run_id)

    @cached_property
    def plan_json(self) -> str:
        """The plan for the core."""
        return self.scenario.plan_json(self.spec)

    @cached_property
    def run_id(self) -> str:
        """Hash of all inputs of a result: plan, spec, seed, world, versions, and algorithms in Python."""
        return self.stored_id or run_id(
            self.plan_json, self.spec, self.seed, self.world, digests(self.plan_json)
        )


def run_id(
    plan_json: str, spec: str, seed: int, world: str, code: Sequence[str], core: str | None = None
) -> str:
    """Return the id of a run; `code` has the hashes of its algorithms in Python (`algorithms.digests`).

    Without `core`, the version of the core is that of this process.
    """
    parts: tuple[str, ...] = (plan_json, spec, str(seed), core or _core.CORE_VERSION, *code)
    if version := worlds.find(world).version():
        parts += (world, version)
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
