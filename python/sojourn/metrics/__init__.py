"""Metrics: formulas from a record to numbers, their names and units, and doubts about a run."""

from sojourn.metrics.registry import METRICS, PER_CLASS, Metric, compute, find, percentile

__all__ = ["METRICS", "PER_CLASS", "Metric", "compute", "find", "percentile"]
