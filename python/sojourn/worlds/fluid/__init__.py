"""The fluid world: differential equations for the averages of the quantities that the simulator computes.

They predict whether and why a queue oscillates, also for populations too large for packet simulation; they do
not include single packets, time-outs or slow start.
"""
