"""Metrics of finite transfers, and of the pages of web traffic."""

from __future__ import annotations

import math

from sojourn.metrics.registry import Value, metric
from sojourn.metrics.tables import Rows, Table, overlaps, ratio
from sojourn.stats import kaplan_meier

COMPLETION = "RFC 7928, 2.1"
KAPLAN_MEIER = "Kaplan, Meier: Nonparametric estimation from incomplete observations, JASA 1958"
CENSORED = "in which those that did not finish are censored at the end of the run; null where too few did"
PAGES = "Feldmann, Gilbert, Huang, Willinger: Dynamics of IP traffic, SIGCOMM 1999"


@metric(
    "completion_time_mean_s",
    "mean completion time",
    "s",
    "objects",
    formula=(
        "mean of (end - start) of the transfers that started in the window and finished; end: last byte "
        "acknowledged (an object of a page: at the client), start: first packet "
        "(a page's object: its request)"
    ),
    source=COMPLETION,
    better="lower",
    views=("traffic",),
    position=150,
)
def mean_completion_time(t: Table) -> Value:
    """Return the mean duration of the finished transfers."""
    return _mean(t.objects.durations)


@metric(
    "completion_time_max_s",
    "maximum completion time",
    "s",
    "objects",
    formula="largest completion time",
    source=COMPLETION,
    better="lower",
)
def max_completion_time(t: Table) -> Value:
    """Return the duration of the slowest finished transfer."""
    return max(t.objects.durations, default=None)


@metric(
    "completion_time_p50_s",
    "median completion time",
    "s",
    "objects",
    formula="50th percentile of completion times, linear between ranks",
    source=COMPLETION,
    better="lower",
)
def median_completion_time(t: Table) -> Value:
    """Return the median of the durations of the finished transfers."""
    return quantile(t.objects.durations, 0.50)


@metric(
    "completion_time_p95_s",
    "95th-percentile completion time",
    "s",
    "objects",
    formula="95th percentile of completion times, linear between ranks",
    source=COMPLETION,
    better="lower",
    views=("traffic",),
    position=152,
)
def p95_completion_time(t: Table) -> Value:
    """Return the 95th percentile of the durations of the finished transfers."""
    return quantile(t.objects.durations, 0.95)


@metric(
    "completion_time_p99_s",
    "99th-percentile completion time",
    "s",
    "objects",
    formula="99th percentile of completion times, linear between ranks",
    source=COMPLETION,
    better="lower",
    views=("traffic",),
    position=154,
)
def p99_completion_time(t: Table) -> Value:
    """Return the 99th percentile of the durations of the finished transfers."""
    return quantile(t.objects.durations, 0.99)


@metric(
    "completion_time_km_p50_s",
    "median completion time (all transfers)",
    "s",
    "objects",
    formula="50th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p50_completion_time(t: Table) -> Value:
    """Return the 50th percentile of the durations of all transfers, unfinished ones included."""
    return _kaplan_meier(t, t.objects, 0.50)


@metric(
    "completion_time_km_p95_s",
    "95th-percentile completion time (all transfers)",
    "s",
    "objects",
    formula="95th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p95_completion_time(t: Table) -> Value:
    """Return the 95th percentile of the durations of all transfers, unfinished ones included."""
    return _kaplan_meier(t, t.objects, 0.95)


@metric(
    "completion_time_km_p99_s",
    "99th-percentile completion time (all transfers)",
    "s",
    "objects",
    formula="99th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p99_completion_time(t: Table) -> Value:
    """Return the 99th percentile of the durations of all transfers, unfinished ones included."""
    return _kaplan_meier(t, t.objects, 0.99)


@metric(
    "active_transfers",
    "active transfers",
    "",
    "objects",
    formula="time average of transfers under way: sum of the parts of them in the window / window",
    source="definition",
)
def active_transfers(t: Table) -> Value:
    """Return the time average of the number of transfers in progress."""
    return ratio(sum(overlaps(t, "objects")), t.span[1] - t.span[0])


@metric(
    "completed",
    "completed transfers",
    "",
    "objects",
    formula="transfers that started in the window and finished",
    source="definition",
)
def completed(t: Table) -> Value:
    """Return the number of finished transfers."""
    return float(len(t.objects.durations))


@metric(
    "unfinished",
    "unfinished transfers",
    "",
    "objects",
    formula="transfers that started in the window, end unknown",
    source="definition",
    views=("traffic",),
    position=158,
)
def unfinished(t: Table) -> Value:
    """Return the number of transfers that had not finished at the end."""
    return float(len(t.objects.unfinished))


@metric(
    "page_time_mean_s",
    "mean page load time",
    "s",
    "pages",
    formula=(
        "mean of (last byte of the last object at the client - first request) of the pages requested "
        "in the window and completed"
    ),
    source=PAGES,
    better="lower",
)
def mean_page_time(t: Table) -> Value:
    """Return the mean time to load a page."""
    return _mean(t.pages.durations)


@metric(
    "page_time_max_s",
    "maximum page load time",
    "s",
    "pages",
    formula="largest page load time",
    source="as page_time_mean_s",
    better="lower",
)
def max_page_time(t: Table) -> Value:
    """Return the time to load the slowest page."""
    return max(t.pages.durations, default=None)


@metric(
    "page_time_p50_s",
    "median page load time",
    "s",
    "pages",
    formula="50th percentile of page load times, linear between ranks",
    source="as page_time_mean_s",
    better="lower",
)
def median_page_time(t: Table) -> Value:
    """Return the median of the times to load a page."""
    return quantile(t.pages.durations, 0.50)


@metric(
    "page_time_p95_s",
    "95th-percentile page load time",
    "s",
    "pages",
    formula="95th percentile of page load times, linear between ranks",
    source="as page_time_mean_s",
    better="lower",
    views=("feel",),
    position=156,
)
def p95_page_time(t: Table) -> Value:
    """Return the 95th percentile of the times to load a page."""
    return quantile(t.pages.durations, 0.95)


@metric(
    "page_time_p99_s",
    "99th-percentile page load time",
    "s",
    "pages",
    formula="99th percentile of page load times, linear between ranks",
    source="as page_time_mean_s",
    better="lower",
)
def p99_page_time(t: Table) -> Value:
    """Return the 99th percentile of the times to load a page."""
    return quantile(t.pages.durations, 0.99)


@metric(
    "page_time_km_p50_s",
    "median page load time (all pages)",
    "s",
    "pages",
    formula="50th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p50_page_time(t: Table) -> Value:
    """Return the 50th percentile of the durations of all pages, unfinished ones included."""
    return _kaplan_meier(t, t.pages, 0.50)


@metric(
    "page_time_km_p95_s",
    "95th-percentile page load time (all pages)",
    "s",
    "pages",
    formula="95th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p95_page_time(t: Table) -> Value:
    """Return the 95th percentile of the durations of all pages, unfinished ones included."""
    return _kaplan_meier(t, t.pages, 0.95)


@metric(
    "page_time_km_p99_s",
    "99th-percentile page load time (all pages)",
    "s",
    "pages",
    formula="99th percentile of the Kaplan-Meier estimate, " + CENSORED,
    source=KAPLAN_MEIER,
    better="lower",
)
def km_p99_page_time(t: Table) -> Value:
    """Return the 99th percentile of the durations of all pages, unfinished ones included."""
    return _kaplan_meier(t, t.pages, 0.99)


@metric(
    "pages_completed",
    "completed pages",
    "",
    "pages",
    formula="pages requested in the window and completed",
    source="definition",
)
def pages_completed(t: Table) -> Value:
    """Return the number of pages loaded."""
    return float(len(t.pages.durations))


@metric(
    "pages_unfinished",
    "unfinished pages",
    "",
    "pages",
    formula="pages requested in the window, end unknown",
    source="definition",
)
def pages_unfinished(t: Table) -> Value:
    """Return the number of pages that had not loaded at the end."""
    return float(len(t.pages.unfinished))


def quantile(values: list[float], share: float) -> Value:
    """Return the quantile of sorted values, linear between ranks; None for an empty list."""
    if not values:
        return None
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def _kaplan_meier(t: Table, rows: Rows, share: float) -> Value:
    """Return a percentile of all durations; None with a patience, since aborts are not dated."""
    import numpy as np

    kinds = [t.record.plan["traffic"][i]["kind"] for i in t.traffic]
    if any((kind.get("web") or {}).get("patience") is not None for kind in kinds):
        return None
    end = np.uint64(t.record.data["window"][1] + (t.record.plan.get("drain") or 0))
    return kaplan_meier(rows.ended, (end - rows.unfinished) / 1e9, share)


def _mean(values: list[float]) -> Value:
    return ratio(math.fsum(values), len(values))
