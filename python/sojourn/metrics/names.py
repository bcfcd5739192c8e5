"""Metric names as people write them."""

from __future__ import annotations

from typing import Final

_TITLES: Final = {
    "utilization": "utilization",
    "throughput_bps": "throughput",
    "goodput_bps": "goodput",
    "drop_ratio": "drop ratio",
    "mark_ratio": "mark ratio",
    "mean_queue_packets": "mean queue",
    "std_queue_packets": "queue std. dev.",
    "mean_delay_s": "mean delay",
    "std_delay_s": "delay std. dev.",
    "p99_delay_s": "99 % delay",
    "mean_drop_run": "mean drop run",
    "idle_share": "idle share",
    "jain_index": "Jain’s index",
    "response_time_mean_s": "mean response",
    "response_time_max_s": "max. response",
    "completion_time_mean_s": "mean completion",
}
_SUFFIXES: Final = ("_packets", "_bps", "_s")


def metric_title(name: str) -> str:
    """Write the name of a metric for people; its unit is shown elsewhere.

    Parameters
    ----------
    name
        Such as ``mean_queue_packets`` or ``ftp.goodput_bps``.

    Returns
    -------
    str
        ``mean queue``, ``ftp: goodput``.
    """
    group, _, metric = name.rpartition(".")
    title = _TITLES.get(metric)
    if title is None:
        suffix = next((s for s in _SUFFIXES if metric.endswith(s)), "")
        title = metric.removesuffix(suffix).replace("_", " ")
    return f"{group}: {title}" if group else title
