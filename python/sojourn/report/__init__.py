"""Reports: scenario, results and provenance as one HTML file that works offline and prints well."""

from sojourn.format import estimate, interval, number, probability, quantity, with_interval
from sojourn.report.advised import for_advice
from sojourn.report.comparison import for_comparison
from sojourn.report.document import (
    Block,
    Code,
    Column,
    Columns,
    Document,
    Facts,
    Figure,
    Note,
    Section,
    Table,
    Text,
    Verdicts,
)
from sojourn.report.evaluated import for_evaluation
from sojourn.report.html import render, write
from sojourn.report.results import for_results, metric_column, metric_table
from sojourn.report.swept import for_swept
from sojourn.report.tuned import for_tuned

__all__ = [
    "Block",
    "Code",
    "Column",
    "Columns",
    "Document",
    "Facts",
    "Figure",
    "Note",
    "Section",
    "Table",
    "Text",
    "Verdicts",
    "estimate",
    "for_advice",
    "for_comparison",
    "for_evaluation",
    "for_results",
    "for_swept",
    "for_tuned",
    "interval",
    "metric_column",
    "metric_table",
    "number",
    "probability",
    "quantity",
    "render",
    "with_interval",
    "write",
]
