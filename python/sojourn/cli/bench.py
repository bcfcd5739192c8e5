"""``sojourn bench``: bottleneck packets per CPU second; ``sojourn bench aqm``: the cost of a decision.

All statistics are recorded, as in any run. One thread; the best of three, since other load only makes a run
slower. ``make bench`` in a clone also counts instructions and compares with ns-2.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _core
from sojourn.api import plan
from sojourn.cli.bench_aqm import bench_aqm
from sojourn.cli.common import permit_code, print_json
from sojourn.cli.emit import write_exports
from sojourn.cli.options import AllowCode, Aqm, Export, Json, scenario_file
from sojourn.cli.output import Column, Output, Table
from sojourn.errors import RunFailed
from sojourn.runner.check import check
from sojourn.spec.scenario import Scenario, load
from sojourn.terminal import show
from sojourn.worlds.simulated.memory import refusal, run_limit, trace_limit

DUMBBELL40 = """
name = "dumbbell40"
duration = "200s"
conventions = "rfc"
queue = { limit = "100p", aqm = "red min_th 15p max_th 45p max_p 0.1 w_q 0.002" }
[dumbbell]
rate = "10Mbit/s"
delay = "10ms"
access = { rate = "10Mbit/s", delay = "10ms" }
server = { rate = "10Mbit/s", delay = "10ms" }
[[traffic]]
name = "ftp"
kind = "tcp"
variant = "newreno"
count = 40
payload = "500B"
header = "40B"
start = "uniform 0s 1s"
"""


def bench(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE|aqm]",
            help="A scenario [default: 40 TCP flows over RED], or 'aqm' for the cost of each decision.",
            show_default=False,
            parser=scenario_file,
        ),
    ] = None,
    aqm: Aqm = None,
    json: Json = False,
    export: Export = None,
    allow_code: AllowCode = False,
) -> None:
    """Measure bottleneck packets per CPU second. With 'aqm', measure the cost of each algorithm."""
    permit_code(allow_code, aqm)
    if file == Path("aqm"):
        bench_aqm(aqm, json, export)
        return

    scenario = load(file) if file is not None else Scenario.from_toml(DUMBBELL40)
    whole = scenario.with_(warmup="0s")
    points = plan(whole, aqm, seeds=1)
    check(points)
    found = []
    for point in points:
        speed = max(_speed(whole, point.spec) for _ in range(3))
        found.append({"scenario": scenario.name, "aqm": point.spec, "packets_per_cpu_s": round(speed)})
        if not json:
            name = f"{scenario.name}-{point.spec.split()[0]}"
            show(f"{name} packets_per_cpu_s={speed:.0f} instructions_per_packet=- ratio_ns2=-")
    columns = [
        Column("scenario", "scenario"),
        Column("aqm", "algorithm"),
        Column("packets_per_cpu_s", "packets per CPU second"),
    ]
    rows = [tuple(one.values()) for one in found]
    output = Output("Speed", [Table("speed", "Speed", columns, rows, keys=2)], {"cases": found})
    if json:
        print_json(output.data)
    write_exports(output, export)


def _speed(scenario: Scenario, spec: str) -> float:
    """Return packets offered to the measured queue per second of CPU time."""
    limit = run_limit(1)
    if (error := refusal(scenario.plan_json(spec), limit)) is not None:
        raise RunFailed(f"{scenario.name}, {spec}: {error}")
    begun = time.process_time()
    batch = _core.Batch([(scenario.plan_json(spec), 1)], 1, trace_limit(limit))
    finished: list[tuple[int, object]] = []
    while not finished:
        finished = batch.poll(0.5)
    spent = time.process_time() - begun
    record = finished[0][1]
    if not isinstance(record, dict):
        raise RunFailed(f"{scenario.name}, {spec}: {record}")
    return float(record["queues"][0]["arrivals"]) / max(spent, 1e-9)
