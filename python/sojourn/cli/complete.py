"""What a shell completes: names of algorithms and parameters, metrics, keys, worlds, papers, templates.

Files are completed by the shell itself, where nothing here matches.
"""

from __future__ import annotations

from collections.abc import Iterable

import typer

from sojourn import _core, templates
from sojourn.cli import topics
from sojourn.metrics import METRICS
from sojourn.worlds import REGISTRY


def matching(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin with what was typed, each once."""
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def algorithms() -> list[str]:
    """Return the names of all algorithms."""
    return [one["name"] for one in (*_core.algorithms(), *_core.schedulers())]


def specs(incomplete: str) -> list[str]:
    """Complete the name of an algorithm; after it, within quotes, that of a parameter.

    Examples
    --------
    >>> specs("cod"), specs("codel targ")
    (['codel'], ['codel target'])
    """
    before, blank, last = incomplete.rpartition(" ")
    if not blank:
        return matching(algorithms(), last)
    return [f"{before} {name}" for name in matching(_parameters([before.split()[0]]), last)]


def metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    return matching(METRICS, incomplete)


def worlds(incomplete: str) -> list[str]:
    """Complete the name of a world."""
    return matching(REGISTRY, incomplete)


def papers(incomplete: str) -> list[str]:
    """Complete the id of a paper."""
    from sojourn.papers import PAPERS

    return matching([*PAPERS, "all"], incomplete)


def template_names(incomplete: str) -> list[str]:
    """Complete the name of a template."""
    return matching(templates.names(), incomplete)


def varied(context: typer.Context, incomplete: str) -> list[str]:
    """Complete what a sweep or search varies: keys of scenarios, parameters of the given algorithms."""
    given = [spec.split()[0] for spec in context.params.get("aqm") or [] if spec.strip()]
    parameters = _parameters(given or algorithms())
    if context.command.name == "tune":
        return matching(parameters, incomplete)
    return matching([*topics.paths(), "aqm", *(f"aqm.{name}" for name in parameters)], incomplete)


def _parameters(names: Iterable[str]) -> list[str]:
    """Return the parameters of algorithms, without those of unknown ones."""
    known = {one["name"]: one["params"] for one in (*_core.algorithms(), *_core.schedulers())}
    return [one["name"] for name in names for one in known.get(name, ())]
