"""Compares the stability predicted by the linear loop with packet simulations (decision 12).

``python -m validation.stability`` runs every point (a few minutes), writes ``validation/stability.csv``
and draws the maps of ``docs/images``; ``--draw`` draws only.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import welch

import sojourn
from sojourn import plots
from sojourn.worlds.fluid.linear import loop, margins

RESULT = Path(__file__).with_name("stability.csv")
IMAGES = Path(__file__).parents[1] / "docs/images"
FLOWS, RATE, PACKET, LIMIT = 60, 20e6, 500, 2000
C = RATE / 8 / PACKET
FACTORS = (1 / 4, 1 / 3, 1 / 2.5, 1 / 2, 1 / 1.5, 1 / 1.2, 1.2, 1.5, 2, 2.5, 3, 4)
SEEDS = (1, 2, 3)
#: Spec, and whether its signals are drops.
CASES = {
    "RED": ("red min_th 50 max_th 550 max_p 0.1 w_q 0.002", False),
    "PI": ("pi q_ref 200 a 0.0000346827 b 0.0000344523 f_s 160", False),
    "RAQM": ("raqm q_0 5000 p_0 1", True),
}
#: Share of the variance that must lie in a band of one period, and the half-width of that band as a factor.
SHARE, BAND = 0.3, 1.25


class Point(NamedTuple):
    """One round-trip time of one algorithm."""

    algorithm: str
    delay: float
    factor: float


def border(algorithm: str) -> float:
    """Return the shortest round-trip time at which the linear loop is unstable (s)."""
    spec, drops = CASES[algorithm]
    delays = np.geomspace(0.01, 2, 2000)
    stable = margins(loop(spec, FLOWS, C, delays, LIMIT, PACKET, drops)).stable
    return float(delays[int(np.argmin(stable))])


def points() -> Iterator[Point]:
    """Yield every point that is tried."""
    for algorithm in CASES:
        edge = border(algorithm)
        yield from (Point(algorithm, edge * factor, factor) for factor in FACTORS)


def scenario(point: Point) -> sojourn.Scenario:
    """Return the dumbbell whose flows have the point's round-trip time without queueing."""
    wires = 2 * 8 * (PACKET + 40) / 1e9 + 8 * (PACKET + 40) / RATE
    access = (point.delay - wires) / 2 - 2e-3
    drops = CASES[point.algorithm][1]
    return sojourn.Scenario.from_toml(
        f"""
name = "stability"
duration = "200s"
warmup = "100s"
conventions = "rfc"
[dumbbell]
rate = "{RATE:.0f}bit/s"
delay = "1ms"
access = {{ rate = "1Gbit/s", delay = "{round(access * 1e9)}ns" }}
server = {{ rate = "1Gbit/s", delay = "1ms" }}
[queue]
limit = "{LIMIT}p"
ecn = {str(not drops).lower()}
[[traffic]]
name = "ftp"
kind = "tcp"
variant = "sack"
count = {FLOWS}
payload = "{PACKET - 40}B"
header = "40B"
start = "uniform 0s 1s"
"""
    )


def concentration(queue: np.ndarray, interval: float) -> float:
    """Return the share of the variance within a factor `BAND` of one frequency, as defined in decision 12."""
    frequency, power = welch(queue, fs=1 / interval, nperseg=len(queue) // 10, window="hann")
    frequency, power = frequency[1:], power[1:]
    peak = frequency[int(np.argmax(power * frequency))]
    near = (frequency >= peak / BAND) & (frequency <= peak * BAND)
    return float(power[near].sum() / power.sum())


def measure(point: Point) -> dict[str, float]:
    """Return the means over seeds of the two measures of the queue, and the thresholds of both."""
    results = sojourn.run(scenario(point), aqms=[CASES[point.algorithm][0]], seeds=SEEDS)
    queues, shares, spreads = [], [], []
    for record in results.records:
        series = record.series()
        queue = series.filter(series["time_s"] > 100)["queue_mean"].to_numpy()
        queues.append(float(queue.mean()))
        spreads.append(float(queue.std()))
        shares.append(concentration(queue, 0.01))
    mean = float(np.mean(queues))
    return {
        "queue": mean,
        "std": float(np.mean(spreads)),
        "noise": math.sqrt(C * point.delay + mean),
        "share": float(np.mean(shares)),
    }


def judged(row: dict[str, float]) -> bool:
    """Whether a queue oscillates."""
    return row["std"] > row["noise"] and row["share"] >= SHARE


def draw(rows: list[dict[str, str]]) -> None:
    """Draw the map of each algorithm over flows and round-trip time, with the points that were tried."""
    for name, (spec, drops) in CASES.items():
        flows, delays = np.geomspace(10, 400, 80), np.geomspace(0.01, 2, 80)
        n, d = np.meshgrid(flows, delays)
        near = margins(loop(spec, n, C, d, LIMIT, PACKET, drops))
        mine = [row for row in rows if row["algorithm"] == name]
        svg = plots.contours(
            flows,
            1e3 * delays,
            near.phase.reshape(n.shape),
            near.stable.reshape(n.shape),
            levels=[15, 30, 45, 60, 75, 90],
            x_label="Flows",
            y_label="Round-trip time without queueing (ms)",
            z_label="phase margin (degrees)",
            points=[(FLOWS, 1e3 * float(row["rtt_s"]), row["packets"] == "oscillates") for row in mine],
            points_labels=("packets steady", "packets oscillate"),
            title=f"Stability of {name}, {RATE / 1e6:g} Mbit/s",
        )
        (IMAGES / f"stability-{name.lower()}.svg").write_text(svg, encoding="utf-8")


def run() -> None:
    """Run every point and write the table."""
    with RESULT.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            [
                "algorithm",
                "factor",
                "rtt_s",
                "predicted",
                "phase_margin",
                "packets",
                "queue",
                "std",
                "noise",
                "share",
            ]
        )
        for point in points():
            spec, drops = CASES[point.algorithm]
            near = margins(loop(spec, FLOWS, C, point.delay, LIMIT, PACKET, drops))
            row = measure(point)
            words = {True: "oscillates", False: "steady"}
            found = [f"{row[name]:.4g}" for name in ("queue", "std", "noise", "share")]
            table.writerow(
                [
                    point.algorithm,
                    f"{point.factor:.3g}",
                    f"{point.delay:.4g}",
                    words[not near.stable[0]],
                    f"{near.phase[0]:.1f}",
                    words[judged(row)],
                    *found,
                ]
            )
            file.flush()


def main() -> None:
    """Run and draw."""
    if "--draw" not in sys.argv:
        run()
    draw(list(csv.DictReader(RESULT.read_text().splitlines())))


if __name__ == "__main__":
    main()
