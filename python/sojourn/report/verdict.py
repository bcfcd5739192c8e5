"""The result of a report in one sentence: which algorithm is better, in what, with the intervals."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sojourn.metrics import find, label, text
from sojourn.plots.theme import labels
from sojourn.study.compare import EQUIVALENT, NO_DIFFERENCE, Comparison, Difference

#: The two metrics of a sentence about runs.
MAIN = ("mean_delay_s", "utilization")
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
