"""Linux hosts of a scenario, for every world that has them: their layout, jobs, programs and results.

A host is an address with its own access link; an `agent` generates the traffic of a network namespace. The
worlds differ in what lies between the hosts, and in the clock that the hosts read.
"""
