"""Packets per CPU second of algorithms in Python and of the same built-in ones (docs/own-algorithm.md).

``.venv/bin/python benches/own.py``; the minimum CPU time of five runs of ``examples/red40.toml``, 100 s.
"""

from __future__ import annotations

import time
from typing import Any

import sojourn
from sojourn import _core
from sojourn.algorithms import permit

TWINS = {
    "red max_th 15": "examples/own/red.py:RED",
    "codel": "examples/own/codel.py:CoDel",
    "pi q_ref 50": "examples/own/pi.py:PI q_ref 50",
}


def packets_per_cpu_second(scenario: sojourn.Scenario, spec: str) -> float:
    """Return the packets that arrive at the queue, by the CPU time of the fastest of five runs."""
    rates = []
    for _ in range(5):
        begun, news = time.process_time(), []
        batch = _core.Batch([(scenario.plan_json(spec), 1)], 1)
        while not news:
            news = batch.poll(1)
        record: Any = news[0][1]
        rates.append(record["queues"][0]["arrivals"] / (time.process_time() - begun))
    return max(rates)


def main() -> None:
    """Print one line per pair."""
    scenario = sojourn.load("examples/red40.toml").with_(duration="100s", warmup="0s")
    permit(TWINS.values())
    for twin, own in TWINS.items():
        built_in, python = (packets_per_cpu_second(scenario, spec) for spec in (twin, own))
        print(f"{own:30} {python:>10,.0f} packets per CPU second; {twin}: {built_in:,.0f}")


if __name__ == "__main__":
    main()
