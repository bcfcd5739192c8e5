"""The decrease of the fluid model's error with the number of flows: 10 to 10,000 flows at 1 Mbit/s each.

``python -m validation.scale`` runs `examples/fluid/million.toml` in both worlds with fewer flows and a link
and buffer in proportion, and writes ``validation/scale.csv``. At a fixed rate per flow the equations do not
depend on the number of flows: from 220 flows on (all classes) the fluid solution is the same.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import sojourn
from sojourn.stats import mean_ci

RESULT = Path(__file__).with_name("scale.csv")
EXAMPLE = Path(__file__).parents[1] / "examples/fluid/million.toml"
#: Flows and seeds.
SIZES = {10: 10, 30: 10, 100: 10, 300: 5, 1000: 3, 3000: 2, 10_000: 1}
#: Smallest number of flows of the fit: with fewer, some round-trip times are missing and the noise does not
#: fall as 1/sqrt(N).
LEAST = 100
METRICS = ("mean_delay_s", "mark_ratio", "utilization", "jain_index")


def scenario(flows: int) -> sojourn.Scenario:
    """Return the example with fewer flows, and a link and buffer in proportion."""
    whole = sojourn.load(EXAMPLE)
    data = whole.model_dump(by_alias=True, exclude_none=True)
    dumbbell = {**data["dumbbell"], "rate": f"{flows}Mbit/s"}
    queue = {**data["queue"], "limit": f"{4 * flows}p"}
    traffic = [{**data["traffic"][0], "count": flows}]
    return whole.with_(dumbbell=dumbbell, queue=queue, traffic=traffic, duration="30s", warmup="10s")


def main() -> None:
    """Run every size in both worlds and write the table."""
    rows = []
    for flows, seeds in SIZES.items():
        one = scenario(flows)
        packets, fluid = sojourn.run(one, seeds=seeds), sojourn.run(one, world="fluid")
        for name in METRICS:
            mean, half, _ = mean_ci(packets.values(packets.aqms[0], name))
            ours = fluid.values(fluid.aqms[0], name)[0]
            assert mean is not None
            assert ours is not None
            rows.append((flows, seeds, name, ours, mean, half, ours / mean - 1))
            print(rows[-1], flush=True)
    with RESULT.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["flows", "seeds", "metric", "fluid", "packets", "ci95", "error"])
        for row in rows:
            table.writerow([f"{x:.5g}" if isinstance(x, float) else x for x in row])
    for name in METRICS:
        print(name, *extrapolated([(row[0], row[6]) for row in rows if row[2] == name and row[0] >= LEAST]))


def extrapolated(errors: list[tuple[int, float]]) -> tuple[float, float]:
    """Return a and b of error = a + b / sqrt(N) by least squares; a remains at a million flows."""
    flows, values = (np.array(column, dtype=float) for column in zip(*errors, strict=True))
    (a, b), *_ = np.linalg.lstsq(np.stack([np.ones_like(flows), flows**-0.5], axis=1), values)
    return float(a), float(b)


if __name__ == "__main__":
    main()
