"""Metrics: formulas from a record to numbers, with label and unit of each, and diagnostics of a run."""

from sojourn.metrics.evaluation import compute, metrics_version
from sojourn.metrics.own import Own, is_own, load, measure
from sojourn.metrics.queue import percentile
from sojourn.metrics.registry import (
    METRICS,
    OWN,
    PERCENT,
    Metric,
    Metrics,
    Value,
    View,
    display,
    find,
    heading,
    label,
    metric,
    nearest,
    per_class,
    shown,
    text,
)

__all__ = [
    "METRICS",
    "OWN",
    "PERCENT",
    "Metric",
    "Metrics",
    "Own",
    "Value",
    "View",
    "compute",
    "display",
    "find",
    "heading",
    "is_own",
    "label",
    "load",
    "measure",
    "metric",
    "metrics_version",
    "nearest",
    "per_class",
    "percentile",
    "shown",
    "text",
]
