"""The figures of the paper, redrawn, and those that its text mentions but does not show.

Every function takes the re-run and returns SVG, or None if the runs that it needs were not made.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from sojourn import plots
from sojourn.papers.experiment import Arm
from sojourn.papers.raqm2005.experiments import PERIODS, TARGETS
from sojourn.papers.raqm2005.theorems import table
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, long, select
from sojourn.worlds.fluid import raqm as theory

#: Names of RAQM's readings in figures; "" is the paper as printed.
READINGS = {
    "": "raqm as printed",
    "r_0=0.98C": "raqm r₀=0.98C",
    "r_0=0.95C": "raqm r₀=0.95C",
    "loss-corrected": "raqm loss-corrected",
    "admitted-bytes": "raqm admitted bytes",
    "queue-independent": "raqm without queue term",
}


def bound() -> str:
    """Draw Fig. 1, c(x), with the tabulated values."""
    points = table("raqm-fig1")["points"]
    xs = np.linspace(0.001, 1.999, 1001)
    return plots.curve(
        xs,
        [theory.c(x) for x in xs],
        x_label="x = r_k / r₀",
        y_label="c(x)",
        title="The bound c(x) on the scaled gain",
        horizontal=[plots.Rule(4, "4")],
        vertical=[plots.Rule(1, "x = 1")],
        points=([p["x"] for p in points], [p["c"] for p in points]),
        points_label="tabulated",
        x_limits=(0, 2),
        y_limits=(0, 16),
    )


def growth() -> str:
    """Draw Fig. 3, g(x) = x c(x), with the tabulated values."""
    points = table("raqm-fig3")["points"]
    xs = np.linspace(0.001, 1.999, 1001)
    return plots.curve(
        xs,
        [theory.g(x) for x in xs],
        x_label="x = r_k / r₀",
        y_label="g(x) = x c(x)",
        title="g(x) increases",
        points=([p["x"] for p in points], [p["g"] for p in points]),
        points_label="tabulated",
        marks=[plots.Mark(1, 4, "g(1) = 4", (8, -12))],
        x_limits=(0, 2),
        y_limits=(0, 32),
    )


def convergence() -> str:
    """Draw the scaled rate over the periods for several gains (Theorems 1 and 2)."""
    gains = {f"m = {m:g}": theory.static(m) for m in (1, 2, 3.9, 4.1)}
    gains |= {f"ε = {e:g}": theory.adaptive(e) for e in (0.5, 0.9)}
    orbits, notes = {}, {}
    for name, gain in gains.items():
        x, orbit = 0.5, [0.5]
        for _ in range(40):
            x = theory.step(x, gain(x))
            orbit.append(x)
        steps = theory.steps_to(0.5, gain)
        orbits[name] = orbit
        notes[name] = "never within 1 %" if steps is None else f"within 1 % after {steps}"
    return plots.iterates(orbits, notes=notes)


def stability() -> str:
    """Draw the limit set of the map for every static gain."""
    gains = np.linspace(0.5, 6, 480)
    ends = theory.attractors(gains)
    return plots.bifurcation(gains, ends, vertical=[plots.Rule(4, "bound m = 4 ")])


def speed() -> str:
    """Draw the periods to within 1 % against the fraction of the bound: counterexample to Theorem 2."""
    shares = np.linspace(0.05, 0.99, 189)
    most = 200

    def steps(gain: Callable[[float], float]) -> float:
        count = theory.steps_to(0.5, gain, most=most)
        return math.nan if count is None else count

    adaptive = np.linspace(0.05, 0.95, 19)
    return plots.curve(
        shares,
        [steps(theory.static(4 * share)) for share in shares],
        x_label="gain as a share of its bound: m / 4 (static, line), ε (adaptive, dots)",
        y_label="Periods until |x - 1| < 0.01, from x = 0.5",
        title="A larger gain is not always faster",
        points=(adaptive, [steps(theory.adaptive(share)) for share in adaptive]),
        points_label="adaptive, α = ε α̂",
        x_limits=(0, 1),
        y_limits=(0, 80),
    )


def queues(result: Reproduction, experiment: str) -> str | None:
    """Draw Figs. 5 to 7 and 9: the queue over time, one panel an algorithm."""
    arms = [arm for arm in result.paper.experiment(experiment).arms if arm.name in ("PI", "REM", "RAQM")]
    frames = [(arm.spec, _trace(result, arm)) for arm in arms]
    frame = _joined(frames)
    if frame is None:
        return None
    hybrid = experiment == "raqm-fig9"
    runs = select(result.metrics, experiment)
    means = dict(estimates(runs, ["queue_mean[50,200]"]).select("aqm", "queue_mean[50,200]").iter_rows())
    return plots.queue_traces(
        frame,
        reference=50,
        limit=100,
        notes={spec: f"mean from 50 s: {mean:.0f} p" for spec, mean in means.items() if mean is not None},
        shaded=[(50.0, 150.0)] if hybrid else (),
        shaded_label="short TCP and on/off UDP" if hybrid else "",
    )


def readings(result: Reproduction, experiment: str) -> str | None:
    """Draw RAQM's queue under each reading of its rate target r_0."""
    arm = next(arm for arm in result.paper.experiment(experiment).arms if arm.name == "RAQM")
    frames = [(READINGS[""], _trace(result, arm))]
    for reading in result.paper.readings:
        changed = reading.change(arm) if reading.id in READINGS else None
        if changed is not None:
            frames.append((READINGS[reading.id], _trace(result, changed)))
    frame = _joined(frames)
    return None if frame is None else plots.queue_traces(frame, reference=50, limit=100, panel_height=0.95)


def tradeoff(result: Reproduction, metric: str, label: str, extra: tuple[str, ...] = ()) -> str | None:
    """Draw Fig. 8: a metric against the mean queue, joined along the target q_0.

    Parameters
    ----------
    result : Reproduction
        The re-run.
    metric, label : str
        The ordinate.
    extra : tuple of str
        Readings whose RAQM is drawn too.
    """
    rows = []
    for reading in ("", *extra):
        runs = select(result.metrics, "raqm-fig8", reading)
        for row in estimates(runs, ["mean_queue_packets", metric]).iter_rows(named=True):
            algorithm = row["aqm"].split()[0]
            if reading and algorithm != "raqm":
                continue
            name = READINGS[reading] if algorithm == "raqm" and extra else algorithm
            rows.append({**row, "curve": name, "q_0": float(row["arm"].split("=")[1])})
    if len(rows) < len(TARGETS):
        return None
    for row in result.paper.table("published"):
        if row["metric"] == "goodput_normalised" and metric == "goodput":
            rows.append({"curve": "published", "mean_queue_packets": 20.0, metric: float(row["value"])})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return plots.tradeoff(frame, y=metric, by="curve", along="q_0", along_label="q₀", y_label=label)


def periods(result: Reproduction) -> str | None:
    """Draw the distance from q_0 against the measuring period T."""
    table = estimates(select(result.metrics, "raqm-T-sweep"), ["queue_rms[50,200]"])
    if table.height < 2 * len(PERIODS):
        return None
    rows = []
    for row in table.iter_rows(named=True):
        _, period, case = row["arm"].split(" ", 2)
        seconds = float(period.removeprefix("T=").removesuffix("s"))
        name = {"case 1": "raqm small round-trip time", "case 2": "raqm large round-trip time"}[case]
        rows.append({**row, "curve": name, "T": seconds})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return plots.tradeoff(
        frame,
        x="T",
        y="queue_rms[50,200]",
        by="curve",
        along="T",
        x_label="Measuring period T (s)",
        y_label="Distance from q₀ (packets, rms)",
    )


def gains(result: Reproduction) -> str | None:
    """Draw static against adaptive gain, with and without unresponsive traffic."""
    units = {"response_time": "s", "queue_mean[50,200]": "packets", "queue_std[50,200]": "packets"}
    table = estimates(select(result.metrics, "raqm-static-vs-adaptive"), list(units))
    if not table.height:
        return None
    titles = {
        "response_time": "response time",
        "queue_mean[50,200]": "mean queue",
        "queue_std[50,200]": "std. dev. of the queue",
    }
    frame = long(table, units).with_columns(name=pl.lit("raqm ") + pl.col("arm"))
    return plots.bars(frame, list(units), by="name", titles=titles, title="Static against adaptive gain")


def _trace(result: Reproduction, arm: Arm) -> pl.DataFrame | None:
    """Return the queue over time of an arm's first seed, if it was stored."""
    frame = result.campaign.trace(arm)
    return None if frame is None else frame.select("time_s", pl.col("queue_packets").cast(pl.Float64))


def _joined(frames: list[tuple[str, pl.DataFrame | None]]) -> pl.DataFrame | None:
    known = [frame.with_columns(aqm=pl.lit(name)) for name, frame in frames if frame is not None]
    return pl.concat(known) if known and len(known) == len(frames) else None


def whole(values: list[float | None]) -> str:
    """Return the range of some numbers in words: "8 to 16"."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return "unknown"
    low, high = f"{min(known):.0f}", f"{max(known):.0f}"
    return low if low == high else f"{low} to {high}"
