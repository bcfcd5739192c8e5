"""Outputs of runs, comparisons and sweeps: the metrics of the registry's views, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn import worlds
from sojourn.cli.output import Column, Differences, Estimates, Output, Table
from sojourn.errors import InputError
from sojourn.metrics import METRICS, display, find, label, shown
from sojourn.results import Results
from sojourn.stats import Estimate
from sojourn.study.compare import Comparison
from sojourn.study.sweep.model import Swept

#: From this number of algorithms on, a table has one in each row instead of each column.
WIDE = 4
#: Rows of a sweep's table in the terminal.
MOST_ROWS = 60
ALGORITHM = Column("aqm", "")


def estimates(name: str, data_only: bool = False) -> Estimates:
    """Return the column of a metric by its full name."""
    known = find(name)
    return Estimates(name, label(name), display(name), known.digits if known else 4, data_only)


def of_results(results: Results, metrics: Sequence[str] = ()) -> Output:
    """Return mean and 95 % half-width of `metrics`, or of the main ones; files have every metric."""
    names = [traffic.name for traffic in results.scenario.traffic]
    main = shown("summary")
    own = [one for one in shown("traffic") if len(names) > 1 or METRICS[one].scope in ("objects", "pages")]
    main += [f"{name}.{one}" for name in names for one in own]
    classes = [name.split(".")[1] for name in results.metric_names if name.startswith("classes.")]
    main += [f"classes.{number}.{one}" for number in dict.fromkeys(classes) for one in shown("class")]
    own = [one for one in shown("sweep") if METRICS[one].scope == "queue"]
    main += [f"phases.{phase.name}.{one}" for phase in results.scenario.phase for one in own]
    main = [name for name in main if name in results.metric_names]
    main = [name for name in main if any(results.estimate(aqm, name).n for aqm in results.aqms)]
    main = list(dict.fromkeys(metrics)) or main
    every = [*main, *(name for name in results.metric_names if name not in main)]
    title = f"{results.scenario.name}: {_means(len(results.seeds))}"
    world = results.outcomes[0].point.world
    if not worlds.find(world).seeded:
        title = f"{results.scenario.name}: {world} world, which has no seeds"
    table = Table(
        "metrics",
        title,
        [ALGORITHM, *(estimates(name, data_only=name not in main) for name in every)],
        [[aqm, *(results.estimate(aqm, name) for name in every)] for aqm in results.aqms],
        turned=len(results.aqms) < WIDE,
    )
    return Output(title, [table], results.to_json())


def of_comparison(comparison: Comparison) -> Output:
    """Return the algorithms, best first, and below each metric their difference from the baseline."""
    results, names = comparison.results, comparison.metrics
    over = _means(len(results.seeds), comparison.level)
    title = f"{results.scenario.name}: {over}, sorted by {label(comparison.sort)}"
    means = Table(
        "means",
        title,
        [ALGORITHM, *map(estimates, names)],
        [[aqm, *(comparison.estimate(aqm, name) for name in names)] for aqm in comparison.aqms],
    )
    against = {(one.aqm, one.metric): one for one in comparison.differences}
    differences = Table(
        "differences",
        f"Difference from {comparison.baseline} (baseline), paired by seed; "
        "'=': not significant after Holm's correction",
        [ALGORITHM, *(Differences(name, label(name), display(name)) for name in names)],
        [
            [aqm, *(against[aqm, name] for name in names)]
            for aqm in comparison.aqms
            if aqm != comparison.baseline
        ],
    )
    return Output(title, [means, differences], comparison.to_json())


def of_sweep(swept: Swept, metrics: Sequence[str] = ()) -> Output:
    """Return mean and 95 % half-width of some metrics, one row a combination and algorithm."""
    summary = swept.summary()
    measured = summary["metric"].unique(maintain_order=True).to_list()
    for name in metrics:
        if swept.complete and name not in measured:
            raise InputError("metric", f"= {name!r} was not measured", ", ".join(measured[:12]))
    keys = [name for name in summary.columns if name not in ("metric", "mean", "ci95", "n")]
    main = [name for name in metrics or shown("sweep") if name in measured]
    every = [*main, *(name for name in measured if name not in main)]
    title = f"{swept.sweep.scenario.name}: {_means(swept.sweep.seeds)}"
    rows = []
    for group in summary.partition_by(keys, maintain_order=True):
        found = {row["metric"]: Estimate(row["mean"], row["ci95"], row["n"]) for row in group.to_dicts()}
        absent = Estimate(None, None, 0)
        rows.append([*group.select(keys).row(0), *(found.get(name, absent) for name in every)])
    columns = [*(Column(key, key, digits=12) for key in keys), *(estimates(n, n not in main) for n in every)]
    table = Table("metrics", title, columns, rows, keys=len(keys), most=MOST_ROWS)
    return Output(title, [table], {"runs": swept.runs().to_dicts(), "summary": summary.to_dicts()})


def _means(seeds: int, level: float = 0.95) -> str:
    return f"mean ± {100 * level:.3g} % interval over {seeds} seed{'s' if seeds > 1 else ''}"
