"""Objects as HTML for notebooks: tables with small inline pictures, escaped and of bounded size.

Notebooks have light and dark themes that a page cannot ask for, so a table has its own light background.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.format import MISSING
from sojourn.metrics import heading, text
from sojourn.metrics.evaluation import compute
from sojourn.notebook import topology
from sojourn.plots import decimate
from sojourn.plots.theme import INK, MUTED, SHADE, styles
from sojourn.report import Column, Table, markup, metric_table
from sojourn.report.cells import Cell, grid
from sojourn.report.results import main_metrics, metric_column
from sojourn.report.verdict import frame_of
from sojourn.report.verdict import of_comparison as said
from sojourn.spec.senders import senders

if TYPE_CHECKING:
    from sojourn.record import Record
    from sojourn.results import Results
    from sojourn.spec.scenario import Scenario
    from sojourn.study.compare import Comparison

#: Rows and columns of a table; the rest is counted in words.
MOST_ROWS, MOST_COLUMNS = 12, 7
#: Links of a scenario that are drawn.
MOST_LINKS = 40
#: Size of a small picture, in pixels.
WIDE, HIGH = 150, 30
STYLE = (
    ".sojourn{background:#fff;color:#22272e;padding:.6em .8em;font:13px/1.45 sans-serif;overflow-x:auto}"
    ".sojourn table{border-collapse:collapse;margin:.5em 0;color:inherit}"
    ".sojourn th,.sojourn td{padding:.25em .7em;text-align:right;background:#fff!important;"
    "border-top:1px solid #dde2e7;white-space:nowrap;color:inherit;vertical-align:middle}"
    ".sojourn th:first-child,.sojourn td:first-child,.sojourn .text{text-align:left}"
    ".sojourn .wide{white-space:normal}.sojourn small{color:#57606b;display:block}"
    ".sojourn .near{box-shadow:inset 4px 0 #0b6a5a}.sojourn .far{box-shadow:inset 4px 0 #a3361c}"
    ".sojourn p{margin:.2em 0}.sojourn ul{margin:.2em 0}"
)


def of_results(results: Results) -> str:
    """Return a row per algorithm: its queue over time and the main metrics with their intervals."""
    specs, seeds = results.aqms, results.seeds
    made = metric_table(results.summary(), main_metrics(results))
    head = f"{len(specs)} algorithm{'s' * (len(specs) > 1)}, {len(seeds)} seed{'s' * (len(seeds) > 1)}"
    warmup, _ = results.scenario.seconds
    records = {one.point.spec: one.record for one in reversed(results.outcomes)}
    pictures = _queues([records[spec] for spec in specs[:MOST_ROWS]], specs, warmup)
    return _page(
        f"Results of {results.scenario.name}",
        f"{head}; means with 95 % intervals"
        + (f"; stored in {results.directory}" if results.directory else ""),
        _table(made, pictures, f"queue, seed {seeds[0]}" if seeds else ""),
        *_list(results.warnings),
    )


def of_comparison(comparison: Comparison) -> str:
    """Return what is better and worse than the baseline in words, and the table with the differences."""
    columns = {"aqm": Column("algorithm", kind="spec")}
    for name in comparison.metrics:
        column = metric_column(name, f"{name}_ci95")
        columns[name] = Column(
            column.title,
            column.unit,
            column.half_width,
            column.factor,
            tint=f"{name} tint",
            below=f"{name} below",
        )
    sort = comparison.sort
    estimates = [comparison.estimate(aqm, sort)[:2] for aqm in comparison.aqms[:MOST_ROWS]]
    return _page(
        f"Comparison on {comparison.results.scenario.name}",
        "",
        str(markup.blocks(said(comparison))),
        _table(
            Table(frame_of(comparison), columns=columns),
            _intervals(estimates, comparison.aqms),
            heading(sort),
        ),
        *_list(comparison.results.warnings),
    )


def of_scenario(scenario: Scenario) -> str:
    """Return the picture of the network, and a table of the traffic."""
    links = topology.links(scenario)
    network = topology.svg(scenario) if len(links) <= MOST_LINKS else ""
    data = base64.b64encode(network.encode()).decode()
    picture = f'<img alt="Network of the scenario" src="data:image/svg+xml;base64,{data}">' if network else ""
    rows = topology.traffic(scenario)
    more = [f"and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
    return _page(
        f"Scenario {scenario.name}",
        f"{scenario.duration}, of which {scenario.warmup} warm-up; {senders(scenario)}",
        picture or f"<p>{len(links)} links</p>",
        _rows(
            ["traffic", "kind", "sources", "direction"],
            ([_text(one) for one in row] for row in rows[:MOST_ROWS]),
        ),
        *_list(more),
    )


def of_record(record: Record) -> str:
    """Return the queue over time and the main metrics of a run, and a row per traffic."""
    values = compute(record)
    start, end = record.window
    main = ("mean_delay_s", "p99_delay_s", "utilization", "drop_ratio", "mark_ratio")
    queue = _rows(
        ["queue", *(heading(name).partition(" (")[0] for name in main)],
        [[*_queues([record], [""], start), *(_text(_said(name, values.get(name))) for name in main)]],
    )
    of_traffic = ("goodput_bps", "drops", "mean_owd_s", "completion_time_mean_s")
    named = record.traffic
    shown = [one for one in of_traffic if any(values.get(f"{t['name']}.{one}") is not None for t in named)]
    rows = [
        [
            _text(t["name"]),
            _text(t["kind"]),
            *(_text(_said(one, values.get(f"{t['name']}.{one}"))) for one in shown),
        ]
        for t in named[:MOST_ROWS]
    ]
    more = [f"and {len(named) - MOST_ROWS} more"] if len(named) > MOST_ROWS else []
    heads = ["traffic", "kind", *(heading(one).partition(" (")[0] for one in shown)]
    return _page(
        "Record of a run", f"measured from {start:g} s to {end:g} s", queue, _rows(heads, rows), *_list(more)
    )


def _said(name: str, value: float | None) -> str:
    return text(name, value) if value is not None else MISSING


def _page(title: str, subtitle: str, *parts: str) -> str:
    small = f"<small>{escape(subtitle)}</small>" if subtitle else ""
    head = f"<style>{STYLE}</style><strong>{escape(title)}</strong>{small}"
    return f'<div class="sojourn">{head}{"".join(parts)}</div>'


def _list(lines: Sequence[str]) -> list[str]:
    """Return lines as a list of at most `MOST_ROWS`, each of at most 300 characters."""
    items = "".join(f"<li>{escape(one[:300])}</li>" for one in lines[:MOST_ROWS])
    return [f"<ul>{items}</ul>"] if items else []


def _text(value: str) -> str:
    return escape(value if len(value) <= 80 else f"{value[:79]}…")


def _rows(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are HTML."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table(table: Table, pictures: Sequence[str], caption: str) -> str:
    """Return a table of a report with a column of pictures after the first."""
    cells = grid(table)
    heads = [f"{one.title} ({one.unit})" if one.unit else one.title for one in cells.headings[:MOST_COLUMNS]]
    heads.insert(1, caption)
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = ""
    for row, picture in zip(cells.rows, pictures, strict=False):
        shown = [_cell(one) for one in row[:MOST_COLUMNS]]
        shown.insert(1, f"<td>{picture}</td>")
        body += f"<tr>{''.join(shown)}</tr>"
    left = [f"{len(cells.rows) - len(pictures)} more algorithms"] if len(cells.rows) > len(pictures) else []
    left += (
        [f"{len(cells.headings) - MOST_COLUMNS} more metrics"] if len(cells.headings) > MOST_COLUMNS else []
    )
    note = f"<small>Not shown: {' and '.join(left)}.</small>" if left else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cell(cell: Cell) -> str:
    dot = f'<span style="color:{cell.colour}">&#9632;</span> ' if cell.colour else ""
    below = f"<small>{_text(cell.below)}</small>" if cell.below else ""
    shown = f"{dot}{_text(cell.text + cell.margin)}{below}"
    return f'<td class="{cell.tint}" title="{_text(cell.hint)}">{shown}</td>'


def _svg(content: str, label: str) -> str:
    size = f'width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{content}</svg>'


def _queues(records: Sequence[Record], specs: Sequence[str], warmup: float) -> list[str]:
    """Return the mean queue over time of each record, on common axes; the warm-up is shaded."""
    every = []
    for record in records:
        samples = record.series()
        every.append((samples["time_s"].to_numpy(), samples["queue_mean"].cast(pl.Float64).to_numpy()))
    top = max((float(queue.max()) for _, queue in every if len(queue)), default=0.0) or 1.0
    looks = styles(list(specs))
    made = []
    for (time, queue), spec in zip(every, specs, strict=False):
        if not len(queue):
            made.append("no samples")
            continue
        x, y = decimate(time, queue, WIDE // 2)
        across, up = x / x[-1] * WIDE, HIGH - 1 - y / top * (HIGH - 2)
        points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(across, up, strict=True) if np.isfinite(b))
        shade = f'<rect width="{WIDE * warmup / x[-1]:.0f}" height="{HIGH}" fill="{SHADE}"/>'
        line = f'<polyline points="{points}" fill="none" stroke="{looks[spec].colour}"/>'
        made.append(_svg(shade + line, f"queue over time, up to {top:.0f} packets"))
    return made


def _intervals(estimates: Sequence[tuple[float | None, float | None]], specs: Sequence[str]) -> list[str]:
    """Return each mean with its interval, on a common axis from 0."""
    top = max((mean + (half or 0.0) for mean, half in estimates if mean is not None), default=0.0) or 1.0
    looks = styles(list(specs))
    made = []
    for (mean, half), spec in zip(estimates, specs, strict=False):
        if mean is None or mean < 0:
            made.append(MISSING)
            continue
        at, wide = mean / top * (WIDE - 8) + 4, (half or 0.0) / top * (WIDE - 8)
        middle, colour = HIGH / 2, looks[spec].colour
        ends = f'x1="{max(0.0, at - wide):.1f}" x2="{at + wide:.1f}" y1="{middle}" y2="{middle}"'
        made.append(
            _svg(
                f'<line x1="4" x2="4" y1="2" y2="{HIGH - 2}" stroke="{MUTED}"/>'
                f'<line {ends} stroke="{INK}"/>'
                f'<circle cx="{at:.1f}" cy="{middle}" r="3.5" fill="{colour}"/>',
                "mean with its interval, on a common axis from 0",
            )
        )
    return made
