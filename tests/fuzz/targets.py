"""The targets of fuzzing: how an input is made from a seed, and which outcomes are allowed.

`Target.run` raises an error for each outcome that is not allowed. The input of a new crash becomes a file in
``corpus/`` and is then tried, unchanged and mutated, in every run. Packets are fuzzed in
``crates/gateway/tests/packets.rs``.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import random
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sojourn
from fuzz import mutate
from sojourn import _core
from sojourn.errors import MOST_ERRORS, InputErrors
from sojourn.results import Results
from sojourn.spec.toml import dumps
from sojourn.study.compare import Comparison
from sojourn.study.sweep import directory as sweep_directory
from sojourn.study.tune import directory as tune_directory
from sojourn.worlds.simulated.memory_bound import bound

CORPUS = Path(__file__).parent / "corpus"
#: A larger plan is not built, as in commands, which compare its bound with their memory.
MOST_MEMORY = 1_000_000_000
#: Longest message, in characters: the lists of all metrics and all algorithms are the longest.
MOST_MESSAGE = 8000


class Found(AssertionError):  # noqa: N818 - a result
    """A reader had an outcome that is not allowed: the input, and the outcome."""


@dataclass(frozen=True)
class Target:
    """A reader of inputs.

    Attributes
    ----------
    make : callable
        Returns an input for a source of random numbers.
    run : callable
        Reads it; raises `Found`, or anything that is not an error for the user.
    """

    make: Callable[[random.Random], Any]
    run: Callable[[Any], None]


def search(target: Target, cases: int, first: int = 0) -> int:
    """Try inputs; raise `Found` with the first that fails. Return the number of inputs tried."""
    for seed in range(first, first + cases):
        given = target.make(random.Random(seed))
        try:
            target.run(given)
        except Found as found:
            raise Found(f"seed {seed}: {found}: {given!r:.2000}") from None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            raise Found(f"seed {seed}: {type(error).__name__}: {error}: {given!r:.2000}") from error
    return cases


@functools.cache
def corpus(name: str) -> tuple[bytes, ...]:
    """Return the inputs that are kept for a target; plans also follow from the scenarios."""
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    return (*kept, *(_plans_of_scenarios() if name == "plans" else ()))


def _plans_of_scenarios() -> list[bytes]:
    """Return the plan of each scenario of the corpus, so that no plan is of an earlier format."""
    scenarios = [sojourn.Scenario.from_toml(text.decode()) for text in corpus("scenarios")]
    plans = [scenario.plan() for scenario in scenarios]
    varying = copy.deepcopy(plans[0])  # the path of a trace would not be of this corpus
    varying["topology"]["dumbbell"]["capacity"] = {"steps": {"steps": [[10**9, 10**7]], "repeats": True}}
    return [json.dumps(plan).encode() for plan in (*plans, varying)]


@functools.cache
def _trees(name: str) -> tuple[Any, ...]:
    read = json.loads if name == "plans" else tomllib.loads
    return tuple(read(text.decode()) for text in corpus(name))


def _is_clear(error: sojourn.InputError) -> None:
    _are_lines(error)
    if not error.problem:
        raise Found(f"the message is {str(error)[:500]!r}")


def _are_lines(error: sojourn.SojournError) -> None:
    """Require one line, or if the input has several mistakes one for each, and no more than 21."""
    lines = str(error).split("\n")
    most = MOST_ERRORS + 1 if isinstance(error, InputErrors) else 1
    if len(lines) > most or any(not line or len(line) > MOST_MESSAGE for line in lines):
        raise Found(f"the message is {str(error)[:500]!r}")


# Specs: the grammar of the core.


def _specs() -> list[bytes]:
    return [line for text in corpus("specs") for line in text.splitlines() if line]


def read_spec(text: bytes) -> None:
    """Read a spec as text, and again in its canonical form."""
    spec = text.decode(errors="replace")
    try:
        canonical = sojourn.aqm(spec)
        info = _core.spec_info(spec)
    except sojourn.InputError as error:
        _is_clear(error)
        return
    if info["known"] and (sojourn.aqm(canonical), _core.spec_info(canonical)) != (canonical, info):
        raise Found(f"{spec!r} -> {canonical!r} reads back as {sojourn.aqm(canonical)!r}")


SPECS = Target(lambda rng: rng.choice([mutate.data, mutate.words])(rng, _specs()), read_spec)

# Plans: JSON for the core.


def _plans(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return mutate.data(rng, corpus("plans")).decode(errors="replace")
    return json.dumps(mutate.tree(rng, _trees("plans")))


def read_plan(text: str) -> None:
    """Check a plan in the core, which raises a ValueError (or its subclass PlanError) if it is wrong."""
    with contextlib.suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        if bound(text).untraced > MOST_MEMORY:
            return
    try:
        _core.check(text)
    except _core.PlanError as error:
        if not error.key or not error.problem:
            raise Found(f"a refusal without place or reason: {error}") from None
    except ValueError as error:
        if not str(error):
            raise Found("a refusal without a reason") from None


PLANS = Target(_plans, read_plan)

# Scenarios and plans of sweeps: TOML.


def _scenarios(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return mutate.data(rng, corpus("scenarios")).decode(errors="replace")
    return dumps(mutate.tree(rng, _trees("scenarios")))


def read_scenario(text: str) -> None:
    """Read a scenario, write it, plan it and check the plan."""
    try:
        scenario = sojourn.Scenario.from_toml(text)
        again = sojourn.Scenario.from_toml(scenario.to_toml())
        if again != scenario:
            raise Found("another scenario after writing and reading")
        plan = scenario.plan_json()
        if bound(plan).untraced <= MOST_MEMORY:
            read_plan(plan)
    except sojourn.InputError as error:
        _is_clear(error)


SCENARIOS = Target(_scenarios, read_scenario)

# Results directories: manifests, tables, scenarios and plans of sweeps.


def damaged(rng: random.Random, source: Path, target: Path) -> str:
    """Copy a results directory and damage one or two of its files; return what was changed."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    files = sorted(path for path in target.rglob("*") if path.is_file() and path.suffix != ".html")
    changes = []
    for path in rng.sample(files, rng.randint(1, 2)):
        content = path.read_bytes()
        kind = rng.randrange(4)
        if kind == 0:
            path.unlink()
        elif path.suffix == ".json" and kind < 3:
            path.write_text(json.dumps(mutate.tree(rng, [json.loads(content)])))
        elif path.suffix == ".toml" and kind < 3:
            path.write_text(dumps(mutate.tree(rng, [tomllib.loads(content.decode())])))
        elif kind == 1:
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        else:
            flipped = bytearray(content)
            for _ in range(rng.choice([1, 1, 30])):
                if flipped:
                    flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            path.write_bytes(flipped)
        changes.append(f"{path.relative_to(target)} {kind}")
    return ", ".join(changes)


def stored(source: Path, target: Path) -> Target:
    """Return the target of a results directory, which is copied to `target`."""
    return Target(lambda rng: damaged(rng, source, target), lambda _changes: read_stored(target))


def read_stored(folder: Path) -> None:
    """Read a results directory as reports and the status of a sweep do, but for the figures."""
    readers: list[Callable[[], Any]] = [lambda: _tables(Results.open(folder))]
    if (folder / sweep_directory.PLAN).exists():
        readers = [lambda: sweep_directory.status(folder), lambda: sweep_directory.reopen(folder).summary()]
    elif (folder / tune_directory.MANIFEST).exists():
        readers = [lambda: tune_directory.reopen(folder).table()]
    for read in readers:
        try:
            read()
        except sojourn.SojournError as error:
            _are_lines(error)


def _tables(results: Results) -> None:
    results.summary()
    comparison = Comparison.of(results)
    if comparison is not None:
        comparison.table()
    results.trace("queue")
