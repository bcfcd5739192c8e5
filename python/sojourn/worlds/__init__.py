"""Worlds: where a scenario can be run."""
