"""Random numbers of the real world's traffic: each depends only on the seed and its purpose.

Two algorithms with the same seed therefore get the same starts, sizes and gaps. The numbers differ from those
of the simulator.
"""

from __future__ import annotations

import math
import random
from typing import Any


def stream(seed: int, *purpose: object) -> random.Random:
    """Return the random stream for one purpose: ``stream(1, "web", 7, "gap")``."""
    return random.Random("/".join(map(str, (seed, *purpose))))


def draw(distribution: dict[str, Any], rng: random.Random) -> float:
    """Draw from a distribution in the plan's form, such as ``{"uniform": [0, 1000000000]}``."""
    ((name, numbers),) = distribution.items()
    if name == "constant":
        return float(numbers)
    if name == "uniform":
        return float(numbers[0] + (numbers[1] - numbers[0]) * rng.random())
    u = 1.0 - rng.random()
    if name == "exponential":
        return -float(numbers) * math.log(u)
    mean, tail = numbers
    least = mean * (tail - 1) / tail if name == "pareto" else mean * (tail - 1)
    drawn = least * u ** (-1 / tail)
    return float(drawn if name == "pareto" else drawn - least)
