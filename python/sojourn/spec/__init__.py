"""Specifications: links, queues, algorithms and traffic as a user writes them, and the plan for the core."""
