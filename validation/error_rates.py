"""How often the statistics are wrong, on series whose truth is known: the tables of ``docs/how-sure.md``.

``python -m validation.error_rates`` computes every row and writes the tables into the page (minutes); a row
depends on its own seed only. ``tests/validation/test_error_rates.py`` repeats some rows and checks the bounds
that the page promises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from sojourn.stats import mean_ci
from sojourn.stats.warmup import INCONCLUSIVE, NOT_SETTLED, SETTLED, settling, shifts

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs/how-sure.md"
#: Parts of a run as the simulator records them, and values of the series in each.
PARTS, FINE = 128, 10
#: First-order correlation of these values, as of the issue that the check answers.
CORRELATION = 0.9
MEAN = 50.0


class Study(NamedTuple):
    """A kind of study: a first-order autoregressive queue, and a decay that began with the run."""

    seeds: int
    #: Share of the run that is warm-up.
    warmup: float
    #: Time constant of the decay in windows; None: there is none.
    decay: float | None
    #: Shift of the window's mean in (expected) half-widths.
    size: float
    studies: int = 1000


#: Rows of the table of the warm-up check.
WARMUP = (
    *(Study(seeds, share, None, 0.0) for share in (1 / 2, 1 / 3, 1 / 6) for seeds in (3, 5, 10)),
    *(Study(5, 1 / 2, decay, size) for decay in (1 / 20, 1 / 5, 2 / 5, 2 / 3, 1.0) for size in (1.5, 3.0)),
    *(Study(5, 1 / 6, decay, 1.5) for decay in (1 / 20, 1 / 5, 2 / 3, 1.0)),
    *(Study(seeds, 1 / 2, 2 / 5, 1.5) for seeds in (3, 10)),
)
WARMUP_HEAD = (
    "seeds", "warm-up (share of the run)", "decay (time constant)", "shift (half-widths)", "settled",
    "not settled", "inconclusive",
)  # fmt: skip


def queues(rng: np.random.Generator, runs: int) -> Floats:
    """Return the parts of runs of a queue with mean `MEAN` and standard deviation 10."""
    noise = rng.normal(size=(runs, (PARTS + 20) * FINE))
    values = lfilter([1.0], [1.0, -CORRELATION], noise, axis=1)[:, 20 * FINE :]
    scaled = values * 10.0 * np.sqrt(1 - CORRELATION**2)
    return MEAN + scaled.reshape(runs, PARTS, FINE).mean(axis=2)


def warmup_row(study: Study) -> tuple[list[float], int]:
    """Return the shares of the three outcomes, and of how many studies.

    With a decay, studies whose shift does not exceed their own half-width do not count.
    """
    rng = np.random.default_rng([study.seeds, round(1e6 * study.warmup), round(1e6 * (study.decay or 0)),
                                 round(10 * study.size)])  # fmt: skip
    window = 1.0 - study.warmup
    inside = np.arange(PARTS) >= study.warmup * PARTS
    shape = np.zeros(PARTS)
    if study.decay is not None:
        edges = np.exp(-np.arange(PARTS + 1) / PARTS / (study.decay * window))
        shape = (edges[:-1] - edges[1:]) / (edges[:-1] - edges[1:])[inside].mean()
        every = queues(rng, 2000)[:, inside].mean(axis=1)
        shape *= study.size * (mean_ci(every.tolist()).ci95 or 0.0) * np.sqrt(2000 / study.seeds)
        shape *= _t(study.seeds) / _t(2000)
    found = dict.fromkeys((SETTLED, NOT_SETTLED, INCONCLUSIVE), 0)
    counted = 0
    for _ in range(study.studies):
        parts = queues(rng, study.seeds) + shape
        known = [shifts(one, 1.0, study.warmup * PARTS, float(PARTS)) for one in parts]
        outcome = settling([one for one in known if one is not None], window * PARTS)
        if study.decay is None or shape[inside].mean() > (outcome.half_width or 0.0):
            counted += 1
            found[outcome.outcome] += 1
    return [count / counted for count in found.values()], counted


def _t(n: int) -> float:
    from sojourn.stats import t_quantile

    return t_quantile(0.95, n - 1)


def warmup_line(study: Study) -> list[str]:
    """Return a row of the table as text."""
    shares, _ = warmup_row(study)
    what = "none" if study.decay is None else f"{study.decay:.2g} windows"
    size = "-" if study.decay is None else f"{study.size:g}"
    return [f"{study.seeds}", f"{study.warmup:.2f}", what, size, *(f"{100 * one:.1f} %" for one in shares)]


class Listing(NamedTuple):
    """A table of the page."""

    head: Sequence[str]
    rows: Sequence[object]
    line: Callable[..., list[str]]


TABLES = {"warm-up": Listing(WARMUP_HEAD, WARMUP, warmup_line)}


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def borders(name: str) -> tuple[str, str]:
    """Return the lines of the page that enclose a table."""
    return f"<!-- {name}: made by validation/error_rates.py -->\n", f"\n<!-- end of {name} -->"


def stored(name: str) -> list[list[str]]:
    """Return the rows of a table as the page has them."""
    first, last = borders(name)
    text = PAGE.read_text().split(first)[1].split(last)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def main() -> None:
    """Write the tables that are named on the command line, or all."""
    for name in sys.argv[1:] or TABLES:
        first, last = borders(name)
        head, rows, line = TABLES[name]
        before, rest = PAGE.read_text().split(first)
        after = rest.split(last)[1]
        table = markdown(head, [line(one) for one in rows])
        PAGE.write_text(before + first + table + last + after)


if __name__ == "__main__":
    main()
