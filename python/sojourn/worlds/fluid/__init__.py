"""The fluid world: differential equations for the averages of what the simulator does packet by packet.

They say why a queue oscillates and where it will, for populations far larger than packets allow; they do
not include single packets, time-outs or slow start.
"""
