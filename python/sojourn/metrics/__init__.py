"""Metrics: formulas from a record to numbers, with label and unit of each, and diagnostics of a run."""

from sojourn.metrics.compute import compute
from sojourn.metrics.queue import percentile
from sojourn.metrics.registry import (
    METRICS,
    WORLDS,
    Metric,
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
    "WORLDS",
    "Metric",
    "Value",
    "View",
    "compute",
    "display",
    "find",
    "heading",
    "label",
    "metric",
    "per_class",
    "percentile",
    "shown",
    "text",
]
