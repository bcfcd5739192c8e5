"""The figures of a run over time: queue, drops, the state of the algorithms, congestion windows, flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from sojourn import _core, plots
from sojourn.errors import InputError
from sojourn.report import live
from sojourn.report.document import Block, Figure, Text
from sojourn.spec.aqm_spec import Spec

Registry = Mapping[str, Mapping[str, Any]]
#: Algorithms whose state is drawn.
STATES = 4
#: Probes that are times of the run's clock; figures show the time until then.
CLOCK = ("first_above_time", "drop_next")


class Traced(Protocol):
    """The part of results that these figures read; also ``scenario.seconds``, if present."""

    def trace(self, what: str = "queue", aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Columns aqm, seed, time_s and the values."""


def over_time(
    results: Traced, specs: Sequence[str], seeds: Sequence[int], registry: Registry | None
) -> list[Block]:
    """Return the figures of the measured queue, of the algorithms, and of what else was recorded."""
    if not seeds:
        return []
    first = results.trace("queue", seed=seeds[0])
    if first.height == 0 or "queue_packets" not in first.columns:
        return [Text("No samples over time were kept.")]
    order = pl.DataFrame({"aqm": list(specs)}).with_row_index("_order")
    first = _from_now(first.join(order, on="aqm").sort("_order", "time_s").drop("_order"))
    probes = {spec: _varying(first.filter(pl.col("aqm") == spec)) for spec in specs}
    units = {spec: _probe_units(spec, registry) for spec in specs}
    warmup, _ = getattr(getattr(results, "scenario", None), "seconds", (None, None))
    drops = _recorded(results, "drops")
    every = live.over_time(
        _from_now(results.trace("queue")),
        specs,
        seeds,
        {spec: [(name, units[spec].get(name, "")) for name in probes[spec]] for spec in specs},
        warmup,
        drops,
    )
    shaded = [] if not warmup else [(0.0, warmup)]
    data, kept = every if every is not None else (None, list(seeds))
    caption = f"Waiting packets over time, seed {seeds[0]}: samples (pale) and their means over 1 s (strong)."
    if shaded:
        caption += " Shaded: the warm-up."
    if drops is not None and drops.height:
        caption += " Ticks at the top: drops of a seed, on the screen."
    found: list[Block] = [
        Figure(
            plots.queue_traces(first, shaded=shaded),
            f"{caption}{live.in_words(kept, seeds)}",
            live=data,
        )
    ]
    stateful = [spec for spec in specs if probes[spec]]
    for spec, title in plots.labels(specs).items():
        names = probes[spec]
        if spec in stateful[:STATES]:
            rows = first.filter(pl.col("aqm") == spec)
            figure = plots.probes(rows, spec, names=names, units=units[spec], shaded=shaded)
            meaning = _probe_meaning(spec, names, registry)
            found.append(Figure(figure, f"State of {title} below its queue; seed {seeds[0]}. {meaning}"))
    if len(stateful) > STATES:
        others = ", ".join(plots.labels(specs)[spec] for spec in stateful[STATES:])
        where = "is in the menu of the figure over time" if data else "is in a report of fewer algorithms"
        found.append(Text(f"The state of {others} has no figure of its own; it {where}."))
    return [*found, *_flows(results, specs, seeds, warmup)]


def _flows(results: Traced, specs: Sequence[str], seeds: Sequence[int], warmup: float | None) -> list[Block]:
    """Return the windows and rates of flows, if the scenario recorded them."""
    found: list[Block] = []
    for what, build, value, words, unit in (
        ("cwnd", live.windows, "cwnd", "Congestion windows", "Window (packets)"),
        (
            "flows",
            live.rates,
            "goodput_bps",
            "Rates, windows and round-trip times of flows",
            "Goodput (Mbit/s)",
        ),
    ):
        rows = _recorded(results, what)
        if rows is None or not rows.height:
            continue
        end = float(rows["time_s"].max())  # type: ignore[arg-type]
        made = build(rows, specs, seeds, warmup, end)
        if made is None:
            continue
        data, kept, count = made
        still = rows.filter(pl.col("seed") == seeds[0])
        first = int(still["flow"].to_numpy().min())
        still = still.filter(pl.col("flow") == first).sort("aqm", "time_s")
        scale = 1e-6 if value == "goodput_bps" else 1.0
        svg = plots.queue_traces(
            still.with_columns(pl.col(value) * scale), value=value, smooth=None, y_label=unit, title=words,
            shaded=[] if not warmup else [(0.0, warmup)],
        )  # fmt: skip
        some = f" The page has the first {live.FLOWS} of {count} flows." if count > live.FLOWS else ""
        caption = f"{words}; in print flow {first}, seed {seeds[0]}.{some}{live.in_words(kept, seeds)}"
        found.append(Figure(svg, caption, live=data))
    return found


def _recorded(results: Traced, what: str) -> pl.DataFrame | None:
    """Return a trace, None if the results do not have it."""
    if getattr(results, "scenario", None) is None or not hasattr(results, "outcomes"):
        return None
    try:
        return results.trace(what)
    except (InputError, KeyError):
        return None


def _from_now(trace: pl.DataFrame) -> pl.DataFrame:
    """Replace times of the run's clock by the time until then; 0 if that has passed."""
    known = [name for name in CLOCK if name in trace.columns]
    return trace.with_columns((pl.col(name) - pl.col("time_s")).clip(lower_bound=0.0) for name in known)


def _varying(rows: pl.DataFrame) -> list[str]:
    """Return the probes that are not 0 all the time, such as those of an option that is off."""
    return [name for name in plots.probe_names(rows) if rows[name].drop_nulls().abs().max() != 0]


def set_values(spec: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name of an algorithm and the parameters that its spec sets."""
    try:
        parsed = Spec(spec)
    except ValueError:
        return (spec.split() or [""])[0], {}
    return parsed.name, parsed.values


def known_algorithms(registry: Registry | None) -> Registry:
    """Return the algorithms by name: `registry`, or those of the core."""
    if registry is not None:
        return registry
    return {str(entry["name"]): entry for entry in (*_core.algorithms(), *_core.schedulers())}


def _probes(spec: str, registry: Registry | None) -> list[Mapping[str, Any]]:
    entry = known_algorithms(registry).get(set_values(spec)[0])
    return list(entry["probes"]) if entry else []


def _probe_units(spec: str, registry: Registry | None) -> dict[str, str]:
    return {str(p["name"]): str(p.get("unit") or "") for p in _probes(spec, registry)}


def _probe_meaning(spec: str, names: Sequence[str], registry: Registry | None) -> str:
    known = [p for p in _probes(spec, registry) if p["name"] in names and p.get("doc")]
    until = " (drawn as the time until then)"
    return " ".join(
        f"`{p['name']}`: {str(p['doc']).rstrip('.')}{until if p['name'] in CLOCK else ''}." for p in known
    )
