"""The runner: points of a study, their execution, and the store of results."""
