"""Metrics: formulas from a record to numbers, with label and unit of each, and diagnostics of a run."""

from sojourn.metrics.evaluation import compute, metrics_version
from sojourn.metrics.queue import percentile
from sojourn.metrics.registry import (
    METRICS,
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
    per_class,
    shown,
    text,
)

__all__ = [
    "METRICS",
    "PERCENT",
    "Metric",
    "Metrics",
    "Value",
    "View",
    "compute",
    "display",
    "find",
    "heading",
    "label",
    "metric",
    "metrics_version",
    "per_class",
    "percentile",
    "shown",
    "text",
]
