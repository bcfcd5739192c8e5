"""Random demand of the real world: a number depends on the seed and on what it is for, on nothing else.

Two algorithms under one seed meet the same starts, sizes and gaps. The numbers are not those of the
simulator, which draws its own.
"""

from __future__ import annotations

import math
import random
from typing import Any


def stream(seed: int, *purpose: object) -> random.Random:
    """Return the numbers for one purpose: ``stream(1, "web", 7, "gap")``."""
    return random.Random("/".join(map(str, (seed, *purpose))))


def value(shape: dict[str, Any], rng: random.Random) -> float:
    """Return one value of a draw in the plan's form, such as ``{"uniform": [0, 1000000000]}``."""
    ((name, numbers),) = shape.items()
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
