"""The figures of the paper's testbed, redrawn, and its tables beside our results.

Every function takes the re-run and returns SVG or a frame, or None if the runs that it needs were not made.
"""

from __future__ import annotations

import polars as pl

from sojourn import plots
from sojourn.papers.avqred2007.arithmetic import places, printed, table2
from sojourn.papers.avqred2007.experiments import LIMITS, ON_SMALL, SMALL, TUNING, TWIN, varied
from sojourn.papers.avqred2007.measures import TABLE2, over_time
from sojourn.papers.avqred2007.ranking import WEIGHTS, Ranking
from sojourn.papers.avqred2007.settings import BEST, OTHERS, SETTINGS
from sojourn.papers.avqred2007.testbed import Testbed
from sojourn.papers.published import Cell
from sojourn.papers.result import Reproduction
from sojourn.papers.summary import estimates, select
from sojourn.report import estimate, number

#: Start of the statistics (s).
COUNTED = 100.0
#: Half a minute for Fig. 5; the paper does not state which: "about 30 second time period was magnified".
MAGNIFIED = (120.0, 150.0)


def traces(
    result: Reproduction, value: str, label: str, title: str, part: tuple[float, float] | None = None
) -> str | None:
    """Draw a column of `over_time` for the best setting of each algorithm, for `part` or the whole window."""
    arms = {arm.name: arm for arm in result.paper.experiment(TWIN).runs(result.selection.quick)}
    found = [(name, result.campaign.trace(arms[name])) for name in BEST.values()]
    parts = [
        over_time(frame).with_columns(aqm=pl.lit(spaced(name))) for name, frame in found if frame is not None
    ]
    if len(parts) < len(found):
        return None
    start, end = part or (COUNTED, None)
    return plots.queue_traces(
        pl.concat(parts).filter(pl.col("time_s") >= start),
        value=value,
        start=start,
        end=end,
        smooth=None if part else 5.0,
        y_label=label,
        title=title,
        panel_height=0.75,
    )


def spaced(setting: str) -> str:
    """Return a setting as a name that begins with its algorithm: ``red 2``."""
    return f"{setting.rstrip('123').lower()} {setting[-1]}"


def table2_agreement(result: Reproduction) -> str | None:
    """Draw columns A to F of Table 2, ours against printed."""
    frame = result.published.filter(pl.col("table_or_figure") == "Table 2")
    frame = frame.filter(~pl.col("metric").str.starts_with("rank"))
    if not frame["ours"].is_not_null().any():
        return None
    headings = {
        ("link_utilisation", "mean"): "A: utilisation (Mbit/s)",
        ("link_utilisation", "std"): "B: its std. dev. (kbit/s)",
        ("queueing_delay", "mean"): "C: delay (ms)",
        ("queueing_delay", "std"): "D: its std. dev. (ms)",
        ("packet_drops_per_100ms", "mean"): "E: drops / 100 ms",
        ("packet_drops_per_100ms", "std"): "F: their std. dev.",
    }
    names = [headings[key] for key in zip(frame["metric"], frame["statistic"], strict=True)]
    frame = frame.with_columns(pl.Series("metric", names), aqm=pl.col("algorithm").str.to_lowercase())
    return plots.agreement(frame, margin=0.2, title="Table 2: ours against published", columns=3)


def ranks(result: Reproduction) -> pl.DataFrame | None:
    """Return our Table 2: columns A to F with intervals, G and H under both weights, H as printed."""
    runs = select(result.metrics, TWIN)
    ranking, samples = Ranking(TWIN, SETTINGS), result.campaign.observations.under()
    rows = ranking.rows(samples)
    if not rows:
        return None
    table = estimates(runs, list(TABLE2)).filter(pl.col("arm").is_in(SETTINGS))
    sums = {name: ranking.sums(rows, weight) for name, weight in WEIGHTS.items()}
    order = {name: places(one) for name, one in sums.items()}
    return table.with_columns(
        pl.Series("g", [sums["weights of the printed G"][name] for name in table["arm"]]),
        pl.Series("h", [order["weights of the printed G"][name] for name in table["arm"]]),
        pl.Series("h_literal", [order["2^rank"][name] for name in table["arm"]]),
        pl.Series("h_printed", [int(table2()[name]["H"]) for name in table["arm"]]),
    )


def improvements(result: Reproduction) -> pl.DataFrame | None:
    """Return Tables 3 to 6: for each algorithm the printed value and ours, in per cent."""
    bed, samples = Testbed(TWIN), result.campaign.observations.under()
    table = []
    for metric, (title, _) in {**TABLE2, "overall": ("overall", "")}.items():
        row = {"improvement of": title}
        for against in OTHERS:
            term = bed.overall(against) if metric == "overall" else bed.improvement(metric, against)
            ours = Cell(term).estimate(samples)
            if ours.mean is None:
                return None
            row[against] = f"{number(float(printed(metric, against)))} | {estimate(ours.mean, ours.ci95)}"
        table.append(row)
    return pl.DataFrame(table)


def small_queue(result: Reproduction, metric: str, label: str) -> str | None:
    """Draw a metric against the size of the physical queue."""
    table = estimates(select(result.metrics, SMALL), [metric])
    if table["arm"].n_unique() < len(LIMITS) * len(ON_SMALL):
        return None
    name, size = pl.col("arm").str.split(" ").list.get(0), pl.col("arm").str.extract(r"(\d+)p$")
    frame = table.with_columns(
        curve=name.str.strip_chars_end("123").str.to_lowercase(), size=size.cast(pl.Float64)
    )
    return plots.tradeoff(
        frame, x="size", y=metric, by="curve", along="size", x_label="Room (packets)", y_label=label,
        width=plots.HALF, height=2.4,
    )  # fmt: skip


def neighbours(result: Reproduction) -> pl.DataFrame | None:
    """Return for each best setting its rank among its neighbours, and the setting that ranks first."""
    samples, table = result.campaign.observations.under(), []
    for setting in BEST.values():
        names = [name for name, _ in varied(setting)]
        ranking = Ranking(TUNING, (setting, *names))
        rows = ranking.rows(samples)
        if not rows:
            return None
        found: dict[str, object] = {"setting": setting, "of": len(names) + 1}
        for title, weight in WEIGHTS.items():
            sums = ranking.sums(rows, weight)
            found[f"place ({title})"] = places(sums)[setting]
        found["first"] = min(sums, key=sums.__getitem__)
        table.append(found)
    return pl.DataFrame(table)
