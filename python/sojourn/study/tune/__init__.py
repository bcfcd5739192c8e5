"""Tuning: parameters of an algorithm for one link."""
