"""Studies: many runs and the statistics over them, as a comparison, a sweep or a search."""
