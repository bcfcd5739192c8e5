"""Sweeps: keys of a scenario over many values."""
