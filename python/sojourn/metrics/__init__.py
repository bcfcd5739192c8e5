"""Metrics: formulas from a record to numbers, their names and units, and what makes a run doubtful."""

from sojourn.metrics.registry import (
    METRICS,
    PER_CLASS,
    Metric,
    Metrics,
    compute,
    find,
    metrics_version,
    percentile,
)

__all__ = ["METRICS", "PER_CLASS", "Metric", "Metrics", "compute", "find", "metrics_version", "percentile"]
