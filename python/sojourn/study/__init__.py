"""Studies: questions that take many runs to answer, by comparison, sweep or search."""
