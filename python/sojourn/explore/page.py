"""From a scenario to the live page: one HTML file with everything that it needs.

The simulator is part of the page if `make wasm` has built it from the same sources as the native core;
otherwise the page asks a local server (`server.py`). `web/` has the sources of the script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from sojourn import _core, files, templates
from sojourn.errors import RunFailed
from sojourn.explore.controls import controls, dependent, measured_path
from sojourn.explore.tours import Tour, tours
from sojourn.spec.plan import is_tcp
from sojourn.spec.scenario import Scenario
from sojourn.spec.units import number
from sojourn.worlds.simulated.memory import refusal, run_limit, trace_limit

#: Points of a curve, and the shortest time between two samples, ns.
SAMPLES, SHORTEST = 800, 1_000_000
#: Congestion windows and rates are recorded if there are at most this number of sources.
MOST_FLOWS = 32
#: Points of a curve of rates.
RATES = 200
#: What the scenario's own algorithm is compared with, if nothing else is asked for.
BASELINES = ("droptail", "codel")
#: The scenario without a file: a home link, shorter than the template.
DEFAULT = templates.HOME


def default() -> Scenario:
    """Return the home link, with a duration that a page simulates at once."""
    text = templates.text(DEFAULT, "home.toml")
    return Scenario.from_toml(text, "home.toml").with_(duration="20s", warmup="5s")


def observed(scenario: Scenario) -> Scenario:
    """Return the scenario with the samples and traces that the page draws."""
    duration = number("span", scenario.duration)
    interval = max(SHORTEST, -(-duration // SAMPLES // SHORTEST) * SHORTEST)
    sources = sum(one.count for one in scenario.senders if is_tcp(one))
    trace = {"interval": f"{interval}ns", "drops": True}
    if 0 < sources <= MOST_FLOWS:
        rates = -(-duration // RATES // interval) * interval
        trace |= {"cwnd": True, "flows": f"{rates}ns"}
    return scenario.with_(trace=trace)


def engine() -> bytes | None:
    """Return the simulator as a compressed WebAssembly module, None if there is none of this version."""
    file = resources.files(__package__) / f"engine-{_core.CORE_VERSION}.wasm.gz"
    return file.read_bytes() if file.is_file() else None


def page(
    scenario: Scenario,
    specs: Sequence[str] = (),
    tour: str | None = None,
    server: bool = False,
    tours_of: bool = False,
    stored: Mapping[str, str] | None = None,
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    scenario : Scenario
        What is simulated first.
    specs : sequence of str
        Algorithms side by side; without any, that of the scenario and drop tail or CoDel.
    tour : str, optional
        The guided tour that is open at the start.
    server : bool
        Whether a local server simulates; otherwise the module in the page does.
    tours_of : bool
        Whether the page offers the tours; they are about the default scenario.
    stored : mapping of str to str, optional
        By algorithm, the digest of what a stored run with seed 1 has counted (`sojourn.report.lab.counters`):
        the page compares its first run with that instead of one of the native simulator.

    Raises
    ------
    InputError
        If the scenario has no single measured queue, or there is no such tour.
    RuntimeError
        If the page needs the module and it has not been built.
    """
    from jinja2 import BaseLoader, Environment, StrictUndefined

    module = None if server else engine()
    if module is None and not server:
        raise RuntimeError("the simulator for web pages has not been built: make wasm")
    data = _data(scenario, list(specs), tours(tour) if tours_of else [], tour, stored)
    data["engine"] = None if module is None else base64.b64encode(module).decode()
    script, worker = _asset("page.js"), _asset("worker.js")
    data["worker"] = worker
    environment = Environment(loader=BaseLoader(), autoescape=True, undefined=StrictUndefined)
    return environment.from_string(_asset("page.html")).render(
        title=scenario.name,
        style=_asset("page.css"),
        script=script,
        script_hash=script_hash(script),
        data=_embedded(data),
    )


def script_hash(script: str | None = None) -> str:
    """Return the hash of a script, by default the page's own, for a content security policy."""
    text = _asset("page.js") if script is None else script
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def write(html: str, path: Path) -> Path:
    """Write the page; the file is replaced atomically."""
    files.write(path, html)
    return path


def _data(
    scenario: Scenario,
    specs: list[str],
    tours: list[Tour],
    tour: str | None,
    stored: Mapping[str, str] | None,
) -> dict[str, Any]:
    shown = observed(scenario)
    own = str(_measured_spec(shown))
    chosen = specs or [*[one for one in BASELINES if one != own][:1], own]
    return {
        "version": _core.CORE_VERSION,
        "scenario": {"name": scenario.name, "toml": scenario.to_toml()},
        "plan": shown.plan(),
        "measured": measured_path(shown),
        "controls": [one.as_json() for one in controls(shown)],
        "dependent": dependent(shown),
        "algorithms": [_algorithm(one) for one in (*_core.algorithms(), *_core.schedulers())],
        "specs": chosen,
        "digests": {} if stored is not None else {spec: _digest(shown, spec) for spec in chosen},
        "stored": dict(stored or {}),
        "tours": [one.as_json() for one in tours],
        "tour": tour,
    }


def _digest(scenario: Scenario, spec: str) -> str:
    plan, limit = scenario.plan_json(spec), run_limit(1)
    if (error := refusal(plan, limit)) is not None:
        raise RunFailed(f"{scenario.name}, {spec}: {error}")
    view = json.loads(_core.view(plan, 1, None, trace_limit(limit)))
    return str(view["digest"])


def _measured_spec(scenario: Scenario) -> str:
    at: Any = scenario.plan()
    for key in measured_path(scenario):
        at = at[key]
    return str(at["aqm"])


def _algorithm(described: Any) -> dict[str, Any]:
    keys = ("name", "kind", "unit", "default", "range", "choices", "doc", "derived")
    params = [{key: one[key] for key in keys} for one in described["params"] if one["name"] != "ecn"]
    doc = str(described["doc"]).split("\n\n")[0].replace("\n", " ")
    return {
        "name": described["name"],
        "title": described["title"],
        "doc": doc,
        "params": params,
        "probes": {one["name"]: one.get("unit") or "" for one in described["probes"]},
    }


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """Return JSON that no browser reads as markup."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")
