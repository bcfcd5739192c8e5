"""The real world: the hosts and their packets are real, only the bottleneck between them is ours.

``namespace`` (places for hosts), ``tun`` (their doors), ``gateway`` (the bottleneck; out comes a record).
"""
