"""The evaluation of DualPI2 (De Schepper, Albisser, Tilmans, Briscoe 2022; RFC 9332), re-run.

Two flows, one scalable (L4S) and one classic, share a bottleneck at 25 combinations of rate and round trip,
behind DualPI2 and four other queues. ``experiments`` defines the runs, ``measures`` what is taken of each,
``checks`` decides each claim.
"""
