"""Draw the figures of the documentation by running the code (``make docs``).

``docs/images/queues.svg`` for the README; for every algorithm and scheduler its reaction to a step in
load and, where it has one, its drop function (``docs/algorithms/images``). A picture ends with a hash of what
its data; a picture with the same data is not drawn again. ``--check`` lists the stale ones and exits with 1.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from pages import can_run

import sojourn
from sojourn import _core
from sojourn.algorithms.costs import subjects
from sojourn.plots import curve, probes, queue_traces, style

HERE = Path(__file__).parent
FIGURE = HERE.parent / "python/sojourn/papers/raqm2005/scenarios/raqm-fig5a.toml"
STEP = HERE / "algorithms/step.toml"
LENGTHS = list(range(81))
FUNCTIONS = {
    "red": "red w_q 1",
    "gred": "gred w_q 1",
    "ared": "ared w_q 1",
    "feng_ared": "feng_ared w_q 1",
    "nlred": "nlred w_q 1",
    "choke": "choke w_q 1",
    "rio": "rio w_q 1",
}
"""Algorithms whose probability is a function of an average queue, with the average of one packet."""

Drawn = tuple[Mapping[str, np.ndarray], Callable[[], str]]
"""Data of a figure, by name, and the function that draws it."""


def three_algorithms() -> Drawn:
    """Show the queue of 40 TCP flows under three algorithms: seed 1 of Fig. 5(a) of the RAQM paper."""
    results = sojourn.run(sojourn.load(FIGURE), aqms=["pi", "rem b_star 50p", "raqm q_0 50p"], seeds=1)
    frame = results.trace("queue")
    return {"queue": frame["queue_packets"].to_numpy()}, lambda: queue_traces(frame, reference=50, limit=100)


def reaction(spec: str) -> Drawn:
    """Show the queue, the probability and the drop ratio when 20 flows become 60."""
    frame = sojourn.run(sojourn.load(STEP), aqms=[spec], seeds=1).trace("queue")
    second = round(1 / frame["time_s"][0])
    sums = (
        pl.col(name).cast(pl.Float64).rolling_sum(second, min_samples=1) for name in ("drops", "arrivals")
    )
    dropped, arrived = sums
    label = "share dropped in the last second"
    frame = frame.with_columns(pl.when(arrived > 0).then(dropped / arrived).otherwise(0.0).alias(label))
    frame = frame.rename({"p": "probability p"}, strict=False)
    names = [name for name in ("probability p", label) if name in frame.columns]
    title = f"{style(spec).title}: 20 flows, 60 from 50 s on"
    return (
        {name: frame[name].to_numpy() for name in ("queue_packets", *names)},
        lambda: probes(frame, spec, names=names, shaded=[(50.0, 100.0)], title=title),
    )


def drop_function(spec: str) -> Drawn:
    """Show the base probability over the average queue."""
    name = spec.split()[0]
    first = np.array(_core.drop_function(spec, 0, LENGTHS))
    other = np.array(_core.drop_function(spec, 1, LENGTHS))
    differs = not np.array_equal(first, other)
    return {"in": first, "out": other}, lambda: curve(
        LENGTHS,
        other,
        x_label="Average queue (packets)",
        y_label="Base probability" + (" of out packets" if differs else ""),
        title=f"{style(name).title}: base probability over the average queue",
        colour=style(name).colour,
        points=(LENGTHS[::2], first[::2]) if differs else None,
        points_label="in packets",
        y_limits=(0.0, 1.04),
        width=4.6,
        height=2.2,
    )


def pictures() -> dict[Path, Callable[[], Drawn]]:
    """Return every figure by its path."""
    made: dict[Path, Callable[[], Drawn]] = {HERE / "images/queues.svg": three_algorithms}
    folder = HERE / "algorithms/images"
    for name in (one["name"] for one in subjects() if can_run(one["name"])):
        made[folder / f"{name}.svg"] = lambda name=name: reaction(name)
        if name in FUNCTIONS:
            made[folder / f"{name}-function.svg"] = lambda name=name: drop_function(FUNCTIONS[name])
    return made


def digest(shown: Mapping[str, np.ndarray]) -> str:
    """Hash the data of a figure."""
    hashed = hashlib.sha256()
    for name, column in shown.items():
        hashed.update(name.encode())
        hashed.update(column.astype(np.float64).tobytes())
    return f"<!-- shows {hashed.hexdigest()[:16]} -->\n"


def main() -> int:
    """Draw stale figures, or with ``--check`` only list them."""
    stale = []
    for path, make in pictures().items():
        shown, draw = make()
        mark = digest(shown)
        if not path.exists() or not path.read_text(encoding="utf-8").endswith(mark):
            stale.append(str(path.relative_to(HERE)))
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(draw().rstrip("\n") + "\n" + mark, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print("stale, run make docs: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
