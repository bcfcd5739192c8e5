"""The result of a report in one sentence: which algorithm is better, in what, with the intervals."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sojourn.format import counted
from sojourn.metrics import find, label, text
from sojourn.plots.theme import labels
from sojourn.stats import paired
from sojourn.study.compare import EQUIVALENT, NO_DIFFERENCE, Comparison, Difference

#: The two metrics of a sentence about runs.
MAIN = ("mean_delay_s", "utilization")
#: Whether the best value of each is the lowest.
LOWEST = {"mean_delay_s": True, "utilization": False}
#: Algorithms and differences of a sentence about a comparison.
MOST, EACH = 4, 2

#: Metrics that only say what the delay says.
OTHER = ("mean_queue_packets", "std_queue_packets")


def of_runs(summary: pl.DataFrame, specs: Sequence[str]) -> str:
    """Return the main metrics of the algorithms, that with the lowest mean delay first; empty if unknown."""
    known = {
        (aqm, metric): (mean, half)
        for aqm, metric, mean, half in summary.select("aqm", "metric", "mean", "ci95").iter_rows()
        if mean is not None
    }
    first, second = MAIN
    have = [spec for spec in specs if (spec, first) in known]
    if not have:
        return ""
    have.sort(key=lambda spec: known[spec, first][0])
    names = labels(list(specs))

    def said(spec: str, metric: str) -> str:
        return text(metric, *known[spec, metric]) if (spec, metric) in known else "unknown"

    parts = [f"**{names[spec]}** {said(spec, first)} at {said(spec, second)}" for spec in have[:MOST]]
    rest = f"; {len(have) - MOST} more below" if len(have) > MOST else ""
    n = summary["n"].max()
    how = (
        f"95 % intervals over {n} seeds"
        if isinstance(n, int) and n > 1
        else "one seed, so differences may be chance"
    )
    return f"{label(first).capitalize()} and {label(second)}: {', '.join(parts)}{rest} ({how})."


def of_sweep(runs: pl.DataFrame, keys: Sequence[str]) -> str:
    """Return which algorithm has the lowest delay and the highest utilization in how many combinations.

    Parameters
    ----------
    runs
        One row per run: the varied keys, ``aqm``, ``seed`` and the metrics.
    keys
        The varied keys without the algorithm.
    """
    specs = list(dict.fromkeys(runs["aqm"].to_list()))
    names = labels(specs)
    found = []
    for metric in MAIN:
        if metric not in runs.columns or runs[metric].is_null().all():
            continue
        best = "lowest" if LOWEST[metric] else "highest"
        if len(specs) < 2:
            known = runs.drop_nulls(metric).group_by(keys, maintain_order=True).agg(pl.col(metric).mean())
            ends = known.sort(metric).select(metric, *keys).rows()
            first, last = (f"{text(metric, row[0])} ({_place(keys, row[1:])})" for row in (ends[0], ends[-1]))
            found.append(f"- **{label(metric)}** from {first} to {last}.")
            continue
        wins: dict[str, int] = {}
        cells = runs.partition_by(keys, maintain_order=True) if keys else [runs]
        for cell_runs in cells:
            winner = _best(cell_runs, metric, LOWEST[metric])
            wins[winner] = wins.get(winner, 0) + 1
        parts = [f"{names[spec]} in {wins[spec]}" for spec in specs if wins.get(spec)]
        parts += [f"no difference shown between the best two in {wins['']}"] if wins.get("") else []
        found.append(f"- **{best} {label(metric)}**: {', '.join(parts)}.")
    if not found:
        return ""
    if len(specs) < 2:
        return "\n".join([f"**{names[specs[0]]}**, means over the seeds:", "", *found])
    count = len(runs.select(keys).unique()) if keys else 1
    head = f"Of {counted(count, 'combination')} of {', '.join(keys)}," if keys else "Of one scenario,"
    return "\n".join([f"{head} paired by seed, 95 % intervals:", "", *found])


def _place(keys: Sequence[str], values: Sequence[object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))


def _best(runs: pl.DataFrame, metric: str, lowest: bool) -> str:
    """Return the spec with the best mean; empty if its difference from the second is not shown."""
    values = {
        spec: dict(runs.filter(pl.col("aqm") == spec).select("seed", metric).drop_nulls().iter_rows())
        for spec in dict.fromkeys(runs["aqm"].to_list())
    }
    means = {spec: sum(own.values()) / len(own) for spec, own in values.items() if own}
    order: list[str] = sorted(means, key=lambda spec: means[spec] if lowest else -means[spec])
    if len(order) < 2:
        return ""
    a, b = (values[spec] for spec in order[:2])
    seeds = sorted(a.keys() & b.keys())
    effect = paired([a[seed] for seed in seeds], [b[seed] for seed in seeds])
    if effect.low is None or effect.high is None or effect.low <= 0 <= effect.high:
        return ""
    return order[0]


def of_comparison(comparison: Comparison) -> str:
    """Return what each algorithm does better and worse than the baseline."""
    names = labels(comparison.aqms)
    lines = []
    others = [one for one in comparison.aqms if one != comparison.baseline]
    for aqm in others[:MOST]:
        own = [one for one in comparison.differences if one.aqm == aqm and one.metric not in OTHER]
        lines.append(f"- **{names[aqm]}**: {_against(own, comparison)}.")
    if len(others) > MOST:
        lines.append(f"- {len(others) - MOST} more algorithms are in the table.")
    count = len(comparison.results.seeds)
    base = f"Compared with **{names[comparison.baseline]}**, paired over {count} seeds:"
    return "\n".join([base, "", *lines])


def _against(own: Sequence[Difference], comparison: Comparison) -> str:
    parts = []
    for word in ("better", "worse", "higher", "lower"):
        found = [one for one in own if one.verdict == word]
        if not found:
            continue
        shown = [f"{label(one.metric)} ({difference(one)})" for one in found[:EACH]]
        more = f" and {len(found) - EACH} more" if len(found) > EACH else ""
        parts.append(f"{word} {'in ' if word in ('better', 'worse') else ''}{', '.join(shown)}{more}")
    open_ = [label(one.metric) for one in own if one.verdict in (NO_DIFFERENCE, EQUIVALENT)]
    if open_ and not parts:
        return "no difference shown in any metric"
    if open_:
        parts.append(f"no difference shown in {', '.join(open_[:EACH])}")
    return "; ".join(parts) or f"differences of one seed only ({len(comparison.results.seeds)})"


def difference(one: Difference) -> str:
    """Return a difference with sign, half-width and unit."""
    effect = one.effect
    if effect.mean is None:
        return "unknown"
    half = None if effect.high is None else effect.high - effect.mean
    metric = find(one.metric)
    written = text(one.metric, effect.mean, half)
    if metric is not None and metric.display.unit == "%":
        written = written.replace("%", "points")
    return f"+{written}" if effect.mean > 0 else written


def cell(one: Difference) -> str:
    """Return the difference of a cell of a table; in parentheses if none is shown."""
    words = difference(one)
    return f"({words})" if one.verdict in (NO_DIFFERENCE, EQUIVALENT) else words


def class_of(one: Difference) -> str:
    """Return the class that colours a cell."""
    return {"better": "near", "worse": "far"}.get(one.verdict, "")


def frame_of(comparison: Comparison) -> pl.DataFrame:
    """Return one row per algorithm: for each metric mean, half-width, difference as text, and class."""
    against = {(one.aqm, one.metric): one for one in comparison.differences}
    rows = []
    for aqm in comparison.aqms:
        row: dict[str, object] = {"aqm": aqm}
        for name in comparison.metrics:
            mean, half, _ = comparison.estimate(aqm, name)
            one = against.get((aqm, name))
            row |= {
                name: mean,
                f"{name}_ci95": half,
                f"{name} below": cell(one) if one else "baseline",
                f"{name} tint": class_of(one) if one else "",
            }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
