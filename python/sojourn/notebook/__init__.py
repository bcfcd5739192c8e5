"""How results, comparisons, scenarios and records appear in notebooks, and their figures.

The objects themselves are defined in lower layers, which import this package only when a notebook displays
them (``_repr_html_``) or a user asks for a figure (``plot``).
"""

from sojourn.notebook.figures import Figures
from sojourn.notebook.html import of_comparison, of_record, of_results, of_scenario

__all__ = ["Figures", "of_comparison", "of_record", "of_results", "of_scenario"]
