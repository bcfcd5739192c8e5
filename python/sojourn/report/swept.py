"""The report of a sweep: who is best where, metrics over the varied keys, every combination.

Metrics are curves over the first key with numbers, of which the page shows any, and heat maps over the first
two keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sojourn import plots
from sojourn.format import capitalized
from sojourn.metrics import display, heading, label, shown
from sojourn.report import live, verdict
from sojourn.report.document import Block, Column, Document, Facts, Figure, Note, Section, Table
from sojourn.report.results import metric_column, remarks
from sojourn.study.axes import Axis, magnitudes
from sojourn.study.sweep.model import Swept

MOST_LINES = 8
MOST_PANELS = 9


def for_swept(swept: Swept, command: str = "") -> Document:
    """Build the report of a sweep, or of its finished part.

    Parameters
    ----------
    swept
        The result of ``sojourn.study.sweep.run.sweep``.
    command
        The command that reproduces it.

    Returns
    -------
    Document
        To be passed to `sojourn.report.render` or `sojourn.report.write`.
    """
    plan = swept.sweep
    facts = Facts(
        {
            "runs": f"{len(swept.metrics)} of {len(plan.points)}",
            "combinations": f"{len(plan.cells)}",
            "algorithms": "; ".join(plan.aqms),
            "seeds": f"{plan.seed_from} to {plan.seed_from + plan.seeds - 1}",
            **{axis.key: ", ".join(axis.values) for axis in plan.axes},
            **({"id": swept.id} if swept.id else {}),
        }
    )
    blocks: list[Block] = []
    if not swept.complete:
        missing = len(plan.points) - len(swept.metrics)
        blocks.append(Note(f"{missing} runs are missing: all results may still change.", "warning"))
    said = ""
    if swept.metrics:
        texts = [
            pl.col(axis.key).replace_strict(dict(zip(axis.data, axis.values, strict=True)))
            for axis in plan.axes
            if axis.key != "aqm"
        ]
        summary = swept.summary().with_columns(texts)
        keys = [name for name in summary.columns if name not in ("metric", "mean", "ci95", "n")]
        rows = _wide(summary, keys)
        said = verdict.of_sweep(swept.runs(), [key for key in keys if key != "aqm"])
        figures = _figures(rows, plan.axes, keys) + _heat_maps(rows, plan.axes)
        blocks += [Section("Figures", figures)] if figures else []
        blocks.append(Section("Every combination", [_table(rows, keys)], "Means with 95 % intervals."))
    said_of = [[f"{capitalized(one)}." for one in each] for each in (swept.warnings, swept.notes)]
    notes = remarks(*said_of)
    blocks += [Section("Warnings and notes", notes)] if notes else []
    blocks.append(Section("What was run", [facts]))
    return Document(title=plan.scenario.name, kind="Sweep", command=command, blocks=blocks, verdict=said)


def _wide(summary: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return one row per combination, with ``NAME`` and ``NAME_ci95`` of each metric of the views."""
    wanted = summary.filter(pl.col("metric").is_in([*shown("sweep"), *shown("lines")]))
    means = wanted.pivot("metric", index=keys, values="mean")
    halves = wanted.pivot("metric", index=keys, values="ci95")
    named = halves.rename({name: f"{name}_ci95" for name in halves.columns if name not in keys})
    return means.join(named, on=keys, maintain_order="left")


def _figures(rows: pl.DataFrame, axes: Sequence[Axis], keys: list[str]) -> list[Block]:
    """Return the metrics over the first key with numbers; on the screen with a choice of metric."""
    first = next((axis for axis in axes if len(axis.values) > 1 and magnitudes(axis) is not None), None)
    found = None if first is None else magnitudes(first)
    if first is None or found is None:
        return []
    numbers, unit = found
    others = [key for key in keys if key not in (first.key, "aqm")]
    line = pl.concat_str(
        "aqm", *(pl.lit(f" {key.rpartition('.')[2]} ") + pl.col(key) for key in others)
    ).alias("line")
    values = dict(zip(first.values, numbers, strict=True))
    at = pl.col(first.key).replace_strict(values, return_dtype=pl.Float64)
    frame = rows.with_columns(line, at.alias("at"))
    if frame["line"].n_unique() > MOST_LINES:
        return []
    across = f"{first.key} ({unit})" if unit else first.key
    log_x = geometric(numbers)
    drawn = [name for name in shown("lines") if _is_known(frame, name)]
    if not drawn:
        return []
    stills = [
        plots.tradeoff(
            frame.with_columns(pl.col(name, f"{name}_ci95") * display(name).factor),
            x="at", y=name, by="line", along="at", x_label=across, y_label=capitalized(heading(name)),
            log_x=log_x,
        )
        for name in drawn
    ]  # fmt: skip
    chosen = dict.fromkeys([*drawn, *(name for name in shown("sweep") if _is_known(frame, name))])
    data = live.means(frame, "at", "line", list(chosen), x_label=across, log_x=log_x)
    names = [label(name) for name in drawn]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    caption = f"{capitalized(listed)} over {first.key}, with 95 % intervals."
    return [Figure(stills[0], caption, live=data, more=stills[1:])]


def _is_known(frame: pl.DataFrame, metric: str) -> bool:
    return metric in frame.columns and not frame[metric].is_null().all()


def _heat_maps(rows: pl.DataFrame, axes: Sequence[Axis]) -> list[Block]:
    """Return a map of each metric over the first two varied keys, a panel for each other combination."""
    varied = [axis for axis in axes if axis.key != "aqm" and len(axis.values) > 1]
    if len(varied) < 2:
        return []
    x, y, *rest = varied
    panel = pl.concat_str(
        "aqm", *(pl.lit(f" {one.key.rpartition('.')[2]} ") + pl.col(one.key) for one in rest)
    ).alias("panel")
    frame = rows.with_columns(panel)
    if frame["panel"].n_unique() > MOST_PANELS:
        return []
    blocks: list[Block] = []
    for metric in shown("lines"):
        if not _is_known(frame, metric):
            continue
        svg = plots.heat_map(
            frame.with_columns(pl.col(metric) * display(metric).factor),
            x=x.key, y=y.key, z=metric, by="panel", columns=x.values, rows=y.values,
            x_label=x.key, y_label=y.key, z_label=capitalized(heading(metric)),
        )  # fmt: skip
        blocks.append(Figure(svg, f"{capitalized(label(metric))} over {x.key} and {y.key}: means."))
    return blocks


def geometric(numbers: Sequence[float]) -> bool:
    """Return whether numbers are spaced so widely that a logarithmic axis separates them better."""
    return len(numbers) > 2 and min(numbers) > 0 and max(numbers) / min(numbers) >= 8


def _table(rows: pl.DataFrame, keys: list[str]) -> Table:
    columns = {key: Column(key, kind="spec" if key == "aqm" else "text") for key in keys}
    columns |= {name: metric_column(name, f"{name}_ci95") for name in shown("sweep") if name in rows.columns}
    return Table(rows, "Means over the seeds", columns)
