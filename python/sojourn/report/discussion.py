"""The discussions of RFC 7928, answered by computation, and the fair comparison of section 4.3.1."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from sojourn import _core, plots, worlds
from sojourn.algorithms import spec_of
from sojourn.errors import SojournError
from sojourn.metrics import label
from sojourn.report.document import Block, Column, Figure, Note, Table, Text
from sojourn.report.stability import Map, points, stability_map
from sojourn.report.verdict import cell, class_of
from sojourn.results import Results
from sojourn.study.compare import NO_DIFFERENCE, Comparison
from sojourn.study.evaluate.model import Evaluation
from sojourn.study.evaluate.parameters import (
    exposed,
    halves_and_doubles,
    numbers_of,
    target_of,
    targets,
)

#: The topics for which runs with other parameters are made.
SENSITIVE = ("stability", "control")
#: The metrics by which parameters are judged.
JUDGED = ("mean_delay_s", "goodput_bps", "drop_ratio")


def discussion(topic: str, evaluation: Evaluation) -> list[Block]:
    """Return the blocks of a discussion: ``stability``, ``scheduling``, ``cost`` or ``control``."""
    topics = {"stability": _stability, "scheduling": _scheduling, "cost": _cost, "control": _control}
    return topics[topic](evaluation) + (_simulated(evaluation) if topic in SENSITIVE else [])


def _simulated(evaluation: Evaluation) -> list[Block]:
    """Return a note that the studies of parameters are simulated, if the cases are not."""
    world = evaluation.plan.world
    if world == worlds.DEFAULT:
        return []
    return [Note(f"The cases are of the world {world}. These runs with other parameters are simulated.")]


def fair_comparison(evaluation: Evaluation) -> list[Block]:
    """Return goodput against delay over a range of target delays, a curve for each algorithm that has one."""
    fair = evaluation.fair
    assert fair is not None
    rows = []
    for base in evaluation.plan.specs:
        for one in targets(base):
            if (spec := spec_of(one.spec)) in fair.aqms:
                delay, goodput = (fair.estimate(spec, name) for name in ("mean_delay_s", "goodput_bps"))
                rows.append(
                    {
                        "aqm": base, "target": one.value, "_target": float(re.sub(r"[a-z]+$", "", one.value)),
                        "delay": _times(delay.mean, 1e3), "delay_ci95": _times(delay.ci95, 1e3),
                        "goodput": _times(goodput.mean, 1e-6), "goodput_ci95": _times(goodput.ci95, 1e-6),
                    }
                )  # fmt: skip
    without = [one for one in evaluation.plan.specs if not target_of(one)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    svg = plots.tradeoff(
        frame, x="delay", y="goodput", along="_target", along_label="target",
        x_label="Mean queueing delay (ms)", y_label="Goodput (Mbit/s)",
    )  # fmt: skip
    columns = {
        "aqm": Column("algorithm", kind="spec"),
        "target": Column("target"),
        "delay": Column("mean delay", "ms", "delay_ci95", 1.0),
        "goodput": Column("goodput", "Mbit/s", "goodput_ci95", 1.0),
    }
    none = f" Without a target: {', '.join(without)}." if without else ""
    return [
        Text(
            "Targets of two algorithms differ in meaning, so each is run over a range of them in S8; "
            "a curve that is further up and to the left is better at every delay that both reach." + none
        ),
        Figure(svg, "Goodput against queueing delay over the range of targets, with 95 % intervals."),
        Table(
            frame, "The same as numbers; a target in packets is that delay at the rate of the link.", columns
        ),
        *_simulated(evaluation),
    ]


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _stability(evaluation: Evaluation) -> list[Block]:
    plan = evaluation.plan
    rows = [
        {
            "aqm": one.spec,
            "load": one.load,
            "stable": one.reason or ("yes" if one.stable else "no"),
            "phase": one.phase,
            "gain": one.gain,
            "queue": one.queue,
        }
        for one in points(plan.specs)
    ]
    columns = {
        "aqm": Column("algorithm", kind="spec"),
        "load": Column("congestion"),
        "stable": Column("stable"),
        "phase": Column("phase margin", "degrees", factor=1.0),
        "gain": Column("gain margin"),
        "queue": Column("queue at rest", "packets", factor=1.0),
    }
    blocks: list[Block] = [
        Text(
            "The linear loop of TCP and the queue on the link of the scenarios, with the flows of sections "
            "8.2.2 to 8.2.4. An algorithm without a linear model has no margins; its queue in S8 to S12 "
            "shows how it behaves."
        ),
        Table(pl.DataFrame(rows, infer_schema_length=None), "Margins of the linear loop.", columns),
    ]
    blocks += [
        Figure(
            _drawn(found, spec),
            f"Phase margin of {spec} in degrees; shaded: unstable, or no operating point.",
        )
        for spec in plan.specs
        if (found := stability_map(spec)) is not None
    ]
    return [*blocks, *_sensitivity(evaluation)]


def _drawn(found: Map, spec: str) -> str:
    return plots.contours(
        found.flows, found.rtts_ms, found.phase, found.stable, levels=[15, 30, 45, 60, 75, 90],
        x_label="Flows", y_label="Round-trip time without queueing (ms)", z_label="phase margin (degrees)",
        title=f"Stability of {spec}",
    )  # fmt: skip


def _compared(results: Results, aqm: str) -> Comparison:
    return Comparison(results, spec_of(aqm), JUDGED[0], chosen=JUDGED)


def _sensitivity(evaluation: Evaluation) -> list[Block]:
    """Return what half and twice each parameter change."""
    found, others = halves_and_doubles(evaluation.plan.aqm)
    if evaluation.sensitivity is None or not found:
        return [Text(f"`{evaluation.plan.aqm}` has no numeric parameter to vary.")]
    comparison = _compared(evaluation.sensitivity, evaluation.plan.aqm)
    against = {(one.aqm, one.metric): one for one in comparison.differences}
    rows = []
    for one in found:
        row: dict[str, object] = {"parameter": one.name, "value": one.value}
        for name in JUDGED:
            known = against.get((spec_of(one.spec), name))
            row |= {
                name: "the same setting" if known is None else cell(known),
                f"{name} tint": "" if known is None else class_of(known),
            }
        rows.append(row)
    columns = {"parameter": Column("parameter", kind="code"), "value": Column("value")}
    for name in JUDGED:
        columns[name] = Column(label(name), kind="text", tint=f"{name} tint")
    caption = (
        f"Half and twice each parameter of {evaluation.plan.aqm} in S8: differences from its own setting, in "
        "parentheses if none is shown."
    )
    blocks: list[Block] = [Table(pl.DataFrame(rows, infer_schema_length=None), caption, columns)]
    if others:
        blocks.append(Text("\n".join(["Not varied:", "", *(f"- `{k}`: {v}" for k, v in others.items())])))
    return blocks


def _scheduling(evaluation: Evaluation) -> list[Block]:
    rows = [
        {"aqm": spec, "decides": _decides(spec), "inside": _inside(spec)} for spec in evaluation.plan.specs
    ]
    columns = {
        "aqm": Column("algorithm", kind="spec"),
        "decides": Column("when it decides", kind="text"),
        "inside": Column("inside a scheduler", kind="text"),
    }
    caption = "Where each algorithm decides, and whether a scheduler can run it in each of its queues."
    return [Table(pl.DataFrame(rows), caption, columns)]


def _decides(spec: str) -> str:
    """Return when an algorithm decides: the first sentences of its page, or the handlers of a class."""
    name = spec.split()[0]
    described = _described(name)
    found = re.search(r"# When it decides\n+(.+?)(?:\n\n|\Z)", str(described.get("doc", "")), re.DOTALL)
    if found:
        return " ".join(re.split(r"(?<=\.)\s", " ".join(found[1].split()))[:2])
    try:
        counted = _core.stopwatch(spec, 20_000_000, 10, 2000)
    except SojournError:
        return "not stated"
    words = [word for word, time in zip(("arrival", "departure", "timer"), counted, strict=True) if time]
    return f"has handlers of: {', '.join(words)}; its page does not say more"


def _described(name: str) -> dict[str, object]:
    known = {one["name"]: one for one in _core.schedulers()}
    return dict(known.get(name) or _core.algorithm(name))


def _inside(spec: str) -> str:
    name = spec.split()[0]
    if name in {one["name"] for one in _core.schedulers()}:
        return "is a scheduler itself"
    nested = f"({spec})" if " " in spec else spec
    try:
        return f"yes: {spec_of(f'drr aqm {nested}')}"
    except SojournError as error:
        return f"no: {error}"


def _cost(evaluation: Evaluation) -> list[Block]:
    rows = []
    for spec in evaluation.plan.specs:
        counts = numbers_of(spec)
        packets = counts["packets"]
        rows.append(
            {
                "aqm": spec,
                "bytes": counts["state_bytes"],
                "timers": counts["timers"] / packets,
                "draws": counts["draws"] / packets,
                "looks": counts["looks"] / packets,
                "moves": counts["moves"] / packets,
            }
        )
    columns = {
        "aqm": Column("algorithm", kind="spec"),
        "bytes": Column("state", "B", factor=1.0),
        "timers": Column("timers per packet"),
        "draws": Column("random numbers per packet"),
        "looks": Column("looks at other packets per packet"),
        "moves": Column("changes of state per packet"),
    }
    text = (
        "What a decision needs, counted under the load of `sojourn bench aqm`: 9/8 of a link of 20 Mbit/s, "
        "1,000 flows. These counts depend on the algorithm alone; `sojourn bench aqm` also measures time and "
        "instructions on a machine. `sojourn explain NAME` has the steps of a built-in algorithm; those of a "
        "class are its source, which each folder of results contains."
    )
    return [Text(text), Table(pl.DataFrame(rows), "Cost of a decision.", columns)]


def _control(evaluation: Evaluation) -> list[Block]:
    rows = [
        {
            "aqm": spec,
            "name": one["name"],
            "default": str(one["default"]),
            "unit": one["unit"],
            "doc": one["doc"],
        }
        for spec, one in exposed(evaluation.plan.specs)
    ]
    columns = {
        "aqm": Column("algorithm", kind="spec"),
        "name": Column("parameter", kind="code"),
        "default": Column("default"),
        "doc": Column("meaning", kind="text"),
    }
    blocks: list[Block] = [Text(_needs_tuning(evaluation))]
    if rows:
        blocks.append(Table(pl.DataFrame(rows), "Parameters that an operator can set.", columns))
    return blocks


def _needs_tuning(evaluation: Evaluation) -> str:
    """Return which parameters matter in S8: half or twice the value changes a metric."""
    aqm = evaluation.plan.aqm
    found, others = halves_and_doubles(aqm)
    names = list(dict.fromkeys(one.name for one in found))
    if evaluation.sensitivity is None or not names:
        return f"`{aqm}` has no numeric parameter, so nothing needs tuning."
    comparison = _compared(evaluation.sensitivity, aqm)
    shown = {
        one.aqm for one in comparison.differences if one.verdict in ("better", "worse", "higher", "lower")
    }
    matter = [name for name in names if any(v.name == name and spec_of(v.spec) in shown for v in found)]
    without = [name for name in names if name not in matter]
    said = f"`{aqm}` exposes {len(names) + len(others)} parameters, {len(names)} of them numeric. "
    said += (
        f"Half or twice the value changes {_of(JUDGED)} in S8 for {_of(matter) if matter else 'none of them'}"
    )
    return f"{said}; {NO_DIFFERENCE} for {_of(without)}." if without else f"{said}."


def _of(names: Sequence[str]) -> str:
    return ", ".join(label(one) if one in JUDGED else f"`{one}`" for one in names)
