"""Compares the results of a scenario in two worlds."""
