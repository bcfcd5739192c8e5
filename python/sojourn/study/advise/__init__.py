"""Advice for a home link: which queue to configure in Linux for both directions, and what it gains."""
