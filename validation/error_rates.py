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
from scipy.stats import norm

from sojourn.stats import equivalence, paired, t_quantile
from sojourn.stats.sequential import constant_level, looks, needed, two_stage
from sojourn.stats.warmup import INCONCLUSIVE, NOT_SETTLED, SETTLED, queue_parts, settling

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs/how-sure.md"
#: Parts of a run as the simulator records them, and values of the series in each.
PARTS, FINE = 128, 10
#: First-order correlation of these values in most rows.
CORRELATION = 0.9
MEAN = 50.0


class Study(NamedTuple):
    """A kind of study: a first-order autoregressive queue, and a transient that began with the run."""

    seeds: int
    #: Share of the run that is warm-up.
    warmup: float
    #: Time constant of a decay in windows; None: there is none.
    decay: float | None
    #: Shift of the window's mean by it in (expected) half-widths.
    size: float
    correlation: float = CORRELATION
    #: A transient that ends in the warm-up: a straight line down to this share of it.
    ended: float | None = None
    #: A faster decay from ten standard deviations, with a time constant of a twentieth of a window.
    second: bool = False
    studies: int = 1000


#: Rows of the table of the warm-up check.
WARMUP = (
    *(Study(seeds, share, None, 0.0) for share in (1 / 2, 1 / 3, 1 / 6) for seeds in (3, 5, 10)),
    *(Study(seeds, share, None, 0.0, 0.99) for share in (1 / 2, 1 / 6) for seeds in (3, 10)),
    *(Study(5, 1 / 2, None, 0.0, ended=share) for share in (1 / 10, 1 / 2, 9 / 10)),
    *(Study(5, 1 / 2, decay, size) for decay in (1 / 20, 1 / 5, 2 / 5, 2 / 3, 1.0) for size in (1.5, 3.0)),
    *(Study(seeds, 1 / 2, 2 / 3, 1.5) for seeds in (3, 10)),
    Study(5, 1 / 2, 2 / 3, 1.5, 0.99),
    Study(5, 1 / 2, 2 / 3, 1.5, second=True),
    Study(5, 1 / 2, 2 / 3, -1.5, second=True),
    *(Study(5, 1 / 3, decay, 1.5) for decay in (1 / 20, 1 / 5, 2 / 5, 2 / 3)),
    *(Study(5, 1 / 6, decay, 1.5) for decay in (1 / 20, 1 / 5, 2 / 5, 2 / 3)),
    Study(5, 1 / 6, 2 / 3, 3.0),
)
WARMUP_HEAD = (
    "seeds", "warm-up (share of the run)", "correlation", "transient", "shift (half-widths)", "settled",
    "not settled", "inconclusive", "best possible",
)  # fmt: skip


def queues(rng: np.random.Generator, runs: int, correlation: float) -> Floats:
    """Return the parts of runs of a queue with mean `MEAN` and standard deviation 10."""
    noise = rng.normal(size=(runs, (PARTS + 60) * FINE))
    values = lfilter([1.0], [1.0, -correlation], noise, axis=1)[:, 60 * FINE :]
    scaled = values * 10.0 * np.sqrt(1 - correlation**2)
    return MEAN + scaled.reshape(runs, PARTS, FINE).mean(axis=2)


def decay_of(time_constant: float) -> Floats:
    """Return the means of the parts of a decay, exp(-t / `time_constant`), for a run of length 1."""
    edges = np.exp(-np.arange(PARTS + 1) / PARTS / time_constant)
    return (edges[:-1] - edges[1:]) * PARTS * time_constant


def transient(study: Study, rng: np.random.Generator) -> Floats:
    """Return the transient of a study."""
    window, at = 1.0 - study.warmup, (np.arange(PARTS) + 0.5) / PARTS
    inside = np.arange(PARTS) >= study.warmup * PARTS
    found = np.zeros(PARTS)
    if study.decay is not None:
        shape = decay_of(study.decay * window)
        every = queues(rng, 2000, study.correlation)[:, inside].mean(axis=1)
        half = _t(study.seeds) * every.std(ddof=1) / np.sqrt(study.seeds)
        found += shape / shape[inside].mean() * study.size * half
    if study.ended is not None:
        found += 100.0 * np.clip(1 - at / (study.ended * study.warmup), 0.0, None)
    if study.second:
        found += 100.0 * decay_of(window / 20)
    return found


def warmup_row(study: Study) -> tuple[list[float], int]:
    """Return the shares of the three outcomes, and of how many studies.

    With a decay, studies whose shift does not exceed their own half-width do not count.
    """
    rng = np.random.default_rng([study.seeds, round(1e6 * study.warmup), round(1e6 * (study.decay or 0)),
                                 round(10 * study.size) % 1000, round(1e4 * study.correlation)])  # fmt: skip
    window = 1.0 - study.warmup
    shape = transient(study, rng)
    shift = shape[np.arange(PARTS) >= study.warmup * PARTS].mean()
    found = dict.fromkeys((SETTLED, NOT_SETTLED, INCONCLUSIVE), 0)
    counted = 0
    for _ in range(study.studies):
        parts = queues(rng, study.seeds, study.correlation) + shape
        known = [queue_parts(one, 1.0, study.warmup * PARTS, float(PARTS)) for one in parts]
        outcome = settling([one for one in known if one is not None], window * PARTS)
        if study.decay is None or abs(shift) > (outcome.half_width or 0.0):
            counted += 1
            found[outcome.outcome] += 1
    return [count / counted for count in found.values()], counted


def best_possible(study: Study) -> float:
    """Return the power of the test that knows the time constant and the correlation (level 5 %).

    Generalized least squares with all parts of the run: the smallest variance of a linear estimate.
    """
    assert study.decay is not None
    window = 1.0 - study.warmup
    inside = np.arange(PARTS) >= study.warmup * PARTS
    lags = np.abs(np.subtract.outer(np.arange(PARTS * FINE), np.arange(PARTS * FINE)))
    fine = 100.0 * study.correlation**lags
    covariance = fine.reshape(PARTS, FINE, PARTS, FINE).mean(axis=(1, 3)) / study.seeds
    half = _t(study.seeds) * np.sqrt(covariance[np.ix_(inside, inside)].mean())
    design = np.column_stack([np.ones(PARTS), decay_of(study.decay * window)])
    error = np.sqrt(np.linalg.inv(design.T @ np.linalg.solve(covariance, design))[1, 1])
    ratio = abs(study.size) * half / (error * design[inside, 1].mean())
    return float(norm.sf(norm.isf(0.025) - ratio) + norm.cdf(norm.ppf(0.025) - ratio))


def _t(n: int) -> float:
    return t_quantile(0.95, n - 1)


def warmup_line(study: Study) -> list[str]:
    """Return a row of the table as text."""
    shares, _ = warmup_row(study)
    what = "none" if study.decay is None else f"decay of {study.decay:.2g} windows"
    if study.ended is not None:
        what = f"straight line that ends at {study.ended:g} of the warm-up"
    if study.second:
        what += ", and one of 0.05"
    size = "-" if study.decay is None else f"{study.size:g}"
    best = "-" if study.decay is None else f"{100 * best_possible(study):.1f} %"
    return [
        f"{study.seeds}", f"{study.warmup:.2f}", f"{study.correlation:g}", what, size,
        *(f"{100 * one:.1f} %" for one in shares), best,
    ]  # fmt: skip


class Means(NamedTuple):
    """Studies that add seeds until the half-width is 5 % of the mean."""

    #: ``normal``, or ``lognormal``: skewed.
    kind: str
    #: Coefficient of variation.
    variation: float
    first: int
    studies: int = 4000


MEANS = (
    *(Means("normal", variation, first) for variation in (0.06, 0.10, 0.15) for first in (5, 10, 20)),
    *(Means("lognormal", variation, 10) for variation in (0.10, 0.15, 0.30)),
)
MEANS_HEAD = (
    "values", "coefficient of variation", "first seeds", "seeds if it were known", "seeds used (mean)",
    "coverage",
)  # fmt: skip
SHARE = 0.05


def means_row(case: Means) -> tuple[float, float]:
    """Return the mean number of seeds and the coverage of the interval that is reported."""
    rng = np.random.default_rng([len(case.kind), round(1000 * case.variation), case.first])
    used = covered = 0
    sigma = np.sqrt(np.log1p(case.variation**2))
    for _ in range(case.studies):
        values: list[float] = []
        wanted = case.first
        while len(values) < wanted:
            more = wanted - len(values)
            if case.kind == "normal":
                values += rng.normal(1.0, case.variation, more).tolist()
            else:
                values += np.exp(rng.normal(-sigma * sigma / 2, sigma, more)).tolist()
            wanted = int(needed(values[: case.first], float(np.mean(values)), SHARE))
        estimate = two_stage(values, case.first)
        assert estimate.mean is not None
        assert estimate.ci95 is not None
        used += len(values)
        covered += abs(estimate.mean - 1.0) <= estimate.ci95
    return used / case.studies, covered / case.studies


def means_line(case: Means) -> list[str]:
    """Return a row of the table as text."""
    used, coverage = means_row(case)
    known = 2
    while _t(known) * case.variation / np.sqrt(known) > SHARE:
        known += 1
    return [
        case.kind, f"{case.variation:.2f}", f"{case.first}", f"{known}", f"{used:.1f}",
        f"{100 * coverage:.1f} %",
    ]  # fmt: skip


class Decisions(NamedTuple):
    """Studies that add seeds until a paired difference is decided, at most 100."""

    #: True ratio of the two means.
    ratio: float
    #: Coefficient of variation of a difference.
    variation: float
    margin: float | None
    first: int = 10
    studies: int = 2000


MOST = 100
DECISIONS = (
    *(Decisions(1.0, 0.05, None, first, studies=20_000) for first in (4, 5, 10)),
    *(Decisions(ratio, 0.05, None) for ratio in (1.02, 1.05)),
    *(Decisions(ratio, 0.05, 0.02) for ratio in (1.0, 1.01, 1.02, 1.05)),
    *(Decisions(ratio, 0.02, 0.02, first) for ratio in (1.0, 1.02) for first in (4, 10)),
)
DECISIONS_HEAD = (
    "true ratio", "variation of the difference", "margin", "first seeds", "difference shown",
    "equivalence shown", "not decided", "seeds used (mean)",
)  # fmt: skip


def decisions_row(case: Decisions) -> tuple[float, float, float]:
    """Return the shares of studies that show a difference and an equivalence, and their mean seeds."""
    rng = np.random.default_rng([round(1000 * case.ratio), round(1000 * case.variation), case.first,
                                 round(1000 * (case.margin or 0))])  # fmt: skip
    planned = tuple(looks(case.first, MOST))
    level = constant_level(planned)
    one_sided = (1 - constant_level(planned, 0.1)) / 2
    used = different = equal = 0
    for _ in range(case.studies):
        a = rng.normal(1.0, 0.1, MOST)
        b = a + (case.ratio - 1) + rng.normal(0.0, case.variation, MOST)
        for number in planned:
            first, second = a[:number].tolist(), b[:number].tolist()
            effect = paired(first, second)
            is_different = effect.p is not None and effect.p < 1 - level
            p = None if case.margin is None else equivalence(first, second, case.margin)
            is_equal = p is not None and p < one_sided
            if is_different or is_equal:
                break
        used += number
        different += is_different
        equal += is_equal and not is_different
    return different / case.studies, equal / case.studies, used / case.studies


def decisions_line(case: Decisions) -> list[str]:
    """Return a row of the table as text."""
    different, equal, used = decisions_row(case)
    margin = "-" if case.margin is None else f"{100 * case.margin:g} %"
    shares = (different, equal, max(0.0, 1 - different - equal))
    return [
        f"{case.ratio:.2f}", f"{case.variation:.2f}", margin, f"{case.first}",
        *(f"{100 * one:.1f} %" for one in shares), f"{used:.1f}",
    ]  # fmt: skip


class Listing(NamedTuple):
    """A table of the page."""

    head: Sequence[str]
    rows: Sequence[object]
    line: Callable[..., list[str]]


TABLES = {
    "warm-up": Listing(WARMUP_HEAD, WARMUP, warmup_line),
    "means": Listing(MEANS_HEAD, MEANS, means_line),
    "decisions": Listing(DECISIONS_HEAD, DECISIONS, decisions_line),
}


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
