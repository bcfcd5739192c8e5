"""``sojourn bench aqm``: the cost of a decision of each algorithm and scheduler on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.algorithms import costs
from sojourn.cli.common import note, progress
from sojourn.cli.emit import emit
from sojourn.cli.output import Column, Output, Table
from sojourn.errors import from_core
from sojourn.format import UNSCALED, Scale


def bench_aqm(specs: list[str] | None, json: bool, export: list[Path] | None) -> None:
    """Measure `specs`, or every algorithm and scheduler, and print the table."""
    for spec in specs or ():
        _check(spec)
    with progress("measuring") as move:
        measured = costs.measure(specs or [one["name"] for one in costs.subjects()], move)
    table = _table(measured)
    emit(Output(table.title, [table], measured, [measured["machine"]]), json, export)
    if measured["missing"]:
        note(f"sojourn: {measured['missing']}")


def _table(measured: dict[str, Any]) -> Table:
    """Return the measured costs, one algorithm a row."""
    heads, _ = costs.table(measured)
    unit = "nanoseconds" if measured["missing"] else "instructions"
    many = str(costs.FLOWS[1])
    keys = [
        "spec",
        *(f"{event}_instructions" for event in costs.EVENTS),
        *(f"{event}_ns" for event in costs.EVENTS),
        *("timer_period_s", "moves_per_packet", "draws_per_packet", "looks_per_packet"),
        *(f"state_bytes_{flows}_flows" for flows in (costs.FLOWS[0], costs.FLOWS[-1])),
        *(f"{unit}_per_packet_{flows}_flows" for flows in costs.FLOWS),
    ]
    columns = [Column(key, head, *_shown(key)) for key, head in zip(keys, heads, strict=True)]
    rows = []
    for cost in measured["costs"]:
        counted = (cost["instructions"] or {}).get(many, {})
        state = cost["state_bytes"] or {}
        rows.append(
            [
                cost["spec"],
                *(counted.get(event) for event in costs.EVENTS),
                *(cost["nanoseconds"][many][event] for event in costs.EVENTS),
                *(cost[key] for key in keys if key.endswith(("period_s", "_per_packet"))),
                *(state.get(str(flows)) for flows in (costs.FLOWS[0], costs.FLOWS[-1])),
                *(costs.per_packet(cost, unit, flows) for flows in costs.FLOWS),
            ]
        )
    return Table("costs", "Cost of each decision", columns, rows)


def _shown(key: str) -> tuple[Scale, int]:
    if key == "timer_period_s":
        return Scale(1e3, "ms"), 4
    return UNSCALED, 2 if key.endswith("_per_packet") else 3


def _check(spec: str) -> None:
    """Refuse an invalid spec before anything is measured."""
    try:
        _core.inspect(spec, costs.RATE, 1, 1)
    except _core.SpecError as error:
        raise from_core(error, "--aqm") from None
