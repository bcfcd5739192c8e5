"""The result of a run as a table: readable without colour, on any width."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn import worlds
from sojourn.errors import InputError
from sojourn.metrics import display, heading, shown
from sojourn.results import Results
from sojourn.stats import Estimate
from sojourn.study.compare import NO_DIFFERENCE, Comparison, Difference
from sojourn.study.sweep.model import Swept

WIDE = 4


def show(results: Results) -> None:
    """Print mean and 95 % half-width of the main metrics; many algorithms are rows, few are columns."""
    names = [traffic.name for traffic in results.scenario.traffic]
    rows = shown("summary")
    rows += [f"{name}.{one}" for name in (names if len(names) > 1 else []) for one in shown("traffic")]
    classes = [name.split(".")[1] for name in results.metric_names if name.startswith("classes.")]
    rows += [f"classes.{number}.{one}" for number in dict.fromkeys(classes) for one in shown("class")]
    rows = [name for name in rows if name in results.metric_names]
    rows = [name for name in rows if any(results.estimate(aqm, name).n for aqm in results.aqms)]
    count = len(results.seeds)
    title = f"{results.scenario.name}: mean ± 95 % over {count} seed{'s' if count > 1 else ''}"
    if not any(worlds.find(one.point.world).seeded for one in results.outcomes):
        title = f"{results.scenario.name}: fluid equations, which have no seeds"
    heads = [heading(name) for name in rows]
    cells = [
        [cell(results.estimate(aqm, name), display(name).factor) for name in rows] for aqm in results.aqms
    ]
    if len(results.aqms) >= WIDE:
        print_table(
            title, ["", *heads], [(aqm, *line) for aqm, line in zip(results.aqms, cells, strict=True)]
        )
    else:
        lines = [(head, *(line[i] for line in cells)) for i, head in enumerate(heads)]
        print_table(title, ["", *results.aqms], lines)


def show_comparison(comparison: Comparison) -> None:
    """Print the algorithms, best first, and under each metric how far they are from the baseline."""
    columns = [(name, heading(name), display(name).factor) for name in comparison.metrics]
    count, percent = len(comparison.results.seeds), 100 * comparison.level
    name = comparison.results.scenario.name
    seeds = f"{count} seed{'s' if count > 1 else ''}"
    title = f"{name}: mean ± {percent:.3g} % over {seeds}, sorted by {comparison.sort}"
    heads = ["", *(head for _, head, _ in columns)]
    rows = [
        (aqm, *(cell(comparison.estimate(aqm, name), factor) for name, _, factor in columns))
        for aqm in comparison.aqms
    ]
    print_table(title, heads, rows)
    against = {(one.aqm, one.metric): one for one in comparison.differences}
    title = f"minus {comparison.baseline}, paired by seed ('=': no difference shown, Holm over the table)"
    rows = [
        (aqm, *(difference(against[aqm, name], factor) for name, _, factor in columns))
        for aqm in comparison.aqms
        if aqm != comparison.baseline
    ]
    print_table(title, heads, rows)


#: Rows of a sweep's table; the rest is in its folder.
MOST_ROWS = 60


def show_sweep(swept: Swept, metrics: list[str] | None = None) -> None:
    """Print mean and 95 % half-width of some metrics, one row a combination and algorithm."""
    summary = swept.summary()
    names = summary["metric"].unique(maintain_order=True).to_list()
    for name in metrics or []:
        if name not in names:
            raise InputError("metric", f"= {name!r} was not measured", ", ".join(names[:12]))
    keys = [name for name in summary.columns if name not in ("metric", "mean", "ci95", "n")]
    columns = [
        (name, heading(name), display(name).factor) for name in metrics or shown("sweep") if name in names
    ]
    sweep = swept.sweep
    title = f"{sweep.scenario.name}: mean ± 95 % over {sweep.seeds} seed{'s' if sweep.seeds > 1 else ''}"
    groups = summary.partition_by(keys, maintain_order=True)
    rows = []
    for group in groups[:MOST_ROWS]:
        found = {row["metric"]: Estimate(row["mean"], row["ci95"], row["n"]) for row in group.to_dicts()}
        rows.append((*group.select(keys).row(0), *(cell(found[name], f) for name, _, f in columns)))
    print_table(title, [*keys, *(head for _, head, _ in columns)], rows, len(keys))
    if len(groups) > MOST_ROWS:
        print(f"and {len(groups) - MOST_ROWS} more rows: --json has them all")


def difference(one: Difference, factor: float) -> str:
    """Return the effect with its half-width, or ``=`` where no difference is shown."""
    effect = one.effect
    if effect.mean is None:
        return "-"
    half = None if effect.high is None else effect.high - effect.mean
    text = cell(Estimate(effect.mean, half, effect.n), factor)
    if one.verdict == NO_DIFFERENCE:
        return f"= ({text})"
    return text if effect.mean < 0 else f"+{text}"


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], keys: int = 1) -> None:
    """Print a table; where it is too wide, its columns below each other, each part with the first `keys`.

    No number is ever broken over lines, and no name that fits into half of the width.
    """
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
    cells = [max((len(row[i]) for row in rows), default=0) for i in range(len(heads))]
    natural = [max(cell, len(head)) for cell, head in zip(cells, heads, strict=True)]
    tight = [
        max([cell, *map(len, head.split())]) for cell, head in zip(cells, heads, strict=True)
    ]  # headings may break between words
    if _width(natural) <= console.width:
        parts, widths = [list(range(len(heads)))], natural
    else:
        widths = [min(n, console.width // 2 // keys) for n in natural[:keys]] + tight[keys:]
        parts = [list(range(keys))]
        for i in range(keys, len(heads)):
            if len(parts[-1]) > keys and _width([widths[k] for k in (*parts[-1], i)]) > console.width:
                parts.append(list(range(keys)))
            parts[-1].append(i)
    for number, part in enumerate(parts):
        table = Table(
            title=title if not number else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for i in part:
            table.add_column(
                heads[i], justify="right" if i else "left", overflow="fold", width=max(1, widths[i])
            )
        for row in rows:
            table.add_row(*(Text(row[i]) for i in part))
        console.print(table)


def _width(columns: Sequence[int]) -> int:
    """Return how wide a table of such columns is: three spaces between, one at each end."""
    return sum(columns) + 3 * (len(columns) - 1) + 2


def cell(estimate: Estimate, factor: float) -> str:
    """Return ``mean ± half-width`` with as many digits as the interval deserves.

    Examples
    --------
    >>> from sojourn.stats import Estimate
    >>> cell(Estimate(0.98765, 0.0123, 5), 100)
    '98.8 ± 1.2'
    >>> cell(Estimate(0.25, None, 1), 1), cell(Estimate(None, None, 0), 1)
    ('0.25', '-')
    >>> cell(Estimate(0.1, 1e-17, 5), 100)
    '10 ± 0'
    """
    if estimate.mean is None:
        return "-"
    mean = estimate.mean * factor
    if estimate.ci95 is None:
        return f"{mean:.4g}"
    half = estimate.ci95 * factor
    if half <= 1e-12 * abs(mean):  # every seed the same, but for the last bit of a sum
        return f"{mean:.4g} ± 0"
    most = 4 - math.floor(math.log10(abs(mean))) if mean else 4
    digits = max(0, min(4, most, 1 - math.floor(math.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
