"""The fluid world: differential equations for the averages of the quantities that the simulator computes.

They predict under which conditions a queue oscillates, also for numbers of flows too large for packet
simulation. They do not include single packets, time-outs or slow start.
"""
